// Every kind of event by its description alone: a new kind is tested here by being listed.
#include <fstream>
#include <iterator>
#include <limits>
#include <random>

#include "core/category.h"
#include "report/chunk_reader.h"
#include "report/string_sink.h"
#include "support/expect.h"

namespace tenure::report {
namespace {

using testing::StringSink;

std::string contents(const std::string& path) {
  std::ifstream file(std::string(TENURE_SOURCE_DIR) + "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Anything that a field may be in a file with these strings and sites.
class Random {
 public:
  explicit Random(const Run& defined) : defined_(defined) {}

  template <class Event>
  Event event() {
    Event event;
    events::for_each_field(event, [&](auto, auto& field) { fill(field); });
    return event;
  }

 private:
  std::uint64_t number() { return bits_() >> bits_() % 64; }
  void fill(std::uint64_t& field) { field = number(); }
  void fill(std::uint32_t& field) { field = static_cast<std::uint32_t>(number() % kNone); }
  void fill(bool& field) { field = number() % 2 == 0; }
  void fill(double& field) { field = static_cast<double>(number()) * -0.125; }
  void fill(Category& field) { field = static_cast<Category>(number() % kCategories); }
  void fill(Text& field) {
    field.number = static_cast<std::uint32_t>(number() % defined_.strings.size());
  }
  void fill(Place& field) {
    field.number = static_cast<std::uint32_t>(number() % (defined_.sites.size() + 1));
  }
  void fill(events::Bytes& field) { field.count = number() >> 11; }
  void fill(events::Signed& field) { field.number = static_cast<std::int64_t>(number()); }
  void fill(events::Instance& field) { field = {number() >> 1, number() % 2 == 0}; }
  void fill(events::Spelled& field) { field.text = "spelled"; }
  void fill(events::Id& field) { field.number = number(); }
  void fill(events::Flags& field) { flags_ = field = {static_cast<std::uint8_t>(bits_() % 16)}; }
  template <class T, std::uint8_t kFlag>
  void fill(events::If<T, kFlag>& field) {
    if (flags_.has(kFlag)) fill(field.value);
  }
  template <class T, std::uint8_t kFlag>
  void fill(events::Unless<T, kFlag>& field) {
    if (!flags_.has(kFlag)) fill(field.value);
  }

  const Run& defined_;
  events::Flags flags_;
  std::mt19937_64 bits_{1};
};

template <class Event>
void expect_same(const Event& one, const Event& other) {
  const auto expect_same_field = [](auto a, auto b) {
    EXPECT_TRUE(a.value == b.value) << Event::kName << ": " << a.name;
  };
  std::apply(
      [&](auto... a) {
        std::apply([&](auto... b) { (expect_same_field(a, b), ...); }, Event::fields(other));
      },
      Event::fields(one));
}

class Kinds : public ::testing::Test {
 protected:
  Kinds() {
    for (const char* text : {"", "1.2.3", "add", "train.js"}) defined_.strings.emplace_back(text);
    defined_.sites.push_back({3, 12, 2});
    sink_.text.clear();
  }
  // The payload of its chunk. Its references need no definitions: nothing reads the file.
  template <template <class> class Kind>
  std::string written(std::int64_t time, const Told<Kind>& event) {
    writer_.write(time, 0, event);
    writer_.flush();
    const std::string payload = sink_.text.substr(kChunkHead);
    sink_.text.clear();
    return payload;
  }
  ReadEvent read(const std::string& payload) const {
    ChunkReader chunk(origin_, defined_, std::as_bytes(std::span(payload)));
    ReadEvent event = chunk.next();
    EXPECT_TRUE(chunk.at_end());
    return event;
  }
  template <class Check>
  static void for_each_timed(Check&& check) {
    events::for_each_kind<InFile>([&]<class Event>(std::type_identity<Event> kind) {
      if constexpr (events::kNumber<Event> >= events::kFirstTimed) check(kind);
    });
  }

  StringSink sink_;
  Writer writer_{sink_, {.program = "", .version = "1.2.3"}};
  report::Run defined_;
  io::Origin origin_{"recording", "memory"};
};

TEST_F(Kinds, a_reader_reads_what_a_writer_wrote) {
  Random random(defined_);
  for_each_timed([&]<class Event>(std::type_identity<Event>) {
    for (std::int64_t time = 0; time < 200; ++time) {
      const Event event = random.template event<Event>();
      const ReadEvent read_event = read(written(time, event));
      EXPECT_EQ(read_event.time, time);
      const Event* same_kind = std::get_if<Event>(&read_event.told);
      ASSERT_NE(same_kind, nullptr) << Event::kName;
      expect_same(*same_kind, event);
    }
  });
}

TEST_F(Kinds, an_event_that_is_cut_off_is_an_error) {
  Random random(defined_);
  for_each_timed([&]<class Event>(std::type_identity<Event>) {
    const std::string payload = written(1, random.template event<Event>());
    for (std::size_t size = 0; size < payload.size(); ++size) {
      EXPECT_THROW(read(payload.substr(0, size)), IoError) << Event::kName << " " << size;
    }
  });
}

TEST_F(Kinds, a_field_that_refers_to_nothing_is_an_error) {
  Random random(defined_);
  for_each_timed([&]<class Event>(std::type_identity<Event>) {
    Event event = random.template event<Event>();
    events::for_each_field(event, [&]<class T>(const char* name, T& field) {
      const T good = field;
      if constexpr (std::is_same_v<T, Text> || std::is_same_v<T, Place>) {
        field.number = 5;
      } else if constexpr (std::is_same_v<T, Category>) {
        field = static_cast<Category>(kCategories);
      } else if constexpr (std::is_same_v<T, events::Bytes>) {
        field.count = std::numeric_limits<std::uint64_t>::max();
      } else {
        return;
      }
      EXPECT_THROW(read(written(1, event)), IoError) << Event::kName << ": " << name;
      field = good;
    });
  });
}

TEST_F(Kinds, the_first_number_that_no_kind_has_is_an_error) {
  const char next = static_cast<char>(std::tuple_size_v<events::Kinds<InFile>> + 1);
  EXPECT_THROW(read({next, 0, 0, 0}), IoError);
}

// How the document says what a field is.
std::string note(std::uint64_t) { return ""; }
std::string note(std::uint32_t) { return ""; }
std::string note(Category) { return ""; }
std::string note(events::Bytes) { return ""; }
std::string note(Place) { return ""; }
std::string note(bool) { return " (1 or 0)"; }
std::string note(double) { return " (8 bytes)"; }
std::string note(Text) { return " (string)"; }
std::string note(events::Signed) { return " (signed)"; }
std::string note(events::Id) { return " (signed: less the last)"; }
std::string note(events::Instance) { return " (twice, plus 1 if before)"; }
std::string note(events::Spelled) { return " (length, bytes)"; }
std::string note(events::Flags) { return " (a byte)"; }
template <class T, std::uint8_t kFlag>
std::string note(const events::If<T, kFlag>& field) {
  return note(field.value) + " if flag " + std::to_string(kFlag);
}
template <class T, std::uint8_t kFlag>
std::string note(const events::Unless<T, kFlag>& field) {
  return note(field.value) + " unless flag " + std::to_string(kFlag);
}

TEST(KindsInWriting, the_document_has_the_fields_of_every_kind) {
  const std::string document = contents("docs/design/recording.md");
  events::for_each_kind<InFile>([&]<class Event>(std::type_identity<Event>) {
    std::string fields;
    Event event;
    events::for_each_field(event, [&](const char* name, const auto& field) {
      fields += (fields.empty() ? "" : ", ") + std::string(name) + note(field);
    });
    const std::string row = "\n| " + std::string(Event::kName) + " | " +
                            std::to_string(events::kNumber<Event>) + " | " + fields + " |";
    EXPECT_HAS(document, row);
  });
}

// Recordings are kept: every byte of this one is as the first version of the format wrote it.
TEST(KindsInWriting, the_bytes_of_every_kind_stay_what_they_were) {
  StringSink sink;
  Writer writer(sink, {.program = "node train.js", .version = "1.2.3", .started = -1000});
  const Text add = writer.string("add"), kind = writer.string("tidy"),
             dtype = writer.string("float32"), shape = writer.string("[16]");
  const Place site = writer.site("train.js", 12, "step");
  const Text step = writer.string("step");
  writer.write<events::Budget>(1, 0, {1 << 20});
  writer.write<events::PoolSize>(2, 0, {4096, 64});
  writer.write<events::SpanBegin>(0, 0, {.span = 3, .kind = kind, .instance = {.before = true}});
  writer.write<events::SpanBegin>(5, 0, {7, kind, step, site, {.of = 300}});
  writer.write<events::Allocate>(6, 0, {2, {1000}, {1024}, true});
  const Text w = writer.string("w"), variable = writer.string("variable \"w\"");
  writer.write<events::Birth>(7, 0,
                              {.flags = {events::kSaved | events::kBefore},
                               .category = Category::parameter,
                               .dtype = dtype,
                               .shape = shape,
                               .name = {w},
                               .holder = 2,
                               .id = {40},
                               .storage = {2},
                               .op = add,
                               .site = site,
                               .nbytes = 1000,
                               .owner = {variable}});
  writer.write<events::Live>(8, 0, {{5000}});
  writer.write<events::Allocate>(10, 0, {1, {64}, {64}});
  writer.write<events::OpEnd>(15, 0, {add, site, 4, 64});
  writer.write<events::Birth>(20, 0,
                              {.dtype = dtype,
                               .shape = shape,
                               .holder = 1,
                               .id = {39},
                               .storage = {1},
                               .op = add,
                               .site = site,
                               .nbytes = 64,
                               .scope = 8});
  writer.write<events::Birth>(20, 0,
                              {.flags = {events::kSymbolic},
                               .dtype = dtype,
                               .shape = shape,
                               .holder = 300,
                               .id = {std::uint64_t{1} << 40},
                               .op = add,
                               .nbytes = 64});
  writer.write<events::Birth>(
      21, 0, {.flags = {events::kSaved}, .holder = 4, .id = {42}, .storage = {1}, .op = add});
  const Text h = writer.string("h");
  writer.write<events::Name>(21, 1, {1, h});
  writer.write<events::Claim>(22, 1, {1, Category::gradient});
  const Text loss = writer.string("loss");
  writer.write<events::Value>(23, 1, {loss, 3, -0.125});
  const Text error = writer.string("DisposedError: ...");
  writer.write<events::RaisedText>(26, 1, {error, site, 41});
  writer.write<events::Move>(27, 0, {2, 1, true});
  writer.write<events::Move>(28, 0, {2, 2, false});
  const Text by = writer.string("tidy \"step\" ended"), cause = writer.string("scope_exit");
  writer.write<events::Death>(30, 0, {1, cause, site, by});
  writer.write<events::Free>(31, 0, {1, {64}, {64}});
  writer.write<events::SpanEnd>(32, 0, {7});
  writer.close(40, true);
  EXPECT_EQ(sink.text, contents("tests/report/expected/every_kind.bin"));
}

}  // namespace
}  // namespace tenure::report
