#include "io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "io/file_kind.h"

namespace tenure::io {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Mapping::Mapping(const Origin& origin, int fd, std::uint64_t size) : size_(size) {
  if (size == 0) return;  // the system refuses empty mappings
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) {
    origin.fail("cannot be mapped: {} bytes: {}", size, std::generic_category().message(errno));
  }
  data_ = static_cast<std::byte*>(data);
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Descriptor open_for_reading(const Origin& origin, bool regular_only) {
  // Opening a pipe that nobody writes to must not wait where pipes are refused anyway.
  const int flags = O_RDONLY | O_CLOEXEC | (regular_only ? O_NONBLOCK : 0);
  Descriptor descriptor(::open(origin.path.c_str(), flags));
  if (descriptor.get() < 0) {
    origin.fail("cannot be opened: {}", std::generic_category().message(errno));
  }
  struct stat status{};
  if (::fstat(descriptor.get(), &status) != 0) {
    origin.fail("cannot be read: {}", std::generic_category().message(errno));
  }
  if (S_ISDIR(status.st_mode)) refuse_folder(origin);
  if (regular_only && !S_ISREG(status.st_mode)) origin.fail("is not a regular file");
  return descriptor;
}

File::File(std::string format, const std::string& path)
    : origin_{std::move(format), path}, descriptor_(open_for_reading(origin_, true)) {
  struct stat status{};
  if (::fstat(fd(), &status) != 0) {
    origin_.fail("cannot be read: {}", std::generic_category().message(errno));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void File::read(std::uint64_t offset, std::span<std::byte> to) const {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // one call reads less than 2 GiB
  while (!to.empty()) {
    const ssize_t count =
        ::pread(fd(), to.data(), std::min(to.size(), kMost), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      origin_.fail("cannot be read at byte {}: {}", offset, std::generic_category().message(errno));
    }
    if (count == 0) {
      origin_.fail("became shorter while it was read: {} bytes were there, now {}", size_, offset);
    }
    offset += static_cast<std::uint64_t>(count);
    to = to.subspan(static_cast<std::size_t>(count));
  }
}

std::shared_ptr<const Mapping> File::map() const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Mapping> mapping = mapping_.lock();
  if (mapping == nullptr) {
    mapping = std::make_shared<const Mapping>(origin_, fd(), size_);
    mapping_ = mapping;
  }
  return mapping;
}

}  // namespace tenure::io
