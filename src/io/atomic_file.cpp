#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <system_error>

namespace tenure::io {
namespace {

std::function<int(WriteStep)>& write_hook() {
  static std::function<int(WriteStep)> hook;
  return hook;
}

// The file a path leads to; the path itself where there is none yet.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real != nullptr ? std::string(real.get()) : path;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

void set_write_hook(std::function<int(WriteStep)> hook) { write_hook() = std::move(hook); }

AtomicFile::AtomicFile(std::string format, const std::string& path)
    : origin_{std::move(format), path}, target_(resolved(path)), folder_(folder_of(target_)) {
  struct stat old{};
  const bool replaces = ::stat(target_.c_str(), &old) == 0;
  if (replaces && !S_ISREG(old.st_mode)) origin_.fail("cannot be written: is not a regular file");
  std::random_device random;
  step(WriteStep::open, "written", [&] {
    for (int attempt = 0; attempt < 100; ++attempt) {
      temporary_ = fmt::format("{}/.tenure-{:08x}{:08x}.tmp", folder_, random(), random());
      descriptor_ =
          Descriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (descriptor_.get() >= 0) return 0;
      const int error = errno;
      temporary_.clear();
      if (error != EEXIST) return error;
    }
    return EEXIST;
  });
  if (replaces && ::fchmod(descriptor_.get(), old.st_mode & 07777) != 0) {
    const int error = errno;
    remove();
    fail("written", error);
  }
}

AtomicFile::~AtomicFile() { remove(); }

void AtomicFile::remove() noexcept {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::fail(std::string_view doing, int error) const {
  origin_.fail("cannot be {}: {}", doing, std::generic_category().message(error));
}

void AtomicFile::step(WriteStep step, std::string_view doing,
                      const std::function<int()>& call) const {
  int error = write_hook() ? write_hook()(step) : 0;
  if (error == 0) error = call();
  if (error != 0) fail(doing, error);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // one call writes less than 2 GiB
  step(WriteStep::write, "written", [&] {
    while (!bytes.empty()) {
      const ssize_t count = ::pwrite(descriptor_.get(), bytes.data(), std::min(bytes.size(), kMost),
                                     static_cast<off_t>(position_));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno;
      position_ += static_cast<std::uint64_t>(count);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return 0;
  });
}

void AtomicFile::commit() {
  step(WriteStep::sync, "written", [&] { return ::fsync(descriptor_.get()) == 0 ? 0 : errno; });
  step(WriteStep::rename, "replaced", [&] {
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) return errno;
    temporary_.clear();
    return 0;
  });
  step(WriteStep::sync_folder, "made durable, though it is written", [&] {
    const Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0) return errno;
    // Some file systems cannot sync folders; there is nothing better to do there.
    return ::fsync(folder.get()) == 0 || errno == EINVAL ? 0 : errno;
  });
}

}  // namespace tenure::io
