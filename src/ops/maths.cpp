// Functions of one value and of two, beyond the everyday ones of unary.cpp and binary.cpp.
#include <cmath>
#include <numbers>

#include "core/raise.h"
#include "ops/call.h"
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
  return of_one(name, tfjs, Takes::floats, kInput, grad);
}

// A function of one value whose gradient reads the result.
constexpr OpDef of_output(const char* name, const char* tfjs, Grads (*grad)(GradContext&)) {
  return of_one(name, tfjs, Takes::floats, kOutput, grad);
}

constexpr OpDef question(const char* name, const char* tfjs) {
  return {.name = name,
          .infer = [](Infer& infer) { infer.result(infer.shape(0), DType::boolean); },
          .tfjs = tfjs,
          .takes = Takes::floats,
          .accepts = Accepts::elementwise,
          .no_gradient = kSteps};
}

constinit const OpDef kAbs = of_one("abs", "Abs", Takes::numbers, kInput,
                                    [](GradContext& g) -> Grads { return g.dy() * sign(g.x()); });
constinit const OpDef kSign = of_one("sign", "Sign", Takes::numbers);
constinit const OpDef kFloor = of_one("floor", "Floor", Takes::numbers);
constinit const OpDef kCeil = of_one("ceil", "Ceil", Takes::numbers);
constinit const OpDef kRound = of_one("round", "Round", Takes::numbers);
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

void settle_bounds(const char* op, std::span<const Tensor> in, void* attrs) {
  const auto& [low, high] = *static_cast<const ClipAttrs*>(attrs);
  if (!(low.to_double() <= high.to_double())) {
    raise<ValueError>("{}: the bounds are not in order: {} and {}", op, low, high);
  }
  for (const Scalar& bound : {low, high}) {
    if (bound.fits(in[0].dtype())) continue;
    raise<DtypeError>("{}: {} is not exactly a value of {}: cast the tensor first", op, bound,
                      in[0].dtype());
  }
}

// At the bounds themselves the gradient flows, as in TensorFlow.js.
constinit const OpDef kClip{.name = "clip",
                            .infer = same_shape,
                            .tfjs = "ClipByValue(clipValueMin=low, clipValueMax=high)",
                            .takes = Takes::numbers,
                            .attrs = &kAttrs<ClipAttrs>,
                            .settle = settle_bounds,
                            .accepts = Accepts::elementwise,
                            .may_overwrite = input(0),
                            .grad_keeps = kInput,
                            .grad = [](GradContext& g) -> Grads {
                              const auto& [low, high] = g.attrs_as<ClipAttrs>();
                              const Tensor x = g.x();
                              const Tensor within = logical_and(greater_equal(x, low.to_double()),
                                                                less_equal(x, high.to_double()));
                              return where(within, g.dy(), 0);
                            }};

// a - b floor(a / b)
constinit const OpDef kMod = of_two(
    "mod", "Mod", Takes::numbers, {kNothing, kInput0 | kInput1}, [](GradContext& g) -> Grads {
      return {operand(g, 0, [&] { return g.dy(); }),
              operand(g, 1, [&] { return -(g.dy() * floor_div(g.x(0), g.x(1))); })};
    });

// Of the base: 0 where the power is 0, even where the base is. Of the power: 0 where the base has
// no logarithm, as in TensorFlow.js.
constinit const OpDef kPow =
    of_two("pow", "Pow", Takes::numbers, {kInput0 | kInput1, kInput0 | kOutput},
           [](GradContext& g) -> Grads {
             const auto of_base = [&] {
               const Tensor b = g.x(1);
               return g.dy() * where(equal(b, 0), 0, b * pow(g.x(0), b - 1));
             };
             const auto of_power = [&] {
               const Tensor a = g.x(0);
               const Tensor positive = greater(a, 0);
               return g.dy() * where(positive, g.y() * log(where(positive, a, 1)), 0);
             };
             return {operand(g, 0, of_base), operand(g, 1, of_power)};
           });

