// Tensors made from attributes alone.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <span>

#include "backend/cpu/convert.h"
#include "backend/cpu/elementwise.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "ops/attrs.h"

namespace tenure::cpu {
namespace {

template <class T>
T element(const Scalar& value) {
  return value.is_integer() ? convert<T>(value.to_int64()) : convert<T>(value.to_double());
}

// Calls value(i) for each element.
template <class T, class Value>
void generate(const ops::KernelView& out, Value value) {
  T* dst = out.as<T>();
  parallel_for(out.numel(), kSerialElements, [dst, value](std::int64_t begin, std::int64_t end) {
    TENURE_VECTORISE
    for (std::int64_t i = begin; i < end; ++i) dst[i] = value(i);
  });
}

template <class T>
void fill(const ops::KernelArgs& args) noexcept {
  const T value = element<T>(args.attrs.as<ops::FillAttrs>().value);
  generate<T>(args.out[0], [value](std::int64_t) { return value; });
}

template <class T>
void arange(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::RangeAttrs>();
  if (attrs.start.is_integer() && attrs.step.is_integer()) {
    const auto start = static_cast<std::uint64_t>(attrs.start.to_int64());
    const auto step = static_cast<std::uint64_t>(attrs.step.to_int64());
    generate<T>(args.out[0], [=](std::int64_t i) {
      return convert<T>(static_cast<std::int64_t>(start + static_cast<std::uint64_t>(i) * step));
    });
  } else {
    const double start = attrs.start.to_double(), step = attrs.step.to_double();
    generate<T>(args.out[0],
                [=](std::int64_t i) { return convert<T>(start + static_cast<double>(i) * step); });
  }
}

template <class T>
void linspace(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::LinspaceAttrs>();
  const std::int64_t last = args.out[0].numel() - 1;
  const double start = attrs.start;
  const double step = last > 0 ? (attrs.stop - start) / static_cast<double>(last) : 0;
  generate<T>(args.out[0],
              [=](std::int64_t i) { return convert<T>(start + static_cast<double>(i) * step); });
  if (last > 0) args.out[0].as<T>()[last] = convert<T>(attrs.stop);
}

template <class T>
void eye(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::EyeAttrs>();
  const std::int64_t columns = attrs.columns;
  const T one = convert<T>(std::int64_t{1});
  T* dst = args.out[0].as<T>();
  const std::int64_t grain = columns > 0 ? kSerialElements / columns + 1 : 1;
  parallel_for(attrs.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    std::memset(static_cast<void*>(dst + begin * columns), 0,
                static_cast<std::size_t>((end - begin) * columns) * sizeof(T));
    for (std::int64_t i = begin; i < end && i < columns; ++i) dst[i * columns + i] = one;
  });
}

// Sizes are compared from the back; where one shape is shorter, it has a 1.
template <class T>
void broadcast_args(const ops::KernelArgs& args) noexcept {
  const std::int64_t a = args.in[0].numel(), b = args.in[1].numel(), longer = std::max(a, b);
  T* dst = args.out[0].as<T>();
  for (std::int64_t back = 1; back <= longer; ++back) {
    const T one = back <= a ? args.in[0].as<T>()[a - back] : T{1};
    const T other = back <= b ? args.in[1].as<T>()[b - back] : T{1};
    if (one < 0 || other < 0) return args.complain("a size is negative: {0}", std::min(one, other));
    if (one != other && one != 1 && other != 1) {
      return args.complain("sizes {0} and {1} do not broadcast", one, other);
    }
    dst[longer - back] = one == 1 ? other : one;
  }
}

#define TENURE_CREATION(T)                                              \
  {"fill", dtype_of<T>, &fill<T>}, {"arange", dtype_of<T>, &arange<T>}, \
      {"linspace", dtype_of<T>, &linspace<T>}, {                        \
    "eye", dtype_of<T>, &eye<T>                                         \
  }

constexpr ops::KernelRow kRows[] = {
    TENURE_CREATION(float),
    TENURE_CREATION(double),
    TENURE_CREATION(std::int32_t),
    TENURE_CREATION(std::int64_t),
    TENURE_CREATION(std::uint8_t),
    TENURE_CREATION(std::int8_t),
    TENURE_CREATION(bool),
    TENURE_CREATION(Float16),
    TENURE_CREATION(BFloat16),
    {"fill", DType::complex64, &fill<std::complex<float>>},
    {"eye", DType::complex64, &eye<std::complex<float>>},
    {"broadcast_args", DType::int32, &broadcast_args<std::int32_t>},
    {"broadcast_args", DType::int64, &broadcast_args<std::int64_t>},
};

#undef TENURE_CREATION

}  // namespace

std::span<const ops::KernelRow> creation_kernels() { return kRows; }

}  // namespace tenure::cpu
