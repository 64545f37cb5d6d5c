// The file by itself: what a Writer wrote is what a reader finds, and damage is noticed.
#include <fstream>
#include <random>
#include <span>

#include "report/format.h"
#include "report/reader.h"
#include "report/recorded.h"
#include "report/string_sink.h"

namespace tenure::report {
namespace {

using testing::line;
using testing::message_of;
using testing::StringSink;
using testing::text;

class Format : public testing::Recorded {};

report::Run read(const std::string& bytes) {
  return read_run(std::as_bytes(std::span(bytes)), "memory");
}

// A run of another language: two threads, with everything in it.
std::string written() {
  testing::StringSink sink;
  Writer writer(sink, {.program = "node train.js", .version = "1.2.3", .started = 1000});
  const Text add = writer.string("add");
  const Place site = writer.site("train.js", 12, "step");
  writer.write<events::SpanBegin>(5, 0, {7, writer.string("tidy"), writer.string("step"), site});
  writer.write<events::Allocate>(10, 0, {.storage = 1, .nbytes = {64}, .capacity = {64}});
  writer.write<events::OpEnd>(15, 0, {add, site, 4, 64});
  writer.write<events::Birth>(20, 0,
                              {.dtype = writer.string("float32"),
                               .shape = writer.string("[16]"),
                               .holder = 1,
                               .id = {41},
                               .storage = {1},
                               .op = add,
                               .site = site,
                               .nbytes = 64,
                               .scope = 8});
  writer.write<events::Name>(21, 1, {1, writer.string("h")});
  writer.write<events::Claim>(22, 1, {1, Category::gradient});
  writer.write<events::Value>(23, 1, {writer.string("loss"), 3, 0.125});
  writer.write<events::PoolSize>(24, 1, {4096, 64});
  writer.write<events::Budget>(25, 1, {1 << 20});
  writer.write<events::RaisedText>(
      26, 1, {writer.string("DisposedError: add: gone\n\n  born\n\n  keep it."), site, 41});
  writer.write<events::Death>(
      30, 0, {1, writer.string("scope_exit"), site, writer.string("tidy \"step\" ended")});
  writer.write<events::Free>(31, 0, {1, {64}, {64}});
  writer.write<events::SpanEnd>(32, 0, {7});
  writer.close(40);
  return sink.text;
}

TEST_F(Format, a_writer_needs_no_runtime) {
  const report::Run run = read(written());
  EXPECT_EQ(run.program, "node train.js");
  EXPECT_EQ(run.version, "1.2.3");
  EXPECT_EQ(run.started, 1000);
  EXPECT_EQ(run.length, 40);
  EXPECT_EQ(run.events, 13u);
  EXPECT_EQ(run.budget, 1u << 20);
  EXPECT_FALSE(run.cut_short);
  ASSERT_EQ(run.tensors.size(), 1u);
  const TensorLife& h = run.tensors[0];
  EXPECT_EQ(h.id, 41u);
  EXPECT_EQ(text(run, h.name), "h");
  EXPECT_EQ(text(run, h.op), "add");
  EXPECT_EQ(text(run, h.dtype), "float32");
  EXPECT_EQ(text(run, h.shape), "[16]");
  EXPECT_EQ(line(run, h.birth_site), 12u);
  EXPECT_EQ(text(run, run.sites[h.birth_site].function), "step");
  EXPECT_EQ(h.storage, 0u);
  EXPECT_EQ(h.scope, 0u);
  EXPECT_EQ(h.born, 20);
  EXPECT_EQ(h.died, 30);
  EXPECT_EQ(text(run, h.cause), "scope_exit");
  EXPECT_EQ(text(run, h.death_by), "tidy \"step\" ended");
  ASSERT_EQ(run.storages.size(), 1u);
  EXPECT_EQ(run.storages[0].freed, 31);
  ASSERT_EQ(run.storages[0].categories.size(), 2u);
  EXPECT_EQ(run.storages[0].categories[0].time, 10);
  EXPECT_EQ(run.storages[0].categories[0].category, Category::other);
  EXPECT_EQ(run.storages[0].categories[1].time, 22);
  EXPECT_EQ(run.storages[0].categories[1].category, Category::gradient);
  ASSERT_EQ(run.ops.size(), 1u);
  EXPECT_EQ(run.ops[0].begin, 11);
  EXPECT_EQ(run.ops[0].duration, 4);
  EXPECT_EQ(run.ops[0].span, 0u);
  ASSERT_EQ(run.values.size(), 1u);
  EXPECT_EQ(run.values[0].value, 0.125);
  EXPECT_EQ(run.values[0].step, 3u);
  ASSERT_EQ(run.pool.size(), 1u);
  EXPECT_EQ(run.pool[0].pooled, 64u);
  ASSERT_EQ(run.raised.size(), 1u);
  EXPECT_EQ(run.raised[0].tensor, 41u);
  EXPECT_EQ(run.strings[run.raised[0].type], "DisposedError");
  EXPECT_EQ(run.strings[run.raised[0].op], "add");
  EXPECT_EQ(run.strings[run.raised[0].problem], "gone");
  EXPECT_EQ(run.strings[run.raised[0].remedy], "keep it.");
  ASSERT_EQ(run.spans.size(), 1u);
  EXPECT_EQ(run.spans[0].end, 32);
}

TEST_F(Format, errors_come_in_their_parts) {
  StringSink sink;
  Writer writer(sink, {.program = "a.out", .version = "1"});
  writer.write<events::Raised>(5, 0,
                               {.type = writer.string("TapeError"),
                                .op = writer.string("gradient"),
                                .problem = writer.string("asked twice: of one"),
                                .remedy = writer.string("ask once."),
                                .text = writer.string("TapeError: ..."),
                                .site = {},
                                .tensor = 3});
  writer.close(9);
  const report::Run run = read(sink.text);
  ASSERT_EQ(run.raised.size(), 1u);
  EXPECT_EQ(run.strings[run.raised[0].problem], "asked twice: of one");
  EXPECT_EQ(run.strings[run.raised[0].remedy], "ask once.");
  EXPECT_EQ(run.raised[0].site, kNone);
}

TEST_F(Format, the_language_is_told_or_known_by_the_program) {
  const auto language = [&](const char* program, const char* told) {
    StringSink sink;
    Writer writer(sink, {.program = program, .version = "1"});
    if (told != nullptr) writer.write<events::Language>(0, 0, {writer.string(told)});
    writer.close(9);
    return read(sink.text).language;
  };
  EXPECT_EQ(language("./train", nullptr), Language::cpp);
  EXPECT_EQ(language("node train.js", nullptr), Language::javascript);
  EXPECT_EQ(language("https://example.org", "javascript"), Language::javascript);
  EXPECT_EQ(language("https://example.org", "a later one"), Language::cpp);
}

TEST_F(Format, a_last_use_is_so_long_before_its_event) {
  StringSink sink;
  Writer writer(sink, {.program = "node train.js", .version = "1"});
  writer.write<events::Allocate>(10, 0, {1, {64}, {64}});
  writer.write<events::Birth>(11, 0, {.holder = 1, .id = {7}, .storage = {1}});
  writer.write<events::LastUse>(50, 0, {.holder = 1, .ago = 30});
  writer.write<events::LastUse>(51, 0, {.holder = 99, .ago = 1});
  writer.close(60, true);
  const report::Run run = read(sink.text);
  ASSERT_EQ(run.tensors.size(), 1u);
  EXPECT_EQ(run.tensors[0].used, 20);
}

TEST_F(Format, a_file_is_read_as_its_bytes_are) {
  std::ofstream(at("file"), std::ios::binary) << written();
  EXPECT_EQ(read_run(at("file")).events, read(written()).events);
}

TEST_F(Format, a_file_cut_anywhere_is_read_as_far_as_it_goes) {
  const std::string bytes = written();
  std::uint64_t events = 0;
  for (std::size_t size = kMagic.size(); size < bytes.size(); ++size) {
    const report::Run run = read(bytes.substr(0, size));
    EXPECT_TRUE(run.cut_short);
    EXPECT_GE(run.events, events);
    events = run.events;
  }
  EXPECT_EQ(read(bytes).events, 13u);
}

TEST_F(Format, a_changed_byte_is_an_error) {
  const std::string bytes = written();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    try {
      EXPECT_TRUE(read(changed).cut_short) << i;  // a length that is too long
    } catch (const IoError&) {
    }
  }
}

TEST_F(Format, what_is_no_recording_says_so) {
  EXPECT_HAS(message_of<IoError>([&] { read(""); }), "no recording");
  EXPECT_HAS(message_of<IoError>([&] { read("PK\3\4 and more"); }), "no recording");
  EXPECT_HAS(message_of<IoError>([&] { read_run(at("nothing")); }), "nothing");
  std::string later(reinterpret_cast<const char*>(kMagic.data()), kMagic.size());
  later[6] = 9;
  EXPECT_HAS(message_of<IoError>([&] { read(later); }), "another version");
}

// A file whose one chunk has this payload and a checksum that fits.
std::string with_chunk(const std::string& payload) {
  std::string bytes(reinterpret_cast<const char*>(kMagic.data()), kMagic.size());
  const auto length = static_cast<std::uint32_t>(payload.size());
  const std::uint32_t thread = 0;
  const std::uint64_t sum = checksum(std::as_bytes(std::span(payload)), thread);
  bytes.append(reinterpret_cast<const char*>(&length), 4);
  bytes.append(reinterpret_cast<const char*>(&thread), 4);
  bytes.append(reinterpret_cast<const char*>(&sum), 8);
  return bytes + payload;
}

std::string number(std::uint64_t value) {
  char bytes[kMostVarint];
  return {bytes, put_varint(bytes, value)};
}

std::string numbers(std::initializer_list<std::uint64_t> values) {
  std::string bytes;
  for (const std::uint64_t value : values) bytes += number(value);
  return bytes;
}

template <template <class> class Kind>
std::string tag() {
  return std::string(1, static_cast<char>(events::kNumber<Told<Kind>>));
}

TEST_F(Format, references_to_nothing_and_sizes_of_no_machine_are_errors) {
  for (const std::string& payload : {
           tag<events::String>() + numbers({1000000}) + "short",
           tag<events::Line>() + numbers({5, 1, 5}),
           tag<events::Name>() + numbers({1, 1, 7}),
           tag<events::Claim>() + numbers({1, 1, 99}),
           tag<events::Death>() + numbers({1, 1, 0, 44, 0}),
           tag<events::OpEnd>() + numbers({1, 0, 3, 1, 1}),
           tag<events::Value>() + numbers({1, 0, 3}) + "half",
           tag<events::Allocate>() + numbers({1, 1, std::uint64_t{1} << 63, 64, 0}),
           tag<events::Allocate>() + numbers({1, 1, 64, std::uint64_t{1} << 54, 0}),
           tag<events::Free>() + numbers({1, 1, std::uint64_t{1} << 63, 64}),
           tag<events::Live>() + numbers({1, std::uint64_t{1} << 63}),
           tag<events::Budget>() + numbers({std::uint64_t{1} << 60, 1}),
           tag<events::Budget>() + std::string(11, '\xff'),
           std::string("\xee"),
           std::string("\0", 1),
       }) {
    EXPECT_THROW(read(with_chunk(payload)), IoError);
  }
}

TEST_F(Format, ends_of_what_never_began_are_left_out) {
  const report::Run run = read(with_chunk(
      tag<events::Death>() + numbers({1, 5, 0, 0, 0}) + tag<events::SpanEnd>() + numbers({1, 5}) +
      tag<events::Move>() + numbers({1, 5, 5, 0}) + tag<events::Claim>() + numbers({1, 5, 0}) +
      tag<events::Free>() + numbers({1, 3, 100, 128})));
  EXPECT_TRUE(run.tensors.empty());
  EXPECT_TRUE(run.spans.empty());
  ASSERT_EQ(run.storages.size(), 1u);  // bytes that are freed must have been there
  EXPECT_EQ(run.storages[0].born, 0);
  EXPECT_EQ(run.storages[0].nbytes, 100u);
}

TEST_F(Format, a_life_whose_end_was_not_told_ends_with_its_bytes) {
  const report::Run run = read(with_chunk(
      tag<events::Allocate>() + numbers({10, 1, 64, 64, 1}) + tag<events::Birth>() + numbers({1}) +
      std::string(1, static_cast<char>(events::kBefore)) +
      numbers({1, 2, 1, 0, 0, 0, 0, 64, 6, 0}) + tag<events::Free>() + numbers({5, 1, 64, 64})));
  ASSERT_EQ(run.tensors.size(), 1u);
  EXPECT_EQ(run.tensors[0].born, 0);
  EXPECT_EQ(run.tensors[0].died, 16);
  EXPECT_EQ(text(run, run.tensors[0].cause), "unknown");
}

TEST_F(Format, any_events_with_a_right_checksum_are_read_or_refused) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string payload =
        tag<events::String>() + numbers({1}) + "s" + tag<events::Line>() + numbers({1, 1, 1});
    for (int i = 0; i < 30; ++i) {
      payload.push_back(static_cast<char>(1 + random() % std::tuple_size_v<events::Kinds<InFile>>));
      for (int j = static_cast<int>(random() % 12); j > 0; --j) {
        payload +=
            number(random() % 100 == 0 ? ~std::uint64_t{0} >> (random() % 64) : random() % 4);
      }
    }
    try {
      const report::Run run = read(with_chunk(payload));
      for (const TensorLife& life : run.tensors) {
        ASSERT_TRUE(life.storage == kNone || life.storage < run.storages.size());
        ASSERT_TRUE(life.scope == kNone || life.scope < run.spans.size());
        ASSERT_LT(life.op, run.strings.size());
      }
      for (const Span& span : run.spans) {
        ASSERT_TRUE(span.parent == kNone || span.parent < run.spans.size());
      }
    } catch (const IoError&) {
    }
  }
}

}  // namespace
}  // namespace tenure::report
