// Joining tensors.
#include "core/raise.h"
#include "ops/apply.h"
#include "ops/families.h"
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
            shape[axis] += infer.shape(i)[axis];
          }
          infer.result(std::move(shape), infer.dtype(0));
        },
    .inputs = OpDef::kVariadic,
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
  return ops;
}

}  // namespace ops

Tensor concat(std::vector<Tensor> tensors, int axis, std::source_location site) {
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

}  // namespace tenure
