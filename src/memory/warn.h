#pragma once

#include <string>
#include <string_view>

namespace tenure::detail {

// To the user's sink, or to standard error. The sink is user's code: no lock is held, and neither a
// trace nor a tape nor a scope that is open here sees what it does.
void warn(std::string_view message);
// The same, but for the start of the library, when a sink could not ask it anything: once that is
// over, warn_of_start says it.
void warn_after_start(std::string message);
void warn_of_start();

}  // namespace tenure::detail
