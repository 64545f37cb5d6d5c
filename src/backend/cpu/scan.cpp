// Running sums and products, and first-order recurrences. Floats run in double.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backend/cpu/axis_layout.h"
#include "backend/cpu/elementwise.h"
#include "backend/cpu/kernels.h"
#include "ops/scan_attrs.h"

namespace tenure::cpu {
namespace {

// Integers wrap.
template <class T, bool is_float = std::is_floating_point_v<T>>
struct Running {
  using Total = double;
};
template <class T>
struct Running<T, false> {
  using Total = std::make_unsigned_t<T>;
};

struct Sum {
  static constexpr int kIdentity = 0;
  template <class Total>
  static Total merge(Total a, Total b) {
    return a + b;
  }
};

struct Product {
  static constexpr int kIdentity = 1;
  template <class Total>
  static Total merge(Total a, Total b) {
    return a * b;
  }
};

template <class Op, class T>
void scan(const ops::KernelArgs& args) noexcept {
  using Total = typename Running<T>::Total;
  const auto& attrs = args.attrs.as<ops::ScanAttrs>();
  const AxisLayout layout(*args.in[0].shape, attrs.axis);
  const std::int64_t first = attrs.reverse ? (layout.count - 1) * layout.inner : 0;
  const std::int64_t step = attrs.reverse ? -layout.inner : layout.inner;
  const bool exclusive = attrs.exclusive;
  layout.each_piece(kSerialElements, [&](std::int64_t offset, std::int64_t columns) {
    const T* src = args.in[0].as<T>() + offset + first;
    T* dst = args.out[0].as<T>() + offset + first;
    Total totals[AxisLayout::kTile];
    std::fill_n(totals, columns, Total{Op::kIdentity});
    for (std::int64_t i = 0; i < layout.count; ++i, src += step, dst += step) {
      TENURE_VECTORISE
      for (std::int64_t j = 0; j < columns; ++j) {
        const Total before = totals[j];
        totals[j] = Op::merge(before, static_cast<Total>(src[j]));
        dst[j] = static_cast<T>(exclusive ? before : totals[j]);
      }
    }
  });
}

template <class T>
void recurrence(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::RecurrenceAttrs>();
  const AxisLayout layout(*args.in[0].shape, attrs.axis);
  const std::int64_t first = attrs.reverse ? (layout.count - 1) * layout.inner : 0;
  const std::int64_t step = attrs.reverse ? -layout.inner : layout.inner;
  layout.each_piece(kSerialElements, [&](std::int64_t offset, std::int64_t columns) {
    const T* factor = args.in[0].as<T>() + offset + first;
    const T* term = args.in[1].as<T>() + offset + first;
    T* dst = args.out[0].as<T>() + offset + first;
    double last[AxisLayout::kTile] = {};
    for (std::int64_t i = 0; i < layout.count; ++i) {
      const std::int64_t at = i * step;
      // Before the first element there is nothing, and no factor.
      const T* factors = factor + (attrs.lagged && i > 0 ? at - step : at);
      TENURE_VECTORISE
      for (std::int64_t j = 0; j < columns; ++j) {
        const double carried = i == 0 ? 0 : static_cast<double>(factors[j]) * last[j];
        last[j] = static_cast<double>(term[at + j]) + carried;
        dst[at + j] = static_cast<T>(last[j]);
      }
    }
  });
}

}  // namespace

std::span<const ops::KernelRow> scan_kernels() {
  static constexpr ops::KernelRow rows[] = {
      {"cumsum", DType::float32, scan<Sum, float>},
      {"cumsum", DType::float64, scan<Sum, double>},
      {"cumsum", DType::int32, scan<Sum, std::int32_t>},
      {"cumsum", DType::int64, scan<Sum, std::int64_t>},
      {"cumprod", DType::float32, scan<Product, float>},
      {"cumprod", DType::float64, scan<Product, double>},
      {"cumprod", DType::int32, scan<Product, std::int32_t>},
      {"cumprod", DType::int64, scan<Product, std::int64_t>},
      {"recurrence", DType::float32, recurrence<float>},
      {"recurrence", DType::float64, recurrence<double>},
  };
  return rows;
}

}  // namespace tenure::cpu
