#include "tenure/nn/dtype_policy.h"

#include <fmt/format.h>

#include "core/raise.h"
#include "memory/context.h"

namespace tenure::nn {

namespace {

constexpr std::string_view kMixed = "mixed_";

}  // namespace

DTypePolicy::DTypePolicy(const char* name, std::source_location site)
    : DTypePolicy(std::string(name), site) {}

DTypePolicy::DTypePolicy(const std::string& name, std::source_location site) : given_(true) {
  if (name == "mixed_bfloat16" || name == "mixed_float16") {
    compute_ = name == "mixed_float16" ? DType::float16 : DType::bfloat16;
    return;
  }
  for (int i = 0; i < kDTypeCount; ++i) {
    if (name != tenure::name(static_cast<DType>(i))) continue;
    weights_ = compute_ = static_cast<DType>(i);
    return;
  }
  const tenure::detail::UserLine line(site);
  raise<ValueError>(
      "dtype: no such one: \"{}\" (float32, float64, float16, bfloat16, mixed_float16, "
      "mixed_bfloat16, or an integer's for an Input)",
      name);
}

std::string DTypePolicy::name() const {
  return fmt::format("{}{}", is_mixed() ? kMixed : "", tenure::name(compute_));
}

}  // namespace tenure::nn
