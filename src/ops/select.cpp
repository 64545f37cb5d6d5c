// Choosing between two inputs element by element.
#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/promote.h"
#include "tensor/access.h"
#include "tenure/create.h"
#include "tenure/math.h"

namespace tenure {
namespace ops {
namespace {

constinit const OpDef kWhere{
    .name = "where",
    .infer =
        [](Infer& infer) {
          if (infer.dtype(0) != DType::boolean) {
            raise<DtypeError>("where: the condition must be bool, not {}", infer.dtype(0));
          }
          const Shape values = broadcast_shapes(infer.op, infer.shape(1), infer.shape(2));
          infer.result(broadcast_shapes(infer.op, infer.shape(0), values), infer.dtype(1));
        },
    .inputs = 3,
    .tfjs = "Select",
    .dispatch_on = 1,
    .accepts = Accepts::elementwise,
    .may_overwrite = input(1) | input(2),
    .grad_keeps = {kNothing, kInput0, kInput0},
    .grad = [](GradContext& g) -> Grads {
      std::vector<Tensor> grads(3);
      if (g.needs(1)) grads[1] = unbroadcast(where(g.x(0), g.dy(), 0), g.x_shape(1));
      if (g.needs(2)) grads[2] = unbroadcast(where(g.x(0), 0, g.dy()), g.x_shape(2));
      return grads;
    }};

}  // namespace

Family select_ops() {
  static constexpr const OpDef* ops[] = {&kWhere};
  return ops;
}

}  // namespace ops

Tensor where(Arg condition, Arg a, Arg b) {
  const detail::UserLine site(condition.site());
  std::array<Tensor, 3> in;
  in[0] = ops::as_tensor("where", std::move(condition));
  ops::unify("where", std::array{&a, &b}, std::span(in).subspan(1), false, 1);
  Tensor out;
  ops::apply_into(ops::kWhere, in, {}, site, {&out, 1});
  return out;
}

}  // namespace tenure
