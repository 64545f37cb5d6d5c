// Text in files: lines, columns of CSV, vocabularies; rows that are bad; caches of elements.
#include <filesystem>

#include "io/files.h"
#include "tenure/nn/files.h"
#include "tenure/nn/text.h"

namespace tenure::nn {
namespace {

using testing::Floats;
using testing::floats;
using testing::message_of;
using Strings = std::vector<std::string>;
using Warnings = std::vector<std::string>;

class TextLines : public testing::Folder {};
class CsvText : public testing::Folder {};
class CsvBadRows : public testing::Folder {};
class TextFiles : public testing::Folder {};
class CacheFile : public testing::Folder {};

Strings lines_of(const Dataset& data) {
  Strings all;
  for (const Batch& element : data) {
    EXPECT_TRUE(element.x.empty());
    EXPECT_EQ(element.text[0].shape, Shape{});
    all.push_back(element.text[0].strings[0]);
  }
  return all;
}

TEST_F(TextLines, come_one_by_one_from_all_files) {
  const std::string first = file("one\ntwo\r\n\nthree", "first");
  const std::string second = file(
      "\xef\xbb\xbf"
      "four\n",
      "second");
  const Dataset data = Dataset::from_text_lines({first, second, file("", "empty")});
  EXPECT_EQ(lines_of(data), (Strings{"one", "two", "", "three", "four"}));
  EXPECT_EQ(lines_of(data.skip(1).take(2)), (Strings{"two", ""}));
  EXPECT_EQ(data.size(), std::nullopt);
  const Batch batch = *Dataset::from_text_lines(first).batch(3).iterate().next();
  EXPECT_EQ(batch.text[0].strings, (Strings{"one", "two", ""}));
  EXPECT_EQ(batch.text[0].shape, Shape{3});
}

TEST_F(TextLines, may_be_longer_than_a_buffer) {
  const std::string longest(700'000, 'x');
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += "line " + std::to_string(i) + "\n";
  const Strings lines = lines_of(Dataset::from_text_lines(file(longest + "\n" + text)));
  ASSERT_EQ(lines.size(), 40'001u);
  EXPECT_EQ(lines[0], longest);
  EXPECT_EQ(lines[40'000], "line 39999");
}

TEST_F(TextLines, refuse_what_is_no_text_file) {
  EXPECT_HAS(message_of<IoError>([&] { Dataset::from_text_lines(at("none")); }), "none");
  EXPECT_HAS(message_of<IoError>([&] { Dataset::from_text_lines(at("")); }), "is a folder");
  EXPECT_THROW(Dataset::from_text_lines(Strings()), ValueError);
  const std::string path = file(std::string((std::size_t{16} << 20) + 1, 'x'));
  EXPECT_HAS(message_of<IoError>([&] { Dataset::from_text_lines(path).iterate().next(); }),
             "line 1: more than 16777216 bytes");
  const Dataset gone = Dataset::from_text_lines(file("a\n", "gone"));
  std::filesystem::remove(at("gone"));
  EXPECT_HAS(message_of<IoError>([&] { gone.iterate().next(); }), "cannot be opened");
}

TEST_F(CsvText, columns_stay_strings) {
  const std::string path = file("title,stars,\"body\"\nA,1,\"x, \"\"y\"\"\"\nB,2,\n");
  const Dataset data = Dataset::from_csv(path, {.targets = {"stars"}, .text = {"body", "title"}});
  const Batch batch = *data.batch(2).iterate().next();
  EXPECT_TRUE(batch.x.empty());
  EXPECT_EQ(floats(batch.y[0]), (Floats{1, 2}));
  EXPECT_EQ(batch.text[0].strings, (Strings{"x, \"y\"", ""}));
  EXPECT_EQ(batch.text[1].strings, (Strings{"A", "B"}));
  const Batch one = *data.skip(1).iterate().next();
  EXPECT_EQ(one.text[1].strings, Strings{"B"});
  EXPECT_EQ(one.text[1].shape, Shape{});
  const Batch mixed = *Dataset::from_csv(path, {.text = {0, 2}}).batch(2).iterate().next();
  EXPECT_EQ(floats(mixed.x[0]), (Floats{1, 2}));
  EXPECT_THROW(Dataset::from_csv(path, {.targets = {0, 1, 2}}), ValueError);
}

// What is warned of while it lives.
struct WarningSink {
  WarningSink() {
    set_warning_sink([this](std::string_view text) { warnings.emplace_back(text); });
  }
  ~WarningSink() { set_warning_sink(nullptr); }
  Warnings warnings;
};

constexpr const char* kRagged = "a,b,n\n1,2,3\n4,x,5\n6,7\n8,9,10,11\n12,,13\n14,15,1.5\n";

TEST_F(CsvBadRows, are_an_error_unless_something_else_is_said) {
  const std::string path = file(kRagged);
  EXPECT_HAS(message_of<IoError>([&] { Dataset::from_csv(path, {}); }), "line 4");
}

TEST_F(CsvBadRows, can_be_skipped_and_are_counted) {
  const WarningSink sink;
  const std::string path = file(kRagged);
  std::vector<CsvBadRow> bad;
  const Dataset data =
      Dataset::from_csv(path, {.features = {"a", "b"},
                               .targets = {"n"},
                               .target_dtype = DType::int32,
                               .bad_rows = BadRows::skip,
                               .on_bad_row = [&](const CsvBadRow& row) { bad.push_back(row); }});
  EXPECT_EQ(data.size(), 2);
  ASSERT_EQ(bad.size(), 4u);
  EXPECT_EQ(bad[0].line, 3u);
  EXPECT_EQ(bad[0].problem, "column \"b\": not a number of float32: \"x\"");
  EXPECT_EQ(bad[1].problem, "2 fields, not 3 as in the first row");
  EXPECT_EQ(bad[2].problem, "4 fields, not 3 as in the first row");
  EXPECT_HAS(bad[3].problem, "column \"n\"");
  ASSERT_EQ(sink.warnings.size(), 1u);
  EXPECT_HAS(sink.warnings[0], "4 of 6 rows are bad and were left out; the first, line 3: column");
  const Batch batch = *data.batch(2).iterate().next();
  EXPECT_EQ(floats(batch.x[0])[2], 12);
  EXPECT_TRUE(std::isnan(floats(batch.x[0])[3])) << "an empty field of floats is not bad";
  EXPECT_EQ(batch.y[0].to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 13}));
  const Batch last = *data.skip(1).iterate().next();
  EXPECT_EQ(floats(last.x[0])[0], 12) << "found by the index";
}

TEST_F(CsvBadRows, can_be_filled) {
  const WarningSink sink;
  const std::string path = file(kRagged);
  const Dataset data = Dataset::from_csv(path, {.features = {"a", "b"},
                                                .targets = {"n"},
                                                .target_dtype = DType::int32,
                                                .bad_rows = BadRows::fill,
                                                .fill_value = -1});
  const Batch batch = *data.batch(9).iterate().next();
  Floats x = floats(batch.x[0]);
  EXPECT_TRUE(std::isnan(x[9]));
  x[9] = 0;
  EXPECT_EQ(x, (Floats{1, 2, 4, -1, 6, 7, 8, 9, 12, 0, 14, 15}));
  EXPECT_EQ(batch.y[0].to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{3, 5, -1, 10, 13, -1}));
  ASSERT_EQ(sink.warnings.size(), 1u);
  EXPECT_HAS(sink.warnings[0], "4 of 6 rows have fields that were filled");
  EXPECT_HAS(message_of<ValueError>([&] {
               Dataset::from_csv(
                   path, {.dtype = DType::int32, .bad_rows = BadRows::fill, .fill_value = 0.5});
             }),
             "fill_value 0.5 is no int32");
}

TEST_F(CsvBadRows, are_skipped_past_the_index_too) {
  const WarningSink sink;
  constexpr int kRows = (1 << 19) + 2000;  // more than places are kept for
  std::string text;
  std::vector<int> good;
  for (int i = 0; i < kRows; ++i) {
    if (i % 3 != 1) good.push_back(i);
    text += i % 3 == 1 ? "bad\n" : std::to_string(i) + "\n";
  }
  text += text;
  const Dataset data = Dataset::from_csv(
      file(text), {.dtype = DType::int32, .header = io::CsvHeader::no, .bad_rows = BadRows::skip});
  const auto once = static_cast<std::int64_t>(good.size());
  ASSERT_EQ(data.size(), 2 * once);
  for (const std::int64_t row : {std::int64_t{0}, std::int64_t{12345}, once - 1, once, once + 77}) {
    const Batch batch = *data.skip(row).take(2).batch(2).iterate().next();
    EXPECT_EQ(batch.x[0].to_vector<std::int32_t>()[0], good[static_cast<std::size_t>(row % once)]);
  }
}

TEST_F(TextFiles, a_vectorization_comes_back_as_it_was) {
  TextVectorization words({.max_tokens = 6,
                           .standardize = "lower",
                           .split = "character",
                           .ngrams = {1, 2},
                           .output_sequence_length = 7});
  words.adapt(
      Strings{"\xc3\xa9"
              "a\"\\\n",
              "ab\xff"});
  words.save(at("words.json"));
  const TextVectorization again = TextVectorization::load(at("words.json"));
  EXPECT_EQ(again.get_vocabulary(), words.get_vocabulary());
  const Text text{.strings = {"ab\xff"
                              "Q"}};
  EXPECT_EQ(again(text).to_vector<std::int64_t>(), words(text).to_vector<std::int64_t>());
  EXPECT_EQ(again(text).shape(), Shape{7});
  again.save(at("again.json"));
  EXPECT_EQ(testing::read_bytes(at("again.json")), testing::read_bytes(at("words.json")));
}

TEST_F(TextFiles, weights_and_special_tokens_come_back) {
  TextVectorization weighed({.output_mode = "tf_idf"});
  weighed.adapt(Strings{"a b a", "b"});
  weighed.save(at("w.json"));
  const Text text{.strings = {"a a z"}};
  EXPECT_EQ(floats(TextVectorization::load(at("w.json"))(text)), floats(weighed(text)));
  const StringLookup lookup({.max_tokens = 9,
                             .num_oov_indices = 2,
                             .mask_token = "-",
                             .oov_token = "?",
                             .vocabulary = {"x", "y"}});
  lookup.save(at("l.json"));
  const StringLookup again = StringLookup::load(at("l.json"));
  EXPECT_EQ(again.get_vocabulary(), (Strings{"-", "?", "?", "x", "y"}));
  const Text more{.strings = {"-", "x", "q", "r"}, .shape = {4}};
  EXPECT_EQ(again(more).to_vector<std::int64_t>(), lookup(more).to_vector<std::int64_t>());
}

TEST_F(TextFiles, tell_what_is_wrong_with_them) {
  const auto refused = [&](const std::string& text) {
    return message_of<IoError>([&] { TextVectorization::load(file(text)); });
  };
  EXPECT_HAS(refused("{"), "not JSON");
  EXPECT_HAS(refused("[]"), "no object");
  EXPECT_HAS(refused(R"({"class_name": "StringLookup"})"), "is a StringLookup");
  const std::string begin = R"({"class_name": "TextVectorization", "config": )";
  EXPECT_HAS(refused(begin + "{}}"), "\"vocabulary\"");
  EXPECT_HAS(refused(begin + R"({"max_tokens": "x"}, "vocabulary": ["a"]})"), "another kind");
  EXPECT_HAS(refused(begin + R"({}, "vocabulary": ["a", "a"]})"), "twice");
  EXPECT_HAS(refused(begin + R"({}, "vocabulary": [[300]]})"), "no byte");
  EXPECT_HAS(refused(begin + R"({"split": "words"}, "vocabulary": ["a"]})"), "words");
  EXPECT_HAS(message_of<IoError>([&] { StringLookup::load(at("none")); }), "none");
  TextVectorization mine(
      {.split = [](std::string_view text) { return Strings{std::string(text)}; }});
  mine.adapt(Strings{"a"});
  EXPECT_HAS(message_of<UnsupportedError>([&] { mine.save(at("m.json")); }),
             "split is a function of yours");
  EXPECT_THROW(StringLookup().save(at("m.json")), ValueError);
  EXPECT_FALSE(std::filesystem::exists(at("m.json")));
}

Dataset one_of_each_kind(int& opened) {
  return Dataset::from_generator([&opened]() -> Dataset::Generator {
    ++opened;
    return [i = 0]() mutable -> std::optional<Batch> {
      if (i == 2) return std::nullopt;
      Batch batch{{}, {full({2, 1}, i)}, tensor(0.5f), {{.strings = {"a", "\n"}, .shape = {2}}}};
      for (const auto& [name, value] : testing::one_of_each()) batch.x.push_back(value);
      batch.x.push_back(zeros({70'000}));
      ++i;
      return batch;
    };
  });
}

TEST_F(CacheFile, gives_what_was_put_in) {
  int opened = 0;
  const std::string path = at("cache");
  for (int round = 0; round < 2; ++round) {
    const Dataset data = one_of_each_kind(opened).cache(path);
    for (int pass = 0; pass < 2; ++pass) {
      int i = 0;
      for (const Batch& element : data) {
        const auto values = testing::one_of_each();
        for (std::size_t k = 0; k < values.size(); ++k) {
          testing::expect_same(element.x[k], values[k].second, values[k].first);
        }
        EXPECT_EQ(element.y[0].to_vector<std::int32_t>(), (std::vector<std::int32_t>{i, i}));
        EXPECT_EQ(element.weight.item<float>(), 0.5f);
        EXPECT_EQ(element.text[0].strings, (Strings{"a", "\n"}));
        EXPECT_EQ(element.text[0].shape, Shape{2});
        ++i;
      }
      EXPECT_EQ(i, 2);
    }
  }
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(names(), Strings{"cache"});
}

TEST_F(CacheFile, is_not_there_until_a_pass_has_ended) {
  int opened = 0;
  const Dataset data = one_of_each_kind(opened).cache(at("cache"));
  {
    DatasetIterator pass = data.iterate();
    pass.next();
  }
  EXPECT_EQ(names(), Strings());
  {
    DatasetIterator first = data.iterate(), second = data.iterate();
    for (DatasetIterator* pass : {&first, &second}) {
      while (pass->next()) {
      }
    }
  }
  EXPECT_EQ(names(), Strings{"cache"});
  EXPECT_EQ(opened, 3);
}

TEST_F(CacheFile, is_read_as_if_a_stranger_had_written_it) {
  int opened = 0;
  const Dataset data = one_of_each_kind(opened).take(1).cache(at("cache"));
  for (const Batch& element : data) EXPECT_FALSE(element.x.empty());
  const std::string whole = testing::read_bytes(at("cache"));
  const auto read = [&](const std::string& bytes) {
    const Dataset again = one_of_each_kind(opened).cache(file(bytes, "broken"));
    return message_of<IoError>([&] {
      for (const Batch& element : again) EXPECT_FALSE(element.x.empty());
    });
  };
  for (std::size_t size = 0; size < 300; size += 7)
    EXPECT_HAS(read(whole.substr(0, size)), "cache");
  EXPECT_HAS(read("PK"), "is no cache of a dataset");
  EXPECT_HAS(read(whole.substr(0, whole.size() - 1)), "cut short");
  std::string counted = whole;
  counted[whole.size() - 8] = 9;
  EXPECT_HAS(read(counted), "has 1 elements, not the 9 it says");
  std::string many = whole;
  many[9] = many[10] = many[11] = '\x7f';
  EXPECT_HAS(read(many), "parts");
  EXPECT_THROW(data.cache(""), ValueError);
  EXPECT_HAS(message_of<IoError>([&] { one_of_each_kind(opened).cache(at("no/such")).iterate(); }),
             "cannot be written");
}

}  // namespace
}  // namespace tenure::nn
