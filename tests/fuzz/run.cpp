#include "report/run.h"

#include <cstring>
#include <span>
#include <vector>

#include "report/format.h"
#include "target.h"

namespace {

// The bytes with checksums that fit: what is wrong with a chunk's events is found only then.
std::vector<std::uint8_t> signed_chunks(const std::uint8_t* data, std::size_t size) {
  using namespace tenure::report;
  std::vector<std::uint8_t> bytes(data, data + size);
  if (size >= kMagic.size()) std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  for (std::size_t at = kMagic.size(); at + kChunkHead <= size;) {
    std::uint32_t length = 0, thread = 0;
    std::memcpy(&length, &bytes[at], 4);
    std::memcpy(&thread, &bytes[at + 4], 4);
    if (length > size - at - kChunkHead) break;
    const std::span<const std::uint8_t> payload(bytes.data() + at + kChunkHead, length);
    const std::uint64_t sum = checksum(std::as_bytes(payload), thread);
    std::memcpy(&bytes[at + 8], &sum, 8);
    at += kChunkHead + length;
  }
  return bytes;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenure::fuzz;
  const MemoryFile file(data, size);
  expect_value_or_error([&] { tenure::report::read_run(file.path()); });
  const std::vector<std::uint8_t> whole = signed_chunks(data, size);
  const MemoryFile signed_file(whole.data(), whole.size());
  expect_value_or_error([&] { tenure::report::read_run(signed_file.path()); });
  return 0;
}
