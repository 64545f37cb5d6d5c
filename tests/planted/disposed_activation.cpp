// An activation is disposed to save memory, and used after that.
// Finds: misused DisposedError
#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    const tn::Variable w(tn::random::normal({16, 16}), {.name = "w"});
    float total = 0;
    for (int i = 0; i < 20; ++i) {
      tn::Tensor x = tn::random::normal({8, 16});
      tn::Tensor hidden = tn::tanh(tn::matmul(x, w)).set_name("hidden");
      if (planted && i == 10) hidden.dispose();
      tn::Tensor penalty = tn::mean(tn::square(hidden));  // PLANTED
      total += penalty.item<float>();
      hidden.dispose();
    }
    std::cout << total / 20 << "\n";
  });
}
