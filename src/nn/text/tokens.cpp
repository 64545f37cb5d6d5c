// What text is made of.
#include "core/raise.h"
#include "nn/parts.h"
#include "tenure/nn/text.h"

namespace tenure::nn {
namespace {

// ASCII alone, whatever the locale.
char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string changed(std::string_view text, bool lower, bool strip) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (!(strip && is_punctuation(c))) result += lower ? lowered(c) : c;
  }
  return result;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    while (i < text.size() && !is_space(text[i])) ++i;
    if (i > begin) words.emplace_back(text.substr(begin, i - begin));
    if (i < text.size()) ++i;
  }
  return words;
}

// A byte that begins a character, and those that go on with it.
std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  for (const char c : text) {
    const bool goes_on = (static_cast<unsigned char>(c) & 0xc0u) == 0x80;
    if (goes_on && !characters.empty() && characters.back().size() < 4 &&
        static_cast<unsigned char>(characters.back()[0]) >= 0xc0) {
      characters.back() += c;
    } else {
      characters.emplace_back(1, c);
    }
  }
  return characters;
}

Named<std::string(std::string_view)> standardize_named(const std::string& name) {
  const auto named = [&](bool lower, bool strip) {
    return Named<std::string(std::string_view)>{
        .class_name = name,
        .call = [=](std::string_view text) { return changed(text, lower, strip); }};
  };
  if (name == "lower_and_strip_punctuation") return named(true, true);
  if (name == "lower") return named(true, false);
  if (name == "strip_punctuation") return named(false, true);
  if (name == "none") return named(false, false);
  detail::raise_no_such("standardize", name,
                        "lower_and_strip_punctuation, lower, strip_punctuation, none");
}

Named<std::vector<std::string>(std::string_view)> split_named(const std::string& name) {
  if (name == "whitespace") return {.class_name = name, .call = words_of};
  if (name == "character") return {.class_name = name, .call = characters_of};
  if (name == "none") {
    return {.class_name = name,
            .call = [](std::string_view text) { return std::vector{std::string(text)}; }};
  }
  detail::raise_no_such("split", name, "whitespace, character, none");
}

}  // namespace

TextStandardize::TextStandardize(const std::string& name, std::source_location site)
    : Part(detail::told_of(site, [&] { return standardize_named(name); })) {}
TextStandardize::TextStandardize(const char* name, std::source_location site)
    : TextStandardize(std::string(name), site) {}
std::string TextStandardize::operator()(std::string_view text) const { return function()(text); }

TextSplit::TextSplit(const std::string& name, std::source_location site)
    : Part(detail::told_of(site, [&] { return split_named(name); })) {}
TextSplit::TextSplit(const char* name, std::source_location site)
    : TextSplit(std::string(name), site) {}
std::vector<std::string> TextSplit::operator()(std::string_view text) const {
  return function()(text);
}

}  // namespace tenure::nn
