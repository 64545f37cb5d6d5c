#include "report/writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/raise.h"

namespace tenure::report {

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
  chunk_.resize(kFullChunk + kMostEvent);
  const Text program = string(about.program);
  const Text version = string(about.version);
  define<events::About>({program, version, {about.started}});
  flush();
}

// For an event, and `count` bytes more.
void Writer::make_room(std::size_t count) {
  if (size_ + kMostEvent + count > kMostChunk) flush();
  if (size_ + kMostEvent + count > chunk_.size()) {
    chunk_.resize(std::max(size_ + kMostEvent + count, 2 * chunk_.size()));
  }
}

Text Writer::string(std::string_view text) {
  if (text.empty()) return {};
  if (const auto known = strings_.find(text); known != strings_.end()) return known->second;
  text = text.substr(0, kMostChunk / 4);
  const Text added{static_cast<std::uint32_t>(strings_.size() + 1)};
  strings_.emplace(text, added);
  define<events::String>({text}, text.size());
  return added;
}

Place Writer::site(std::string_view file, std::uint32_t line, std::string_view function) {
  const SiteKey key{string(file).number, string(function).number, line};
  const auto [known, is_new] =
      sites_.try_emplace(key, Place{static_cast<std::uint32_t>(sites_.size() + 1)});
  if (is_new) define<events::Line>({{key.file}, line, {key.function}});
  return known->second;
}

// Strings and sites that the next event refers to are in the chunk before it.
void Writer::begin_chunk(std::uint32_t thread) {
  flush();
  thread_ = thread;
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
  write<events::End>(time, thread_, {events_, whole_process});
  --events_;
  flush();
}

}  // namespace tenure::report
