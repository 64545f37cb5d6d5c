// Complex numbers and their parts.
//
// Gradients follow TensorFlow: the gradient of z = a + bi is da + db i, so a step against it goes
// downhill, and what a holomorphic f passes back is dy times the conjugate of its derivative.
#include "ops/complex.h"

#include "memory/context.h"
#include "ops/call.h"
#include "ops/families.h"
#include "ops/promote.h"
#include "ops/shapes.h"
#include "tensor/access.h"
#include "tenure/create.h"
#include "tenure/math.h"

namespace tenure {
namespace ops {
namespace {

void part(Infer& infer) { infer.result(infer.shape(0), DType::float32); }

constinit const OpDef kComplex{
    .name = "complex",
    .infer =
        [](Infer& infer) {
          infer.result(broadcast_shapes("complex", infer.shape(0), infer.shape(1)),
                       DType::complex64);
        },
    .inputs = 2,
    .tfjs = "Complex(real, imag)",
    .takes = Takes::floats,
    .accepts = Accepts::elementwise,
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads {
      return {g.needs(0) ? unbroadcast(real(g.dy()), g.x_shape(0)) : Tensor(),
              g.needs(1) ? unbroadcast(imag(g.dy()), g.x_shape(1)) : Tensor()};
    }};

constinit const OpDef kReal{
    .name = "real",
    .infer = part,
    .tfjs = "Real(input)",
    .takes = Takes::complexes,
    .accepts = Accepts::elementwise,
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads { return cast(g.dy(), DType::complex64); }};

constinit const OpDef kImag{.name = "imag",
                            .infer = part,
                            .tfjs = "Imag(input)",
                            .takes = Takes::complexes,
                            .accepts = Accepts::elementwise,
                            .grad_keeps = kNothing,
                            .grad = [](GradContext& g) -> Grads { return complex(0, g.dy()); }};

constinit const OpDef kConj{.name = "conj",
                            .infer = same_shape,
                            .takes = Takes::complexes,
                            .accepts = Accepts::elementwise,
                            .grad_keeps = kNothing,
                            .grad = [](GradContext& g) -> Grads { return conj(g.dy()); }};

// The gradient points away from 0; at 0 there is none, and 0 stands for it.
constinit const OpDef kComplexAbs{.name = "complex_abs",
                                  .infer = part,
                                  .tfjs = "ComplexAbs",
                                  .takes = Takes::complexes,
                                  .accepts = Accepts::elementwise,
                                  .grad_keeps = kInput | kOutput,
                                  .grad = [](GradContext& g) -> Grads {
                                    const Tensor y = g.y();
                                    return g.x() * (g.dy() / where(greater(y, 0), y, 1.f));
                                  }};

// d atan2(b, a) = (-b da + a db) / (a^2 + b^2), which is i z over z times its conjugate.
constinit const OpDef kAngle{
    .name = "angle",
    .infer = part,
    .takes = Takes::complexes,
    .accepts = Accepts::elementwise,
    .grad_keeps = kInput,
    .grad = [](GradContext& g) -> Grads { return complex(0, g.dy()) / conj(g.x()); }};

Tensor float_part(Arg& x, int input) {
  const detail::UserLine site(x.site());
  if (x.scalar()) return scalar_tensor("complex", *x.scalar(), DType::float32, site);
  return operand_as("complex", input, std::move(x).tensor(), DType::float32, site);
}

bool is_real(const char* op, const Arg& x) {
  return x.scalar() || !is_complex(detail::checked(x.tensor(), op, 0).layout.dtype);
}

// A tensor of its own with the same value.
Tensor itself(const char* op, Arg& x) {
  const detail::UserLine site(x.site());
  const detail::CallScope call(op, site);
  return as_tensor(op, std::move(x)).clone(site);
}

}  // namespace

Tensor as_complex(const char* op, Arg&& x) {
  const detail::UserLine site(x.site());
  if (x.scalar()) return scalar_tensor(op, *x.scalar(), DType::complex64, site);
  return operand_as(op, 0, std::move(x).tensor(), DType::complex64, site);
}

Family complex_ops() {
  static constexpr const OpDef* ops[] = {&kComplex, &kReal, &kImag, &kConj, &kComplexAbs, &kAngle};
  return ops;
}

}  // namespace ops

using namespace ops;

Tensor complex(Arg real, Arg imag) {
  const detail::UserLine site(real.site());
  Tensor a = float_part(real, 0);
  Tensor b = float_part(imag, 1);
  return apply(kComplex, {}, site, std::move(a), std::move(b));
}

Tensor real(Arg x) { return is_real("real", x) ? itself("real", x) : call(kReal, std::move(x)); }

Tensor imag(Arg x) {
  if (!is_real("imag", x)) return call(kImag, std::move(x));
  const std::source_location site = x.site();
  const detail::CallScope call("imag", site);
  return zeros_like(itself("imag", x), site);
}

Tensor conj(Arg x) { return is_real("conj", x) ? itself("conj", x) : call(kConj, std::move(x)); }
Tensor complex_abs(Arg x) { return call(kComplexAbs, std::move(x)); }
Tensor angle(Arg x) { return call(kAngle, std::move(x)); }

}  // namespace tenure
