// Softmax and its logarithm along an axis, each one pass over lines that fit a cache, and their
// gradients, which read the result alone.
#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/promote.h"
#include "ops/shapes.h"
#include "tenure/math.h"
#include "tenure/reduce.h"

namespace tenure {
namespace ops {
namespace {

Tensor total(Tensor x, int axis) { return sum(std::move(x), {axis}, {.keep_dims = true}); }

void infer_gradient(Infer& infer) {
  if (infer.shape(0) != infer.shape(1)) {
    raise<ShapeError>("{}: the result is {}, its gradient {}", infer.op, infer.shape(0),
                      infer.shape(1));
  }
  infer.result(infer.shape(0), infer.dtype(0));
}

Tensor gradient_of(const OpDef& op, Tensor y, Tensor dy, int axis) {
  return apply(op, ref(AxisAttrs{axis}), std::source_location::current(), std::move(y),
               std::move(dy));
}

// y (dy - sum(y dy))
constinit const OpDef kSoftmaxGrad{.name = "softmax_grad",
                                   .infer = infer_gradient,
                                   .inputs = 2,
                                   .may_overwrite = input(0) | input(1),
                                   .grad_keeps = {kInput0 | kInput1, kInput0},
                                   .grad = [](GradContext& g) -> Grads {
                                     const int axis = g.attrs_as<AxisAttrs>().axis;
                                     Tensor y;
                                     if (g.needs(0)) {
                                       y = g.dy() * (g.x(1) - total(g.x(0) * g.x(1), axis)) -
                                           g.x(1) * total(g.x(0) * g.dy(), axis);
                                     }
                                     return {std::move(y),
                                             gradient_of(kSoftmaxGrad, g.x(0), g.dy(), axis)};
                                   }};

constinit const OpDef kSoftmax{.name = "softmax",
                               .infer = same_shape,
                               .tfjs = "Softmax",
                               .may_overwrite = input(0),
                               .grad_keeps = kOutput,
                               .grad = [](GradContext& g) -> Grads {
                                 return gradient_of(kSoftmaxGrad, g.y(), g.dy(),
                                                    g.attrs_as<AxisAttrs>().axis);
                               }};

// dy - exp(y) sum(dy)
constinit const OpDef kLogSoftmaxGrad{.name = "log_softmax_grad",
                                      .infer = infer_gradient,
                                      .inputs = 2,
                                      .may_overwrite = input(0) | input(1),
                                      .grad_keeps = {kInput0 | kInput1, kInput0},
                                      .grad = [](GradContext& g) -> Grads {
                                        const int axis = g.attrs_as<AxisAttrs>().axis;
                                        const Tensor weighed = exp(g.x(0)) * g.dy();
                                        Tensor y;
                                        if (g.needs(0)) y = -(weighed * total(g.x(1), axis));
                                        return {std::move(y), g.dy() - total(weighed, axis)};
                                      }};

constinit const OpDef kLogSoftmax{.name = "log_softmax",
                                  .infer = same_shape,
                                  .tfjs = "LogSoftmax",
                                  .may_overwrite = input(0),
                                  .grad_keeps = kOutput,
                                  .grad = [](GradContext& g) -> Grads {
                                    return gradient_of(kLogSoftmaxGrad, g.y(), g.dy(),
                                                       g.attrs_as<AxisAttrs>().axis);
                                  }};

Tensor along(const OpDef& op, Arg& x, int axis) {
  const detail::UserLine site(x.site());
  Tensor values = as_float(op.name, std::move(x));
  const AxisAttrs attrs{normal_axis(op.name, axis, values.shape())};
  return apply(op, ref(attrs), site, std::move(values));
}

}  // namespace

Family softmax_ops() {
  static constexpr const OpDef* ops[] = {&kSoftmax, &kSoftmaxGrad, &kLogSoftmax, &kLogSoftmaxGrad};
  return ops;
}

}  // namespace ops

Tensor softmax(Arg x, int axis) { return ops::along(ops::kSoftmax, x, axis); }
Tensor log_softmax(Arg x, int axis) { return ops::along(ops::kLogSoftmax, x, axis); }

}  // namespace tenure
