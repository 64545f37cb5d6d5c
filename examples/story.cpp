#include <tenure/tenure.h>

#include <cstdio>
namespace tn = tenure;

int main() {
  tn::Tensor x = tn::tensor({1.f, -2.f, 3.f, -4.f}), h;
  tn::tidy("step", [&] { (h = tn::tanh(x) * tn::sigmoid(x)).set_name("h"); });
  try {
    tn::Tensor y = x + h;
  } catch (const tn::Error& error) {
    std::puts(error.what());
  }
}
