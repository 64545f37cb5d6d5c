// Callbacks that are never run again hold the tensors they captured.
// Finds: growth
#include <functional>
#include <map>

#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    std::map<int, std::function<float()>> pending;
    float total = 0;
    for (int i = 0; i < 50; ++i) {
      tn::Tensor scores = tn::random::uniform({32});
      tn::Tensor weights = tn::softmax(scores);  // PLANTED
      pending[i] = [weights] { return tn::max(weights).item<float>(); };
      total += pending[i]();
      if (!planted) pending.erase(i);
    }
    std::cout << total << "\n";
  });
}
