// What the fuzz targets share. Each defines LLVMFuzzerTestOneInput: it reads the bytes as a file,
// and only an Error of Tenure's may come out of it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tenure/tenure.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace tenure::fuzz {

// A file that lives in memory.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : fd_(::memfd_create("fuzz", 0)) {
    std::size_t done = 0;
    while (done < size) {
      const ssize_t count = ::write(fd_, data + done, size - done);
      if (count <= 0) std::abort();
      done += static_cast<std::size_t>(count);
    }
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// Reads every byte of a tensor.
inline void touch(const Tensor& tensor) { to_string(tensor); }

// Runs a reader; what is wrong with its file is no fault of the reader's.
template <class F>
void expect_value_or_error(F&& read) {
  try {
    read();
  } catch (const Error&) {
  }
}

}  // namespace tenure::fuzz
