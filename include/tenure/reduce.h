// Reductions over any axes (all of them by default; negative ones count from the end), and
// functions along one axis.
//
//   tenure::Tensor m = tenure::mean(x, {-1}, {.keep_dims = true});
//   tenure::Tensor p = tenure::softmax(logits);
#pragma once

#include <optional>

#include "tenure/export.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"

namespace tenure {

struct ReduceOptions {
  bool keep_dims = false;
};

TENURE_API Tensor sum(Arg x);
TENURE_API Tensor sum(Arg x, const Axes& axes, ReduceOptions options = {});
TENURE_API Tensor prod(Arg x);
TENURE_API Tensor prod(Arg x, const Axes& axes, ReduceOptions options = {});
TENURE_API Tensor mean(Arg x);
TENURE_API Tensor mean(Arg x, const Axes& axes, ReduceOptions options = {});
TENURE_API Tensor max(Arg x);  // NaN if any is; of nothing: the lowest value
TENURE_API Tensor max(Arg x, const Axes& axes, ReduceOptions options = {});
TENURE_API Tensor min(Arg x);  // NaN if any is; of nothing: the highest value
TENURE_API Tensor min(Arg x, const Axes& axes, ReduceOptions options = {});
TENURE_API Tensor any(Arg x);  // of bool
TENURE_API Tensor any(Arg x, const Axes& axes, ReduceOptions options = {});
TENURE_API Tensor all(Arg x);  // of bool; of nothing: true
TENURE_API Tensor all(Arg x, const Axes& axes, ReduceOptions options = {});
TENURE_API Tensor arg_max(Arg x, int axis = 0);  // int32; the first of equals
TENURE_API Tensor arg_min(Arg x, int axis = 0);

// The mean square distance from the mean, and its root.
TENURE_API Tensor variance(Arg x);
TENURE_API Tensor variance(Arg x, const Axes& axes, ReduceOptions options = {});
TENURE_API Tensor standard_deviation(Arg x);
TENURE_API Tensor standard_deviation(Arg x, const Axes& axes, ReduceOptions options = {});
struct Moments {
  Tensor mean;
  Tensor variance;
};
TENURE_API Moments moments(Arg x);
TENURE_API Moments moments(Arg x, const Axes& axes, ReduceOptions options = {});

// log(sum(exp(x))), without overflow; of nothing, or of -inf alone: -inf.
TENURE_API Tensor logsumexp(Arg x);
TENURE_API Tensor logsumexp(Arg x, const Axes& axes, ReduceOptions options = {});

// Over one axis, or all: a vector's norm, of order 0 (how many are not zero), infinity, -infinity
// or any above 0. Over two axes: a matrix's, of order 1 (columns), infinity or -infinity (rows).
// Without an order: the root of the sum of squares, of either.
struct NormOptions {
  std::optional<double> order = {};
  std::optional<Axes> axes = {};
  bool keep_dims = false;
};
TENURE_API Tensor norm(Arg x, const NormOptions& options = {});

TENURE_API Tensor softmax(Arg x, int axis = -1);
TENURE_API Tensor log_softmax(Arg x, int axis = -1);

struct ScanOptions {
  bool exclusive = false;  // of those before the element, without itself
  bool reverse = false;    // from the end
};
TENURE_API Tensor cumsum(Arg x, int axis = 0, ScanOptions options = {});
TENURE_API Tensor cumprod(Arg x, int axis = 0, ScanOptions options = {});

}  // namespace tenure
