// Writes a recording, event by event. It knows the format and nothing of the runtime: whoever has
// events and names for places in a program, in any language, can use it.
//
//   report::FileSink file("run.tenure");
//   report::Writer writer(file, {.program = "node train.js"});
//   const auto line = writer.site("train.js", 12, "step");
//   writer.allocate(time, thread, {.storage = 1, .nbytes = 64, .capacity = 64});
//   writer.birth(time, thread, {.holder = 1, .storage = 1, .id = 7, .op = writer.string("add"),
//                               .dtype = writer.string("float32"), .shape = writer.string("[16]"),
//                               .site = line, .nbytes = 64});
//   writer.close(time);
//
// Storages, holders (tensors and saved values) and spans have numbers of the caller's choice, which
// may be used again once what had them is gone; small ones take fewer bytes. Times are nanoseconds
// since the start, and do not go back on a thread. Not for use from several threads at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/run.h"

namespace tenure::report {

enum class Tag : std::uint8_t;  // in format.h

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

  using Text = std::uint32_t;   // 0: ""
  using Place = std::uint32_t;  // 0: unknown
  Text string(std::string_view text);
  Place site(std::string_view file, std::uint32_t line, std::string_view function);

  struct Birth {
    std::uint64_t holder = 0;
    std::uint64_t storage = 0;  // of a symbolic tensor: not looked at
    std::uint64_t id = 0;
    Text op = 0;
    Text dtype = 0;
    Text shape = 0;
    Place site = 0;
    std::uint64_t nbytes = 0;
    Category category = Category::other;
    std::uint64_t scope = 0;  // the span's number plus 1; 0: none
    Text name = 0;
    Text owner = 0;
    bool saved = false;
    bool symbolic = false;
    bool before = false;  // lived when the recording began
  };
  void birth(std::int64_t time, std::uint32_t thread, const Birth& birth);
  void death(std::int64_t time, std::uint32_t thread, std::uint64_t holder, Text cause, Place site,
             Text by);
  void name(std::int64_t time, std::uint32_t thread, std::uint64_t holder, Text name);
  // What the holder wants its bytes for.
  void claim(std::int64_t time, std::uint32_t thread, std::uint64_t holder, Category category);
  // The holder holds another storage; `at_birth`: and never really held the one before.
  void move(std::int64_t time, std::uint32_t thread, std::uint64_t holder, std::uint64_t storage,
            bool at_birth);

  struct Allocation {
    std::uint64_t storage = 0;
    std::uint64_t nbytes = 0;
    std::uint64_t capacity = 0;  // 0: memory from outside, which counts for nothing
    bool before = false;
  };
  void allocate(std::int64_t time, std::uint32_t thread, const Allocation& allocation);
  void free(std::int64_t time, std::uint32_t thread, const Allocation& allocation);
  // Bytes live at this moment: what the allocations told so far do not come to lived before.
  void live(std::int64_t time, std::uint32_t thread, std::uint64_t bytes);

  // `of`: a number for each of the functions that may have the same name; 0: not told apart.
  void begin_span(std::int64_t time, std::uint32_t thread, std::uint64_t span, Text kind, Text name,
                  Place site, bool before = false, std::uint64_t of = 0);
  void end_span(std::int64_t time, std::uint32_t thread, std::uint64_t span);
  void op(std::int64_t begin, std::int64_t end, std::uint32_t thread, Text op, Place site,
          std::uint64_t bytes);
  void value(std::int64_t time, std::uint32_t thread, Text name, std::uint64_t step, double value);
  void pool(std::int64_t time, std::uint32_t thread, std::uint64_t reserved, std::uint64_t pooled);
  void budget(std::int64_t time, std::uint32_t thread, std::uint64_t bytes);
  void raised(std::int64_t time, std::uint32_t thread, Text text, Place site, std::uint64_t tensor);

  std::uint64_t events() const { return events_; }
  void flush();  // what was told so far is in the sink, and can be read
  // Nothing more will be told; `whole_process`: because the process ends.
  void close(std::int64_t time, bool whole_process = false);

 private:
  void begin(Tag tag, std::int64_t time, std::uint32_t thread);
  void begin_untimed(Tag tag, std::size_t count);
  void put(std::uint64_t value);
  void put_byte(std::uint8_t value);
  void put_bytes(const void* bytes, std::size_t count);

  struct SiteKey {
    Text file, function;
    std::uint32_t line;
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
  std::vector<char> chunk_;  // its head, then the payload, then room
  std::size_t size_;         // of head and payload
  std::uint32_t thread_ = 0;
  std::int64_t time_ = 0;  // of the last event in the chunk
  std::uint64_t last_id_ = 0;
  std::uint64_t events_ = 0;
  std::unordered_map<std::string, Text, TextHash, std::equal_to<>> strings_;
  std::unordered_map<SiteKey, Place, SiteHash> sites_;
};

}  // namespace tenure::report
