// where(condition, a, b). Values are moved, not computed with, so their size is all that matters.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/where.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

template <class T>
struct WhereLoop {
  using Dst = T;
  template <std::size_t i>
  using Src = std::conditional_t<i == 0, std::uint8_t, T>;
  static constexpr int kInputs = 3;
  static constexpr std::int64_t kGrain = kSerialElements;

  template <unsigned stepped>
  static HWY_INLINE void select(const Run& run) {
    const std::uint8_t* condition = run.input<std::uint8_t>(0);
    const T *a = run.input<T>(1), *b = run.input<T>(2);
    T* dst = run.output<T>();
    const std::int64_t count = run.count;
    const T a_value = *a, b_value = *b;
    TENURE_VECTORISE
    for (std::int64_t i = 0; i < count; ++i) {
      const T x = (stepped & 2U) != 0 ? a[i] : a_value;
      const T y = (stepped & 4U) != 0 ? b[i] : b_value;
      dst[i] = condition[i] != 0 ? x : y;
    }
  }

  // One condition for the whole run takes it from one side.
  static void take(const Run& run) {
    const int side = *run.input<std::uint8_t>(0) != 0 ? 1 : 2;
    const T* src = run.input<T>(side);
    T* dst = run.output<T>();
    const std::int64_t step = (run.stepped >> side & 1U) != 0 ? 1 : 0;
    for (std::int64_t i = 0; i < run.count; ++i) dst[i] = src[i * step];
  }

  static void run(const Run& run) noexcept {
    switch (run.stepped) {
      case 1:
        return select<1>(run);
      case 3:
        return select<3>(run);
      case 5:
        return select<5>(run);
      case 7:
        return select<7>(run);
      default:
        return take(run);
    }
  }
};

template <class T>
constexpr ops::KernelRow row(DType dtype) {
  return elementwise_row<WhereLoop<T>>("where", dtype);
}

constexpr ops::KernelRow kRows[] = {
    row<std::uint32_t>(DType::float32),  row<std::uint64_t>(DType::float64),
    row<std::uint32_t>(DType::int32),    row<std::uint64_t>(DType::int64),
    row<std::uint8_t>(DType::uint8),     row<std::uint8_t>(DType::int8),
    row<std::uint8_t>(DType::boolean),   row<std::uint16_t>(DType::float16),
    row<std::uint16_t>(DType::bfloat16), row<std::uint64_t>(DType::complex64),
};

std::span<const ops::KernelRow> where_rows() { return kRows; }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(where_rows);

std::span<const ops::KernelRow> where_kernels() { return HWY_DYNAMIC_DISPATCH(where_rows)(); }

}  // namespace tenure::cpu
#endif
