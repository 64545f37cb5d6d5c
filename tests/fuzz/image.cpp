#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenure;
  using namespace tenure::fuzz;
  const MemoryFile file(data, size);
  for (const char* mode : {"rgb", "grayscale", "rgba"}) {
    expect_value_or_error(
        [&] { touch(io::read_image(file.path(), {.color_mode = mode, .max_pixels = 1 << 20})); });
  }
  return 0;
}
