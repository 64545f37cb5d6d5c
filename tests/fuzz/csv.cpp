#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenure;
  using namespace tenure::fuzz;
  const MemoryFile file(data, size);
  for (const DType dtype : {DType::float32, DType::float64, DType::int32}) {
    expect_value_or_error([&] { touch(io::read_csv(file.path(), {.dtype = dtype}).values); });
  }
  expect_value_or_error([&] {
    touch(io::read_csv(file.path(), {.header = io::CsvHeader::yes, .delimiter = ';'}).values);
  });
  return 0;
}
