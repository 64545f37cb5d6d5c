// Comparisons: a boolean for each pair of values.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/compare.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/pairs-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

struct Equal {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a == b;
  }
};

struct NotEqual {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a != b;
  }
};

struct Less {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a < b;
  }
};

struct LessEqual {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a <= b;
  }
};

// a > b is b < a.
template <class Loop>
struct Swapped : Loop {
  static void run(const Run& run) noexcept {
    Run swapped = run;
    std::swap(swapped.src[0], swapped.src[1]);
    swapped.stepped = (run.stepped & 1U) << 1 | run.stepped >> 1;
    Loop::run(swapped);
  }
};

#define TENURE_COMPARISONS(dtype, T)                                       \
  elementwise_row<PairLoop<Equal, bool, T>>("equal", dtype),               \
      elementwise_row<PairLoop<NotEqual, bool, T>>("not_equal", dtype),    \
      elementwise_row<PairLoop<Less, bool, T>>("less", dtype),             \
      elementwise_row<PairLoop<LessEqual, bool, T>>("less_equal", dtype),  \
      elementwise_row<Swapped<PairLoop<Less, bool, T>>>("greater", dtype), \
      elementwise_row<Swapped<PairLoop<LessEqual, bool, T>>>("greater_equal", dtype)

constexpr ops::KernelRow kRows[] = {
    TENURE_COMPARISONS(DType::float32, float),
    TENURE_COMPARISONS(DType::float64, double),
    TENURE_COMPARISONS(DType::int32, std::int32_t),
    TENURE_COMPARISONS(DType::int64, std::int64_t),
    TENURE_COMPARISONS(DType::uint8, std::uint8_t),
    TENURE_COMPARISONS(DType::int8, std::int8_t),
    TENURE_COMPARISONS(DType::boolean, std::uint8_t),
};

#undef TENURE_COMPARISONS

std::span<const ops::KernelRow> compare_rows() { return kRows; }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(compare_rows);

std::span<const ops::KernelRow> compare_kernels() { return HWY_DYNAMIC_DISPATCH(compare_rows)(); }

}  // namespace tenure::cpu
#endif
