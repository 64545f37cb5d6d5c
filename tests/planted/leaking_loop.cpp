// Every loss is stored to be printed some day.
// Finds: growth
#include <vector>

#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    tn::Variable w(tn::random::normal({8, 1}), {.name = "w"});
    std::vector<tn::Tensor> stored;
    std::vector<float> values;
    for (int i = 0; i < 60; ++i) {
      tn::Tensor x = tn::random::normal({32, 8});
      tn::Tensor y = tn::sum(x, {1}, {.keep_dims = true});
      tn::GradientTape tape;
      tn::Tensor error = tn::matmul(x, w) - y;
      tn::Tensor loss = tn::mean(tn::square(error));  // PLANTED
      tn::Tensor slope = tape.gradient(loss, w);
      w.assign(w - 0.05f * slope);
      values.push_back(loss.item<float>());
      if (planted) stored.push_back(loss);
    }
    std::cout << values.front() << " to " << values.back() << "\n";
  });
}
