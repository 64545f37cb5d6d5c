// The loop of a plain function of two values, which the compiler vectorises.
#include <cstddef>
#include <cstdint>

#include "backend/cpu/elementwise.h"
#include "hwy/highway.h"

#if defined(TENURE_BACKEND_CPU_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_BACKEND_CPU_PAIRS_INL_H
#undef TENURE_BACKEND_CPU_PAIRS_INL_H
#else
#define TENURE_BACKEND_CPU_PAIRS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {

// How many elements of an Op are worth a thread.
template <class Op>
constexpr std::int64_t grain_of() {
  if constexpr (requires { Op::kGrain; }) return Op::kGrain;
  return kSerialElements;
}

template <class Op, class To, class From>
struct PairLoop {
  using Dst = To;
  template <std::size_t>
  using Src = From;
  static constexpr int kInputs = 2;
  static constexpr std::int64_t kGrain = grain_of<Op>();
  static void run(const Run& run) noexcept {
    const From *a = run.input<From>(0), *b = run.input<From>(1);
    To* dst = run.output<To>();
    const std::int64_t count = run.count;
    if (run.stepped == 3) {
      TENURE_VECTORISE
      for (std::int64_t i = 0; i < count; ++i) dst[i] = Op::of(a[i], b[i]);
    } else if (run.stepped == 1) {
      const From value = *b;
      TENURE_VECTORISE
      for (std::int64_t i = 0; i < count; ++i) dst[i] = Op::of(a[i], value);
    } else {
      const From value = *a;
      TENURE_VECTORISE
      for (std::int64_t i = 0; i < count; ++i) dst[i] = Op::of(value, b[i]);
    }
  }
};

}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
