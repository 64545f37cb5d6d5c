#include "nn/text/vocabulary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <numeric>
#include <set>

#include "core/raise.h"
#include "nn/text/siphash.h"
#include "tenure/create.h"
#include "tenure/math.h"

namespace tenure::nn::text {
namespace {

constexpr std::array<const char*, 5> kModeNames{"int", "one_hot", "multi_hot", "count", "tf_idf"};
// Of a row: more is a mistake, not a vocabulary.
constexpr std::int64_t kWidest = std::int64_t{1} << 31;

std::string names_of(std::initializer_list<OutputMode> modes) {
  std::string text;
  for (const OutputMode mode : modes) {
    if (!text.empty()) text += ", ";
    text += fmt::format("\"{}\"", name_of(mode));
  }
  return text;
}

}  // namespace

const char* name_of(OutputMode mode) { return kModeNames[static_cast<std::size_t>(mode)]; }

OutputMode output_mode_of(const char* who, const std::string& name,
                          std::initializer_list<OutputMode> allowed) {
  for (const OutputMode mode : allowed) {
    if (name == name_of(mode)) return mode;
  }
  raise<ValueError>("{}: output_mode is one of {}, not \"{}\"", who, names_of(allowed), name);
}

std::vector<std::string> Rules::special_tokens() const {
  std::vector<std::string> tokens;
  if (has_mask()) tokens.push_back(*mask_token);
  tokens.insert(tokens.end(), static_cast<std::size_t>(num_oov_indices), oov_token);
  return tokens;
}

void check_rules(const Rules& rules) {
  if (rules.num_oov_indices < 0 || rules.num_oov_indices > kWidest) {
    raise<ValueError>("{}: num_oov_indices must be at least 0: {}", rules.who,
                      rules.num_oov_indices);
  }
  if (rules.max_tokens &&
      (*rules.max_tokens <= rules.first_token() || *rules.max_tokens > kWidest)) {
    raise<ValueError>("{}: max_tokens must be above {}, which mask and oov take: {}", rules.who,
                      rules.first_token(), *rules.max_tokens);
  }
  if (rules.pad_to_max_tokens && !rules.max_tokens) {
    raise<ValueError>("{}: pad_to_max_tokens needs max_tokens", rules.who);
  }
  if (rules.mask_token && *rules.mask_token == rules.oov_token) {
    raise<ValueError>("{}: mask_token and oov_token are both \"{}\"", rules.who, rules.oov_token);
  }
}

Vocabulary::Vocabulary(const Rules& rules, std::vector<std::string> tokens, std::vector<double> idf)
    : rules_(rules), tokens_(std::move(tokens)), idf_(std::move(idf)) {
  numbers_.reserve(tokens_.size());
  std::int64_t number = rules_.first_token();
  for (const std::string& token : tokens_) numbers_.emplace(token, number++);
}

std::int64_t Vocabulary::index(std::string_view token) const {
  if (rules_.mask_token && token == *rules_.mask_token) return rules_.has_mask() ? 0 : kDropped;
  if (const auto number = numbers_.find(token); number != numbers_.end()) return number->second;
  if (rules_.num_oov_indices == 1) return rules_.first_oov();
  if (rules_.num_oov_indices == 0) {
    if (rules_.mode != OutputMode::integer) return kDropped;
    raise<ValueError>("{}: \"{}\" is not in the vocabulary, and num_oov_indices is 0", rules_.who,
                      token);
  }
  const auto oov = static_cast<std::uint64_t>(rules_.num_oov_indices);
  return rules_.first_oov() + static_cast<std::int64_t>(sip_hash(token, {}) % oov);
}

std::string Vocabulary::token(std::int64_t index) const {
  if (rules_.has_mask() && index == 0) return *rules_.mask_token;
  if (index < rules_.first_token() || index >= size()) {
    if (index < 0 || index >= size()) {
      raise<ValueError>("{}: strings: {} is no number of a vocabulary of {}", rules_.who, index,
                        size());
    }
    return rules_.oov_token;
  }
  return tokens_[static_cast<std::size_t>(index - rules_.first_token())];
}

std::int64_t Vocabulary::width() const {
  return rules_.pad_to_max_tokens ? *rules_.max_tokens : size();
}

void Counter::add_document(const std::vector<std::string>& tokens) {
  ++documents_;
  for (const std::string& token : tokens) {
    Count& count = counts_[token];
    ++count.times;
    if (count.last != documents_) ++count.documents;
    count.last = documents_;
  }
}

VocabularyPtr Counter::vocabulary(const Rules& rules) const {
  std::vector<const std::pair<const std::string, Count>*> order;
  for (const auto& entry : counts_) {
    if (entry.first == rules.oov_token || entry.first == rules.mask_token) continue;
    order.push_back(&entry);
  }
  std::ranges::sort(order, [](const auto* a, const auto* b) {
    return std::tie(a->second.times, a->first) > std::tie(b->second.times, b->first);
  });
  if (rules.max_tokens) {
    const auto most = static_cast<std::size_t>(*rules.max_tokens - rules.first_token());
    order.resize(std::min(order.size(), most));
  }
  std::vector<std::string> tokens;
  std::vector<double> idf;
  for (const auto* entry : order) {
    tokens.push_back(entry->first);
    if (rules.mode != OutputMode::tf_idf) continue;
    idf.push_back(std::log(1 + static_cast<double>(documents_) /
                                   (1 + static_cast<double>(entry->second.documents))));
  }
  if (!idf.empty()) {
    const double mean =
        std::accumulate(idf.begin(), idf.end(), 0.0) / static_cast<double>(idf.size());
    idf.insert(idf.begin(), static_cast<std::size_t>(rules.first_token()), mean);
  }
  return std::make_shared<const Vocabulary>(rules, std::move(tokens), std::move(idf));
}

VocabularyPtr checked_vocabulary(const Rules& rules, const std::vector<std::string>& vocabulary,
                                 const std::vector<double>& idf_weights) {
  if (vocabulary.empty()) raise<ValueError>("{}: the vocabulary is empty", rules.who);
  const bool weighted = rules.mode == OutputMode::tf_idf;
  if (idf_weights.size() != (weighted ? vocabulary.size() : 0)) {
    raise<ValueError>("{}: {} idf_weights for {} tokens and output_mode \"{}\"", rules.who,
                      idf_weights.size(), vocabulary.size(), name_of(rules.mode));
  }
  const std::vector<std::string> special = rules.special_tokens();
  const bool with_special = vocabulary.size() >= special.size() &&
                            std::equal(special.begin(), special.end(), vocabulary.begin());
  const auto first = with_special ? std::ssize(special) : 0;
  std::vector<std::string> tokens(vocabulary.begin() + first, vocabulary.end());
  std::set<std::string_view> seen;
  for (const std::string& token : tokens) {
    if (token == rules.oov_token || token == rules.mask_token) {
      raise<ValueError>("{}: \"{}\" stands for {}, and is in the vocabulary", rules.who, token,
                        token == rules.oov_token ? "unknown tokens" : "masked ones");
    }
    if (!seen.insert(token).second) {
      raise<ValueError>("{}: \"{}\" is in the vocabulary twice", rules.who, token);
    }
  }
  const std::int64_t size = rules.first_token() + std::ssize(tokens);
  if (rules.max_tokens && size > *rules.max_tokens) {
    raise<ValueError>("{}: a vocabulary of {} with mask and oov, and max_tokens is {}", rules.who,
                      size, *rules.max_tokens);
  }
  std::vector<double> idf = idf_weights;
  if (weighted && !with_special) {
    const double mean =
        std::accumulate(idf.begin(), idf.end(), 0.0) / static_cast<double>(idf.size());
    idf.insert(idf.begin(), special.size(), mean);
  }
  return std::make_shared<const Vocabulary>(rules, std::move(tokens), std::move(idf));
}

Lookup::Lookup(Rules rules, const std::vector<std::string>& vocabulary,
               const std::vector<double>& idf_weights)
    : rules_(std::move(rules)) {
  check_rules(rules_);
  if (!vocabulary.empty() || !idf_weights.empty()) set(vocabulary, idf_weights);
}

void Lookup::set(const std::vector<std::string>& vocabulary,
                 const std::vector<double>& idf_weights) {
  VocabularyPtr checked = checked_vocabulary(rules_, vocabulary, idf_weights);
  put(std::move(checked));
  given_ = true;
}

void Lookup::put(VocabularyPtr vocabulary) {
  const std::lock_guard lock(mutex_);
  vocabulary_ = std::move(vocabulary);
}

VocabularyPtr Lookup::get() const {
  const std::lock_guard lock(mutex_);
  if (vocabulary_ == nullptr) {
    throw ValueError(describe("{}: there is no vocabulary yet", rules_.who)
                         .told({},
                               "adapt(dataset) makes one; .vocabulary and set_vocabulary() "
                               "give one."));
  }
  return vocabulary_;
}

std::vector<std::string> Lookup::list(bool with_special_tokens) const {
  const VocabularyPtr vocabulary = get();
  std::vector<std::string> all;
  if (with_special_tokens) all = rules_.special_tokens();
  all.insert(all.end(), vocabulary->tokens().begin(), vocabulary->tokens().end());
  return all;
}

void Lookup::check_adaptable() const {
  if (!given_) return;
  raise<ValueError>("{}: adapt: the vocabulary was given, and is not learned", rules_.who);
}

Tensor rows_of(OutputMode mode, const std::vector<std::vector<std::int64_t>>& rows,
               std::int64_t width, const std::vector<double>& idf, Shape shape,
               std::source_location site) {
  if (width > kWidest / std::max<std::int64_t>(1, std::ssize(rows))) {
    raise<ValueError>("text: {} rows of {} numbers are too many", rows.size(), width);
  }
  std::vector<float> values(rows.size() * static_cast<std::size_t>(width));
  float* row = values.data();
  for (const std::vector<std::int64_t>& numbers : rows) {
    for (const std::int64_t number : numbers) {
      if (number == Vocabulary::kDropped) continue;
      const auto place = static_cast<std::size_t>(number);
      const bool counts = mode == OutputMode::count || mode == OutputMode::tf_idf;
      row[place] = counts ? row[place] + 1 : 1;
    }
    if (mode == OutputMode::tf_idf) {
      for (std::size_t i = 0; i < idf.size(); ++i) {
        row[i] = static_cast<float>(row[i] * idf[i]);
      }
    }
    row += width;
  }
  shape.push_back(width);
  return tensor(values, shape, site);
}

Tensor encoded(OutputMode mode, const Shape& shape, std::vector<std::int64_t> numbers,
               std::int64_t width, const std::vector<double>& idf, std::source_location site) {
  if (mode == OutputMode::integer) return tensor(numbers, shape, site);
  // A row for each string; over all strings of an example where it has several.
  Shape rows_shape = shape;
  std::size_t each = 1;
  if (shape.rank() > 1 && (mode != OutputMode::one_hot || shape[-1] == 1)) {
    rows_shape = Shape(shape.dims().first(static_cast<std::size_t>(shape.rank() - 1)));
    each = static_cast<std::size_t>(shape[-1]);
  }
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(rows_shape.numel()));
  for (std::size_t i = 0; i < numbers.size(); ++i) rows[i / each].push_back(numbers[i]);
  return rows_of(mode, rows, width, idf, std::move(rows_shape), site);
}

std::vector<std::int64_t> whole_numbers(const char* who, const Tensor& numbers,
                                        std::source_location site) {
  if (!is_integer(numbers.dtype())) {
    raise<DtypeError>("{}: whole numbers, not {}", who, numbers.dtype());
  }
  return cast(Arg(numbers, site), DType::int64).to_vector<std::int64_t>(site);
}

const Text& text_of(const char* who, const Batch& element, std::size_t column) {
  if (column < element.text.size()) return element.text[column];
  throw ValueError(
      describe("{}: text {} of an element that has {}", who, column, element.text.size())
          .told({}, "from_text, from_text_lines and from_csv with .text columns give text."));
}

}  // namespace tenure::nn::text
