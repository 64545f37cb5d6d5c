// A file that is written whole or not at all.
//
// The bytes go to a temporary file in the same folder; commit() makes them durable, renames the
// temporary over the old file and makes the rename durable. A crash at any point leaves the old
// file or the new one; a failure also removes the temporary. Anything but a regular file at the
// path is refused, and a symbolic link is followed, so that it stays one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "io/file.h"
#include "io/origin.h"

namespace tenure::io {

enum class WriteStep : std::uint8_t { open, write, sync, rename, sync_folder };

// For tests: called before each step of every file; an errno that it returns fails the step.
void set_write_hook(std::function<int(WriteStep)> hook);

class AtomicFile {
 public:
  AtomicFile(std::string format, const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void seek(std::uint64_t position) { position_ = position; }
  std::uint64_t position() const { return position_; }
  void commit();

 private:
  [[noreturn]] void fail(std::string_view doing, int error) const;
  void step(WriteStep step, std::string_view doing, const std::function<int()>& call) const;
  void remove() noexcept;

  Origin origin_;
  std::string target_;
  std::string folder_;
  std::string temporary_;  // empty once there is none
  Descriptor descriptor_;
  std::uint64_t position_ = 0;
};

}  // namespace tenure::io
