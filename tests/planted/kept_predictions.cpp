// Every prediction is stored. The line makes many tensors that are not: each prediction is made of
// batches, which are put together.
// Finds: growth
// Counts: 60
#include <vector>

#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    nn::Sequential model({nn::Dense({.units = 8, .activation = "relu"}), nn::Dense({.units = 1})});
    const tn::Tensor x = tn::random::normal({2000, 4});
    std::vector<tn::Tensor> kept;
    float sum = 0;
    for (int i = 0; i < 60; ++i) {
      tn::Tensor y = model.predict(x);  // PLANTED
      sum += tn::mean(y).item<float>();
      if (planted) kept.push_back(y);
    }
    std::cout << sum << "\n";
  });
}
