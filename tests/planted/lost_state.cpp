// A recurrent state that is kept by hand dies with the tidy of its step.
// Finds: misused DisposedError
#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    const tn::Variable w(tn::random::normal({4, 8}), {.name = "w"});
    const tn::Variable u(0.1f * tn::random::normal({8, 8}), {.name = "u"});
    tn::Tensor state = tn::zeros({1, 8});
    const auto step = [&](const tn::Tensor& x) {
      tn::Tensor in = tn::matmul(x, w);
      tn::Tensor back = tn::matmul(state, u);  // PLANTED
      return tn::tanh(in + back).set_name("state");
    };
    for (int t = 0; t < 30; ++t) {
      tn::Tensor x = tn::random::normal({1, 4});
      if (planted) {
        tn::tidy("step", [&] { state = step(x); });
      } else {
        state = tn::tidy("step", [&] { return step(x); });
      }
    }
    std::cout << tn::sum(state).item<float>() << "\n";
  });
}
