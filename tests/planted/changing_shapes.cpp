// A traced function is called with another length every time.
// Finds: growth
#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    const tn::Tensor scale = tn::random::uniform({16});
    tn::Function smooth =
        tn::function("smooth", [&](tn::Tensor in) { return tn::mean(tn::tanh(in) * scale, {0}); });
    if (!planted) smooth.input({tn::dyn, 16});
    float total = 0;
    for (int i = 1; i <= 40; ++i) {
      tn::Tensor sequence = tn::random::normal({i, 16});
      tn::Tensor result = smooth(sequence);  // PLANTED
      total += tn::sum(result).item<float>();
    }
    std::cout << total << "\n";
  });
}