constinit const OpDef kAtan2 =
    of_two("atan2", "Atan2", Takes::floats, kInput0 | kInput1, [](GradContext& g) -> Grads {
      const auto along = [&](const Tensor& side) {
        return g.dy() * (side / (square(g.x(0)) + square(g.x(1))));
      };
      return {operand(g, 0, [&] { return along(g.x(1)); }),
              operand(g, 1, [&] { return -along(g.x(0)); })};
    });

constinit const OpDef kHypot = of_two(
    "hypot", nullptr, Takes::floats, {kInput0 | kOutput, kInput1 | kOutput},
    [](GradContext& g) -> Grads {
      const auto along = [&](int side) {
        const Tensor y = g.y();
        return g.dy() * (g.x(side) / where(equal(y, 0), 1, y));
      };
      return {operand(g, 0, [&] { return along(0); }), operand(g, 1, [&] { return along(1); })};
    });

}  // namespace

Family maths_ops() {
  static constexpr const OpDef* ops[] = {
      &kAbs,        &kSign,  &kFloor, &kCeil,  &kRound, &kIsNan, &kIsInf, &kIsFinite,
      &kReciprocal, &kRsqrt, &kExpm1, &kLog1p, &kErf,   &kSin,   &kCos,   &kTan,
      &kAsin,       &kAcos,  &kAtan,  &kSinh,  &kCosh,  &kAsinh, &kAcosh, &kAtanh,
      &kClip,       &kMod,   &kPow,   &kAtan2, &kHypot};
  return ops;
}

}  // namespace ops

using namespace ops;

Tensor abs(Arg x) {
  const bool is_number = x.scalar().has_value() || !x.tensor().defined();
  if (!is_number && is_complex(x.tensor().dtype())) return complex_abs(std::move(x));
  return call(kAbs, std::move(x));
}
Tensor sign(Arg x) { return call(kSign, std::move(x)); }
Tensor floor(Arg x) { return call(kFloor, std::move(x)); }
Tensor ceil(Arg x) { return call(kCeil, std::move(x)); }
Tensor round(Arg x) { return call(kRound, std::move(x)); }
Tensor is_nan(Arg x) { return call(kIsNan, std::move(x)); }
Tensor is_inf(Arg x) { return call(kIsInf, std::move(x)); }
Tensor is_finite(Arg x) { return call(kIsFinite, std::move(x)); }
Tensor reciprocal(Arg x) { return call(kReciprocal, std::move(x)); }
Tensor rsqrt(Arg x) { return call(kRsqrt, std::move(x)); }
Tensor expm1(Arg x) { return call(kExpm1, std::move(x)); }
Tensor log1p(Arg x) { return call(kLog1p, std::move(x)); }
Tensor erf(Arg x) { return call(kErf, std::move(x)); }
Tensor sin(Arg x) { return call(kSin, std::move(x)); }
Tensor cos(Arg x) { return call(kCos, std::move(x)); }
Tensor tan(Arg x) { return call(kTan, std::move(x)); }
Tensor asin(Arg x) { return call(kAsin, std::move(x)); }
Tensor acos(Arg x) { return call(kAcos, std::move(x)); }
Tensor atan(Arg x) { return call(kAtan, std::move(x)); }
Tensor sinh(Arg x) { return call(kSinh, std::move(x)); }
Tensor cosh(Arg x) { return call(kCosh, std::move(x)); }
Tensor asinh(Arg x) { return call(kAsinh, std::move(x)); }
Tensor acosh(Arg x) { return call(kAcosh, std::move(x)); }
Tensor atanh(Arg x) { return call(kAtanh, std::move(x)); }

Tensor clip(Arg x, Scalar low, Scalar high) {
  return call(kClip, std::move(x), ClipAttrs{low, high});
}

Tensor mod(Arg a, Arg b) { return call(kMod, a, b); }
Tensor pow(Arg a, Arg b) { return call(kPow, a, b); }
Tensor atan2(Arg y, Arg x) { return call(kAtan2, y, x); }
Tensor hypot(Arg a, Arg b) { return call(kHypot, a, b); }

}  // namespace tenure
