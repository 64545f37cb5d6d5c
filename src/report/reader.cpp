// Reads a recording in two passes: the first checks every chunk and collects what events refer to,
// the second follows the threads' chunks side by side, in order of time.
#include "report/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <vector>

#include "io/endian.h"
#include "io/file.h"
#include "report/format.h"
#include "report/run_builder.h"

namespace tenure::report {
namespace {

using io::Origin;

// One event as it stands in the file.
struct Event {
  Tag tag = Tag::end;
  std::int64_t time = 0;
  std::uint8_t flags = 0;
  std::array<std::uint64_t, 12> numbers{};
  std::string_view text;  // of a string
  double value = 0;
};

// The payload of one chunk.
class ChunkReader {
 public:
  ChunkReader(const Origin& origin, std::span<const std::byte> bytes)
      : origin_(&origin), bytes_(bytes) {}

  bool at_end() const { return at_ == bytes_.size(); }

  Event next() {
    Event event;
    event.tag = static_cast<Tag>(byte());
    switch (event.tag) {
      case Tag::about:
        numbers(event, 3);
        return event;
      case Tag::string: {
        const std::uint64_t size = varint();
        if (size > bytes_.size() - at_) damaged();
        event.text = {reinterpret_cast<const char*>(bytes_.data() + at_),
                      static_cast<std::size_t>(size)};
        at_ += static_cast<std::size_t>(size);
        return event;
      }
      case Tag::site:
        numbers(event, 3);
        return event;
      default:
        break;
    }
    const std::uint64_t since = varint();
    if (since > kLongest || time_ > static_cast<std::int64_t>(kLongest)) damaged();
    time_ += static_cast<std::int64_t>(since);
    event.time = time_;
    fields(event);
    return event;
  }

 private:
  static constexpr std::uint64_t kLongest = std::uint64_t{1} << 59;  // 18 years

  void fields(Event& event) {
    switch (event.tag) {
      case Tag::birth:
        birth(event);
        break;
      case Tag::death:
      case Tag::allocate:
        numbers(event, 4);
        break;
      case Tag::op:
        numbers(event, 4);
        break;
      case Tag::name:
      case Tag::claim:
      case Tag::pool:
        numbers(event, 2);
        break;
      case Tag::move:
      case Tag::free:
      case Tag::raised:
        numbers(event, 3);
        break;
      case Tag::span_begin:
        numbers(event, 5);
        break;
      case Tag::span_end:
      case Tag::budget:
      case Tag::live:
        numbers(event, 1);
        break;
      case Tag::end:
        numbers(event, 2);
        break;
      case Tag::value:
        numbers(event, 2);
        if (bytes_.size() - at_ < 8) damaged();
        event.value = io::load_little<double>(bytes_.data() + at_);
        at_ += 8;
        break;
      default:
        origin_->fail("an event of a kind that is not known: {}: written by a newer version?",
                      static_cast<int>(event.tag));
    }
  }

  // holder, id, storage, op, site, dtype, shape, nbytes, category, scope, name, owner
  void birth(Event& event) {
    auto& to = event.numbers;
    event.flags = byte();
    to[0] = varint();
    last_id_ += static_cast<std::uint64_t>(unzigzag(varint()));
    to[1] = last_id_;
    if ((event.flags & kIsSymbolic) == 0) to[2] = varint();
    for (std::size_t i = 3; i < 10; ++i) to[i] = varint();
    if ((event.flags & kHasName) != 0) to[10] = varint();
    if ((event.flags & kIsSaved) != 0) to[11] = varint();
  }

  void numbers(Event& event, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) event.numbers[i] = varint();
  }
  std::uint8_t byte() {
    if (at_end()) damaged();
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if ((next & 0x80) == 0) return value;
    }
    damaged();
  }
  [[noreturn]] void damaged() const { origin_->fail("damaged: an event is cut off"); }

