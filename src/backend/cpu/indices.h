// What kernels that take indices share.
#pragma once

#include <cstdint>

#include "backend/cpu/elementwise.h"
#include "ops/kernel.h"

namespace tenure::cpu {

// Calls fn with the indices, int32 or int64, as a pointer.
template <class F>
decltype(auto) with_indices(const ops::KernelView& view, F&& fn) {
  if (view.dtype == DType::int64)
    return fn(static_cast<const std::int64_t*>(view.as<std::int64_t>()));
  return fn(static_cast<const std::int32_t*>(view.as<std::int32_t>()));
}

// Whether all of them lie in [0, limit); complains of the first that does not. `format` is given
// the index, its position and the limit.
template <class I>
bool all_in_range(const ops::KernelArgs& args, const I* indices, std::int64_t count,
                  std::int64_t limit, const char* format) {
  const auto end = static_cast<std::uint64_t>(limit);
  unsigned bad = 0;
  TENURE_VECTORISE
  for (std::int64_t i = 0; i < count; ++i) {
    bad |= static_cast<std::uint64_t>(static_cast<std::int64_t>(indices[i])) >= end ? 1U : 0U;
  }
  if (bad == 0) return true;
  std::int64_t first = 0;
  while (static_cast<std::uint64_t>(static_cast<std::int64_t>(indices[first])) < end) ++first;
  args.complain(format, static_cast<std::int64_t>(indices[first]), first, limit);
  return false;
}

}  // namespace tenure::cpu
