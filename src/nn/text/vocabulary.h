// The numbers of tokens, and how numbers become tensors.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenure/job.h"
#include "tenure/nn/text.h"

namespace tenure::nn::text {

enum class OutputMode : std::uint8_t { integer, one_hot, multi_hot, count, tf_idf };
OutputMode output_mode_of(const char* who, const std::string& name,
                          std::initializer_list<OutputMode> allowed);
const char* name_of(OutputMode mode);

// What a lookup is set up with.
struct Rules {
  const char* who;
  std::optional<std::int64_t> max_tokens;
  std::int64_t num_oov_indices;
  std::optional<std::string> mask_token;
  std::string oov_token;
  OutputMode mode;
  bool pad_to_max_tokens;

  bool has_mask() const { return mask_token && mode == OutputMode::integer; }
  std::int64_t first_oov() const { return has_mask() ? 1 : 0; }
  std::int64_t first_token() const { return first_oov() + num_oov_indices; }
  std::vector<std::string> special_tokens() const;
};

// Never changes: maps share it.
class Vocabulary {
 public:
  // `idf`, where there is any, is of special tokens and tokens.
  Vocabulary(const Rules& rules, std::vector<std::string> tokens, std::vector<double> idf);

  static constexpr std::int64_t kDropped = -1;
  std::int64_t index(std::string_view token) const;
  std::string token(std::int64_t index) const;
  std::int64_t size() const { return rules_.first_token() + std::ssize(tokens_); }
  std::int64_t width() const;  // of what is not "int"
  const std::vector<std::string>& tokens() const { return tokens_; }
  const std::vector<double>& idf() const { return idf_; }
  const Rules& rules() const { return rules_; }

 private:
  Rules rules_;
  std::vector<std::string> tokens_;
  std::vector<double> idf_;
  std::unordered_map<std::string_view, std::int64_t> numbers_;  // of tokens_' own strings
};
using VocabularyPtr = std::shared_ptr<const Vocabulary>;

// How often each token is there, and in how many documents.
class Counter {
 public:
  void add_document(const std::vector<std::string>& tokens);
  // The most frequent first; of equally frequent ones, the last by its bytes.
  VocabularyPtr vocabulary(const Rules& rules) const;

 private:
  struct Count {
    std::int64_t times = 0;
    std::int64_t documents = 0;
    std::int64_t last = 0;  // the document it was last seen in
  };
  std::unordered_map<std::string, Count> counts_;
  std::int64_t documents_ = 0;
};

VocabularyPtr checked_vocabulary(const Rules& rules, const std::vector<std::string>& vocabulary,
                                 const std::vector<double>& idf_weights);
void check_rules(const Rules& rules);

// A vocabulary that may change, and who may change it.
class Lookup {
 public:
  Lookup(Rules rules, const std::vector<std::string>& vocabulary,
         const std::vector<double>& idf_weights);
  void set(const std::vector<std::string>& vocabulary, const std::vector<double>& idf_weights);
  // `count` gives every document to a Counter.
  template <class Count>
  void adapt(const Count& count) {
    check_adaptable();
    Counter counter;
    count(counter);
    put(counter.vocabulary(rules_));
  }
  VocabularyPtr get() const;  // which there must be
  std::vector<std::string> list(bool with_special_tokens) const;
  const Rules& rules() const { return rules_; }

 private:
  void check_adaptable() const;
  void put(VocabularyPtr vocabulary);

  Rules rules_;
  mutable tenure::detail::Mutex mutex_;
  VocabularyPtr vocabulary_;
  bool given_ = false;
};

// Rows of numbers as a row of `width` each: what `mode` says of how often each number is there.
Tensor rows_of(OutputMode mode, const std::vector<std::vector<std::int64_t>>& rows,
               std::int64_t width, const std::vector<double>& idf, Shape shape,
               std::source_location site);
// Numbers of each string of a text, by `mode`.
Tensor encoded(OutputMode mode, const Shape& shape, std::vector<std::int64_t> numbers,
               std::int64_t width, const std::vector<double>& idf, std::source_location site);

// The values of a tensor of integers.
std::vector<std::int64_t> whole_numbers(const char* who, const Tensor& numbers,
                                        std::source_location site);

const Text& text_of(const char* who, const Batch& element, std::size_t column);
// Adds what `encode` makes of a text to the inputs or the targets.
template <class Encode>
TextMap text_map(const char* who, bool to_inputs, std::size_t column, Encode encode) {
  return [=](Batch element) {
    Tensor made = encode(text_of(who, element, column));
    (to_inputs ? element.x : element.y).push_back(std::move(made));
    return element;
  };
}

}  // namespace tenure::nn::text
