// A recording that is in memory already.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "report/run.h"

namespace tenure::report {

// `name` stands for the file in errors.
Run read_run(std::span<const std::byte> bytes, const std::string& name);

}  // namespace tenure::report
