// Writes a recording, event by event (memory/event_kinds.h). It knows the format and nothing of the
// runtime: whoever has events and names for places in a program, in any language, can use it.
//
//   report::FileSink file("run.tenure");
//   report::Writer writer(file, {.program = "node train.js"});
//   const auto line = writer.site("train.js", 12, "step");
//   writer.write<events::Allocate>(time, thread, {.storage = 1, .nbytes = {64}, .capacity = {64}});
//   writer.write<events::Birth>(time, thread, {.dtype = writer.string("float32"),
//                                              .shape = writer.string("[16]"), .holder = 1,
//                                              .id = {7}, .storage = {1},
//                                              .op = writer.string("add"), .site = line,
//                                              .nbytes = 64});
//   writer.close(time);
//
// Storages, holders (tensors and saved values) and spans have numbers of the caller's choice, which
// may be used again once what had them is gone; small ones take fewer bytes. Times are nanoseconds
// since the start, and do not go back on a thread. Not for use from several threads at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/format.h"

namespace tenure::report {

// Where the bytes go. IoError when they cannot.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
};

// A file that is made, or made empty.
class FileSink final : public Sink {
 public:
  explicit FileSink(std::string path);
  ~FileSink() override;
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  void write(std::span<const std::byte> bytes) override;

 private:
  std::string path_;
  int fd_ = -1;
};

struct About {
  std::string program;
  std::string version;
  std::int64_t started = 0;  // nanoseconds since 1970
};

class Writer {
 public:
  Writer(Sink& sink, const About& about);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  Text string(std::string_view text);
  Place site(std::string_view file, std::uint32_t line, std::string_view function);

  // A kind of event with a time. Flags for the fields that it has are set by having them.
  template <template <class> class Kind>
  void write(std::int64_t time, std::uint32_t thread, const Told<Kind>& event) {
    static_assert(events::kNumber<Told<Kind>> >= events::kFirstTimed);
    if (size_ >= kFullChunk || thread != thread_) [[unlikely]]
      begin_chunk(thread);
    time = std::max(time, time_);
    put_event(event, static_cast<std::uint64_t>(time - std::exchange(time_, time)));
    ++events_;
  }

  std::uint64_t events() const { return events_; }
  void flush();  // what was told so far is in the sink, and can be read
  // Nothing more will be told; `whole_process`: because the process ends.
  void close(std::int64_t time, bool whole_process = false);

 private:
  static constexpr std::size_t kFullChunk = std::size_t{64} << 10;
  // Without texts, which are events of their own.
  static constexpr std::size_t kMostEvent = 16 * kMostVarint;

  void begin_chunk(std::uint32_t thread);
  void make_room(std::size_t count);

  // Definitions; `extra` bytes of text come with it.
  template <template <class> class Kind>
  void define(const Told<Kind>& definition, std::size_t extra = 0) {
    make_room(extra);
    put_event(definition);
  }
  // A local pointer to where the next byte goes stays in a register, which a member would not.
  template <class Event, class... Time>
  void put_event(const Event& event, Time... since) {
    using Fields = decltype(Event::fields(event));
    static_assert((2 + std::tuple_size_v<Fields>)*kMostVarint <= kMostEvent);
    char* to = chunk_.data() + size_;
    *to++ = static_cast<char>(events::kNumber<Event>);
    ((to = put(to, since)), ...);
    flags_ = 0;
    events::for_each_field(event, [&](auto, const auto& field) { flags_ |= flag_of(field); });
    events::for_each_field(event, [&](auto, const auto& field) { to = put(to, field); });
    size_ = static_cast<std::size_t>(to - chunk_.data());
  }
  template <class T>
  static std::uint8_t flag_of(const T&) {
    return 0;
  }
  template <std::uint8_t kFlag>
  static std::uint8_t flag_of(const events::If<Text, kFlag>& field) {
    return field.value == Text() ? 0 : kFlag;
  }

  // Each gives where the next one goes. Whoever begins an event makes sure of its room.
  static char* put(char* to, std::uint64_t number) { return put_varint(to, number); }
  static char* put(char* to, std::uint32_t number) { return put_varint(to, number); }
  static char* put(char* to, bool mark) { return put_varint(to, mark ? 1 : 0); }
  static char* put(char* to, Category category) {
    return put_varint(to, static_cast<std::uint64_t>(category));
  }
  static char* put(char* to, double number) {
    return std::copy_n(reinterpret_cast<const char*>(&number), sizeof number, to);
  }
  static char* put(char* to, Text text) { return put_varint(to, text.number); }
  static char* put(char* to, Place place) { return put_varint(to, place.number); }
  static char* put(char* to, events::Bytes bytes) { return put_varint(to, bytes.count); }
  static char* put(char* to, events::Signed value) { return put_varint(to, zigzag(value.number)); }
  static char* put(char* to, events::Instance instance) {
    return put_varint(to, instance.of << 1 | (instance.before ? 1 : 0));
  }
  static char* put(char* to, events::Spelled spelled) {
    return std::ranges::copy(spelled.text, put_varint(to, spelled.text.size())).out;
  }
  char* put(char* to, events::Id id) {
    const std::uint64_t last = std::exchange(last_id_, id.number);
    return put_varint(to, zigzag(static_cast<std::int64_t>(id.number - last)));
  }
  char* put(char* to, events::Flags flags) {
    *to++ = static_cast<char>(flags_ |= flags.bits);
    return to;
  }
  template <class T, std::uint8_t kFlag>
  char* put(char* to, const events::If<T, kFlag>& field) {
    return (flags_ & kFlag) != 0 ? put(to, field.value) : to;
  }
  template <class T, std::uint8_t kFlag>
  char* put(char* to, const events::Unless<T, kFlag>& field) {
    return (flags_ & kFlag) == 0 ? put(to, field.value) : to;
  }

  struct SiteKey {
    std::uint32_t file, function, line;
    bool operator==(const SiteKey&) const = default;
  };
  struct SiteHash {
    std::size_t operator()(const SiteKey& key) const {
      return (key.file * std::size_t{0x9e3779b97f4a7c15} + key.line) * 31 + key.function;
    }
  };
  struct TextHash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  Sink& sink_;
  std::vector<char> chunk_;  // its head, then the payload, then room: at least for a full one
  std::size_t size_;         // of head and payload
  std::uint32_t thread_ = 0;
  std::int64_t time_ = 0;  // of the last event in the chunk
  std::uint64_t last_id_ = 0;
  std::uint8_t flags_ = 0;  // of the event that is being written
  std::uint64_t events_ = 0;
  std::unordered_map<std::string, Text, TextHash, std::equal_to<>> strings_;
  std::unordered_map<SiteKey, Place, SiteHash> sites_;
};

}  // namespace tenure::report
