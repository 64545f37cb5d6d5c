#include "backend/cpu/first_beyond.h"

#include "backend/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/first_beyond.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <bool above, class T>
HWY_INLINE bool within(T value, T limit) {
  return above ? value <= limit : value >= limit;
}

template <bool above, class T>
HWY_INLINE std::int64_t find(const T* src, std::int64_t count, T limit) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto bound = hn::Set(d, limit);
  const auto inside = [&](std::int64_t at) HWY_ATTR {
    const auto v = hn::LoadU(d, src + at);
    if constexpr (above) {
      return hn::Le(v, bound);
    } else {
      return hn::Ge(v, bound);
    }
  };
  std::int64_t i = 0;
  // Most stretches have none: four vectors are asked at once, and then one by one.
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto all = hn::And(hn::And(inside(i), inside(i + lanes)),
                             hn::And(inside(i + 2 * lanes), inside(i + 3 * lanes)));
    if (!hn::AllTrue(d, all)) break;
  }
  for (; i + lanes <= count; i += lanes) {
    const auto outside = hn::Not(inside(i));
    const std::intptr_t lane = hn::FindFirstTrue(d, outside);
    if (lane >= 0) return i + lane;
  }
  while (i < count && within<above>(src[i], limit)) ++i;
  return i;
}

std::int64_t find_f32(const float* src, std::int64_t count, float limit, bool above) {
  return above ? find<true>(src, count, limit) : find<false>(src, count, limit);
}
std::int64_t find_f64(const double* src, std::int64_t count, double limit, bool above) {
  return above ? find<true>(src, count, limit) : find<false>(src, count, limit);
}

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(find_f32);
HWY_EXPORT(find_f64);

std::int64_t first_beyond(const float* src, std::int64_t count, float limit, bool above) noexcept {
  return HWY_DYNAMIC_DISPATCH(find_f32)(src, count, limit, above);
}
std::int64_t first_beyond(const double* src, std::int64_t count, double limit,
                          bool above) noexcept {
  return HWY_DYNAMIC_DISPATCH(find_f64)(src, count, limit, above);
}

}  // namespace tenure::cpu
#endif
