// Settings of the process.
#pragma once

#include <functional>
#include <source_location>
#include <string_view>

#include "tenure/export.h"

namespace tenure {

// For kernels; 1 to run them on the caller's thread.
TENURE_API void set_num_threads(int threads,
                                std::source_location site = std::source_location::current());
TENURE_API int num_threads();

// Where warnings go; by default to standard error. An empty function restores that. What a sink
// throws goes nowhere but there too: warnings come from destructors as well.
TENURE_API void set_warning_sink(std::function<void(std::string_view)> sink);

TENURE_API std::string_view version();  // "0.1.0"

}  // namespace tenure
