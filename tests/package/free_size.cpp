// Reads sizes that are free in the function being traced: each is refused, with the line.
#include <tenure/create.h>
#include <tenure/error.h>
#include <tenure/function.h>

#include <cstdio>
#include <cstring>

template <class F>
void ask(const char* what, F size) {
  auto asks = tenure::function("asks", [size](tenure::Tensor x) {
    (void)size(x);
    return x;
  });
  asks.input({tenure::dyn});
  try {
    asks(tenure::ones({3}));
    std::printf("%s: told\n", what);
  } catch (const tenure::InaccessibleTensorError& error) {
    const bool here = std::strcmp(error.used_at().file_name(), __FILE__) == 0;
    std::printf("%s: refused%s\n", what, here ? "" : " on another line");
  }
}

int main() {
  ask("shape", [](const tenure::Tensor& x) { return x.shape(); });
  ask("dim", [](const tenure::Tensor& x) { return x.dim(0); });
  ask("numel", [](const tenure::Tensor& x) { return x.numel(); });
  ask("nbytes", [](const tenure::Tensor& x) { return x.nbytes(); });
}
