// A loop that keeps a tensor too many, found by a GrowthWatch; what a step costs, told by a
// profile.
#include <tenure/tenure.h>

#include <iostream>
#include <vector>

namespace tn = tenure;

int main() {
  tn::set_warning_sink([](std::string_view text) { std::cout << text << "\n"; });

  const tn::Tensor x = tn::random::normal({64, 32}), w = tn::random::normal({32, 8});
  const auto loss_of = [&] { return tn::mean(tn::square(tn::tanh(tn::matmul(x, w)))); };

  std::vector<tn::Tensor> losses;  // floats would do
  tn::GrowthWatch watch({.iterations = 5, .name = "training"});
  for (int i = 0; i < 20; ++i) {
    losses.push_back(loss_of());
    watch.step();
  }

  auto [loss, profile] = tn::profile(loss_of);
  std::cout << profile.kernels_run << " kernels, " << profile.new_tensors << " new tensor, "
            << profile.new_bytes << " new bytes\n";
  std::cout << profile;
}
