#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/arithmetic.h"
#include "ops/families.h"
#include "ops/promote.h"
#include "tenure/linalg.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

Shape batch_of(const Shape& shape) {
  return Shape(shape.dims().first(static_cast<std::size_t>(shape.rank()) - 2));
}

void infer_matmul(Infer& infer) {
  const Shape& a = infer.shape(0);
  const Shape& b = infer.shape(1);
  if (a.rank() < 2 || b.rank() < 2) {
    raise<ShapeError>("matmul: operands need two axes or more: {} x {}", a, b);
  }
  const auto& attrs = infer.attrs.as<MatmulAttrs>();
  const std::int64_t m = attrs.transpose_a ? a[-1] : a[-2];
  const std::int64_t k = attrs.transpose_a ? a[-2] : a[-1];
  const std::int64_t n = attrs.transpose_b ? b[-2] : b[-1];
  if (k != (attrs.transpose_b ? b[-1] : b[-2])) {
    raise<ShapeError>("matmul: inner dimensions differ: {}{} x {}{}", a,
                      attrs.transpose_a ? " transposed" : "", b,
                      attrs.transpose_b ? " transposed" : "");
  }
  Shape shape = broadcast_shapes(infer.op, batch_of(a), batch_of(b));
  shape.push_back(m);
  shape.push_back(n);
  infer.result(std::move(shape), infer.dtype(0));
}

Tensor gradient_of_a(GradContext& g, bool ta, bool tb) {
  return ta ? matmul(g.x(1), g.dy(), {.transpose_a = tb, .transpose_b = true})
            : matmul(g.dy(), g.x(1), {.transpose_a = false, .transpose_b = !tb});
}

Tensor gradient_of_b(GradContext& g, bool ta, bool tb) {
  const Shape& b = g.x_shape(1);
  if (b.rank() == 2 && g.x_shape(0).rank() > 2 && !ta && !tb) {
    // One matrix for a whole stack: one product over all rows instead of many summed up.
    return matmul(reshape(g.x(0), {-1, b[0]}), reshape(g.dy(), {-1, b[1]}), {.transpose_a = true});
  }
  return tb ? matmul(g.dy(), g.x(0), {.transpose_a = true, .transpose_b = ta})
            : matmul(g.x(0), g.dy(), {.transpose_a = !ta, .transpose_b = false});
}

}  // namespace

constinit const OpDef kMatmul{.name = "matmul",
                              .infer = infer_matmul,
                              .inputs = 2,
                              .tfjs = "BatchMatMul",
                              .accepts = Accepts::matrix,
                              .grad_keeps = {kInput1, kInput0},
                              .grad = [](GradContext& g) -> Grads {
                                const auto [ta, tb] = g.attrs_as<MatmulAttrs>();
                                Tensor da, db;
                                if (g.needs(0))
                                  da = unbroadcast(gradient_of_a(g, ta, tb), g.x_shape(0));
                                if (g.needs(1))
                                  db = unbroadcast(gradient_of_b(g, ta, tb), g.x_shape(1));
                                return {std::move(da), std::move(db)};
                              }};

Family matmul_ops() {
  static constexpr const OpDef* ops[] = {&kMatmul};
  return ops;
}

}  // namespace ops

Tensor matmul(Arg a, Arg b, MatmulOptions options) {
  const detail::UserLine site(a.site());
  std::array<Tensor, 2> in;
  ops::unify("matmul", std::array{&a, &b}, in, true);
  const ops::MatmulAttrs attrs{options.transpose_a, options.transpose_b};
  Tensor out;
  ops::apply_into(ops::kMatmul, in, ops::ref(attrs), site, {&out, 1});
  return out;
}

}  // namespace tenure
