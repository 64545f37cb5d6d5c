// Joining tensors.
#include "core/count.h"
#include "core/raise.h"
#include "memory/context.h"
#include "ops/call.h"
#include "ops/families.h"
#include "ops/operands.h"
#include "ops/promote.h"
#include "tensor/access.h"
#include "tenure/math.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

constinit const OpDef kConcat{
    .name = "concat",
    .infer =
        [](Infer& infer) {
          const int axis = infer.attrs.as<AxisAttrs>().axis;
          Shape shape = infer.shape(0);
          for (std::size_t i = 1; i < infer.in.size(); ++i) {
            Shape other = infer.shape(i);
            if (other.rank() == shape.rank()) other[axis] = shape[axis];
            if (other != shape) {
              raise<ShapeError>(
                  "concat: input {} is {}, input 0 is {}: they must agree but on axis {}", i,
                  infer.shape(i), infer.shape(0), axis);
            }
            shape[axis] = count_sum(shape[axis], infer.shape(i)[axis]);
          }
          infer.result(std::move(shape), infer.dtype(0));
        },
    .inputs = OpDef::kVariadic,
    .tfjs = "Concat",
    .takes = Takes::alike,
    .attrs = &kAttrs<AxisAttrs>,
    .settle = settle_axis<AxisAttrs>,
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads {
      const int axis = g.attrs_as<AxisAttrs>().axis;
      std::vector<Tensor> grads(g.inputs());
      Shape begin = Shape::filled(g.x_shape(0).rank(), 0);
      for (std::size_t i = 0; i < grads.size(); ++i) {
        const Shape& shape = g.x_shape(static_cast<int>(i));
        if (g.needs(static_cast<int>(i))) grads[i] = slice(g.dy(), begin, shape);
        begin[axis] += shape[axis];
      }
      return grads;
    }};

}  // namespace

Family join_ops() {
  static constexpr const OpDef* ops[] = {&kConcat};
  static constexpr Composite composites[] = {
      {"stack", "Pack", "reshape, concat"},
      {"roll", nullptr, "slice, concat"},
  };
  return {ops, composites};
}

}  // namespace ops

Tensor concat(std::vector<Tensor> tensors, int axis, std::source_location site) {
  const detail::UserLine line(site);
  if (tensors.empty()) raise<ValueError>("concat: no tensors to join");
  DType dtype = detail::checked(tensors[0], "concat", 0).layout.dtype;
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    dtype = promote(dtype, detail::checked(tensors[i], "concat", static_cast<int>(i)).layout.dtype);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i] = ops::operand_as("concat", static_cast<int>(i), std::move(tensors[i]), dtype, site);
  }
  const ops::AxisAttrs attrs{ops::normal_axis("concat", axis, tensors[0].shape())};
  Tensor out;
  ops::apply_into(ops::kConcat, tensors, ops::ref(attrs), site, {&out, 1});
  return out;
}

Tensor stack(std::vector<Tensor> tensors, int axis, std::source_location site) {
  const detail::CallScope call("stack", site);
  if (tensors.empty()) raise<ValueError>("stack: no tensors to join");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ops::check_alive("stack", static_cast<int>(i), tensors[i], site);
  }
  const Shape shape = tensors[0].shape();
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i].shape() == shape) continue;
    raise<ShapeError>("stack: input {} is {}, input 0 is {}: all must have one shape", i,
                      tensors[i].shape(), shape);
  }
  if (axis < -shape.rank() - 1 || axis > shape.rank()) {
    raise<ShapeError>("stack: axis {} out of range for {} and a new axis", axis, shape);
  }
  if (axis < 0) axis += shape.rank() + 1;
  for (Tensor& tensor : tensors) tensor = expand_dims(Arg(std::move(tensor), site), axis);
  return concat(std::move(tensors), axis, site);
}

Tensor roll(Arg x, std::int64_t shift) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("roll", site);
  Tensor tensor = ops::live_operand("roll", 0, std::move(x));
  const Shape shape = tensor.shape();
  Tensor flat = reshape(Arg(std::move(tensor), site), {-1});
  return reshape(roll(Arg(std::move(flat), site), {shift}, {0}), shape);
}

Tensor roll(Arg x, const Shape& shifts, const Axes& axes) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("roll", site);
  Tensor tensor = ops::live_operand("roll", 0, std::move(x));
  if (shifts.rank() != axes.rank()) {
    raise<ShapeError>("roll: {} shifts for {} axes: {} and {}", shifts.rank(), axes.rank(), shifts,
                      axes);
  }
  const Shape shape = tensor.shape();
  Shape total = Shape::filled(shape.rank(), 0);  // an axis may be named more than once
  for (int i = 0; i < axes.rank(); ++i) {
    const int axis = ops::normal_axis("roll", axes[i], shape);
    if (shape[axis] > 0) total[axis] = (total[axis] + shifts[i] % shape[axis]) % shape[axis];
  }
  bool moved = false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t by = total[axis] < 0 ? total[axis] + shape[axis] : total[axis];
    if (by == 0) continue;
    const Shape first = Shape::filled(shape.rank(), 0);
    Shape cut = first, head = shape, tail = shape;
    cut[axis] = head[axis] = shape[axis] - by;
    tail[axis] = by;
    tensor = concat({slice(Arg(tensor, site), cut, tail), slice(Arg(tensor, site), first, head)},
                    axis, site);
    moved = true;
  }
  return moved ? tensor : tensor.clone(site);
}

}  // namespace tenure
