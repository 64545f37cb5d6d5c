// Settings of the process.
#pragma once

#include <functional>
#include <string_view>

#include "tenure/export.h"

namespace tenure {

TENURE_API void set_num_threads(int threads);  // for kernels; 1 to run them on the caller's thread
TENURE_API int num_threads();

// Where warnings go; by default to standard error. An empty function restores that.
TENURE_API void set_warning_sink(std::function<void(std::string_view)> sink);

TENURE_API std::string_view version();  // "0.1.0"

}  // namespace tenure
