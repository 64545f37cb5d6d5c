// From text to numbers, in a dataset: tensors hold no strings.
//
//   nn::TextVectorization words({.max_tokens = 10000, .output_sequence_length = 200});
//   words.adapt(reviews);                                     // a pass that counts words
//   nn::Dataset data = reviews.map(words.to_inputs()).shuffle().batch(32);
//   words.save("words.json");
//
// Each is a copyable handle; copies stand for the same vocabulary. What to_inputs() and
// to_targets() give keeps the vocabulary that was there when they were called, and may be called by
// any thread. Numbers are int64 for output_mode "int", float32 for all others.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/dataset.h"
#include "tenure/export.h"
#include "tenure/handle.h"
#include "tenure/nn/parts.h"
#include "tenure/nn/sizes.h"
#include "tenure/tensor.h"

namespace tenure::nn {

using TextMap = std::function<Batch(Batch)>;

extern template class TENURE_API Part<std::string(std::string_view)>;
extern template class TENURE_API Part<std::vector<std::string>(std::string_view)>;

// How text is made uniform: "lower_and_strip_punctuation" (of ASCII), "lower", "strip_punctuation",
// "none", or a function of yours.
class TENURE_API TextStandardize : public Part<std::string(std::string_view)> {
 public:
  TextStandardize(const char* name, std::source_location site = std::source_location::current());
  TextStandardize(const std::string& name,
                  std::source_location site = std::source_location::current());
  template <class F>
    requires std::is_invocable_r_v<std::string, F, std::string_view>
  TextStandardize(F fn, std::source_location site = std::source_location::current())
      : Part("standardize", std::move(fn), site) {}
  std::string operator()(std::string_view text) const;
};

// How it is cut into tokens: "whitespace", "character" (of UTF-8), "none", or a function of yours.
class TENURE_API TextSplit : public Part<std::vector<std::string>(std::string_view)> {
 public:
  TextSplit(const char* name, std::source_location site = std::source_location::current());
  TextSplit(const std::string& name, std::source_location site = std::source_location::current());
  template <class F>
    requires std::is_invocable_r_v<std::vector<std::string>, F, std::string_view>
  TextSplit(F fn, std::source_location site = std::source_location::current())
      : Part("split", std::move(fn), site) {}
  std::vector<std::string> operator()(std::string_view text) const;
};

struct StringLookupOptions {
  std::optional<std::int64_t> max_tokens = {};  // of the vocabulary, with mask and oov
  std::int64_t num_oov_indices = 1;             // for what is in no vocabulary; 0: an error
  std::optional<std::string> mask_token = {};   // is 0, for output_mode "int"
  std::string oov_token = "[UNK]";
  std::vector<std::string> vocabulary = {};
  std::vector<double> idf_weights = {};  // of the vocabulary, for "tf_idf"
  std::string output_mode = "int";       // or "one_hot", "multi_hot", "count", "tf_idf"
  bool pad_to_max_tokens = false;        // for all but "int": max_tokens wide
};

struct TextVectorizationOptions {
  std::optional<std::int64_t> max_tokens = {};  // of the vocabulary, with "" (0) and "[UNK]"
  TextStandardize standardize = "lower_and_strip_punctuation";
  TextSplit split = "whitespace";
  OneOrMore<int> ngrams = {};       // up to 2, or of these lengths: {1, 3}; default: words
  std::string output_mode = "int";  // or "multi_hot", "count", "tf_idf"
  // For "int": cut or filled with 0. Default: as long as the longest of the text it is called with.
  std::optional<std::int64_t> output_sequence_length = {};
  bool pad_to_max_tokens = false;  // for all but "int": max_tokens wide
  std::vector<std::string> vocabulary = {};
  std::vector<double> idf_weights = {};  // of the vocabulary, for "tf_idf"
};

// The key of SipHash: two numbers, or one that is both.
class HashSalt {
 public:
  HashSalt() = default;
  template <std::integral N>
  HashSalt(N both) : HashSalt(both, both) {}
  template <std::integral A, std::integral B>
  HashSalt(A first, B second)
      : key_{static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(second)} {}
  const std::array<std::uint64_t, 2>& key() const { return key_; }

