// The loops of elementwise kernels over one run: vectors of float or double through Highway, plain
// functions of one value, and functions of one value with numbers that attributes give.
//
// An Op for vectors has `V apply(D, V...)`, one for plain loops `T of(T...)`. Both kinds may have
// kGrain: how many elements are worth a thread.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <tuple>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/lanes-inl.h"
#include "backend/cpu/pairs-inl.h"
#include "hwy/highway.h"

#if defined(TENURE_BACKEND_CPU_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_BACKEND_CPU_LOOPS_INL_H
#undef TENURE_BACKEND_CPU_LOOPS_INL_H
#else
#define TENURE_BACKEND_CPU_LOOPS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {

struct Cheap {
  static constexpr std::int64_t kGrain = kSerialElements;
};
struct Costly {
  static constexpr std::int64_t kGrain = kSerialMathElements;
  static constexpr std::size_t kAtOnce = 4;
};

template <class Op, class T>
struct FloatLoop {
  using Dst = T;
  template <std::size_t>
  using Src = T;
  static constexpr int kInputs = 1;
  static constexpr std::int64_t kGrain = grain_of<Op>();
  static void run(const Run& run) noexcept {
    using D = hn::ScalableTag<T>;
    map_lanes<Op>(D(), run.output<T>(), static_cast<std::size_t>(run.count),
                  Stepped<D>{run.input<T>(0)});
  }
};

template <class Op, class T>
struct FloatPairLoop {
  using Dst = T;
  template <std::size_t>
  using Src = T;
  static constexpr int kInputs = 2;
  static constexpr std::int64_t kGrain = grain_of<Op>();
  static void run(const Run& run) noexcept {
    using D = hn::ScalableTag<T>;
    const D d;
    const auto count = static_cast<std::size_t>(run.count);
    const T *a = run.input<T>(0), *b = run.input<T>(1);
    T* dst = run.output<T>();
    if (run.stepped == 3) {
      map_lanes<Op>(d, dst, count, Stepped<D>{a}, Stepped<D>{b});
    } else if (run.stepped == 1) {
      map_lanes<Op>(d, dst, count, Stepped<D>{a}, Constant<D>{hn::Set(d, *b)});
    } else {
      map_lanes<Op>(d, dst, count, Constant<D>{hn::Set(d, *a)}, Stepped<D>{b});
    }
  }
};

// A plain function of one value, which the compiler vectorises where it can.
template <class Op, class To, class From>
struct PlainLoop {
  using Dst = To;
  template <std::size_t>
  using Src = From;
  static constexpr int kInputs = 1;
  static constexpr std::int64_t kGrain = grain_of<Op>();
  static void run(const Run& run) noexcept {
    const From* src = run.input<From>(0);
    To* dst = run.output<To>();
    const std::int64_t count = run.count;
    TENURE_VECTORISE
    for (std::int64_t i = 0; i < count; ++i) dst[i] = Op::of(src[i]);
  }
};

// Functions of a value and of one or two numbers, which are inputs that never advance.
template <class Op, class T, int numbers>
struct NumberedLoop {
  using Dst = T;
  template <std::size_t>
  using Src = T;
  static constexpr int kInputs = 1 + numbers;
  static constexpr std::int64_t kGrain = grain_of<Op>();
  static void run(const Run& run) noexcept {
    const T* src = run.input<T>(0);
    T* dst = run.output<T>();
    if constexpr (std::is_floating_point_v<T>) {
      using D = hn::ScalableTag<T>;
      const D d;
      const Constant<D> first{hn::Set(d, *run.input<T>(1))};
      const auto count = static_cast<std::size_t>(run.count);
      if constexpr (numbers == 1) {
        map_lanes<Op>(d, dst, count, Stepped<D>{src}, first);
      } else {
        map_lanes<Op>(d, dst, count, Stepped<D>{src}, first,
                      Constant<D>{hn::Set(d, *run.input<T>(2))});
      }
    } else {
      static_assert(numbers == 2);
      const T first = *run.input<T>(1), second = *run.input<T>(2);
      const std::int64_t count = run.count;
      TENURE_VECTORISE
      for (std::int64_t i = 0; i < count; ++i) dst[i] = Op::of(src[i], first, second);
    }
  }
};

// Runs a NumberedLoop over args.in[0]; numbers_of(attributes) gives an array of T.
template <class Op, class T, auto numbers_of>
void numbered_kernel(const ops::KernelArgs& args) noexcept {
  const auto values = numbers_of(args.attrs);
  constexpr std::size_t numbers = std::tuple_size_v<decltype(numbers_of({}))>;
  const Shape scalar;
  const Strides none;
  std::array<ops::KernelView, 1 + numbers> in{args.in[0]};
  for (std::size_t i = 0; i < numbers; ++i) {
    std::byte* value = reinterpret_cast<std::byte*>(const_cast<T*>(&values[i]));
    in[i + 1] = {value, &scalar, &none, args.in[0].dtype};
  }
  elementwise_kernel<NumberedLoop<Op, T, static_cast<int>(numbers)>>(
      {.in = in, .out = args.out, .attrs = {}});
}

template <class Op, class T, auto numbers_of>
ops::ElementLoop numbered_loop(ops::AttrsRef attrs) noexcept {
  const auto values = numbers_of(attrs);
  constexpr int numbers = static_cast<int>(values.size());
  ops::ElementLoop element_loop{.loop = kRunLoop<NumberedLoop<Op, T, numbers>>, .numbers = numbers};
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::memcpy(element_loop.values[i].bytes.data(), &values[i], sizeof(T));
  }
  return element_loop;
}

template <class Op, class T, auto numbers_of>
constexpr ops::KernelRow numbered_row(std::string_view op) {
  return {.op = op,
          .dtype = dtype_of<T>,
          .run = &numbered_kernel<Op, T, numbers_of>,
          .loop = &numbered_loop<Op, T, numbers_of>};
}

}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
