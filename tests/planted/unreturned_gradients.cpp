// Gradients of all steps are gathered for a statistic that is never made.
// Finds: growth
#include <vector>

#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    tn::Variable w(tn::random::normal({32, 32}), {.name = "w"});
    std::vector<std::vector<tn::Tensor>> gathered;
    float norm = 0;
    for (int i = 0; i < 40; ++i) {
      tn::GradientTape tape;
      tn::Tensor x = tn::random::normal({8, 32});
      tn::Tensor loss = tn::mean(tn::square(tn::matmul(x, w)));
      std::vector<tn::Tensor> slopes = tape.gradient(loss, {w});  // PLANTED
      w.assign(w - 0.1f * slopes[0]);
      norm = std::max(norm, tn::sum(tn::square(slopes[0])).item<float>());
      if (planted) gathered.push_back(std::move(slopes));
    }
    std::cout << norm << "\n";
  });
}
