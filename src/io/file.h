// Files open for reading.
//
// The size is taken once, when the file is opened, and readers hold what a file claims against it
// before they allocate. Bytes are read with pread where they are copied, since a file that another
// process cuts short is then an error, not a signal; only tensors over the file's pages use a
// mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "io/origin.h"
#include "tenure/job.h"

namespace tenure::io {

// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }
  int give() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// A read-only, private mapping of a whole file.
class Mapping {
 public:
  Mapping(const Origin& origin, int fd, std::uint64_t size);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  const std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
};

// A regular file.
class File {
 public:
  File(std::string format, const std::string& path);

  const Origin& origin() const { return origin_; }
  std::uint64_t size() const { return size_; }
  int fd() const { return descriptor_.get(); }
  // Fills `to` from `offset`; the caller has checked both against the size.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  // Made when first asked for, and shared.
  std::shared_ptr<const Mapping> map() const;

 private:
  Origin origin_;
  Descriptor descriptor_;
  std::uint64_t size_ = 0;
  mutable detail::Mutex mutex_;
  mutable std::weak_ptr<const Mapping> mapping_;
};

// Opens any file but a folder; an IoError says why not.
Descriptor open_for_reading(const Origin& origin, bool regular_only);

}  // namespace tenure::io
