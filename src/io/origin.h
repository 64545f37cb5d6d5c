// Which file an error is about.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "core/raise.h"

namespace tenure::io {

// Text from a file, safe to print: control characters escaped, cut where it is long.
std::string printable(std::string_view text);

struct Origin {
  std::string format;  // "safetensors", "npy", ...
  std::string path;

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    raise<IoError>("{}: {}: {}", format, path, fmt::format(text, std::forward<Args>(args)...));
  }
};

}  // namespace tenure::io
