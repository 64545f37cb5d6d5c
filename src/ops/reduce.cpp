#include "tenure/reduce.h"

#include <algorithm>
#include <limits>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/call.h"
#include "ops/families.h"
#include "ops/promote.h"
#include "ops/round_once.h"
#include "ops/shapes.h"
#include "tensor/access.h"
#include "tenure/gradient.h"
#include "tenure/math.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

Shape reduced_shape(const Shape& shape, const ReduceAttrs& attrs) {
  Shape result;
  int next = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool reduced = next < attrs.axes.rank() && attrs.axes[next] == axis;
    if (reduced) ++next;
    if (!reduced) {
      result.push_back(shape[axis]);
    } else if (attrs.keep_dims) {
      result.push_back(1);
    }
  }
  return result;
}

void reduce(Infer& infer) {
  infer.result(reduced_shape(infer.shape(0), infer.attrs.as<ReduceAttrs>()), infer.dtype(0));
}

// A reduction's result or gradient, with its reduced axes back as ones.
Tensor with_kept_axes(GradContext& g, Tensor reduced) {
  ReduceAttrs kept = g.attrs_as<ReduceAttrs>();
  kept.keep_dims = true;
  return reshape(std::move(reduced), reduced_shape(g.x_shape(), kept));
}

constexpr OpDef reduction(const char* name, const char* tfjs, Takes takes, GradKeeps keeps,
                          Grads (*grad)(GradContext&)) {
  return {.name = name,
          .infer = reduce,
          .tfjs = tfjs,
          .takes = takes,
          .attrs = &kAttrs<ReduceAttrs>,
          .settle = settle_axes<ReduceAttrs>,
          .grad_keeps = keeps,
          .grad = grad};
}

constexpr OpDef reduction_of_bool(const char* name, const char* tfjs) {
  OpDef op = reduction(name, tfjs, Takes::booleans, kNothing, nullptr);
  op.no_gradient = "it is of bool";
  return op;
}

constinit const OpDef kSum = reduction(
    "sum", "Sum(axis=axes)", Takes::totals, kNothing,
    [](GradContext& g) -> Grads { return broadcast_to(with_kept_axes(g, g.dy()), g.x_shape()); });

// For each element the product of all others, exactly: of those before it and those after it.
Tensor product_of_others(Tensor x, const Axes& axes) {
  const Shape shape = x.shape();
  Axes order, back = shape;
  Shape lines{1, 1};
  for (const bool reduced : {false, true}) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if ((std::find(axes.begin(), axes.end(), axis) != axes.end()) != reduced) continue;
      back[axis] = order.rank();
      order.push_back(axis);
      lines[reduced ? 1 : 0] *= shape[axis];
    }
  }
  Tensor moved = transpose(std::move(x), order);
  const Shape moved_shape = moved.shape();
  const Tensor line = reshape(std::move(moved), lines);
  Tensor others = cumprod(line, 1, {.exclusive = true}) *
                  cumprod(line, 1, {.exclusive = true, .reverse = true});
  return transpose(reshape(std::move(others), moved_shape), back);
}

constinit const OpDef kProd =
    reduction("prod", "Prod(axis=axes)", Takes::totals, kInput, [](GradContext& g) -> Grads {
      return product_of_others(g.x(), g.attrs_as<ReduceAttrs>().axes) * with_kept_axes(g, g.dy());
    });

// Every element equal to the maximum gets the whole gradient, as in TensorFlow.js.
Grads to_equals(GradContext& g) {
  const Tensor extreme = with_kept_axes(g, g.y());
  return cast(equal(g.x(), extreme), g.x_dtype()) * with_kept_axes(g, g.dy());
}

constinit const OpDef kMax =
    reduction("max", "Max(reductionIndices=axes)", Takes::numbers, kInput | kOutput, to_equals);
constinit const OpDef kMin =
    reduction("min", "Min(axis=axes)", Takes::numbers, kInput | kOutput, to_equals);
constinit const OpDef kAny = reduction_of_bool("any", "Any(axis=axes)");
constinit const OpDef kAll = reduction_of_bool("all", "All(axis=axes)");

void infer_place(Infer& infer) {
  const int axis = infer.attrs.as<AxisAttrs>().axis;
  if (infer.shape(0)[axis] == 0) {
    raise<ShapeError>("{}: axis {} of {} is empty", infer.op, axis, infer.shape(0));
  }
  check_indexable(infer.op, infer.shape(0)[axis], infer.shape(0));
  infer.result(reduced_shape(infer.shape(0), {.axes = {axis}}), DType::int32);
}

