// One persistent tape for all steps: it records on, and keeps what every step needs.
// Finds: growth
#include <memory>

#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    tn::Variable w(tn::random::normal({8, 8}), {.name = "w"});
    std::unique_ptr<tn::GradientTape> tape;
    for (int i = 0; i < 40; ++i) {
      tn::Tensor x = tn::random::normal({4, 8});
      if (!planted || i == 0) {
        tape.reset();
        tn::TapeOptions options{.persistent = true, .name = "training"};
        tape.reset(new tn::GradientTape(options));  // PLANTED
      }
      tn::Tensor hidden = tn::tanh(tn::matmul(x, w));
      tn::Tensor loss = tn::mean(tn::square(hidden));
      tn::Tensor slope = tape->gradient(loss, w);
      w.assign(w - 0.1f * slope);
    }
    std::cout << tn::sum(w.read()).item<float>() << "\n";
  });
}
