#include "io/json_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace tenure::io {

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    if (first < 0x80) continue;
    // How many bytes follow, and the least code point that needs them.
    const int more = first >= 0xf0 ? 3 : (first >= 0xe0 ? 2 : 1);
    constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (first < 0xc0 || first > 0xf7 || text.size() - i < static_cast<std::size_t>(more)) {
      return false;
    }
    std::uint32_t code = first & (0x3fu >> more);
    for (int k = 0; k < more; ++k) {
      const auto next = static_cast<unsigned char>(text[i++]);
      if ((next & 0xc0u) != 0x80) return false;
      code = code << 6 | (next & 0x3fu);
    }
    if (code < kLeast[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
  }
  return true;
}

void append_json_string(std::string& json, std::string_view text) {
  json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(json), "\\u{:04x}", static_cast<int>(c));
    } else {
      json += c;
    }
  }
  json += '"';
}

}  // namespace tenure::io
