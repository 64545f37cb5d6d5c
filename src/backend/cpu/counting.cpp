// Counts of what occurs: a row of counts belongs to one thread.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/indices.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "ops/counting_attrs.h"

namespace tenure::cpu {
namespace {

constexpr std::int32_t kMostCounted = std::numeric_limits<std::int32_t>::max();

template <class T>
T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}

template <class T, class I>
void count_row(const I* src, const T* weights, std::int64_t width, bool binary, std::int64_t size,
               T* dst) {
  std::fill_n(dst, size, T{0});
  for (std::int64_t i = 0; i < width; ++i) {
    const auto at = static_cast<std::int64_t>(src[i]);
    if (at >= size) continue;
    dst[at] = binary ? T{1} : plus(dst[at], weights != nullptr ? weights[i] : T{1});
  }
}

template <class T>
void bincount(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::BincountAttrs>();
  const Shape& shape = *args.in[0].shape;
  const std::int64_t width = shape[-1];
  const std::int64_t rows = shape.rank() == 1 ? 1 : shape[0];
  const T* weights = args.in.size() > 1 ? args.in[1].as<T>() : nullptr;
  T* dst = args.out[0].as<T>();
  with_indices(args.in[0], [&](const auto* src) {
    for (std::int64_t i = 0; i < args.in[0].numel(); ++i) {
      if (src[i] >= 0) continue;
      args.complain("{0} at position {1} is negative and cannot be counted",
                    static_cast<std::int64_t>(src[i]), i);
      return;
    }
    const std::int64_t work = std::max<std::int64_t>(width + attrs.size, 1);
    parallel_for(rows, kSerialMathElements / work + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        count_row(src + r * width, weights != nullptr ? weights + r * width : nullptr, width,
                  attrs.binary, attrs.size, dst + r * attrs.size);
      }
    });
  });
}

template <class T>
void histogram(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::HistogramAttrs>();
  const T* src = args.in[0].as<T>();
  std::int32_t* dst = args.out[0].as<std::int32_t>();
  std::fill_n(dst, attrs.bins, 0);
  const auto bins = static_cast<double>(attrs.bins);
  const double scale = bins / (attrs.high - attrs.low);
  for (std::int64_t i = 0; i < args.in[0].numel(); ++i) {
    const double place = (static_cast<double>(src[i]) - attrs.low) * scale;
    if (place != place) continue;  // NOLINT(misc-redundant-expression): it is not, for NaN
    std::int32_t& bin = dst[static_cast<std::int64_t>(std::clamp(place, 0.0, bins - 1))];
    if (bin == kMostCounted) {
      args.complain("bin {0} has more elements than int32 can count", &bin - dst);
      return;
    }
    ++bin;
  }
}

template <class T>
constexpr auto rows_of() {
  return std::array{ops::KernelRow{"bincount", dtype_of<T>, bincount<T>},
                    ops::KernelRow{"histogram", dtype_of<T>, histogram<T>}};
}

constexpr std::array kRows = {rows_of<float>(),        rows_of<double>(),
                              rows_of<std::int32_t>(), rows_of<std::int64_t>(),
                              rows_of<std::uint8_t>(), rows_of<std::int8_t>()};

}  // namespace

std::span<const ops::KernelRow> counting_kernels() {
  return {kRows[0].data(), kRows.size() * kRows[0].size()};
}

}  // namespace tenure::cpu
