// A loop that says what its steps are: what it stores is seen, though most of the program is what
// comes after it.
// Finds: growth
#include <vector>

#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    std::vector<tn::Tensor> stored;
    for (int i = 0; i < 30; ++i) {
      tn::RecordedSpan step("step");
      tn::Tensor x = tn::random::normal({32});
      tn::Tensor loss = tn::mean(x * x);  // PLANTED
      tn::record_value("loss", loss.item<float>(), static_cast<std::uint64_t>(i));
      if (planted) stored.push_back(loss);
    }
    for (int i = 0; i < 200; ++i) tn::tanh(tn::random::normal({32}));
  });
}
