#include "backend/cpu/backend.h"
#include "backend/cpu/highway_targets.h"  // before Highway's own
#include "hwy/targets.h"

namespace tenure::cpu {
namespace {

std::string_view name_of(std::int64_t target) {
  if (target == HWY_STATIC_TARGET) return "baseline";
  switch (target) {
    case HWY_AVX3:
      return "avx512";
    case HWY_AVX2:
      return "avx2";
    default:
      return hwy::TargetName(target);
  }
}

}  // namespace

std::vector<std::string_view> targets() {
  std::vector<std::string_view> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.push_back(name_of(target));
  }
  return names;
}

bool use_target(std::string_view name) {
  std::int64_t better = 0;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name_of(target) == name) {
      hwy::DisableTargets(better);
      hwy::GetChosenTarget().DeInit();
      return true;
    }
    better |= target;
  }
  return false;
}

}  // namespace tenure::cpu
