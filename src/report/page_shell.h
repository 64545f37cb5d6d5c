// The page's own part, built from web/report into the programs that write pages. Empty in a build
// with TENURE_REPORT=OFF.
#pragma once

#include <string_view>

namespace tenure::report {

std::string_view page_shell();

}  // namespace tenure::report
