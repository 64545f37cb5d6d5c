#include "target.h"

namespace tenure::fuzz {
namespace {

void read_all(const std::string& path) {
  io::NpzReader reader(path);
  for (const io::TensorInfo& info : reader.tensors()) {
    expect_value_or_error([&] { touch(reader.read(info.name)); });
  }
}

}  // namespace
}  // namespace tenure::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenure::fuzz;
  const MemoryFile file(data, size);
  expect_value_or_error([&] { read_all(file.path()); });
  return 0;
}
