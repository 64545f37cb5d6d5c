// Expected numbers are those of Keras's documentation, or follow from its definitions by hand.
#include <cmath>

#include "nn/text/siphash.h"
#include "support/expect.h"

namespace tenure::nn {
namespace {

using testing::Floats;
using testing::floats;
using testing::message_of;
using Longs = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

Text texts(Strings strings) {
  const auto count = std::ssize(strings);
  return {.strings = std::move(strings), .shape = {count}};
}
Longs longs(const Tensor& x) { return x.to_vector<std::int64_t>(); }

TEST(SipHash, gives_the_value_of_its_paper) {
  std::string bytes;
  for (char c = 0; c < 15; ++c) bytes += c;
  EXPECT_EQ(text::sip_hash(bytes, {0x0706050403020100, 0x0f0e0d0c0b0a0908}), 0xa129ca6149be45e5u);
}

TEST(Hashing, gives_keras_numbers_with_a_salt) {
  const Text data = texts({"A", "B", "C", "D", "E"});
  EXPECT_EQ(longs(Hashing({.num_bins = 3, .salt = {133, 137}})(data)), (Longs{1, 2, 1, 0, 2}));
  EXPECT_EQ(longs(Hashing({.num_bins = 3, .salt = {133, 133}})(data)), (Longs{0, 0, 2, 1, 0}));
}

TEST(Hashing, takes_one_number_as_both_of_the_salt) {
  const Text data = texts({"A", "B", "C", "D", "E"});
  EXPECT_EQ(longs(Hashing({.num_bins = 3, .salt = 133})(data)), (Longs{0, 0, 2, 1, 0}));
  EXPECT_EQ(longs(Hashing({.num_bins = 3, .salt = {133}})(data)), (Longs{0, 0, 2, 1, 0}));
}

TEST(Hashing, keeps_a_bin_for_the_mask) {
  const Hashing hashing({.num_bins = 3, .mask_value = ""});
  const Longs bins = longs(hashing(texts({"A", "B", "", "C"})));
  EXPECT_EQ(bins[2], 0);
  for (const std::size_t i : {0u, 1u, 3u}) {
    EXPECT_GE(bins[i], 1);
    EXPECT_LE(bins[i], 2);
  }
}

TEST(Hashing, takes_whole_numbers_as_their_text) {
  const Hashing hashing({.num_bins = 100, .salt = {1, 2}});
  EXPECT_EQ(longs(hashing(tensor({-7, 12}))), longs(hashing(texts({"-7", "12"}))));
  EXPECT_THROW(hashing(tensor({1.5f})), DtypeError);
}

TEST(Hashing, counts_and_maps) {
  const Hashing hashing({.num_bins = 3, .salt = {133, 137}, .output_mode = "count"});
  const Text data{.strings = {"A", "B", "C", "D", "E", "A"}, .shape = {2, 3}};
  EXPECT_EQ(floats(hashing(data)), (Floats{0, 2, 1, 1, 1, 1}));
  const Hashing one_hot({.num_bins = 3, .salt = {133, 137}, .output_mode = "one_hot"});
  EXPECT_EQ(floats(one_hot(texts({"A", "D"}))), (Floats{0, 1, 0, 1, 0, 0}));
  const Batch batch = *Dataset::from_text({"A", "B"})
                           .map(Hashing({.num_bins = 3, .salt = {133, 137}}).to_targets())
                           .batch(2)
                           .iterate()
                           .next();
  EXPECT_EQ(longs(batch.y[0]), (Longs{1, 2}));
}

TEST(Hashing, refuses_what_cannot_be) {
  EXPECT_EQ(message_of<ValueError>([] { Hashing({}); }), "Hashing: num_bins must be at least 1: 0");
  EXPECT_THROW(Hashing({.num_bins = 1, .mask_value = "x"}), ValueError);
  EXPECT_HAS(message_of<ValueError>([] { Hashing({.num_bins = 3, .output_mode = "tf_idf"}); }),
             "output_mode is one of \"int\", \"one_hot\", \"multi_hot\", \"count\"");
}

TEST(StringLookup, looks_up_a_given_vocabulary) {
  const StringLookup lookup({.vocabulary = {"a", "b", "c", "d"}});
  const Text data{.strings = {"a", "c", "d", "d", "z", "b"}, .shape = {2, 3}};
  const Tensor numbers = lookup(data);
  EXPECT_EQ(numbers.dtype(), DType::int64);
  EXPECT_EQ(numbers.shape(), Shape({2, 3}));
  EXPECT_EQ(longs(numbers), (Longs{1, 3, 4, 4, 0, 2}));
  EXPECT_EQ(lookup.strings(numbers).strings, (Strings{"a", "c", "d", "d", "[UNK]", "b"}));
  EXPECT_EQ(lookup.vocabulary_size(), 5);
}

TEST(StringLookup, learns_the_most_frequent_first) {
  StringLookup lookup;
  lookup.adapt(Strings{"a", "c", "d", "d", "z", "b"});
  EXPECT_EQ(lookup.get_vocabulary(), (Strings{"[UNK]", "d", "z", "c", "b", "a"}));
  EXPECT_EQ(lookup.get_vocabulary(false), (Strings{"d", "z", "c", "b", "a"}));
  StringLookup small({.max_tokens = 3});
  small.adapt(Dataset::from_text({"a", "b", "b", "c", "c", "c"}).batch(4));
  EXPECT_EQ(small.get_vocabulary(), (Strings{"[UNK]", "c", "b"}));
}

TEST(StringLookup, masks_and_spreads_unknown_strings) {
  const StringLookup masked({.mask_token = "", .vocabulary = {"x"}});
  EXPECT_EQ(masked.get_vocabulary(), (Strings{"", "[UNK]", "x"}));
  EXPECT_EQ(longs(masked(texts({"", "y", "x"}))), (Longs{0, 1, 2}));
  const StringLookup several({.num_oov_indices = 4, .vocabulary = {"x"}});
  const Longs numbers = longs(several(texts({"x", "q", "r", "s", "q"})));
  EXPECT_EQ(numbers[0], 4);
  EXPECT_EQ(numbers[1], numbers[4]);
  for (const std::size_t i : {1u, 2u, 3u}) EXPECT_LT(numbers[i], 4);
  const StringLookup strict({.num_oov_indices = 0, .vocabulary = {"x"}});
  EXPECT_EQ(longs(strict(texts({"x"}))), Longs{0});
  EXPECT_EQ(message_of<ValueError>([&] { strict(texts({"cat"})); }),
            "StringLookup: \"cat\" is not in the vocabulary, and num_oov_indices is 0");
}

TEST(StringLookup, encodes_by_its_mode) {
  const Strings vocabulary{"a", "b", "c", "d"};
  const Text data{.strings = {"a", "c", "d", "d", "d", "z", "b", "z"}, .shape = {2, 4}};
  const auto encode = [&](const char* mode, std::vector<double> idf = {}) {
    return StringLookup({.vocabulary = vocabulary, .idf_weights = idf, .output_mode = mode})(data);
  };
  EXPECT_EQ(encode("multi_hot").shape(), Shape({2, 5}));
  EXPECT_EQ(floats(encode("multi_hot")), (Floats{0, 1, 0, 1, 1, 1, 0, 1, 0, 1}));
  EXPECT_EQ(floats(encode("count")), (Floats{0, 1, 0, 1, 2, 2, 0, 1, 0, 1}));
  // Keras's example: oov weighs the mean, 0.625.
  const Floats weighted = floats(encode("tf_idf", {0.25, 0.75, 0.6, 0.4}));
  const double mean = (0.25 + 0.75 + 0.6 + 0.4) / 4;
  const std::vector<double> expected{0, 0.25, 0, 0.6, 0.8, 2 * mean, 0, 0.75, 0, 0.4};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(weighted[i], expected[i], 1e-6);
  const StringLookup one_hot({.vocabulary = {"a", "b"}, .output_mode = "one_hot"});
  EXPECT_EQ(floats(one_hot(texts({"b", "?"}))), (Floats{0, 0, 1, 1, 0, 0}));
  const StringLookup padded(
      {.max_tokens = 5, .vocabulary = {"a"}, .output_mode = "count", .pad_to_max_tokens = true});
  EXPECT_EQ(floats(padded(texts({"a"}))), (Floats{0, 1, 0, 0, 0}));
}

TEST(StringLookup, makes_labels_of_a_column) {
  const StringLookup kinds({.num_oov_indices = 0, .vocabulary = {"cat", "dog"}});
  const Batch batch =
      *Dataset::from_text({"dog", "cat"}).batch(2).map(kinds.to_targets()).iterate().next();
  EXPECT_EQ(longs(batch.y[0]), (Longs{1, 0}));
  EXPECT_EQ(batch.text.size(), 1u);
  const std::string text = message_of<ValueError>(
      [&] { Dataset::from_text({"dog"}).map(kinds.to_targets(2)).iterate().next(); });
  EXPECT_HAS(text, "StringLookup: text 2 of an element that has 1");
}

TEST(StringLookup, refuses_what_is_no_vocabulary) {
  const auto refused = [](StringLookupOptions options) {
    return message_of<ValueError>([&] { StringLookup lookup(options); });
  };
  EXPECT_EQ(refused({.vocabulary = {"a", "a"}}), "StringLookup: \"a\" is in the vocabulary twice");
  EXPECT_HAS(refused({.vocabulary = {"a", "[UNK]"}}), "stands for unknown tokens");
  EXPECT_HAS(refused({.max_tokens = 2, .vocabulary = {"a", "b"}}), "max_tokens is 2");
  EXPECT_HAS(refused({.max_tokens = 1}), "max_tokens must be above 1");
  EXPECT_HAS(refused({.vocabulary = {"a"}, .output_mode = "tf_idf"}), "0 idf_weights for 1");
  EXPECT_HAS(refused({.vocabulary = {"a"}, .idf_weights = {1.}}), "1 idf_weights");
  EXPECT_HAS(refused({.output_mode = "ints"}), "not \"ints\"");
  EXPECT_HAS(refused({.pad_to_max_tokens = true}), "needs max_tokens");
  EXPECT_HAS(refused({.mask_token = "[UNK]"}), "mask_token and oov_token");
  StringLookup given({.vocabulary = {"a"}});
  EXPECT_EQ(message_of<ValueError>([&] { given.adapt(Strings{"b"}); }),
            "StringLookup: adapt: the vocabulary was given, and is not learned");
  const std::string none = message_of<ValueError>([] { StringLookup()(texts({"a"})); });
  EXPECT_HAS(none, "StringLookup: there is no vocabulary yet");
  EXPECT_HAS(none, "adapt(dataset)");
}

TEST(StringLookup, keeps_the_old_vocabulary_when_adapting_fails) {
  StringLookup lookup;
  lookup.adapt(Strings{"a"});
  const TextMap old = lookup.to_inputs();
  const Dataset broken = Dataset::from_text({"b", "c"}).map([](Batch element) {
    if (element.text[0].strings[0] == "c") throw std::runtime_error("unreadable");
    return element;
  });
  EXPECT_THROW(lookup.adapt(broken), std::runtime_error);
  EXPECT_EQ(lookup.get_vocabulary(false), Strings{"a"});
  lookup.adapt(Strings{"b"});
  EXPECT_EQ(lookup.get_vocabulary(false), Strings{"b"});
  EXPECT_EQ(longs(old({{}, {}, {}, {texts({"a", "b"})}}).x[0]), (Longs{1, 0})) << "as it was made";
}

TEST(TextVectorization, gives_the_numbers_of_words) {
  // Keras's example.
  TextVectorization vectorize({.max_tokens = 5000, .output_sequence_length = 4});
  vectorize.adapt(Strings{"foo bar", "bar baz", "baz bada boom"});
  EXPECT_EQ(vectorize.get_vocabulary(),
            (Strings{"", "[UNK]", "baz", "bar", "foo", "boom", "bada"}));
  const Tensor numbers = vectorize(texts({"foo qux bar", "qux baz"}));
  EXPECT_EQ(numbers.shape(), Shape({2, 4}));
  EXPECT_EQ(longs(numbers), (Longs{4, 1, 3, 0, 1, 2, 0, 0}));
}

TEST(TextVectorization, takes_a_vocabulary) {
  const TextVectorization vectorize({.max_tokens = 5000,
                                     .output_sequence_length = 4,
                                     .vocabulary = {"earth", "wind", "and", "fire"}});
  EXPECT_EQ(vectorize.get_vocabulary(), (Strings{"", "[UNK]", "earth", "wind", "and", "fire"}));
  EXPECT_EQ(longs(vectorize({.strings = {"Earth, wind & fire! And more, and more"}})),
            (Longs{2, 3, 5, 4}));
}

TEST(TextVectorization, is_as_long_as_the_longest_where_nothing_is_said) {
  const TextVectorization vectorize({.vocabulary = {"a", "b"}});
  EXPECT_EQ(longs(vectorize(texts({"a", "b a b", ""}))), (Longs{2, 0, 0, 3, 2, 3, 0, 0, 0}));
  const Batch batch =
      *Dataset::from_text({"a b", "a"}).map(vectorize.to_inputs()).padded_batch(2).iterate().next();
  EXPECT_EQ(longs(batch.x[0]), (Longs{2, 3, 2, 0}));
}

TEST(TextVectorization, standardizes_and_splits) {
  const auto tokens = [](TextStandardize standardize, TextSplit split, const char* text) {
    return TextVectorization({.standardize = standardize, .split = split}).tokens(text);
  };
  EXPECT_EQ(tokens("lower_and_strip_punctuation", "whitespace", " It's\tA-B, ok?\n\xc3\x84"),
            (Strings{"its", "ab", "ok", "\xc3\x84"}));
  EXPECT_EQ(tokens("lower", "whitespace", "It's OK."), (Strings{"it's", "ok."}));
  EXPECT_EQ(tokens("strip_punctuation", "whitespace", "It's OK."), (Strings{"Its", "OK"}));
  EXPECT_EQ(tokens("none", "none", "It's OK."), Strings{"It's OK."});
  EXPECT_EQ(tokens("none", "character", "a\xc3\xa9\xe2\x82\xac!\xff"),
            (Strings{"a", "\xc3\xa9", "\xe2\x82\xac", "!", "\xff"}));
  const auto shout = [](std::string_view text) { return std::string(text) + "!"; };
  const auto halves = [](std::string_view text) {
    return Strings{std::string(text.substr(0, 1)), std::string(text.substr(1))};
  };
  EXPECT_EQ(tokens(shout, halves, "ab"), (Strings{"a", "b!"}));
  EXPECT_THROW(TextVectorization({.standardize = "upper"}), ValueError);
  EXPECT_THROW(TextVectorization({.split = "words"}), ValueError);
}

TEST(TextVectorization, joins_neighbours) {
  const TextVectorization pairs({.ngrams = {1, 2}});
  EXPECT_EQ(pairs.tokens("a b c"), (Strings{"a", "b", "c", "a b", "b c"}));
  EXPECT_EQ(TextVectorization({.ngrams = {2}}).tokens("a"), Strings());
  EXPECT_THROW(TextVectorization({.ngrams = {0}}), ValueError);
  EXPECT_EQ(TextVectorization({.ngrams = 2}).tokens("a b"), (Strings{"a", "b", "a b"}))
      << "a number is all lengths up to it, as in Keras";
  EXPECT_THROW(TextVectorization({.ngrams = 0}), ValueError);
  EXPECT_THROW(TextVectorization({.ngrams = 1'000'000'000}), ValueError);
}

TEST(TextVectorization, counts_and_weighs) {
  const Strings documents{"a b a", "b c", "b"};
  TextVectorization hot({.output_mode = "multi_hot"});
  hot.adapt(documents);
  EXPECT_EQ(hot.get_vocabulary(), (Strings{"[UNK]", "b", "a", "c"}));
  EXPECT_EQ(floats(hot(texts({"a a z", "c"}))), (Floats{1, 0, 1, 0, 0, 0, 0, 1}));
  TextVectorization count({.max_tokens = 6, .output_mode = "count", .pad_to_max_tokens = true});
  count.adapt(documents);
  EXPECT_EQ(floats(count(texts({"a a z"}))), (Floats{1, 0, 2, 0, 0, 0}));
  TextVectorization weigh({.output_mode = "tf_idf"});
  weigh.adapt(Dataset::from_text(documents));
  // log(1 + documents / (1 + documents with the word)); what is unknown, their mean.
  const double b = std::log(1 + 3. / 4), a = std::log(1 + 3. / 2), c = std::log(1 + 3. / 2);
  const Floats weighed = floats(weigh(texts({"a a z b"})));
  const std::vector<double> expected{(a + b + c) / 3, b, 2 * a, 0};
  ASSERT_EQ(weighed.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(weighed[i], expected[i], 1e-6);
}

TEST(TextVectorization, trains_a_model_on_text) {
  const Strings reviews{"good fine good", "bad awful", "fine good", "awful bad bad"};
  const Dataset data = Dataset::from_text(reviews, tensor({1.f, 0.f, 1.f, 0.f}, {4, 1}));
  TextVectorization words({.output_mode = "multi_hot"});
  words.adapt(data);
  const Sequential model({Dense({.units = 1, .activation = "sigmoid"})});
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
  const Dataset batches = data.map(words.to_inputs(), {.num_parallel_calls = 2}).batch(2);
  const History history = model.fit(batches, {.epochs = 30, .verbose = Verbose::silent});
  EXPECT_LT(history["loss"].back(), history["loss"].front());
}

TEST(TextVectorization, is_missed_by_a_model_that_is_given_text) {
  const Sequential model({Dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Dataset data = Dataset::from_text({"a", "b"}, ones({2, 1})).batch(2);
  const std::string text =
      message_of<ValueError>([&] { model.fit(data, {.verbose = Verbose::silent}); });
  EXPECT_HAS(text, "the batch has text and no tensors");
  EXPECT_HAS(text, "TextVectorization");
}

TEST(TextVectorization, refuses_options_that_do_not_go_together) {
  EXPECT_HAS(message_of<ValueError>(
                 [] { TextVectorization({.output_mode = "count", .output_sequence_length = 3}); }),
             "output_sequence_length is for output_mode \"int\", not \"count\"");
  EXPECT_THROW(TextVectorization({.output_sequence_length = 0}), ValueError);
  EXPECT_THROW(TextVectorization({.output_mode = "one_hot"}), ValueError);
  EXPECT_THROW(TextVectorization({.vocabulary = {"a"}})({.strings = {"a", "b"}, .shape = {1, 2}}),
               ShapeError);
}

}  // namespace
}  // namespace tenure::nn
