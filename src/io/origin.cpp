#include "io/origin.h"

namespace tenure::io {

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string result;
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  if (text.size() > kLongest) result += fmt::format("... ({} bytes)", text.size());
  return result;
}

}  // namespace tenure::io
