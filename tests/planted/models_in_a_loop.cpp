// A model for every trial of a search, and all of them stored.
// Finds: growth
#include <vector>

#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    std::vector<nn::Model> tried;
    tn::Tensor x = tn::random::normal({16, 4});
    float best = 1e9f;
    for (int i = 0; i < 20; ++i) {
      nn::Sequential model(
          {nn::Dense({.units = 8, .activation = "tanh"}), nn::Dense({.units = 1})});
      model.build({nn::kAny, 4});  // PLANTED
      tn::Tensor y = model.predict(x);
      best = std::min(best, tn::mean(tn::square(y)).item<float>());
      if (planted) tried.push_back(model);
    }
    std::cout << best << "\n";
  });
}
