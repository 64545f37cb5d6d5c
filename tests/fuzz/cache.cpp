#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenure;
  using namespace tenure::fuzz;
  const MemoryFile file(data, size);
  expect_value_or_error([&] {
    const nn::Dataset cached = nn::Dataset::from_text({"none"}).cache(file.path());
    for (const nn::Batch& element : cached) {
      for (const Tensor& x : element.x) touch(x);
    }
  });
  return 0;
}