  const Origin* origin_;
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::int64_t time_ = 0;
  std::uint64_t last_id_ = 0;
};

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
    for (ChunkReader chunk(origin_, payload); !chunk.at_end();) {
      const Event event = chunk.next();
      const auto& numbers = event.numbers;
      if (event.tag == Tag::string) {
        run_.strings.emplace_back(event.text);
      } else if (event.tag == Tag::site) {
        run_.sites.push_back({string(numbers[0]), small(numbers[1]), string(numbers[2])});
      } else if (event.tag == Tag::about) {
        run_.program = run_.strings[string(numbers[0])];
        run_.version = run_.strings[string(numbers[1])];
        run_.started = unzigzag(numbers[2]);
      }
    }
  }

  // One thread's place in the second pass, at its next event.
  struct Cursor {
    const ThreadChunks* thread = nullptr;
    std::size_t next_chunk = 0;
    ChunkReader chunk;
    Event event;
    std::int64_t time = 0;
  };

  bool advance(Cursor& cursor) const {
    for (;;) {
      while (cursor.chunk.at_end()) {
        if (cursor.next_chunk == cursor.thread->chunks.size()) return false;
        cursor.chunk = ChunkReader(origin_, cursor.thread->chunks[cursor.next_chunk++]);
      }
      cursor.event = cursor.chunk.next();
      if (cursor.event.tag <= Tag::site) continue;
      cursor.time = std::max(cursor.time, cursor.event.time);
      return true;
    }
  }

  // Of two events of one moment on different threads, the one that ends something comes first: what
  // begins may use its number.
  static bool ends(const Event& event) {
    return event.tag == Tag::death || event.tag == Tag::free || event.tag == Tag::span_end;
  }

  void merge() {
    std::vector<Cursor> cursors;
    cursors.reserve(threads_.size());
    for (const auto& [number, thread] : threads_) {
      cursors.push_back({&thread, 0, ChunkReader(origin_, {}), {}, 0});
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
    const Event& event = cursor.event;
    const auto& n = event.numbers;
    const RunBuilder::Moment at{cursor.time, cursor.thread->thread};
    run_.length = std::max(run_.length, at.time);
    if (event.tag != Tag::end) ++run_.events;
    switch (event.tag) {
      case Tag::birth:
        birth(at, event);
        break;
      case Tag::death:
        builder_.death(at, n[0], string(n[1]), site(n[2]), string(n[3]));
        break;
      case Tag::name:
        builder_.name(n[0], string(n[1]));
        break;
      case Tag::claim:
        builder_.claim(at, n[0], category(n[1]));
        break;
      case Tag::move:
        builder_.move(at, n[0], n[1], n[2] != 0);
        break;
      case Tag::allocate:
        builder_.allocate(at, n[0], size(n[1]), size(n[2]), n[3] != 0);
        break;
      case Tag::free:
        builder_.free(at, n[0], size(n[1]), size(n[2]));
        break;
      case Tag::span_begin: {
        Span span;
        span.kind = string(n[1]);
        span.name = string(n[2]);
        span.site = site(n[3]);
        span.of = n[4] >> 1;
        builder_.begin_span(at, n[0], span, (n[4] & 1) != 0);
        break;
      }
      case Tag::span_end:
        builder_.end_span(at, n[0]);
        break;
      case Tag::op: {
        OpRun op;
        op.op = string(n[0]);
        op.site = site(n[1]);
        op.duration = static_cast<std::int64_t>(
            std::min(n[2], static_cast<std::uint64_t>(std::max<std::int64_t>(at.time, 0))));
        op.begin = at.time - op.duration;
        op.bytes = n[3];
        builder_.op(at, op);
        break;
      }
      case Tag::value:
        run_.values.push_back({string(n[0]), at.time, n[1], event.value});
        break;
      case Tag::pool:
        run_.pool.push_back({at.time, n[0], n[1]});
        break;
      case Tag::budget:
        run_.budget = n[0];
        break;
      case Tag::raised:
        run_.raised.push_back({at.time, string(n[0]), site(n[1]), n[2]});
        break;
      case Tag::live:
        builder_.live(size(n[0]));
        break;
      case Tag::end:
        run_.cut_short = false;
        run_.whole_process = n[1] != 0;
        break;
      case Tag::about:
      case Tag::string:
      case Tag::site:
        break;
    }
  }

  void birth(RunBuilder::Moment at, const Event& event) {
    const auto& n = event.numbers;
    RunBuilder::Birth birth;
    birth.holder = n[0];
    birth.storage = n[2];
    birth.scope = n[9];
    birth.category = category(n[8]);
    birth.symbolic = (event.flags & kIsSymbolic) != 0;
    TensorLife& life = birth.life;
    life.id = n[1];
    life.op = string(n[3]);
    life.birth_site = site(n[4]);
    life.dtype = string(n[5]);
    life.shape = string(n[6]);
    life.nbytes = n[7];
    life.name = string(n[10]);
    life.owner = string(n[11]);
    life.before = (event.flags & kWasBefore) != 0;
    builder_.birth(at, birth);
  }

  std::uint32_t string(std::uint64_t number) const {
    if (number >= run_.strings.size()) origin_.fail("damaged: there is no string {}", number);
    return static_cast<std::uint32_t>(number);
  }
  std::uint32_t site(std::uint64_t number) const {
    if (number == 0) return kNone;
    if (number > run_.sites.size()) origin_.fail("damaged: there is no site {}", number);
    return static_cast<std::uint32_t>(number - 1);
  }
  Category category(std::uint64_t number) const {
    if (number >= kCategories) origin_.fail("damaged: there is no category {}", number);
    return static_cast<Category>(number);
  }
  // Bytes that were there: no machine has as many as would not add up.
  std::uint64_t size(std::uint64_t bytes) const {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
    if (bytes > kMost) origin_.fail("damaged: {} bytes in one place", bytes);
    return bytes;
  }
  std::uint32_t small(std::uint64_t number) const {
    if (number >= kNone) origin_.fail("damaged: {} is no line", number);
    return static_cast<std::uint32_t>(number);
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

Run read_run(std::span<const std::byte> bytes, const std::string& name) {
  const Origin origin{"recording", name};
  return Reader(origin, bytes).read();
}

}  // namespace tenure::report
