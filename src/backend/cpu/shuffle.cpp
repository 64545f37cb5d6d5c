// The first axis in random order: Fisher and Yates's shuffle of the row numbers, then one copy.
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/philox.h"
#include "ops/attrs.h"

namespace tenure::cpu {
namespace {

std::size_t scratch_bytes(const ops::KernelArgs& args) noexcept {
  return static_cast<std::size_t>((*args.in[0].shape)[0]) * sizeof(std::int64_t);
}

void shuffle(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::ShuffleAttrs>();
  const std::int64_t rows = (*args.in[0].shape)[0];
  const std::int64_t count = args.in[0].numel();
  if (count == 0) return;
  auto* order = reinterpret_cast<std::int64_t*>(args.scratch);
  std::iota(order, order + rows, std::int64_t{0});
  for (std::int64_t i = rows - 1; i > 0; --i) {
    const auto index = static_cast<std::uint64_t>(i);
    const std::uint64_t other = below(index + 1, Philox::block(attrs.seed, attrs.offset + index));
    std::swap(order[i], order[other]);
  }
  const std::size_t bytes = static_cast<std::size_t>(count / rows) * size_of(args.in[0].dtype);
  const std::byte* src = args.in[0].data;
  std::byte* dst = args.out[0].data;
  const std::int64_t grain = kSerialElements * rows / count + 1;
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto here = static_cast<std::size_t>(i) * bytes;
      const auto there = static_cast<std::size_t>(order[i]) * bytes;
      std::memcpy(dst + (attrs.inverse ? there : here), src + (attrs.inverse ? here : there),
                  bytes);
    }
  });
}

}  // namespace

std::span<const ops::KernelRow> shuffle_kernels() {
  static constexpr auto rows = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array{ops::KernelRow{"shuffle", static_cast<DType>(i), shuffle, scratch_bytes}...};
  }(std::make_index_sequence<kDTypeCount>());
  return rows;
}

}  // namespace tenure::cpu
