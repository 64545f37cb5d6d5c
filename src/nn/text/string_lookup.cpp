#include <algorithm>
#include <utility>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/text/state.h"

namespace tenure::nn {
namespace {

using text::OutputMode;
using text::Vocabulary;

text::Rules lookup_rules(const StringLookupOptions& options) {
  return {
      .who = "StringLookup",
      .max_tokens = options.max_tokens,
      .num_oov_indices = options.num_oov_indices,
      .mask_token = options.mask_token,
      .oov_token = options.oov_token,
      .mode = text::output_mode_of("StringLookup", options.output_mode,
                                   {OutputMode::integer, OutputMode::one_hot, OutputMode::multi_hot,
                                    OutputMode::count, OutputMode::tf_idf}),
      .pad_to_max_tokens = options.pad_to_max_tokens};
}

Tensor looked_up(const Vocabulary& vocabulary, const Text& text, std::source_location site) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(text.strings.size());
  for (const std::string& string : text.strings) numbers.push_back(vocabulary.index(string));
  return text::encoded(vocabulary.rules().mode, text.shape, std::move(numbers), vocabulary.width(),
                       vocabulary.idf(), site);
}

// The strings of each example are a document.
void count_strings(text::Counter& counter, const Text& text) {
  const std::int64_t each = text.shape.rank() > 1 ? text.shape[-1] : 1;
  for (auto at = text.strings.begin(); at != text.strings.end() && each > 0; at += each) {
    counter.add_document({at, at + each});
  }
}

}  // namespace

StringLookup::State::State(StringLookupOptions given)
    : options(std::move(given)),
      lookup(lookup_rules(options), options.vocabulary, options.idf_weights) {}

StringLookup::StringLookup(StringLookupOptions options, std::source_location site) {
  const tenure::detail::UserLine line(site, "StringLookup");
  state_ = std::make_shared<State>(std::move(options));
}

void StringLookup::adapt(const Dataset& data, std::size_t column, std::source_location site) {
  const tenure::detail::UserLine line(site);
  state_->lookup.adapt([&](text::Counter& counter) {
    DatasetIterator pass = data.iterate(site);
    while (const std::optional<Batch> element = pass.next(site)) {
      count_strings(counter, text::text_of("StringLookup", *element, column));
    }
  });
}

void StringLookup::adapt(const std::vector<std::string>& strings, std::source_location site) {
  const tenure::detail::UserLine line(site);
  state_->lookup.adapt([&](text::Counter& counter) {
    count_strings(counter, {.strings = strings, .shape = {std::ssize(strings)}});
  });
}

void StringLookup::set_vocabulary(const std::vector<std::string>& vocabulary,
                                  const std::vector<double>& idf_weights,
                                  std::source_location site) {
  const tenure::detail::UserLine line(site);
  state_->lookup.set(vocabulary, idf_weights);
}

std::vector<std::string> StringLookup::get_vocabulary(bool include_special_tokens) const {
  return state_->lookup.list(include_special_tokens);
}

std::int64_t StringLookup::vocabulary_size() const { return state_->lookup.get()->size(); }

Tensor StringLookup::operator()(const Text& text, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  return looked_up(*state_->lookup.get(), text, site);
}

Text StringLookup::strings(const Tensor& numbers, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  const text::VocabularyPtr vocabulary = state_->lookup.get();
  if (vocabulary->rules().mode != OutputMode::integer) {
    raise<ValueError>("StringLookup: strings: numbers come from output_mode \"int\", not \"{}\"",
                      state_->options.output_mode);
  }
  Text text{.strings = {}, .shape = numbers.shape()};
  for (const std::int64_t number : text::whole_numbers("StringLookup", numbers, site)) {
    text.strings.push_back(vocabulary->token(number));
  }
  return text;
}

TextMap StringLookup::to_inputs(std::size_t column, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  return text::text_map("StringLookup", true, column,
                        [vocabulary = state_->lookup.get(), site](const Text& text) {
                          return looked_up(*vocabulary, text, site);
                        });
}

TextMap StringLookup::to_targets(std::size_t column, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  return text::text_map("StringLookup", false, column,
                        [vocabulary = state_->lookup.get(), site](const Text& text) {
                          return looked_up(*vocabulary, text, site);
                        });
}

}  // namespace tenure::nn
