// A second gradient of a tape that gives one.
// Finds: misused TapeError
#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    const tn::Variable w(tn::random::normal({8, 8}), {.name = "w"});
    const tn::Variable b(tn::zeros({8}), {.name = "b"});
    tn::Tensor x = tn::random::normal({4, 8});
    tn::GradientTape tape({.persistent = !planted});
    tn::Tensor loss = tn::mean(tn::square(tn::matmul(x, w) + b));
    tn::Tensor first = tape.gradient(loss, w);
    tn::Tensor second = tape.gradient(loss, b);  // PLANTED
    std::cout << tn::sum(first).item<float>() + tn::sum(second).item<float>() << "\n";
  });
}
