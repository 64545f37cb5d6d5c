// Activations beyond the everyday ones of unary.cpp.
#include "tenure/activation.h"

#include <cmath>
#include <numbers>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/call.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/maths_attrs.h"
#include "ops/promote.h"
#include "ops/round_once.h"
#include "ops/shapes.h"
#include "tensor/access.h"
#include "tenure/create.h"
#include "tenure/math.h"

namespace tenure {
namespace ops {

Tensor activated(Activation activation, Tensor x) {
  switch (activation) {
    case Activation::relu:
      return relu(std::move(x));
    case Activation::relu6:
      return relu6(std::move(x));
    case Activation::elu:
      return elu(std::move(x));
    case Activation::sigmoid:
      return sigmoid(std::move(x));
    case Activation::tanh:
      return tanh(std::move(x));
    case Activation::hard_sigmoid:
      return hard_sigmoid(std::move(x));
    case Activation::linear:
    case Activation::leaky_relu:
    case Activation::prelu:
      break;
  }
  return x;
}

namespace {

constinit const OpDef kLeakyRelu{.name = "leaky_relu",
                                 .infer = same_shape,
                                 .tfjs = "LeakyRelu",
                                 .takes = Takes::floats,
                                 .attrs = &kAttrs<AlphaAttrs>,
                                 .accepts = Accepts::elementwise,
                                 .may_overwrite = input(0),
                                 .grad_keeps = kInput,
                                 .grad = [](GradContext& g) -> Grads {
                                   return where(greater(g.x(), 0), g.dy(),
                                                g.dy() * g.attrs_as<AlphaAttrs>().alpha);
                                 }};

constinit const OpDef kPrelu =
    of_two("prelu", "Prelu(x, alpha)", Takes::floats, {kInput0 | kInput1, kInput0},
           [](GradContext& g) -> Grads {
             const auto of_x = [&] { return where(greater(g.x(0), 0), g.dy(), g.dy() * g.x(1)); };
             const auto of_alpha = [&] { return g.dy() * minimum(g.x(0), 0); };
             return {operand(g, 0, of_x), operand(g, 1, of_alpha)};
           });

constinit const OpDef kStep{.name = "step",
                            .infer = same_shape,
                            .tfjs = "Step",
                            .takes = Takes::floats,
                            .attrs = &kAttrs<AlphaAttrs>,
                            .accepts = Accepts::elementwise,
                            .may_overwrite = input(0),
                            .no_gradient = kSteps};

constinit const OpDef kHardSigmoid =
    of_one("hard_sigmoid", nullptr, Takes::floats, kOutput, [](GradContext& g) -> Grads {
      const Tensor y = g.y();
      return where(logical_and(greater(y, 0), less(y, 1)), g.dy() * 0.2, 0);
    });

constinit const OpDef kSilu =
    of_one("silu", nullptr, Takes::floats, kInput, [](GradContext& g) -> Grads {
      const Tensor x = g.x();
      const Tensor share = sigmoid(x);
      return g.dy() * (share * (x * (1 - share) + 1));
    });

constinit const OpDef kSoftplus =
    of_one("softplus", "Softplus", Takes::floats, kInput,
           [](GradContext& g) -> Grads { return g.dy() * sigmoid(g.x()); });

constinit const OpDef kLogSigmoid =
    of_one("log_sigmoid", nullptr, Takes::floats, kInput,
           [](GradContext& g) -> Grads { return g.dy() * sigmoid(-g.x()); });

// x P(x): the derivative is P(x) + x p(x), p the density.
Tensor slope_of_gelu(const Tensor& x) {
  const Tensor share = (erf(x * (1 / std::numbers::sqrt2)) + 1) * 0.5;
  const double scale = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return share + x * (exp(square(x) * -0.5) * scale);
}

// x s(u(x)), s the sigmoid and u = 2 sqrt(2 / pi) (x + 0.044715 x^3): s + x s (1 - s) u'.
Tensor slope_of_gelu_by_tanh(const Tensor& x) {
  const double scale = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const Tensor squared = square(x);
  const Tensor share = sigmoid(x * (squared * 0.044715 + 1) * scale);
  const Tensor inner = (squared * (3 * 0.044715) + 1) * scale;
  return share * (x * (1 - share) * inner + 1);
}

constinit const OpDef kGelu{
    .name = "gelu",
    .infer = same_shape,
    .takes = Takes::floats,
    .attrs = &kAttrs<GeluAttrs>,
    .accepts = Accepts::elementwise,
    .may_overwrite = input(0),
    .grad_keeps = kInput,
    .grad = [](GradContext& g) -> Grads {
      const bool approximate = g.attrs_as<GeluAttrs>().approximate;
      return g.dy() * (approximate ? slope_of_gelu_by_tanh(g.x()) : slope_of_gelu(g.x()));
    }};

constexpr Composite kActivationComposites[] = {
    {"swish", nullptr, "silu"},
    {"mish", nullptr, "softplus, tanh, mul"},
    {"softsign", nullptr, "abs, add, div"},
};

}  // namespace

Family activation_ops() {
  static constexpr const OpDef* ops[] = {&kLeakyRelu, &kPrelu,    &kStep,       &kHardSigmoid,
                                         &kSilu,      &kSoftplus, &kLogSigmoid, &kGelu};
  return {ops, kActivationComposites};
}

}  // namespace ops

using namespace ops;

Tensor leaky_relu(Arg x, double alpha) { return call(kLeakyRelu, std::move(x), AlphaAttrs{alpha}); }

Tensor prelu(Arg x, Arg alpha) { return call(kPrelu, x, alpha); }

Tensor elu(Arg x, double alpha) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("elu", site);
  Tensor values = as_float("elu", std::move(x));
  const RoundOnce rounded("elu", values, site);
  Tensor below = elu(values) * alpha;
  Tensor above_zero = greater_equal(values, 0);
  return rounded(where(std::move(above_zero), std::move(values), std::move(below)));
}

Tensor gelu(Arg x, GeluOptions options) {
  return call(kGelu, std::move(x), GeluAttrs{options.approximate});
}

Tensor silu(Arg x) { return call(kSilu, std::move(x)); }

Tensor swish(Arg x) {
  const detail::CallScope call("swish", x.site());
  return silu(as_float("swish", std::move(x)));
}

Tensor mish(Arg x) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("mish", site);
  Tensor values = as_float("mish", std::move(x));
  const RoundOnce rounded("mish", values, site);
  Tensor share = tanh(softplus(values));
  return rounded(mul(std::move(values), std::move(share)));
}

Tensor softsign(Arg x) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("softsign", site);
  Tensor values = as_float("softsign", std::move(x));
  const RoundOnce rounded("softsign", values, site);
  Tensor divisor = abs(values) + 1;
  return rounded(div(std::move(values), std::move(divisor)));
}

Tensor softplus(Arg x) { return call(kSoftplus, std::move(x)); }
Tensor log_sigmoid(Arg x) { return call(kLogSigmoid, std::move(x)); }
Tensor hard_sigmoid(Arg x) { return call(kHardSigmoid, std::move(x)); }
Tensor step(Arg x, double alpha) { return call(kStep, std::move(x), AlphaAttrs{alpha}); }

}  // namespace tenure
