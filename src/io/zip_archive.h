// Zip archives through libzip: read with what an entry claims held against the file, written
// through an AtomicFile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/atomic_file.h"
#include "io/file.h"

struct zip;
struct zip_file;

namespace tenure::io {

struct ZipEntry {
  std::string name;
  std::uint64_t size = 0;  // when unpacked
};

class ZipReader {
 public:
  explicit ZipReader(const File& file);
  const std::vector<ZipEntry>& entries() const { return entries_; }

  // One entry's bytes, in order.
  class Stream {
   public:
    void read(std::span<std::byte> to);  // all of it, or an IoError
    void finish();                       // all was read: the check sum must agree

   private:
    friend class ZipReader;
    struct Close {
      void operator()(zip_file* file) const;
    };
    std::unique_ptr<zip_file, Close> file_;
    Origin origin_;
  };
  Stream open(std::size_t entry) const;

 private:
  struct Discard {
    void operator()(zip* archive) const;
  };
  Origin origin_;
  std::unique_ptr<zip, Discard> archive_;
  std::vector<ZipEntry> entries_;
};

// Collects entries, then writes them all. An entry's bytes are asked for when it is written: `open`
// gives its parts, which live until the next call of it or the end.
class ZipWriter {
 public:
  using Parts = std::vector<std::span<const std::byte>>;
  ZipWriter(AtomicFile& file, bool compress);
  ~ZipWriter();
  void add(const std::string& name, std::uint64_t size, std::function<Parts()> open);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenure::io
