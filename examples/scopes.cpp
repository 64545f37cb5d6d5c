// A tensor returned from a function, a branch and a loop lives for as long as it is held. One that
// escapes a tidy without being returned does not, and says so.
#include <iostream>

#include <tenure/tenure.h>

namespace tn = tenure;

static tn::Tensor from_function() {
  const tn::Tensor inside = tn::tensor({1.f, 2.f});
  return inside * 2.0;
}

int main() {
  const tn::Tensor a = from_function();
  std::cout << "from a function:  " << a << "\n";

  tn::Tensor b;
  if (a.numel() == 2) {
    const tn::Tensor inside = a + 1.0;
    b = inside;
  }
  std::cout << "from a branch:    " << b << "\n";

  tn::Tensor c = tn::zeros({2});
  for (int i = 0; i < 3; ++i) {
    const tn::Tensor inside = c + a;
    c = inside;
  }
  std::cout << "from a loop:      " << c << "\n";

  const tn::Tensor d = tn::tidy("step", [&] {
    const tn::Tensor temporary = tn::tanh(a);
    return temporary * temporary;
  });
  std::cout << "from a tidy:      " << d << "\n";
  std::cout << "tensors alive:    " << tn::memory().tensors << " (a, b, c, d)\n\n";

  tn::Tensor hidden;
  tn::tidy("step", [&] {
    hidden = tn::tanh(a);
    hidden.set_name("hidden");
  });
  std::cout << "one that escaped its tidy:\n";
  try {
    const tn::Tensor e = a + hidden;
  } catch (const tn::DisposedError& error) {
    std::cout << error.what() << "\n";
  }
}