 private:
  std::array<std::uint64_t, 2> key_{};
};

struct HashingOptions {
  std::int64_t num_bins = 0;                   // must be given
  std::optional<std::string> mask_value = {};  // is 0, and nothing else is
  HashSalt salt = {};
  std::string output_mode = "int";  // or "one_hot", "multi_hot", "count"
};

// Strings to numbers by a vocabulary. A text of a batch, [n], becomes [n] for "int" and
// [n, vocabulary_size()] for the others; [n, k] becomes [n, k], and [n, vocabulary_size()] over
// each k together.
class TENURE_API StringLookup {
 public:
  explicit StringLookup(StringLookupOptions options = {},
                        std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(StringLookup, StringLookupOptions)

  // The vocabulary becomes the strings of one pass, the most frequent first. An error on the way
  // leaves the old one.
  void adapt(const Dataset& data, std::size_t column = 0,
             std::source_location site = std::source_location::current());
  void adapt(const std::vector<std::string>& strings,
             std::source_location site = std::source_location::current());
  // Another vocabulary, with or without mask and oov tokens at its begin.
  void set_vocabulary(const std::vector<std::string>& vocabulary,
                      const std::vector<double>& idf_weights = {},
                      std::source_location site = std::source_location::current());
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const;
  std::int64_t vocabulary_size() const;

  Tensor operator()(const Text& text,
                    std::source_location site = std::source_location::current()) const;
  // The way back, for numbers of "int".
  Text strings(const Tensor& numbers,
               std::source_location site = std::source_location::current()) const;

  // For Dataset::map: a text of each element becomes its last input, or its last target. The text
  // stays.
  TextMap to_inputs(std::size_t column = 0,
                    std::source_location site = std::source_location::current()) const;
  TextMap to_targets(std::size_t column = 0,
                     std::source_location site = std::source_location::current()) const;

  // Options and vocabulary, as JSON.
  void save(const std::string& path,
            std::source_location site = std::source_location::current()) const;
  static StringLookup load(const std::string& path,
                           std::source_location site = std::source_location::current());

 private:
  struct State;
  tenure::detail::Held<std::shared_ptr<State>, "StringLookup"> state_;
};

// Text to the numbers of its tokens. A text [n] becomes [n, tokens] for "int", and
// [n, vocabulary_size()] for the others.
class TENURE_API TextVectorization {
 public:
  explicit TextVectorization(TextVectorizationOptions options = {},
                             std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(TextVectorization, TextVectorizationOptions)

  // All as StringLookup's.
  void adapt(const Dataset& data, std::size_t column = 0,
             std::source_location site = std::source_location::current());
  void adapt(const std::vector<std::string>& strings,
             std::source_location site = std::source_location::current());
  void set_vocabulary(const std::vector<std::string>& vocabulary,
                      const std::vector<double>& idf_weights = {},
                      std::source_location site = std::source_location::current());
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const;
  std::int64_t vocabulary_size() const;
  std::vector<std::string> tokens(std::string_view text) const;  // of the text alone
  Tensor operator()(const Text& text,
                    std::source_location site = std::source_location::current()) const;
  TextMap to_inputs(std::size_t column = 0,
                    std::source_location site = std::source_location::current()) const;
  TextMap to_targets(std::size_t column = 0,
                     std::source_location site = std::source_location::current()) const;
  // Functions of yours for standardize and split cannot be saved.
  void save(const std::string& path,
            std::source_location site = std::source_location::current()) const;
  static TextVectorization load(const std::string& path,
                                std::source_location site = std::source_location::current());

 private:
  struct State;
  tenure::detail::Held<std::shared_ptr<State>, "TextVectorization"> state_;
};

// Strings, or whole numbers, to one of num_bins numbers, without a vocabulary.
class TENURE_API Hashing {
 public:
  explicit Hashing(HashingOptions options,
                   std::source_location site = std::source_location::current());
  Tensor operator()(const Text& text,
                    std::source_location site = std::source_location::current()) const;
  Tensor operator()(const Tensor& numbers,
                    std::source_location site = std::source_location::current()) const;
  TextMap to_inputs(std::size_t column = 0,
                    std::source_location site = std::source_location::current()) const;
  TextMap to_targets(std::size_t column = 0,
                     std::source_location site = std::source_location::current()) const;

 private:
  tenure::detail::Held<std::shared_ptr<const HashingOptions>, "Hashing"> options_;
};

}  // namespace tenure::nn
