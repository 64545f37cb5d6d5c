// What this program was built with and what it runs on: for `tenure --version` and `tenure doctor`.
#pragma once

#include <string>

namespace tenure::app {

std::string compiler();  // gcc 12.2.0

// tenure and its version; then a line for each fact that a report of a bug needs.
std::string version_text();

}  // namespace tenure::app
