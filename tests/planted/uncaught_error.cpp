// The same as disposed_activation, in a program that catches nothing: it is aborted.
// Finds: misused DisposedError
#include "planted.h"

int main(int argc, char**) {
  tn::Tensor x = tn::random::normal({8, 16});
  for (int i = 0; i < 20; ++i) {
    tn::Tensor hidden = tn::tanh(x).set_name("hidden");
    if (argc > 1 && i == 10) hidden.dispose();
    x = hidden * 1.1f;  // PLANTED
  }
  std::cout << tn::mean(x).item<float>() << "\n";
}
