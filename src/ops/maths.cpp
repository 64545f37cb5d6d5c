// Functions of one value and of two, beyond the everyday ones of unary.cpp and binary.cpp.
#include <cmath>
#include <numbers>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/maths_attrs.h"
#include "ops/promote.h"
#include "ops/shapes.h"
#include "tensor/access.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/spectral.h"

namespace tenure {
namespace ops {
namespace {

// A function of one value whose gradient reads it.
constexpr OpDef of_input(const char* name, const char* tfjs, Grads (*grad)(GradContext&)) {
  return {.name = name,
          .infer = same_shape,
          .tfjs = tfjs,
          .accepts = Accepts::elementwise,
          .may_overwrite = input(0),
          .grad_keeps = kInput,
          .grad = grad};
}

// A function of one value whose gradient reads the result.
constexpr OpDef of_output(const char* name, const char* tfjs, Grads (*grad)(GradContext&)) {
  OpDef op = of_input(name, tfjs, grad);
  op.grad_keeps = kOutput;
  return op;
}

constexpr OpDef stepwise(const char* name, const char* tfjs) {
  return {.name = name,
          .infer = same_shape,
          .tfjs = tfjs,
          .accepts = Accepts::elementwise,
          .may_overwrite = input(0),
          .no_gradient = kSteps};
}

constexpr OpDef question(const char* name, const char* tfjs) {
  return {.name = name,
          .infer = [](Infer& infer) { infer.result(infer.shape(0), DType::boolean); },
          .tfjs = tfjs,
          .accepts = Accepts::elementwise,
          .no_gradient = kSteps};
}

constinit const OpDef kAbs =
    of_input("abs", "Abs", [](GradContext& g) -> Grads { return g.dy() * sign(g.x()); });
constinit const OpDef kSign = stepwise("sign", "Sign");
constinit const OpDef kFloor = stepwise("floor", "Floor");
constinit const OpDef kCeil = stepwise("ceil", "Ceil");
constinit const OpDef kRound = stepwise("round", "Round");
constinit const OpDef kIsNan = question("is_nan", "IsNan");
constinit const OpDef kIsInf = question("is_inf", "IsInf");
constinit const OpDef kIsFinite = question("is_finite", "IsFinite");

constinit const OpDef kReciprocal = of_output(
    "reciprocal", "Reciprocal", [](GradContext& g) -> Grads { return -(g.dy() * square(g.y())); });
constinit const OpDef kRsqrt = of_output("rsqrt", "Rsqrt", [](GradContext& g) -> Grads {
  const Tensor y = g.y();
  return g.dy() * (square(y) * y * -0.5);
});
constinit const OpDef kExpm1 =
    of_output("expm1", "Expm1", [](GradContext& g) -> Grads { return g.dy() * (g.y() + 1); });
constinit const OpDef kLog1p =
    of_input("log1p", "Log1p", [](GradContext& g) -> Grads { return g.dy() / (g.x() + 1); });
constinit const OpDef kErf = of_input("erf", "Erf", [](GradContext& g) -> Grads {
  return g.dy() * (exp(-square(g.x())) * (2 * std::numbers::inv_sqrtpi));
});

constinit const OpDef kSin =
    of_input("sin", "Sin", [](GradContext& g) -> Grads { return g.dy() * cos(g.x()); });
constinit const OpDef kCos =
    of_input("cos", "Cos", [](GradContext& g) -> Grads { return -(g.dy() * sin(g.x())); });
constinit const OpDef kTan =
    of_output("tan", "Tan", [](GradContext& g) -> Grads { return g.dy() * (square(g.y()) + 1); });
constinit const OpDef kAsin = of_input(
    "asin", "Asin", [](GradContext& g) -> Grads { return g.dy() * rsqrt(1 - square(g.x())); });
constinit const OpDef kAcos = of_input(
    "acos", "Acos", [](GradContext& g) -> Grads { return -(g.dy() * rsqrt(1 - square(g.x()))); });
constinit const OpDef kAtan =
    of_input("atan", "Atan", [](GradContext& g) -> Grads { return g.dy() / (square(g.x()) + 1); });
constinit const OpDef kSinh =
    of_input("sinh", "Sinh", [](GradContext& g) -> Grads { return g.dy() * cosh(g.x()); });
constinit const OpDef kCosh =
    of_input("cosh", "Cosh", [](GradContext& g) -> Grads { return g.dy() * sinh(g.x()); });
constinit const OpDef kAsinh = of_input(
    "asinh", "Asinh", [](GradContext& g) -> Grads { return g.dy() * rsqrt(square(g.x()) + 1); });
constinit const OpDef kAcosh = of_input(
    "acosh", "Acosh", [](GradContext& g) -> Grads { return g.dy() * rsqrt(square(g.x()) - 1); });
constinit const OpDef kAtanh = of_input(
    "atanh", "Atanh", [](GradContext& g) -> Grads { return g.dy() / (1 - square(g.x())); });

// At the bounds themselves the gradient flows, as in TensorFlow.js.
constinit const OpDef kClip = of_input("clip", "ClipByValue", [](GradContext& g) -> Grads {
  const auto& [low, high] = g.attrs_as<ClipAttrs>();
  const Tensor x = g.x();
  const Tensor within =
      logical_and(greater_equal(x, low.to_double()), less_equal(x, high.to_double()));
  return where(within, g.dy(), 0);
});

// a - b floor(a / b)
constinit const OpDef kMod{.name = "mod",
                           .infer = broadcast,
                           .inputs = 2,
                           .tfjs = "Mod",
                           .accepts = Accepts::elementwise,
                           .may_overwrite = kEither,
                           .grad_keeps = {kNothing, kInput0 | kInput1},
                           .grad = [](GradContext& g) -> Grads {
                             return {operand(g, 0, [&] { return g.dy(); }), operand(g, 1, [&] {
                                       return -(g.dy() * floor_div(g.x(0), g.x(1)));
                                     })};
                           }};

// Of the base: 0 where the power is 0, even where the base is. Of the power: 0 where the base has
// no logarithm, as in TensorFlow.js.
constinit const OpDef kPow{.name = "pow",
                           .infer = broadcast,
                           .inputs = 2,
                           .tfjs = "Pow",
                           .accepts = Accepts::elementwise,
                           .may_overwrite = kEither,
                           .grad_keeps = {kInput0 | kInput1, kInput0 | kOutput},
                           .grad = [](GradContext& g) -> Grads {
                             const auto of_base = [&] {
                               const Tensor b = g.x(1);
                               return g.dy() * where(equal(b, 0), 0, b * pow(g.x(0), b - 1));
                             };
                             const auto of_power = [&] {
                               const Tensor a = g.x(0);
                               const Tensor positive = greater(a, 0);
                               return g.dy() *
                                      where(positive, g.y() * log(where(positive, a, 1)), 0);
                             };
                             return {operand(g, 0, of_base), operand(g, 1, of_power)};
                           }};

constinit const OpDef kAtan2{.name = "atan2",
                             .infer = broadcast,
                             .inputs = 2,
                             .tfjs = "Atan2",
                             .accepts = Accepts::elementwise,
                             .may_overwrite = kEither,
                             .grad_keeps = kInput0 | kInput1,
                             .grad = [](GradContext& g) -> Grads {
                               const auto along = [&](const Tensor& side) {
                                 return g.dy() * (side / (square(g.x(0)) + square(g.x(1))));
                               };
                               return {operand(g, 0, [&] { return along(g.x(1)); }),
                                       operand(g, 1, [&] { return -along(g.x(0)); })};
                             }};

}  // namespace

Family maths_ops() {
  static constexpr const OpDef* ops[] = {
      &kAbs,      &kSign,       &kFloor, &kCeil,  &kRound, &kIsNan, &kIsInf,
      &kIsFinite, &kReciprocal, &kRsqrt, &kExpm1, &kLog1p, &kErf,   &kSin,
      &kCos,      &kTan,        &kAsin,  &kAcos,  &kAtan,  &kSinh,  &kCosh,
      &kAsinh,    &kAcosh,      &kAtanh, &kClip,  &kMod,   &kPow,   &kAtan2};
  return ops;
}

}  // namespace ops

using namespace ops;

Tensor abs(Arg x) {
  const bool is_number = x.scalar().has_value() || !x.tensor().defined();
  if (!is_number && is_complex(x.tensor().dtype())) return complex_abs(std::move(x));
  return on_numbers(kAbs, std::move(x));
}
Tensor sign(Arg x) { return on_numbers(kSign, std::move(x)); }
Tensor floor(Arg x) { return on_numbers(kFloor, std::move(x)); }
Tensor ceil(Arg x) { return on_numbers(kCeil, std::move(x)); }
Tensor round(Arg x) { return on_numbers(kRound, std::move(x)); }
Tensor is_nan(Arg x) { return on_floats(kIsNan, std::move(x)); }
Tensor is_inf(Arg x) { return on_floats(kIsInf, std::move(x)); }
Tensor is_finite(Arg x) { return on_floats(kIsFinite, std::move(x)); }
Tensor reciprocal(Arg x) { return on_floats(kReciprocal, std::move(x)); }
Tensor rsqrt(Arg x) { return on_floats(kRsqrt, std::move(x)); }
Tensor expm1(Arg x) { return on_floats(kExpm1, std::move(x)); }
Tensor log1p(Arg x) { return on_floats(kLog1p, std::move(x)); }
Tensor erf(Arg x) { return on_floats(kErf, std::move(x)); }
Tensor sin(Arg x) { return on_floats(kSin, std::move(x)); }
Tensor cos(Arg x) { return on_floats(kCos, std::move(x)); }
Tensor tan(Arg x) { return on_floats(kTan, std::move(x)); }
Tensor asin(Arg x) { return on_floats(kAsin, std::move(x)); }
Tensor acos(Arg x) { return on_floats(kAcos, std::move(x)); }
Tensor atan(Arg x) { return on_floats(kAtan, std::move(x)); }
Tensor sinh(Arg x) { return on_floats(kSinh, std::move(x)); }
Tensor cosh(Arg x) { return on_floats(kCosh, std::move(x)); }
Tensor asinh(Arg x) { return on_floats(kAsinh, std::move(x)); }
Tensor acosh(Arg x) { return on_floats(kAcosh, std::move(x)); }
Tensor atanh(Arg x) { return on_floats(kAtanh, std::move(x)); }

Tensor clip(Arg x, Scalar low, Scalar high) {
  const detail::UserLine site(x.site());
  if (!(low.to_double() <= high.to_double())) {
    raise<ValueError>("clip: the bounds are not in order: {} and {}", low, high);
  }
  Tensor values = as_number("clip", std::move(x));
  for (const Scalar& bound : {low, high}) {
    if (bound.fits(values.dtype())) continue;
    raise<DtypeError>("clip: {} is not exactly a value of {}: cast the tensor first", bound,
                      values.dtype());
  }
  return apply(kClip, ref(ClipAttrs{low, high}), site, std::move(values));
}

Tensor mod(Arg a, Arg b) { return binary(kMod, a, b); }
Tensor pow(Arg a, Arg b) { return binary(kPow, a, b); }
Tensor atan2(Arg y, Arg x) { return binary_on_floats(kAtan2, y, x); }

}  // namespace tenure
