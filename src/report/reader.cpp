// Reads a recording in two passes: the first checks every chunk and collects what events refer to,
// the second follows the threads' chunks side by side, in order of time.
#include "report/reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <queue>
#include <vector>

#include "io/endian.h"
#include "io/file.h"
#include "report/chunk_reader.h"
#include "report/run_builder.h"

namespace tenure::report {
namespace {

using io::Origin;

// The chunks of one thread, in the order in which they were written.
struct ThreadChunks {
  std::uint32_t thread = 0;
  std::vector<std::span<const std::byte>> chunks;
};

class Reader {
 public:
  Reader(const Origin& origin, std::span<const std::byte> bytes)
      : origin_(origin), bytes_(bytes), builder_(run_) {}

  Run read() {
    run_.strings.emplace_back();
    run_.cut_short = true;  // until its end is seen
    if (bytes_.size() < kMagic.size() ||
        std::memcmp(bytes_.data(), kMagic.data(), kMagic.size() - 2) != 0) {
      origin_.fail("this is no recording");
    }
    if (std::memcmp(bytes_.data(), kMagic.data(), kMagic.size()) != 0) {
      origin_.fail("a recording of another version of the format: {}",
                   static_cast<int>(bytes_[kMagic.size() - 2]));
    }
    collect();
    merge();
    builder_.finish();
    return std::move(run_);
  }

 private:
  // The first pass.
  void collect() {
    std::size_t at = kMagic.size();
    while (bytes_.size() - at >= kChunkHead) {
      const auto length = io::load_little<std::uint32_t>(bytes_.data() + at);
      const auto thread = io::load_little<std::uint32_t>(bytes_.data() + at + 4);
      const auto sum = io::load_little<std::uint64_t>(bytes_.data() + at + 8);
      if (length > kMostChunk) origin_.fail("damaged: a chunk of {} bytes", length);
      if (length > bytes_.size() - at - kChunkHead) break;  // the program ended while writing it
      const auto payload = bytes_.subspan(at + kChunkHead, length);
      if (checksum(payload, thread) != sum) {
        origin_.fail("damaged: the chunk at byte {} is not what was written", at);
      }
      at += kChunkHead + length;
      define(payload);
      auto& chunks = threads_[thread];
      chunks.thread = thread;
      chunks.chunks.push_back(payload);
    }
  }

  void define(std::span<const std::byte> payload) {
    for (ChunkReader chunk(origin_, run_, payload); !chunk.at_end();) {
      const ReadEvent event = chunk.next();
      if (const auto* string = std::get_if<Told<events::String>>(&event.told)) {
        run_.strings.emplace_back(string->text.text);
      } else if (const auto* line = std::get_if<Told<events::Line>>(&event.told)) {
        run_.sites.push_back({line->file.number, line->line, line->function.number});
      } else if (const auto* about = std::get_if<Told<events::About>>(&event.told)) {
        run_.program = run_.strings[about->program.number];
        // Older recordings of JavaScript do not tell their language.
        if (run_.program.starts_with("node ")) run_.language = Language::javascript;
        run_.version = run_.strings[about->version.number];
        run_.started = about->started.number;
      }
    }
  }

  // One thread's place in the second pass, at its next event.
  struct Cursor {
    const ThreadChunks* thread = nullptr;
    std::size_t next_chunk = 0;
    ChunkReader chunk;
    ReadEvent event;
    std::int64_t time = 0;
  };

  bool advance(Cursor& cursor) const {
    for (;;) {
      while (cursor.chunk.at_end()) {
        if (cursor.next_chunk == cursor.thread->chunks.size()) return false;
        cursor.chunk = ChunkReader(origin_, run_, cursor.thread->chunks[cursor.next_chunk++]);
      }
      cursor.event = cursor.chunk.next();
      if (cursor.event.is_definition()) continue;
      cursor.time = std::max(cursor.time, cursor.event.time);
      return true;
    }
  }

  // Of two events of one moment on different threads, the one that ends something comes first: what
  // begins may use its number.
  static bool ends(const ReadEvent& event) {
    return std::holds_alternative<Told<events::Death>>(event.told) ||
           std::holds_alternative<Told<events::Free>>(event.told) ||
           std::holds_alternative<Told<events::SpanEnd>>(event.told);
  }

  void merge() {
    std::vector<Cursor> cursors;
    cursors.reserve(threads_.size());
    for (const auto& [number, thread] : threads_) {
      cursors.push_back({&thread, 0, ChunkReader(origin_, run_, {}), {}, 0});
      if (!advance(cursors.back())) cursors.pop_back();
    }
    const auto later = [](const Cursor* a, const Cursor* b) {
      if (a->time != b->time) return a->time > b->time;
      if (ends(a->event) != ends(b->event)) return ends(b->event);
      return a->thread->thread > b->thread->thread;
    };
    std::priority_queue<Cursor*, std::vector<Cursor*>, decltype(later)> queue(later);
    for (Cursor& cursor : cursors) queue.push(&cursor);
    while (!queue.empty()) {
      Cursor* cursor = queue.top();
      queue.pop();
      apply(*cursor);
      if (advance(*cursor)) queue.push(cursor);
    }
  }

  void apply(const Cursor& cursor) {
    const RunBuilder::Moment at{cursor.time, cursor.thread->thread};
    run_.length = std::max(run_.length, at.time);
    if (!std::holds_alternative<Told<events::End>>(cursor.event.told)) ++run_.events;
    std::visit(
        [&]<class Event>(const Event& event) {
          if constexpr (events::kNumber<Event> >= events::kFirstTimed) builder_.tell(at, event);
        },
        cursor.event.told);
  }

  const Origin& origin_;
  std::span<const std::byte> bytes_;
  Run run_;
  RunBuilder builder_;
  std::map<std::uint32_t, ThreadChunks> threads_;
};

}  // namespace

Run read_run(const std::filesystem::path& path) {
  const io::File file("recording", path.string());
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.size()));
  file.read(0, bytes);
  return Reader(file.origin(), bytes).read();
}

bool is_recording(const std::filesystem::path& path) {
  std::array<char, kMagic.size() - 2> begin{};  // of any version
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), begin.size()) &&
         std::memcmp(begin.data(), kMagic.data(), begin.size()) == 0;
}

Run read_run(std::span<const std::byte> bytes, const std::string& name) {
  const Origin origin{"recording", name};
  return Reader(origin, bytes).read();
}

}  // namespace tenure::report
