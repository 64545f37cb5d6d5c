// A tensor is given away and read.
// Finds: misused DisposedError
#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    tn::Function decay = tn::function("decay", [](tn::Tensor in) { return in * 0.9f; });
    tn::Tensor state = tn::ones({64});
    for (int i = 0; i < 20; ++i) {
      tn::Tensor next = decay(tn::donate(std::move(state)));
      state = next;
    }
    tn::Tensor before = state;
    if (!planted) state = tn::concat({state});
    tn::Tensor last = decay(tn::donate(state));
    tn::Tensor change = last - before;  // PLANTED
    std::cout << tn::sum(change).item<float>() << "\n";
  });
}