constexpr OpDef place(const char* name, const char* tfjs) {
  return {.name = name,
          .infer = infer_place,
          .tfjs = tfjs,
          .takes = Takes::numbers,
          .attrs = &kAttrs<AxisAttrs>,
          .settle = settle_axis<AxisAttrs>,
          .no_gradient = "an index changes only in steps"};
}

constinit const OpDef kArgMax = place("arg_max", "ArgMax");
constinit const OpDef kArgMin = place("arg_min", "ArgMin");

// Over all axes.
Tensor over_all(const OpDef& op, Arg& x) {
  const Shape shape = shape_of(op.name, x);
  return call(op, std::move(x), ReduceAttrs{all_axes(shape), false});
}
Tensor over(const OpDef& op, Arg& x, const Axes& axes, ReduceOptions options) {
  return call(op, std::move(x), ReduceAttrs{axes, options.keep_dims});
}

// The axes, normalised, of a function made of reductions.
Axes axes_of(const char* name, const Tensor& x, const Axes* axes) {
  return axes != nullptr ? normal_axes(name, *axes, x.shape()) : all_axes(x.shape());
}

Tensor mean(Arg& x, const Axes* axes, ReduceOptions options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("mean", site);
  Tensor values = as_float("mean", std::move(x));
  const RoundOnce rounded("mean", values, site);
  const double before = static_cast<double>(values.numel());
  const ReduceAttrs attrs{axes_of("mean", values, axes), options.keep_dims};
  Tensor total = apply(kSum, ref(attrs), site, std::move(values));
  double count = before / static_cast<double>(total.numel());
  if (total.numel() == 0) count = 1;
  return rounded(div(std::move(total), count));
}

Tensor without_axes(Tensor kept, const Shape& shape, const Axes& axes, bool keep_dims) {
  return keep_dims ? kept : reshape(std::move(kept), reduced_shape(shape, {axes, false}));
}

Moments moments(const char* name, Arg& x, const Axes* axes, ReduceOptions options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call(name, site);
  Tensor values = as_float(name, std::move(x));
  const RoundOnce rounded(name, values, site);
  const Axes over = axes_of(name, values, axes);
  Tensor middle = mean(values, over, {.keep_dims = true});
  Tensor spread = mean(square(values - middle), over, options);
  return {rounded(without_axes(std::move(middle), values.shape(), over, options.keep_dims)),
          rounded(std::move(spread))};
}

Tensor deviation(Arg& x, const Axes* axes, ReduceOptions options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("standard_deviation", site);
  Tensor values = as_float("standard_deviation", std::move(x));
  const RoundOnce rounded("standard_deviation", values, site);
  Arg wide(std::move(values), site);
  return rounded(sqrt(moments("standard_deviation", wide, axes, options).variance));
}

Tensor logsumexp(Arg& x, const Axes* axes, ReduceOptions options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("logsumexp", site);
  Tensor values = as_float("logsumexp", std::move(x));
  const RoundOnce rounded("logsumexp", values, site);
  const Axes over = axes_of("logsumexp", values, axes);
  Tensor largest = stop_gradient(max(values, over, {.keep_dims = true}));
  largest = where(equal(largest - largest, 0), largest, 0);  // not an infinity
  const Tensor total = sum(exp(values - largest), over, {.keep_dims = true});
  // Where all are -inf no gradient flows, instead of 0 / 0.
  const Tensor none = equal(total, 0);
  Tensor result =
      where(none, -std::numeric_limits<double>::infinity(), log(where(none, 1, total)) + largest);
  return rounded(without_axes(std::move(result), values.shape(), over, options.keep_dims));
}

// |x|, whose gradient at 0 is 0.
Tensor magnitude(const Tensor& x) {
  return x * (cast(greater(x, 0), x.dtype()) - cast(less(x, 0), x.dtype()));
}

Tensor vector_norm(Tensor x, const Axes& over, double order, ReduceOptions options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (order == 2) return sqrt(sum(square(std::move(x)), over, options));
  if (order == 0) return sum(cast(not_equal(x, 0), x.dtype()), over, options);
  const Tensor size = magnitude(x);
  if (order == 1) return sum(size, over, options);
  if (order == kInfinity) return max(size, over, options);
  if (order == -kInfinity) return min(size, over, options);
  if (!(order > 0)) {
    raise<ValueError>("norm: order {} is none of a vector's: 0, infinity, -infinity or above 0",
                      order);
  }
  // Zeros take no part: the logarithm's gradient at 0 would spoil the others'.
  const Tensor zero = equal(size, 0);
  const Tensor total = sum(where(zero, 0, exp(log(where(zero, 1, size)) * order)), over, options);
  const Tensor nothing = equal(total, 0);
  return where(nothing, 0, exp(log(where(nothing, 1, total)) / order));
}

