// The one road: the only way tensors come into being from others.
#pragma once

#include <array>
#include <source_location>
#include <span>
#include <utility>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "tenure/tensor.h"

namespace tenure::ops {

// Runs `op` over `in` (whose handles may be the last, and are the caller's to drop) and fills
// `out`. Inputs in `borrowed` are handles that nobody counted: somebody else holds one.
void apply_into(const OpDef& op, std::span<Tensor> in, AttrsRef attrs, std::source_location site,
                std::span<Tensor> out, Inputs borrowed = {});

template <class... Ts>
Tensor apply(const OpDef& op, AttrsRef attrs, std::source_location site, Ts... inputs) {
  std::array<Tensor, sizeof...(Ts)> in{std::move(inputs)...};
  Tensor out;
  apply_into(op, in, attrs, site, {&out, 1});
  return out;
}

inline Tensor apply(const OpDef& op, Arg&& x, AttrsRef attrs = {}) {
  const std::source_location site = x.site();
  Tensor in = std::move(x).tensor();
  Tensor out;
  apply_into(op, {&in, 1}, attrs, site, {&out, 1});
  return out;
}

}  // namespace tenure::ops
