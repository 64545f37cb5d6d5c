// libzip writes an archive through a source of ours, and reads each entry through another.
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <vector>

#include "io/zip_archive.h"

namespace tenure::io {
namespace {

// What both kinds of source share: an exception must not pass through C code, so it waits here.
struct Failure {
  std::exception_ptr exception;
  template <class F>
  zip_int64_t guard(F&& call) noexcept {
    try {
      return call();
    } catch (...) {
      if (exception == nullptr) exception = std::current_exception();
      return -1;
    }
  }
};

// libzip asks a source what went wrong; the answer is only that something did.
zip_int64_t tell_error(void* data, zip_uint64_t length, int code, int system) {
  int codes[2] = {code, system};
  if (length < sizeof codes) return -1;
  std::memcpy(data, codes, sizeof codes);
  return sizeof codes;
}

struct Input {
  Failure* failure;
  std::uint64_t size;
  std::function<ZipWriter::Parts()> open;
  ZipWriter::Parts parts;
  std::size_t part = 0;

  zip_int64_t read(void* to, zip_uint64_t length) {
    while (part < parts.size() && parts[part].empty()) ++part;
    if (part == parts.size()) return 0;
    std::span<const std::byte>& rest = parts[part];
    const std::size_t count = std::min<std::size_t>(rest.size(), length);
    std::memcpy(to, rest.data(), count);
    rest = rest.subspan(count);
    return static_cast<zip_int64_t>(count);
  }
};

zip_int64_t input_callback(void* user, void* data, zip_uint64_t length, zip_source_cmd_t command) {
  auto& input = *static_cast<Input*>(user);
  switch (command) {
    case ZIP_SOURCE_OPEN:
      return input.failure->guard([&]() -> zip_int64_t {
        input.parts = input.open();
        input.part = 0;
        return 0;
      });
    case ZIP_SOURCE_READ:
      return input.read(data, length);
    case ZIP_SOURCE_CLOSE:
      input.parts.clear();
      return 0;
    case ZIP_SOURCE_STAT: {
      auto* stat = static_cast<zip_stat_t*>(data);
      zip_stat_init(stat);
      stat->size = input.size;
      stat->valid = ZIP_STAT_SIZE;
      return sizeof *stat;
    }
    case ZIP_SOURCE_ERROR:
      return tell_error(data, length, ZIP_ER_READ, EIO);
    case ZIP_SOURCE_FREE:
      delete &input;
      return 0;
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                            ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
    default:
      return -1;
  }
}

struct Output {
  Failure* failure;
  AtomicFile* file;
  std::uint64_t size;
  bool asked_for_old;
};

zip_int64_t output_callback(void* user, void* data, zip_uint64_t length, zip_source_cmd_t command) {
  auto& output = *static_cast<Output*>(user);
  AtomicFile& file = *output.file;
  switch (command) {
    case ZIP_SOURCE_STAT:
      output.asked_for_old = true;  // there is no archive yet
      return -1;
    case ZIP_SOURCE_ERROR:
      return output.asked_for_old ? tell_error(data, length, ZIP_ER_READ, ENOENT)
                                  : tell_error(data, length, ZIP_ER_WRITE, EIO);
    case ZIP_SOURCE_BEGIN_WRITE:
      output.asked_for_old = false;
      return 0;
    case ZIP_SOURCE_COMMIT_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE:  // the AtomicFile's affair
      return 0;
    case ZIP_SOURCE_WRITE:
      return output.failure->guard([&] {
        file.write(std::span(static_cast<const std::byte*>(data), length));
        output.size = std::max(output.size, file.position());
        return static_cast<zip_int64_t>(length);
      });
    case ZIP_SOURCE_TELL_WRITE:
      return static_cast<zip_int64_t>(file.position());
    case ZIP_SOURCE_SEEK_WRITE: {
      const zip_int64_t to =
          zip_source_seek_compute_offset(file.position(), output.size, data, length, nullptr);
      if (to < 0) return -1;
      file.seek(static_cast<std::uint64_t>(to));
      return 0;
    }
    case ZIP_SOURCE_FREE:
      delete &output;
      return 0;
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(
          ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
          ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS,
          ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE,
          ZIP_SOURCE_WRITE, ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_REMOVE, -1);
    default:
      return -1;
  }
}

}  // namespace

struct ZipWriter::State {
  [[noreturn]] void fail(const char* reason) const {
    if (failure.exception != nullptr) std::rethrow_exception(failure.exception);
    raise<IoError>("zip: cannot be written: {}", reason);
  }
  Failure failure;
  zip_t* archive = nullptr;
  bool compress = false;
};

ZipWriter::ZipWriter(AtomicFile& file, bool compress) : state_(std::make_unique<State>()) {
  state_->compress = compress;
  zip_error_t error;
  zip_error_init(&error);
  auto output = std::make_unique<Output>(Output{&state_->failure, &file, 0, false});
  zip_source_t* source = zip_source_function_create(output_callback, output.get(), &error);
  if (source == nullptr) state_->fail(zip_error_strerror(&error));
  [[maybe_unused]] const Output* released = output.release();  // the source's now
  state_->archive = zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error);
  if (state_->archive == nullptr) {
    zip_source_free(source);
    state_->fail(zip_error_strerror(&error));
  }
}

ZipWriter::~ZipWriter() {
  if (state_->archive != nullptr) zip_discard(state_->archive);
}

void ZipWriter::add(const std::string& name, std::uint64_t size, std::function<Parts()> open) {
  zip_t* archive = state_->archive;
  auto input = std::make_unique<Input>(Input{&state_->failure, size, std::move(open), {}, 0});
  zip_source_t* source = zip_source_function(archive, input_callback, input.get());
  if (source == nullptr) state_->fail(zip_strerror(archive));
  [[maybe_unused]] const Input* released = input.release();  // the source's now
  const zip_int64_t index = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    state_->fail(zip_strerror(archive));
  }
  const auto entry = static_cast<zip_uint64_t>(index);
  constexpr zip_uint16_t kFirstDay = (1 << 5) | 1;  // of 1980: the same tensors give the same bytes
  if (zip_set_file_compression(archive, entry, state_->compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                               0) != 0 ||
      zip_file_set_dostime(archive, entry, 0, kFirstDay, 0) != 0) {
    state_->fail(zip_strerror(archive));
  }
}

void ZipWriter::finish() {
  if (zip_close(state_->archive) != 0) state_->fail(zip_strerror(state_->archive));
  state_->archive = nullptr;
}

}  // namespace tenure::io
