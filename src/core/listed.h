// A list as text: "a, b, c".
#pragma once

#include <string>
#include <utility>

namespace tenure::detail {

template <class Range, class TextOf>
std::string listed(const Range& things, TextOf&& text_of) {
  std::string text;
  for (const auto& thing : things) {
    if (!text.empty()) text += ", ";
    text += text_of(thing);
  }
  return text;
}

}  // namespace tenure::detail
