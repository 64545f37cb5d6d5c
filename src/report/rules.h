// The rules behind findings(), one file each. They share what is known about the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/activity.h"
#include "report/findings.h"
#include "report/run.h"

namespace tenure::report {

struct Facts {
  const Run& run;
  Activity activity;
};

// "tape" of tape "step"; empty for a tensor.
std::string_view owner_kind(const Run& run, const TensorLife& tensor);
// What these hold: each storage once, and of one that they see only parts of, those parts.
std::uint64_t bytes_of(const Run& run, const std::vector<std::uint32_t>& tensors);
// A few of them: the first, the last, and some between.
std::vector<std::uint32_t> some_of(const std::vector<std::uint32_t>& tensors);

std::vector<Finding> find_growth(const Facts& facts);
std::vector<Finding> find_retracing(const Facts& facts);
std::vector<Finding> find_outlived(const Facts& facts);
std::vector<Finding> find_pinned(const Facts& facts);
std::vector<Finding> find_misuse(const Facts& facts);

}  // namespace tenure::report
