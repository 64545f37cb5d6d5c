#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tenure::detail {

// "1048576", "512MiB", "1.5GiB", "64MB"; nothing for anything else.
std::optional<std::size_t> parse_bytes(std::string_view text);

}  // namespace tenure::detail
