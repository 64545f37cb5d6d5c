#include "tenure/reduce.h"

#include <algorithm>
#include <limits>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/promote.h"
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

constinit const OpDef kSum{.name = "sum",
                           .infer = reduce,
                           .tfjs = "Sum",
                           .grad_keeps = kNothing,
                           .grad = [](GradContext& g) -> Grads {
                             return broadcast_to(with_kept_axes(g, g.dy()), g.x_shape());
                           }};

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

constinit const OpDef kProd{.name = "prod",
                            .infer = reduce,
                            .tfjs = "Prod",
                            .grad_keeps = kInput,
                            .grad = [](GradContext& g) -> Grads {
                              return product_of_others(g.x(), g.attrs_as<ReduceAttrs>().axes) *
                                     with_kept_axes(g, g.dy());
                            }};

// Every element equal to the maximum gets the whole gradient, as in TensorFlow.js.
Grads to_equals(GradContext& g) {
  const Tensor extreme = with_kept_axes(g, g.y());
  return cast(equal(g.x(), extreme), g.x_dtype()) * with_kept_axes(g, g.dy());
}

constinit const OpDef kMax{.name = "max",
                           .infer = reduce,
                           .tfjs = "Max",
                           .grad_keeps = kInput | kOutput,
                           .grad = to_equals};
constinit const OpDef kMin{.name = "min",
                           .infer = reduce,
                           .tfjs = "Min",
                           .grad_keeps = kInput | kOutput,
                           .grad = to_equals};

constinit const OpDef kAny{
    .name = "any", .infer = reduce, .tfjs = "Any", .no_gradient = "it is of bool"};
constinit const OpDef kAll{
    .name = "all", .infer = reduce, .tfjs = "All", .no_gradient = "it is of bool"};

void infer_place(Infer& infer) {
  const int axis = infer.attrs.as<AxisAttrs>().axis;
  if (infer.shape(0)[axis] == 0) {
    raise<ShapeError>("{}: axis {} of {} is empty", infer.op, axis, infer.shape(0));
  }
  check_indexable(infer.op, infer.shape(0)[axis], infer.shape(0));
  infer.result(reduced_shape(infer.shape(0), {.axes = {axis}}), DType::int32);
}

constexpr const char* kIndex = "an index changes only in steps";
constinit const OpDef kArgMax{
    .name = "arg_max", .infer = infer_place, .tfjs = "ArgMax", .no_gradient = kIndex};
constinit const OpDef kArgMin{
    .name = "arg_min", .infer = infer_place, .tfjs = "ArgMin", .no_gradient = kIndex};

Tensor run(const OpDef& op, const char* name, Tensor x, const Axes* axes, ReduceOptions options,
           std::source_location site) {
  const Shape& shape = x.shape();
  const ReduceAttrs attrs{axes != nullptr ? normal_axes(name, *axes, shape) : all_axes(shape),
                          options.keep_dims};
  return apply(op, ref(attrs), site, std::move(x));
}

Tensor sum(Arg& x, const Axes* axes, ReduceOptions options) {
  const detail::UserLine site(x.site());
  return run(kSum, "sum", as_number("sum", std::move(x), true), axes, options, site);
}

Tensor mean(Arg& x, const Axes* axes, ReduceOptions options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("mean", site);
  Tensor values = as_float("mean", std::move(x));
  const double before = static_cast<double>(values.numel());
  Tensor total = run(kSum, "mean", std::move(values), axes, options, site);
  double count = before / static_cast<double>(total.numel());
  if (total.numel() == 0) count = 1;
  return div(std::move(total), count);
}

Tensor extreme(const OpDef& op, Arg& x, const Axes* axes, ReduceOptions options) {
  const detail::UserLine site(x.site());
  return run(op, op.name, as_number(op.name, std::move(x)), axes, options, site);
}

Tensor prod(Arg& x, const Axes* axes, ReduceOptions options) {
  const detail::UserLine site(x.site());
  return run(kProd, "prod", as_number("prod", std::move(x), true), axes, options, site);
}

Tensor logical(const OpDef& op, Arg& x, const Axes* axes, ReduceOptions options) {
  const detail::UserLine site(x.site());
  return run(op, op.name, as_tensor(op.name, std::move(x)), axes, options, site);
}

Tensor place(const OpDef& op, Arg& x, int axis) {
  const detail::UserLine site(x.site());
  Tensor values = as_number(op.name, std::move(x));
  const AxisAttrs attrs{normal_axis(op.name, axis, values.shape())};
  return apply(op, ref(attrs), site, std::move(values));
}

// The axes, normalised, of a function made of reductions.
Axes axes_of(const char* name, const Tensor& x, const Axes* axes) {
  return axes != nullptr ? normal_axes(name, *axes, x.shape()) : all_axes(x.shape());
}

