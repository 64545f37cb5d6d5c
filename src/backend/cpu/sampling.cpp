// Draws from a distribution over classes, and whether a class is among the likeliest.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend/cpu/index_view.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/philox.h"
#include "ops/segment_attrs.h"

namespace tenure::cpu {
namespace {

// The probabilities of each row, added up from the first class on.
std::size_t sums_bytes(const ops::KernelArgs& args) noexcept {
  return static_cast<std::size_t>(args.in[0].numel()) * sizeof(double);
}

template <class T>
void add_up(const T* src, std::int64_t classes, bool normalized, double* sums) {
  double largest = -INFINITY;
  for (std::int64_t c = 0; c < classes; ++c) {
    largest = std::max(largest, static_cast<double>(src[c]));
  }
  double total = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    const double x = src[c];
    total += normalized ? x : std::exp(x - largest);
    sums[c] = total;
  }
}

// A number in [0, 1) with 53 bits.
double unit(const Philox::Counter& bits) {
  const std::uint64_t word = std::uint64_t{bits[1]} << 32 | bits[0];
  return static_cast<double>(word >> 11) * 0x1p-53;
}

template <class T>
void multinomial(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::MultinomialAttrs>();
  const std::int64_t classes = (*args.in[0].shape)[-1];
  const std::int64_t rows = args.in[0].numel() / classes;
  const T* src = args.in[0].as<T>();
  auto* sums = reinterpret_cast<double*>(args.scratch);
  auto* dst = args.out[0].as<std::int32_t>();
  parallel_for(rows, kSerialElements / classes + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      add_up(src + row * classes, classes, attrs.normalized, sums + row * classes);
    }
  });
  for (std::int64_t row = 0; row < rows; ++row) {
    const double total = sums[(row + 1) * classes - 1];
    if (!(total > 0 && std::isfinite(total))) {
      args.complain("row {0} of the logits has no probabilities", row);
      return;
    }
  }
  parallel_for(args.out[0].numel(), kSerialElements / 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double* first = sums + i / attrs.samples * classes;
      const std::uint64_t counter = attrs.offset + static_cast<std::uint64_t>(i);
      const double at = unit(Philox::block(attrs.seed, counter)) * first[classes - 1];
      const auto chosen = std::upper_bound(first, first + classes, at) - first;
      dst[i] = static_cast<std::int32_t>(std::min<std::int64_t>(chosen, classes - 1));
    }
  });
}

template <class T>
void in_top_k(const ops::KernelArgs& args) noexcept {
  const std::int64_t k = args.attrs.as<ops::TopAttrs>().k;
  const std::int64_t classes = (*args.in[0].shape)[-1];
  const T* src = args.in[0].as<T>();
  const IndexView targets(args.in[1]);
  auto* dst = args.out[0].as<bool>();
  parallel_for(targets.size(), kSerialElements / classes + 1,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   const T* scores = src + row * classes;
                   const std::int64_t target = targets[row];
                   if (target < 0 || target >= classes || std::isnan(scores[target])) {
                     dst[row] = false;
                     continue;
                   }
                   std::int64_t ahead = 0;
                   for (std::int64_t c = 0; c < classes; ++c) {
                     const bool first = c < target && scores[c] == scores[target];
                     ahead += scores[c] > scores[target] || first ? 1 : 0;
                   }
                   dst[row] = ahead < k;
                 }
               });
}

}  // namespace

std::span<const ops::KernelRow> sampling_kernels() {
  static constexpr ops::KernelRow rows[] = {
      {"multinomial", DType::float32, multinomial<float>, sums_bytes},
      {"multinomial", DType::float64, multinomial<double>, sums_bytes},
      {"in_top_k", DType::float32, in_top_k<float>},
      {"in_top_k", DType::float64, in_top_k<double>},
  };
  return rows;
}

}  // namespace tenure::cpu
