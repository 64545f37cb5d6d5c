#include "tenure/reduce.h"

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/promote.h"
#include "tensor/access.h"
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

constinit const OpDef kSum{
    .name = "sum", .infer = reduce, .grad_keeps = kNothing, .grad = [](GradContext& g) -> Grads {
      return broadcast_to(with_kept_axes(g, g.dy()), g.x_shape());
    }};

// Every element equal to the maximum gets the whole gradient, as in TensorFlow.js.
constinit const OpDef kMax{.name = "max",
                           .infer = reduce,
                           .grad_keeps = kInput | kOutput,
                           .grad = [](GradContext& g) -> Grads {
                             const Tensor largest = with_kept_axes(g, g.y());
                             return cast(equal(g.x(), largest), g.x_dtype()) *
                                    with_kept_axes(g, g.dy());
                           }};

constinit const OpDef kArgMax{
    .name = "arg_max",
    .infer =
        [](Infer& infer) {
          const int axis = infer.attrs.as<AxisAttrs>().axis;
          if (infer.shape(0)[axis] == 0) {
            raise<ShapeError>("arg_max: axis {} of {} is empty", axis, infer.shape(0));
          }
          infer.result(reduced_shape(infer.shape(0), {.axes = {axis}}), DType::int32);
        },
    .no_gradient = "an index changes only in steps"};

Tensor run(const OpDef& op, const char* name, Tensor x, const Axes* axes, ReduceOptions options,
           std::source_location site) {
  const Shape& shape = x.shape();
  const ReduceAttrs attrs{axes != nullptr ? normal_axes(name, *axes, shape) : all_axes(shape),
                          options.keep_dims};
  return apply(op, ref(attrs), site, std::move(x));
}

Tensor sum(Arg& x, const Axes* axes, ReduceOptions options) {
  const std::source_location site = x.site();
  return run(kSum, "sum", as_number("sum", std::move(x), true), axes, options, site);
}

Tensor mean(Arg& x, const Axes* axes, ReduceOptions options) {
  const std::source_location site = x.site();
  const detail::CallScope call("mean", site);
  Tensor values = as_float("mean", std::move(x));
  const double before = static_cast<double>(values.numel());
  Tensor total = run(kSum, "mean", std::move(values), axes, options, site);
  double count = before / static_cast<double>(total.numel());
  if (total.numel() == 0) count = 1;
  return div(std::move(total), count);
}

Tensor max(Arg& x, const Axes* axes, ReduceOptions options) {
  const std::source_location site = x.site();
  return run(kMax, "max", as_number("max", std::move(x)), axes, options, site);
}

}  // namespace

Family reduce_ops() {
  static constexpr const OpDef* ops[] = {&kSum, &kMax, &kArgMax};
  return ops;
}

}  // namespace ops

Tensor sum(Arg x) { return ops::sum(x, nullptr, {}); }
Tensor sum(Arg x, const Axes& axes, ReduceOptions options) { return ops::sum(x, &axes, options); }
Tensor mean(Arg x) { return ops::mean(x, nullptr, {}); }
Tensor mean(Arg x, const Axes& axes, ReduceOptions options) { return ops::mean(x, &axes, options); }
Tensor max(Arg x) { return ops::max(x, nullptr, {}); }
Tensor max(Arg x, const Axes& axes, ReduceOptions options) { return ops::max(x, &axes, options); }

Tensor arg_max(Arg x, int axis) {
  const std::source_location site = x.site();
  Tensor values = ops::as_number("arg_max", std::move(x));
  const ops::AxisAttrs attrs{ops::normal_axis("arg_max", axis, values.shape())};
  return ops::apply(ops::kArgMax, ops::ref(attrs), site, std::move(values));
}

}  // namespace tenure
