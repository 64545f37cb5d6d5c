// The gradient of an op that is itself a gradient, computed by one fast kernel: by differentiating
// the same function written in public ops.
#pragma once

#include <vector>

#include "ops/op_def.h"
#include "tenure/gradient.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::ops {

// The gradients of an op's inputs, given `same`: a function from its inputs (all of which the OpDef
// keeps) to its outputs, as vectors; an empty handle for an output that changes only in steps.
template <class F>
Grads differentiate(GradContext& g, F&& same) {
  GradientTape tape({.watch_variables = false});
  std::vector<Tensor> in;
  std::vector<Source> sources;
  for (std::size_t i = 0; i < g.inputs(); ++i) {
    const auto input = static_cast<int>(i);
    // A view, so that inputs that are one tensor have gradients of their own.
    in.push_back(reshape(g.x(input), g.x_shape(input)));
    if (!g.needs(input)) continue;
    tape.watch(in.back());
    sources.emplace_back(in.back());
  }
  const std::vector<Tensor> out = same(in);
  Tensor total;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined()) continue;
    Tensor part = sum(out[i] * g.dy(static_cast<int>(i)));
    total = total.defined() ? std::move(total) + std::move(part) : std::move(part);
  }
  std::vector<Tensor> gradients = tape.gradient(total, sources);
  std::vector<Tensor> grads(g.inputs());
  std::size_t next = 0;
  for (std::size_t i = 0; i < g.inputs(); ++i) {
    if (g.needs(static_cast<int>(i))) grads[i] = std::move(gradients[next++]);
  }
  return grads;
}

}  // namespace tenure::ops
