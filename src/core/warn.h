#pragma once

#include <string_view>

namespace tenure::detail {

void warn(std::string_view message);  // to the user's sink, or to standard error

}  // namespace tenure::detail
