// What remains of a tensor after dispose(): its metadata and its story; every result computed from
// it; not its memory, which goes back to the pool and is used again.
#include <iostream>

#include <tenure/tenure.h>

namespace tn = tenure;

int main() {
  tn::Tensor x = tn::tensor({1.f, -2.f, 3.f, -4.f}, {2, 2});
  x.set_name("x");
  const tn::Tensor y = tn::relu(x) * 10.0;
  const float* bytes = x.view<float>().data();

  x.dispose();

  std::cout << "x after dispose: shape " << x.shape() << ", " << x.dtype() << ", name \""
            << x.name() << "\", is_disposed " << std::boolalpha << x.is_disposed() << "\n\n";
  std::cout << "printing it:\n" << x << "\n";
  std::cout << "y, computed from it, lives on:\n" << y << "\n\n";

  const tn::Tensor next = tn::ones({2, 2});
  std::cout << "its memory went back to the pool, and the next tensor of that size got it: "
            << (next.view<float>().data() == bytes) << "\n\n";

  std::cout << "reading it:\n";
  try {
    x.to_vector<float>();
  } catch (const tn::DisposedError& error) {
    std::cout << error.what() << "\n";
  }
}
