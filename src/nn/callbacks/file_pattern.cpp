#include "nn/callbacks/file_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/raise.h"

namespace tenure::nn::detail {

namespace {

// None where the format does not fit a number of this kind.
template <class N>
std::optional<std::string> formatted(const std::string& format, N value) {
  try {
    return fmt::format(fmt::runtime("{:" + format + "}"), value);
  } catch (const fmt::format_error&) {
    return std::nullopt;
  }
}

// Whole numbers may be written as others are, but not the other way round.
std::optional<std::string> formatted(const std::string& format, FilePattern::Value value) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) {
    std::optional<std::string> text = formatted(format, *count);
    return text ? text : formatted(format, static_cast<double>(*count));
  }
  return formatted(format, std::get<double>(value));
}

}  // namespace

FilePattern::FilePattern(const char* who, const std::string& text,
                         const std::vector<std::string>& counts)
    : texts_(1) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if ((c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c) {
      texts_.back() += c;
      ++at;
      continue;
    }
    const std::size_t end = c == '{' ? text.find_first_of("{}", at + 1) : at;
    if (c == '}' || end == text.npos || (c == '{' && text[end] == '{')) {
      raise<ValueError>(
          "{}: path \"{}\" has a brace without its other one at {}: \"{{{{\" stands "
          "for a brace",
          who, text, at);
    }
    if (c != '{') {
      texts_.back() += c;
      continue;
    }
    const std::string inner = text.substr(at + 1, end - at - 1);
    const std::size_t colon = std::min(inner.find(':'), inner.size());
    Field field{inner.substr(0, colon), inner.substr(std::min(colon + 1, inner.size()))};
    const bool is_count = std::ranges::find(counts, field.name) != counts.end();
    if (!formatted(field.format, is_count ? Value(std::int64_t{1}) : Value(0.5))) {
      raise<ValueError>("{}: path \"{}\": \"{}\" is no format of {}", who, text, field.format,
                        is_count ? "a whole number (02d)" : "a number (.2f)");
    }
    fields_.push_back(std::move(field));
    texts_.emplace_back();
    at = end;
  }
}

std::string FilePattern::filled(const std::vector<Value>& values) const {
  std::string text = texts_.front();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    text += formatted(fields_[i].format, values.at(i)).value_or("") + texts_[i + 1];
  }
  return text;
}

}  // namespace tenure::nn::detail
