#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenure::fuzz;
  const MemoryFile file(data, size);
  expect_value_or_error([&] { tenure::io::inspect_npy(file.path()); });
  expect_value_or_error([&] { touch(tenure::io::load_npy(file.path())); });
  expect_value_or_error([&] { touch(tenure::io::map_npy(file.path())); });
  return 0;
}
