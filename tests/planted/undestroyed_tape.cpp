// A tape on the heap that nobody deletes, with all that its backward pass would have needed.
// Finds: outlived
#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    tn::Variable w(tn::random::normal({64, 64}), {.name = "w"});
    tn::Tensor x = tn::random::normal({32, 64});
    auto* tape = new tn::GradientTape({.name = "probe"});  // PLANTED
    tn::Tensor loss = tn::mean(tn::square(tn::tanh(tn::matmul(x, w))));
    if (!planted) delete tape;
    std::cout << loss.item<float>() << "\n";
  });
}
