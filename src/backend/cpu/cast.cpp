// Casts between every two dtypes. Plain loops over `convert`, which the compiler vectorises for
// each target.
#include <complex>
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

// Calls use(T) with a value of the C++ type of a dtype.
template <class Use>
auto with_type(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::float32:
      return use(float{});
    case DType::float64:
      return use(double{});
    case DType::int32:
      return use(std::int32_t{});
    case DType::int64:
      return use(std::int64_t{});
    case DType::uint8:
      return use(std::uint8_t{});
    case DType::int8:
      return use(std::int8_t{});
    case DType::boolean:
      return use(bool{});
    case DType::float16:
      return use(Float16{});
    case DType::bfloat16:
      return use(BFloat16{});
    case DType::complex64:
      break;
  }
  return use(std::complex<float>{});
}

// Booleans are read as the bytes 0 and 1.
template <class From>
void cast(const ops::KernelArgs& args) noexcept {
  with_type(args.attrs.as<ops::CastAttrs>().to,
            [&]<class To>(To) { elementwise_kernel<CastLoop<To, From>>(args); });
}

template <class From>
ops::ElementLoop cast_loop(ops::AttrsRef attrs) noexcept {
  return {.loop = with_type(attrs.as<ops::CastAttrs>().to,
                            []<class To>(To) { return kRunLoop<CastLoop<To, From>>; })};
}

template <class From>
constexpr ops::KernelRow row(DType dtype) {
  return {.op = "cast", .dtype = dtype, .run = &cast<From>, .loop = &cast_loop<From>};
}

constexpr ops::KernelRow kRows[] = {
    row<float>(DType::float32),        row<double>(DType::float64),
    row<std::int32_t>(DType::int32),   row<std::int64_t>(DType::int64),
    row<std::uint8_t>(DType::uint8),   row<std::int8_t>(DType::int8),
    row<std::uint8_t>(DType::boolean), row<Float16>(DType::float16),
    row<BFloat16>(DType::bfloat16),
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