Tensor matrix_norm(const Tensor& x, const Axes& axes, double order, ReduceOptions options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (order != 1 && order != kInfinity && order != -kInfinity) {
    raise<ValueError>("norm: order {} is none of a matrix's: 1, infinity or -infinity", order);
  }
  // Over rows, then columns, or the other way round: sums of magnitudes, and the extreme one.
  const bool rows_first = order == 1;
  const Axes first{axes[rows_first ? 0 : 1]}, second{axes[rows_first ? 1 : 0]};
  const Tensor sums = sum(magnitude(x), first, {.keep_dims = true});
  Tensor kept = order == -kInfinity ? min(sums, second, {.keep_dims = true})
                                    : max(sums, second, {.keep_dims = true});
  return without_axes(std::move(kept), x.shape(), normal_axes("norm", axes, x.shape()),
                      options.keep_dims);
}

Tensor norm(Arg& x, const NormOptions& options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("norm", site);
  Tensor values = as_float("norm", std::move(x));
  const RoundOnce rounded("norm", values, site);
  const Axes over = axes_of("norm", values, options.axes ? &*options.axes : nullptr);
  const ReduceOptions reduce_options{.keep_dims = options.keep_dims};
  if (options.axes && over.rank() != 1 && over.rank() != 2) {
    raise<ShapeError>("norm: over one axis or two, or all of them, not {}: {}", *options.axes,
                      values.shape());
  }
  if (!options.order) return rounded(vector_norm(std::move(values), over, 2, reduce_options));
  if (options.axes && over.rank() == 2) {
    return rounded(matrix_norm(values, *options.axes, *options.order, reduce_options));
  }
  return rounded(vector_norm(std::move(values), over, *options.order, reduce_options));
}

}  // namespace

Family reduce_ops() {
  static constexpr const OpDef* ops[] = {&kSum, &kProd, &kMax,    &kMin,
                                         &kAny, &kAll,  &kArgMax, &kArgMin};
  static constexpr Composite composites[] = {
      {"mean", "Mean", "sum, div"},
      {"moments", nullptr, "mean, sub, square"},
      {"variance", nullptr, "moments"},
      {"standard_deviation", nullptr, "moments, sqrt"},
      {"logsumexp", nullptr, "max, sub, exp, sum, log, where"},
      {"norm", nullptr, "sum, max, min, square, sqrt, exp, log, where"},
  };
  return {ops, composites};
}

}  // namespace ops

Tensor sum(Arg x) { return ops::over_all(ops::kSum, x); }
Tensor sum(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::over(ops::kSum, x, axes, options);
}
Tensor prod(Arg x) { return ops::over_all(ops::kProd, x); }
Tensor prod(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::over(ops::kProd, x, axes, options);
}
Tensor mean(Arg x) { return ops::mean(x, nullptr, {}); }
Tensor mean(Arg x, const Axes& axes, ReduceOptions options) { return ops::mean(x, &axes, options); }
Tensor max(Arg x) { return ops::over_all(ops::kMax, x); }
Tensor max(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::over(ops::kMax, x, axes, options);
}
Tensor min(Arg x) { return ops::over_all(ops::kMin, x); }
Tensor min(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::over(ops::kMin, x, axes, options);
}
Tensor any(Arg x) { return ops::over_all(ops::kAny, x); }
Tensor any(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::over(ops::kAny, x, axes, options);
}
Tensor all(Arg x) { return ops::over_all(ops::kAll, x); }
Tensor all(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::over(ops::kAll, x, axes, options);
}

Tensor arg_max(Arg x, int axis) {
  return ops::call(ops::kArgMax, std::move(x), ops::AxisAttrs{axis});
}
Tensor arg_min(Arg x, int axis) {
  return ops::call(ops::kArgMin, std::move(x), ops::AxisAttrs{axis});
}

Tensor variance(Arg x) { return ops::moments("variance", x, nullptr, {}).variance; }
Tensor variance(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::moments("variance", x, &axes, options).variance;
}
Tensor standard_deviation(Arg x) { return ops::deviation(x, nullptr, {}); }
Tensor standard_deviation(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::deviation(x, &axes, options);
}
Moments moments(Arg x) { return ops::moments("moments", x, nullptr, {}); }
Moments moments(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::moments("moments", x, &axes, options);
}
Tensor logsumexp(Arg x) { return ops::logsumexp(x, nullptr, {}); }
Tensor logsumexp(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::logsumexp(x, &axes, options);
}

Tensor norm(Arg x, const NormOptions& options) { return ops::norm(x, options); }

}  // namespace tenure