Tensor without_axes(Tensor kept, const Shape& shape, const Axes& axes, bool keep_dims) {
  return keep_dims ? kept : reshape(std::move(kept), reduced_shape(shape, {axes, false}));
}

Moments moments(const char* name, Arg& x, const Axes* axes, ReduceOptions options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call(name, site);
  const Tensor values = as_float(name, std::move(x));
  const Axes over = axes_of(name, values, axes);
  Tensor middle = mean(values, over, {.keep_dims = true});
  Tensor spread = mean(square(values - middle), over, options);
  return {without_axes(std::move(middle), values.shape(), over, options.keep_dims),
          std::move(spread)};
}

Tensor deviation(Arg& x, const Axes* axes, ReduceOptions options) {
  const detail::CallScope call("standard_deviation", x.site());
  return sqrt(moments("standard_deviation", x, axes, options).variance);
}

Tensor logsumexp(Arg& x, const Axes* axes, ReduceOptions options) {
  const detail::CallScope call("logsumexp", x.site());
  const Tensor values = as_float("logsumexp", std::move(x));
  const Axes over = axes_of("logsumexp", values, axes);
  Tensor largest = stop_gradient(max(values, over, {.keep_dims = true}));
  largest = where(equal(largest - largest, 0), largest, 0);  // not an infinity
  const Tensor total = sum(exp(values - largest), over, {.keep_dims = true});
  // Where all are -inf no gradient flows, instead of 0 / 0.
  const Tensor none = equal(total, 0);
  Tensor result =
      where(none, -std::numeric_limits<double>::infinity(), log(where(none, 1, total)) + largest);
  return without_axes(std::move(result), values.shape(), over, options.keep_dims);
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

Tensor matrix_norm(const Tensor& x, const Axes& given, double order, ReduceOptions options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (order != 1 && order != kInfinity && order != -kInfinity) {
    raise<ValueError>("norm: order {} is none of a matrix's: 1, infinity or -infinity", order);
  }
  // Over rows, then columns, or the other way round: sums of magnitudes, and the extreme one.
  const bool rows_first = order == 1;
  const Axes first{given[rows_first ? 0 : 1]}, second{given[rows_first ? 1 : 0]};
  const Tensor sums = sum(magnitude(x), first, {.keep_dims = true});
  Tensor kept = order == -kInfinity ? min(sums, second, {.keep_dims = true})
                                    : max(sums, second, {.keep_dims = true});
  return without_axes(std::move(kept), x.shape(), normal_axes("norm", given, x.shape()),
                      options.keep_dims);
}

Tensor norm(Arg& x, const NormOptions& options) {
  const detail::CallScope call("norm", x.site());
  Tensor values = as_float("norm", std::move(x));
  const Axes over = axes_of("norm", values, options.axes ? &*options.axes : nullptr);
  const ReduceOptions reduce_options{.keep_dims = options.keep_dims};
  if (options.axes && over.rank() != 1 && over.rank() != 2) {
    raise<ShapeError>("norm: over one axis or two, or all of them, not {}: {}", *options.axes,
                      values.shape());
  }
  if (!options.order) return vector_norm(std::move(values), over, 2, reduce_options);
  if (options.axes && over.rank() == 2) {
    return matrix_norm(values, *options.axes, *options.order, reduce_options);
  }
  return vector_norm(std::move(values), over, *options.order, reduce_options);
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

Tensor sum(Arg x) { return ops::sum(x, nullptr, {}); }
Tensor sum(Arg x, const Axes& axes, ReduceOptions options) { return ops::sum(x, &axes, options); }
Tensor prod(Arg x) { return ops::prod(x, nullptr, {}); }
Tensor prod(Arg x, const Axes& axes, ReduceOptions options) { return ops::prod(x, &axes, options); }
Tensor mean(Arg x) { return ops::mean(x, nullptr, {}); }
Tensor mean(Arg x, const Axes& axes, ReduceOptions options) { return ops::mean(x, &axes, options); }
Tensor max(Arg x) { return ops::extreme(ops::kMax, x, nullptr, {}); }
Tensor max(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::extreme(ops::kMax, x, &axes, options);
}
Tensor min(Arg x) { return ops::extreme(ops::kMin, x, nullptr, {}); }
Tensor min(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::extreme(ops::kMin, x, &axes, options);
}
Tensor any(Arg x) { return ops::logical(ops::kAny, x, nullptr, {}); }
Tensor any(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::logical(ops::kAny, x, &axes, options);
}
Tensor all(Arg x) { return ops::logical(ops::kAll, x, nullptr, {}); }
Tensor all(Arg x, const Axes& axes, ReduceOptions options) {
  return ops::logical(ops::kAll, x, &axes, options);
}

Tensor arg_max(Arg x, int axis) { return ops::place(ops::kArgMax, x, axis); }
Tensor arg_min(Arg x, int axis) { return ops::place(ops::kArgMin, x, axis); }

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
