// The index of the largest or smallest element along an axis: the first of equals. Comparing as
// TensorFlow.js does, a NaN is never better, so it is chosen only if it comes first.
#include <algorithm>
#include <cstdint>

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "ops/attrs.h"

namespace tenure::cpu {
namespace {

constexpr std::int64_t kTile = 256;  // columns whose best values are kept on the stack

struct Largest {
  template <class T>
  static bool better(T a, T b) {
    return a > b;
  }
};

struct Smallest {
  template <class T>
  static bool better(T a, T b) {
    return a < b;
  }
};

template <class Wanted, class T>
std::int32_t best_of_run(const T* src, std::int64_t count) {
  T best = src[0];
  std::int64_t index = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    if (Wanted::better(src[i], best)) {
      best = src[i];
      index = i;
    }
  }
  return static_cast<std::int32_t>(index);
}

template <class Wanted, class T>
void best_of_columns(const T* src, std::int64_t count, std::int64_t stride, std::int64_t columns,
                     std::int32_t* dst) {
  T best[kTile];
  std::copy_n(src, columns, best);
  std::fill_n(dst, columns, 0);
  for (std::int64_t i = 1; i < count; ++i) {
    const T* row = src + i * stride;
    const auto index = static_cast<std::int32_t>(i);
#pragma omp simd
    for (std::int64_t j = 0; j < columns; ++j) {
      const bool better = Wanted::better(row[j], best[j]);
      best[j] = better ? row[j] : best[j];
      dst[j] = better ? index : dst[j];
    }
  }
}

template <class Wanted, class T>
void arg_reduce(const ops::KernelArgs& args) noexcept {
  const int axis = args.attrs.as<ops::AxisAttrs>().axis;
  const Shape& shape = *args.in[0].shape;
  const std::int64_t count = shape[axis];
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  if (outer * inner * count == 0) return;
  const T* src = args.in[0].as<T>();
  auto* dst = args.out[0].as<std::int32_t>();
  const std::int64_t tiles = (inner + kTile - 1) / kTile;
  const std::int64_t tile_elements = count * std::min(inner, kTile);
  const std::int64_t grain = (kSerialElements + tile_elements - 1) / tile_elements;
  parallel_for(outer * tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      if (inner == 1) {
        dst[t] = best_of_run<Wanted>(src + t * count, count);
      } else {
        const std::int64_t column = t % tiles * kTile;
        best_of_columns<Wanted>(src + t / tiles * count * inner + column, count, inner,
                                std::min(kTile, inner - column), dst + t / tiles * inner + column);
      }
    }
  });
}

}  // namespace

std::span<const ops::KernelRow> arg_reduce_kernels() {
  static constexpr ops::KernelRow rows[] = {
      {"arg_max", DType::float32, arg_reduce<Largest, float>},
      {"arg_max", DType::float64, arg_reduce<Largest, double>},
      {"arg_max", DType::int32, arg_reduce<Largest, std::int32_t>},
      {"arg_max", DType::int64, arg_reduce<Largest, std::int64_t>},
      {"arg_max", DType::uint8, arg_reduce<Largest, std::uint8_t>},
      {"arg_max", DType::int8, arg_reduce<Largest, std::int8_t>},
      {"arg_min", DType::float32, arg_reduce<Smallest, float>},
      {"arg_min", DType::float64, arg_reduce<Smallest, double>},
      {"arg_min", DType::int32, arg_reduce<Smallest, std::int32_t>},
      {"arg_min", DType::int64, arg_reduce<Smallest, std::int64_t>},
      {"arg_min", DType::uint8, arg_reduce<Smallest, std::uint8_t>},
      {"arg_min", DType::int8, arg_reduce<Smallest, std::int8_t>},
  };
  return rows;
}

}  // namespace tenure::cpu
