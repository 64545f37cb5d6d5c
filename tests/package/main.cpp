#include <tenure/tenure.h>

#include <cstdio>

int main() {
  tenure::Tensor x = tenure::tensor({1.f, 2.f});
  for (float value : tenure::tanh(x).to_vector<float>()) std::printf("%.4f\n", value);
}
