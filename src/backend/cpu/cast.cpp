// Casts between every two dtypes. Plain loops over `convert`, which the compiler vectorises for
// each target.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "backend/cpu/convert.h"
#include "backend/cpu/elementwise.h"
#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"
#include "ops/attrs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/cast.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

template <class To, class From>
struct CastLoop {
  using Dst = To;
  template <std::size_t>
  using Src = From;
  static constexpr int kInputs = 1;
  static constexpr std::int64_t kGrain = kSerialElements;
  static void run(const Run& run) noexcept {
    const From* src = run.input<From>(0);
    To* dst = run.output<To>();
    const std::int64_t count = run.count;
    TENURE_VECTORISE
    for (std::int64_t i = 0; i < count; ++i) dst[i] = convert<To>(src[i]);
  }
};

// Booleans are read as the bytes 0 and 1.
template <class From>
void cast(const ops::KernelArgs& args) noexcept {
  switch (args.attrs.as<ops::CastAttrs>().to) {
    case DType::float32:
      return elementwise_kernel<CastLoop<float, From>>(args);
    case DType::float64:
      return elementwise_kernel<CastLoop<double, From>>(args);
    case DType::int32:
      return elementwise_kernel<CastLoop<std::int32_t, From>>(args);
    case DType::int64:
      return elementwise_kernel<CastLoop<std::int64_t, From>>(args);
    case DType::uint8:
      return elementwise_kernel<CastLoop<std::uint8_t, From>>(args);
    case DType::int8:
      return elementwise_kernel<CastLoop<std::int8_t, From>>(args);
    case DType::boolean:
      return elementwise_kernel<CastLoop<bool, From>>(args);
    case DType::float16:
      return elementwise_kernel<CastLoop<Float16, From>>(args);
    case DType::bfloat16:
      return elementwise_kernel<CastLoop<BFloat16, From>>(args);
    case DType::complex64:
      return elementwise_kernel<CastLoop<std::complex<float>, From>>(args);
  }
}

constexpr ops::KernelRow kRows[] = {
    {"cast", DType::float32, &cast<float>},        {"cast", DType::float64, &cast<double>},
    {"cast", DType::int32, &cast<std::int32_t>},   {"cast", DType::int64, &cast<std::int64_t>},
    {"cast", DType::uint8, &cast<std::uint8_t>},   {"cast", DType::int8, &cast<std::int8_t>},
    {"cast", DType::boolean, &cast<std::uint8_t>}, {"cast", DType::float16, &cast<Float16>},
    {"cast", DType::bfloat16, &cast<BFloat16>},
};

std::span<const ops::KernelRow> cast_rows() { return kRows; }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(cast_rows);

std::span<const ops::KernelRow> cast_kernels() { return HWY_DYNAMIC_DISPATCH(cast_rows)(); }

}  // namespace tenure::cpu
#endif
