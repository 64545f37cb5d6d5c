#include "report/writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/raise.h"
#include "report/format.h"

namespace tenure::report {
namespace {

constexpr std::size_t kFullChunk = std::size_t{64} << 10;
constexpr std::size_t kMostEvent =
    16 * kMostVarint;  // without texts, which are events of their own

}  // namespace

FileSink::FileSink(std::string path)
    : path_(std::move(path)),
      fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (fd_ < 0) raise<IoError>("recording: {}: cannot be made: {}", path_, std::strerror(errno));
}

FileSink::~FileSink() { ::close(fd_); }

void FileSink::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      raise<IoError>("recording: {}: cannot be written: {}", path_, std::strerror(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

Writer::Writer(Sink& sink, const About& about) : sink_(sink), size_(kChunkHead) {
  sink_.write(std::as_bytes(std::span(kMagic)));
  chunk_.resize(kFullChunk + 4 * kMostEvent);
  const Text program = string(about.program);
  const Text version = string(about.version);
  begin_untimed(Tag::about, 0);
  put(program);
  put(version);
  put(zigzag(about.started));
  flush();
}

// Every event makes sure of its room when it begins.
void Writer::put(std::uint64_t value) {
  size_ = static_cast<std::size_t>(put_varint(chunk_.data() + size_, value) - chunk_.data());
}

void Writer::put_byte(std::uint8_t value) { chunk_[size_++] = static_cast<char>(value); }

void Writer::put_bytes(const void* bytes, std::size_t count) {
  std::copy_n(static_cast<const char*>(bytes), count, chunk_.data() + size_);
  size_ += count;
}

// Room for `count` bytes more, and a tag.
void Writer::begin_untimed(Tag tag, std::size_t count) {
  if (size_ + kMostEvent + count > kMostChunk) flush();
  if (size_ + kMostEvent + count > chunk_.size()) {
    chunk_.resize(std::max(size_ + kMostEvent + count, 2 * chunk_.size()));
  }
  put_byte(static_cast<std::uint8_t>(tag));
}

Writer::Text Writer::string(std::string_view text) {
  if (text.empty()) return 0;
  if (const auto found = strings_.find(text); found != strings_.end()) return found->second;
  text = text.substr(0, kMostChunk / 4);
  const auto index = static_cast<Text>(strings_.size() + 1);
  strings_.emplace(text, index);
  begin_untimed(Tag::string, text.size());
  put(text.size());
  put_bytes(text.data(), text.size());
  return index;
}

Writer::Place Writer::site(std::string_view file, std::uint32_t line, std::string_view function) {
  const SiteKey key{string(file), string(function), line};
  if (const auto found = sites_.find(key); found != sites_.end()) return found->second;
  const auto index = static_cast<Place>(sites_.size() + 1);
  sites_.emplace(key, index);
  begin_untimed(Tag::site, 0);
  put(key.file);
  put(line);
  put(key.function);
  return index;
}

// Strings and sites that the event refers to are in this chunk or in one before it.
void Writer::begin(Tag tag, std::int64_t time, std::uint32_t thread) {
  if (size_ >= kFullChunk || thread != thread_) {
    flush();
    thread_ = thread;
  }
  time = std::max(time, time_);
  begin_untimed(tag, 0);
  put(static_cast<std::uint64_t>(time - time_));
  time_ = time;
  ++events_;
}

void Writer::birth(std::int64_t time, std::uint32_t thread, const Birth& birth) {
  begin(Tag::birth, time, thread);
  const int flags = (birth.saved ? kIsSaved : 0) | (birth.symbolic ? kIsSymbolic : 0) |
                    (birth.before ? kWasBefore : 0) | (birth.name != 0 ? kHasName : 0);
  put_byte(static_cast<std::uint8_t>(flags));
  put(birth.holder);
  put(zigzag(static_cast<std::int64_t>(birth.id - last_id_)));
  last_id_ = birth.id;
  if (!birth.symbolic) put(birth.storage);
  put(birth.op);
  put(birth.site);
  put(birth.dtype);
  put(birth.shape);
  put(birth.nbytes);
  put(static_cast<std::uint64_t>(birth.category));
  put(birth.scope);
  if (birth.name != 0) put(birth.name);
  if (birth.saved) put(birth.owner);
}

void Writer::death(std::int64_t time, std::uint32_t thread, std::uint64_t holder, Text cause,
                   Place site, Text by) {
  begin(Tag::death, time, thread);
  put(holder);
  put(cause);
  put(site);
  put(by);
}

void Writer::name(std::int64_t time, std::uint32_t thread, std::uint64_t holder, Text name) {
  begin(Tag::name, time, thread);
  put(holder);
  put(name);
}

void Writer::claim(std::int64_t time, std::uint32_t thread, std::uint64_t holder,
                   Category category) {
  begin(Tag::claim, time, thread);
  put(holder);
  put(static_cast<std::uint64_t>(category));
}

void Writer::move(std::int64_t time, std::uint32_t thread, std::uint64_t holder,
                  std::uint64_t storage, bool at_birth) {
  begin(Tag::move, time, thread);
  put(holder);
  put(storage);
  put(at_birth ? 1 : 0);
}

void Writer::allocate(std::int64_t time, std::uint32_t thread, const Allocation& allocation) {
  begin(Tag::allocate, time, thread);
  put(allocation.storage);
  put(allocation.nbytes);
  put(allocation.capacity);
  put(allocation.before ? 1 : 0);
}

void Writer::free(std::int64_t time, std::uint32_t thread, const Allocation& allocation) {
  begin(Tag::free, time, thread);
  put(allocation.storage);
  put(allocation.nbytes);
  put(allocation.capacity);
}

void Writer::live(std::int64_t time, std::uint32_t thread, std::uint64_t bytes) {
  begin(Tag::live, time, thread);
  put(bytes);
}

void Writer::begin_span(std::int64_t time, std::uint32_t thread, std::uint64_t span, Text kind,
                        Text name, Place site, bool before, std::uint64_t of) {
  begin(Tag::span_begin, time, thread);
  put(span);
  put(kind);
  put(name);
  put(site);
  put(of << 1 | (before ? 1 : 0));
}

void Writer::end_span(std::int64_t time, std::uint32_t thread, std::uint64_t span) {
  begin(Tag::span_end, time, thread);
  put(span);
}

void Writer::op(std::int64_t begin_time, std::int64_t end, std::uint32_t thread, Text op,
                Place site, std::uint64_t bytes) {
  begin(Tag::op, end, thread);
  put(op);
  put(site);
  put(static_cast<std::uint64_t>(std::max<std::int64_t>(end - begin_time, 0)));
  put(bytes);
}

void Writer::value(std::int64_t time, std::uint32_t thread, Text name, std::uint64_t step,
                   double value) {
  begin(Tag::value, time, thread);
  put(name);
  put(step);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  put_bytes(&bits, sizeof bits);
}

void Writer::pool(std::int64_t time, std::uint32_t thread, std::uint64_t reserved,
                  std::uint64_t pooled) {
  begin(Tag::pool, time, thread);
  put(reserved);
  put(pooled);
}

void Writer::budget(std::int64_t time, std::uint32_t thread, std::uint64_t bytes) {
  begin(Tag::budget, time, thread);
  put(bytes);
}

void Writer::raised(std::int64_t time, std::uint32_t thread, Text text, Place site,
                    std::uint64_t tensor) {
  begin(Tag::raised, time, thread);
  put(text);
  put(site);
  put(tensor);
}

void Writer::flush() {
  if (size_ == kChunkHead) return;
  const auto chunk = std::as_bytes(std::span(chunk_)).first(size_);
  const auto payload = chunk.subspan(kChunkHead);
  const auto length = static_cast<std::uint32_t>(payload.size());
  const std::uint64_t sum = checksum(payload, thread_);
  std::memcpy(chunk_.data(), &length, 4);
  std::memcpy(chunk_.data() + 4, &thread_, 4);
  std::memcpy(chunk_.data() + 8, &sum, 8);
  sink_.write(chunk);
  size_ = kChunkHead;
  time_ = 0;
  last_id_ = 0;
}

void Writer::close(std::int64_t time, bool whole_process) {
  begin(Tag::end, time, thread_);
  --events_;
  put(events_);
  put(whole_process ? 1 : 0);
  flush();
}

}  // namespace tenure::report
