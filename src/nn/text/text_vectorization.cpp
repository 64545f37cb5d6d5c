#include <algorithm>
#include <numeric>
#include <utility>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/text/state.h"
#include "tenure/create.h"

namespace tenure::nn {
namespace {

using text::OutputMode;
using text::Vocabulary;

constexpr const char* kVectorization = "TextVectorization";
constexpr int kLongestNgram = 64;

text::Rules vectorization_rules(const TextVectorizationOptions& options) {
  return {.who = kVectorization,
          .max_tokens = options.max_tokens,
          .num_oov_indices = 1,
          .mask_token = "",
          .oov_token = "[UNK]",
          .mode = text::output_mode_of(
              kVectorization, options.output_mode,
              {OutputMode::integer, OutputMode::multi_hot, OutputMode::count, OutputMode::tf_idf}),
          .pad_to_max_tokens = options.pad_to_max_tokens};
}

void check_vectorization(const TextVectorizationOptions& options) {
  for (const int length : options.ngrams) {
    if (length < 1 || length > kLongestNgram) {
      raise<ValueError>("{}: ngrams are of 1 to {} tokens, not {}", kVectorization, kLongestNgram,
                        length);
    }
  }
  if (!options.output_sequence_length) return;
  if (options.output_mode != "int") {
    raise<ValueError>("{}: output_sequence_length is for output_mode \"int\", not \"{}\"",
                      kVectorization, options.output_mode);
  }
  if (*options.output_sequence_length < 1) {
    raise<ValueError>("{}: output_sequence_length must be at least 1: {}", kVectorization,
                      *options.output_sequence_length);
  }
}

// All of one length, then all of the next.
std::vector<std::string> ngrams_of(const std::vector<std::string>& tokens,
                                   const std::vector<int>& lengths) {
  std::vector<std::string> result;
  for (const int length : lengths) {
    for (auto at = tokens.begin(); tokens.end() - at >= length; ++at) {
      result.push_back(fmt::format("{}", fmt::join(at, at + length, " ")));
    }
  }
  return result;
}

}  // namespace

TextVectorization::State::State(TextVectorizationOptions given)
    : options(std::move(given)),
      lookup(vectorization_rules(options), options.vocabulary, options.idf_weights) {
  check_vectorization(options);
  if (!options.ngrams.is_one()) return;
  std::vector<int> up_to(static_cast<std::size_t>(options.ngrams[0]));
  std::iota(up_to.begin(), up_to.end(), 1);
  options.ngrams = std::move(up_to);
}

std::vector<std::string> TextVectorization::State::tokens(std::string_view text) const {
  const tenure::detail::CallbackScope users;
  std::vector<std::string> tokens = options.split(options.standardize(text));
  if (!options.ngrams.empty()) tokens = ngrams_of(tokens, options.ngrams);
  return tokens;
}

Tensor TextVectorization::State::encode(const Vocabulary& vocabulary, const Text& text,
                                        std::source_location site) const {
  if (text.shape.rank() > 1) {
    raise<ShapeError>("{}: one text for each example, not {}", kVectorization, text.shape);
  }
  std::vector<std::vector<std::int64_t>> rows;
  std::size_t longest = 0;
  for (const std::string& string : text.strings) {
    std::vector<std::int64_t>& row = rows.emplace_back();
    for (const std::string& token : tokens(string)) row.push_back(vocabulary.index(token));
    longest = std::max(longest, row.size());
  }
  const OutputMode mode = vocabulary.rules().mode;
  if (mode != OutputMode::integer) {
    return text::rows_of(mode, rows, vocabulary.width(), vocabulary.idf(), text.shape, site);
  }
  const std::int64_t length =
      options.output_sequence_length.value_or(static_cast<std::int64_t>(longest));
  std::vector<std::int64_t> numbers;
  for (std::vector<std::int64_t>& row : rows) {
    row.resize(static_cast<std::size_t>(length));
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
  Shape shape = text.shape;
  shape.push_back(length);
  return tensor(numbers, shape, site);
}

TextVectorization::TextVectorization(TextVectorizationOptions options, std::source_location site) {
  const tenure::detail::UserLine line(site, kVectorization);
  state_ = std::make_shared<State>(std::move(options));
}

void TextVectorization::adapt(const Dataset& data, std::size_t column, std::source_location site) {
  const tenure::detail::UserLine line(site);
  state_->lookup.adapt([&](text::Counter& counter) {
    DatasetIterator pass = data.iterate(site);
    while (const std::optional<Batch> element = pass.next(site)) {
      for (const std::string& string : text::text_of(kVectorization, *element, column).strings) {
        counter.add_document(state_->tokens(string));
      }
    }
  });
}

void TextVectorization::adapt(const std::vector<std::string>& strings, std::source_location site) {
  const tenure::detail::UserLine line(site);
  state_->lookup.adapt([&](text::Counter& counter) {
    for (const std::string& string : strings) counter.add_document(state_->tokens(string));
  });
}

void TextVectorization::set_vocabulary(const std::vector<std::string>& vocabulary,
                                       const std::vector<double>& idf_weights,
                                       std::source_location site) {
  const tenure::detail::UserLine line(site);
  state_->lookup.set(vocabulary, idf_weights);
}

std::vector<std::string> TextVectorization::get_vocabulary(bool include_special_tokens) const {
  return state_->lookup.list(include_special_tokens);
}

std::int64_t TextVectorization::vocabulary_size() const { return state_->lookup.get()->size(); }

std::vector<std::string> TextVectorization::tokens(std::string_view text) const {
  return state_->tokens(text);
}

Tensor TextVectorization::operator()(const Text& text, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  return state_->encode(*state_->lookup.get(), text, site);
}

TextMap TextVectorization::to_inputs(std::size_t column, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  return text::text_map(kVectorization, true, column,
                        [state = state_.pointer(), vocabulary = state_->lookup.get(), site](
                            const Text& text) { return state->encode(*vocabulary, text, site); });
}

TextMap TextVectorization::to_targets(std::size_t column, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  return text::text_map(kVectorization, false, column,
                        [state = state_.pointer(), vocabulary = state_->lookup.get(), site](
                            const Text& text) { return state->encode(*vocabulary, text, site); });
}

}  // namespace tenure::nn
