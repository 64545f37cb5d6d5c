// A tape on the heap that nobody deletes, with all that its backward pass would have needed.
// Finds: outlived
#include <memory>

#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    tn::Variable w(tn::random::normal({64, 64}), {.name = "w"});
    tn::Tensor x = tn::random::normal({32, 64});
    auto tape = std::make_unique<tn::GradientTape>(tn::TapeOptions{.name = "probe"});  // PLANTED
    tn::Tensor loss = tn::mean(tn::square(tn::tanh(tn::matmul(x, w))));
    if (planted) {
      static_cast<void>(tape.release());
    } else {
      tape->gradient(loss, w);
    }
    std::cout << loss.item<float>() << "\n";
  });
}
