// Reductions over any axes (all of them by default; negative ones count from the end).
//
//   tenure::Tensor m = tenure::mean(x, {-1}, {.keep_dims = true});
#pragma once

#include "tenure/export.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"

namespace tenure {

struct ReduceOptions {
  bool keep_dims = false;
};

TENURE_API Tensor sum(Arg x);
TENURE_API Tensor sum(Arg x, const Axes& axes, ReduceOptions options = {});
TENURE_API Tensor mean(Arg x);
TENURE_API Tensor mean(Arg x, const Axes& axes, ReduceOptions options = {});
TENURE_API Tensor max(Arg x);  // NaN if any is; of nothing: the lowest value
TENURE_API Tensor max(Arg x, const Axes& axes, ReduceOptions options = {});
TENURE_API Tensor arg_max(Arg x, int axis = 0);  // int32; the first of equals

}  // namespace tenure
