// A user's program; it needs every library that Tenure does. Its argument is a folder to write to.
#include <tenure/tenure.h>

#include <cstdio>
#include <string>

namespace {

void print(const tenure::Tensor& x) {
  for (float value : x.to_vector<float>()) std::printf("%.4f\n", value);
}

}  // namespace

int main(int, char** arguments) {
  const tenure::Tensor x = tenure::tensor({1.f, 2.f});
  print(tenure::tanh(x));
  print(tenure::singular_values(tenure::matrix_diag(x)));
  print(tenure::complex_abs(tenure::rfft(x)));
  const std::string file = std::string(arguments[1]) + "/user.npz";
  tenure::io::save_npz(file, {{"x", x}}, {.compress = true});
  print(tenure::io::load_npz(file)["x"]);
}
