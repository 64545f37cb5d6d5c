// The rules behind findings(), one file each. They share what is known about the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/activity.h"
#include "report/findings.h"
#include "report/holdings.h"
#include "report/run.h"

namespace tenure::report {

struct Facts {
  const Run& run;
  Activity activity;
  Holdings holdings;
};

// "tape" of tape "step"; empty for a tensor.
std::string_view owner_kind(const Run& run, const TensorLife& tensor);
// With how many these are, and what they held.
Finding finding_about(const Facts& facts, Problem problem, std::uint32_t site, Tensors tensors);

std::vector<Finding> find_growth(const Facts& facts);
std::vector<Finding> find_retracing(const Facts& facts);
// But for what was found before.
std::vector<Finding> find_outlived(const Facts& facts, const std::vector<Finding>& known);
std::vector<Finding> find_pinned(const Facts& facts);
std::vector<Finding> find_misuse(const Facts& facts);

}  // namespace tenure::report
