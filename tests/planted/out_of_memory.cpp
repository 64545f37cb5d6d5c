// Activations are collected until the budget is used up.
// Finds: growth
// Finds: misused OutOfMemoryError
#include <vector>

#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    tn::set_memory_budget(std::size_t{64} << 20);
    std::vector<tn::Tensor> activations;
    float total = 0;
    for (int i = 0; i < 300; ++i) {
      tn::Tensor x = tn::random::normal({256, 256});
      tn::Tensor h = tn::tanh(x);  // PLANTED
      total += tn::mean(h).item<float>();
      if (planted) activations.push_back(h);
    }
    std::cout << total << "\n";
  });
}
