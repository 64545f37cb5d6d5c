#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "io/zip_archive.h"

namespace tenure::io {
namespace {

// Deflate packs no better than this, so a larger claim is a lie.
constexpr std::uint64_t kBestRatio = 1032;

std::string message_of(zip_error_t* error) {
  std::string text = zip_error_strerror(error);
  zip_error_fini(error);
  return text;
}

}  // namespace

void ZipReader::Stream::Close::operator()(zip_file* file) const { zip_fclose(file); }
void ZipReader::Discard::operator()(zip* archive) const { zip_discard(archive); }

ZipReader::ZipReader(const File& file) : origin_(file.origin()) {
  const int fd = ::dup(file.fd());
  if (fd < 0) origin_.fail("cannot be read: {}", std::generic_category().message(errno));
  int code = 0;
  archive_.reset(zip_fdopen(fd, ZIP_CHECKCONS, &code));
  if (archive_ == nullptr) {
    ::close(fd);
    if (code == ZIP_ER_EXISTS) origin_.fail("two entries have the same name");
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    origin_.fail("is not a sound zip archive: {}", message_of(&error));
  }
  std::uint64_t packed = 0;
  const auto count = static_cast<zip_uint64_t>(zip_get_num_entries(archive_.get(), 0));
  for (zip_uint64_t i = 0; i < count; ++i) {
    zip_stat_t entry;
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                     ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(archive_.get(), i, ZIP_FL_ENC_RAW, &entry) != 0 ||
        (entry.valid & kNeeded) != kNeeded) {
      origin_.fail("entry {} cannot be read: {}", i, zip_strerror(archive_.get()));
    }
    const std::string name = printable(entry.name);
    if (entry.encryption_method != ZIP_EM_NONE) origin_.fail("entry \"{}\" is encrypted", name);
    if (entry.comp_method != ZIP_CM_STORE && entry.comp_method != ZIP_CM_DEFLATE) {
      origin_.fail("entry \"{}\" is packed by method {}, known are 0 and 8", name,
                   entry.comp_method);
    }
    // Each packed byte is in the file once: entries that share theirs would unpack to anything.
    if (entry.comp_size > file.size() - packed) {
      origin_.fail("entry \"{}\" has {} packed bytes in a file of {}", name, entry.comp_size,
                   file.size());
    }
    packed += entry.comp_size;
    if ((entry.comp_method == ZIP_CM_STORE && entry.size != entry.comp_size) ||
        entry.size / kBestRatio > entry.comp_size) {
      origin_.fail("entry \"{}\" claims {} bytes from {} packed ones", name, entry.size,
                   entry.comp_size);
    }
    entries_.push_back({entry.name, entry.size});
  }
}

ZipReader::Stream ZipReader::open(std::size_t entry) const {
  Stream stream;
  stream.origin_ = {origin_.format,
                    fmt::format("{}: \"{}\"", origin_.path, printable(entries_[entry].name))};
  stream.file_.reset(zip_fopen_index(archive_.get(), entry, 0));
  if (stream.file_ == nullptr) {
    stream.origin_.fail("cannot be read: {}", zip_strerror(archive_.get()));
  }
  return stream;
}

void ZipReader::Stream::read(std::span<std::byte> to) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  while (!to.empty()) {
    const zip_int64_t count = zip_fread(file_.get(), to.data(), std::min(to.size(), kMost));
    if (count < 0) origin_.fail("cannot be unpacked: {}", zip_file_strerror(file_.get()));
    if (count == 0) origin_.fail("ends {} bytes early", to.size());
    to = to.subspan(static_cast<std::size_t>(count));
  }
}

void ZipReader::Stream::finish() {
  std::byte more;
  const zip_int64_t count = zip_fread(file_.get(), &more, 1);
  if (count < 0) origin_.fail("cannot be unpacked: {}", zip_file_strerror(file_.get()));
  if (count > 0) origin_.fail("unpacks to more bytes than it claims");
}

}  // namespace tenure::io
