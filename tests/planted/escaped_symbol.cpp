// A traced function writes a value of its own into a member, which is read after the trace.
// Finds: misused InaccessibleTensorError
#include "planted.h"

struct Net {
  tn::Tensor last;
};

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    Net net;
    tn::Function forward = tn::function("forward", [&](tn::Tensor in) {
      tn::Tensor out = tn::tanh(in) * 2.f;
      if (planted) net.last = out;
      return out;
    });
    for (int i = 0; i < 20; ++i) {
      tn::Tensor result = forward(tn::random::normal({4}));
      if (!planted) net.last = result;
      tn::Tensor twice = net.last * 2.f;  // PLANTED
    }
    std::cout << "done\n";
  });
}
