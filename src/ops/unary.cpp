// Elementwise operations of one input.
#include "core/raise.h"
#include "memory/context.h"
#include "ops/arithmetic.h"
#include "ops/call.h"
#include "ops/complex.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/promote.h"
#include "ops/shapes.h"
#include "tensor/access.h"
#include "tenure/create.h"
#include "tenure/math.h"

namespace tenure {
namespace ops {

constinit const OpDef kNeg =
    of_one("neg", "Neg", Takes::numbers, kNothing, [](GradContext& g) -> Grads { return -g.dy(); });

constinit const OpDef kSqrt = of_one("sqrt", "Sqrt", Takes::floats, kOutput,
                                     [](GradContext& g) -> Grads { return g.dy() * 0.5 / g.y(); });

constinit const OpDef kSquare =
    of_one("square", "Square", Takes::numbers, kInput,
           [](GradContext& g) -> Grads { return g.dy() * (conjugated(g.x()) * 2); });

namespace {

// Ones where the condition holds, as factors of dtype `like`.
Tensor mask(Tensor condition, DType dtype) { return cast(std::move(condition), dtype); }

constinit const OpDef kExp =
    of_one("exp", "Exp", Takes::floats, kOutput,
           [](GradContext& g) -> Grads { return g.dy() * conjugated(g.y()); });

constinit const OpDef kLog = of_one("log", "Log", Takes::floats, kInput,
                                    [](GradContext& g) -> Grads { return g.dy() / g.x(); });

constinit const OpDef kRelu =
    of_one("relu", "Relu", Takes::numbers, kOutput,
           [](GradContext& g) -> Grads { return g.dy() * mask(greater(g.y(), 0), g.x_dtype()); });

constinit const OpDef kRelu6 =
    of_one("relu6", "Relu6", Takes::numbers, kOutput, [](GradContext& g) -> Grads {
      return g.dy() * mask(greater(g.y(), 0), g.x_dtype()) * mask(less(g.y(), 6), g.x_dtype());
    });

// Below zero y = exp(x) - 1, so dy/dx = y + 1.
constinit const OpDef kElu =
    of_one("elu", "Elu, EluGrad", Takes::floats, kOutput, [](GradContext& g) -> Grads {
      return where(greater_equal(g.y(), 0), g.dy(), g.dy() * (g.y() + 1));
    });

// scale * x above zero, scale_alpha * (exp(x) - 1) below.
constexpr double kSeluScale = 1.0507009873554805;
constexpr double kSeluScaleAlpha = 1.7580993408473768;
constinit const OpDef kSelu =
    of_one("selu", "Selu", Takes::floats, kOutput, [](GradContext& g) -> Grads {
      return where(greater_equal(g.y(), 0), g.dy() * kSeluScale,
                   g.dy() * (g.y() + kSeluScaleAlpha));
    });

constinit const OpDef kTanh =
    of_one("tanh", "Tanh", Takes::floats, kOutput,
           [](GradContext& g) -> Grads { return g.dy() * (1 - square(g.y())); });

constinit const OpDef kSigmoid =
    of_one("sigmoid", "Sigmoid", Takes::floats, kOutput, [](GradContext& g) -> Grads {
      const Tensor y = g.y();
      return g.dy() * (y * (1 - y));
    });

}  // namespace

constinit const OpDef kCast{
    .name = "cast",
    .infer =
        [](Infer& infer) {
          const DType to = infer.attrs.as<CastAttrs>().to;
          if (is_complex(infer.dtype(0)) && !is_complex(to)) {
            raise<DtypeError>("cast: {} to {} would lose the imaginary part: use real()",
                              infer.dtype(0), to);
          }
          infer.result(infer.shape(0), to);
        },
    .tfjs = "Cast",
    .accepts = Accepts::elementwise,
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads { return cast(real_part(g.dy()), g.x_dtype()); }};

Family unary_ops() {
  static constexpr const OpDef* ops[] = {&kNeg,   &kExp, &kLog,  &kSqrt, &kSquare,  &kRelu,
                                         &kRelu6, &kElu, &kSelu, &kTanh, &kSigmoid, &kCast};
  return ops;
}

}  // namespace ops

using namespace ops;

Tensor neg(Arg x) { return call(kNeg, std::move(x)); }
Tensor operator-(Arg x) { return call(kNeg, std::move(x)); }
Tensor exp(Arg x) { return call(kExp, std::move(x)); }
Tensor log(Arg x) { return call(kLog, std::move(x)); }
Tensor sqrt(Arg x) { return call(kSqrt, std::move(x)); }
Tensor square(Arg x) { return call(kSquare, std::move(x)); }
Tensor relu(Arg x) { return call(kRelu, std::move(x)); }
Tensor relu6(Arg x) { return call(kRelu6, std::move(x)); }
Tensor elu(Arg x) { return call(kElu, std::move(x)); }
Tensor selu(Arg x) { return call(kSelu, std::move(x)); }
Tensor tanh(Arg x) { return call(kTanh, std::move(x)); }
Tensor sigmoid(Arg x) { return call(kSigmoid, std::move(x)); }

Tensor cast(Arg x, DType dtype) {
  const detail::UserLine site(x.site());
  if (x.scalar()) return apply(kCast, ref(CastAttrs{dtype}), site, as_tensor("cast", std::move(x)));
  if (detail::checked(x.tensor(), "cast", 0).layout.dtype == dtype) {
    const detail::CallScope call("cast", site);
    return x.tensor().clone(site);
  }
  return apply(kCast, std::move(x), ref(CastAttrs{dtype}));
}

}  // namespace tenure
