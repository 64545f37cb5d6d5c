// Activations beyond the everyday ones.
#include <cmath>
#include <numbers>

#include "elementwise_rows.h"

namespace tenure::testing {
namespace {

using std::numbers::sqrt2_v;

Wide leaky_relu_of(Wide x) { return x < 0 ? 0.2L * x : x; }
Wide step_of(Wide x) { return std::isnan(x) ? x : x > 0 ? 1 : -0.5; }
Wide softplus_of(Wide x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); }
Wide log_sigmoid_of(Wide x) { return -softplus_of(-x); }
Wide sigmoid_of(Wide x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}
// Both are 0 far below zero.
Wide silu_of(Wide x) { return std::isinf(x) && x < 0 ? -0.0L : x * sigmoid_of(x); }
Wide gelu_of(Wide x) {
  return std::isinf(x) && x < 0 ? -0.0L : x * std::erfc(-x / sqrt2_v<Wide>) / 2;
}
// x (1 + tanh u) / 2, without the difference that a negative u makes of it.
Wide gelu_by_tanh_of(Wide x) {
  const Wide u = sqrt2_v<Wide> * std::numbers::inv_sqrtpi_v<Wide> * (x + 0.044715L * x * x * x);
  return x * sigmoid_of(2 * u);
}
Wide hard_sigmoid_of(Wide x) {
  const Wide line = 0.2L * x + 0.5L;
  return line > 1 ? 1 : line < 0 ? 0 : line;
}
Wide mish_of(Wide x) { return x * std::tanh(softplus_of(x)); }
Wide softsign_of(Wide x) { return x / (1 + std::fabs(x)); }
Wide elu_of(Wide x) { return x >= 0 ? x : 1.5L * std::expm1(x); }

const Input kAny{.low = -5, .high = 5};
const Input kKinked{.low = -4, .high = 4, .away_from = {0}};

}  // namespace

const std::vector<UnaryRow>& activation_rows() {
  static const std::vector<UnaryRow> rows{
      {"leaky_relu", [](Arg x) { return leaky_relu(std::move(x)); }, leaky_relu_of, 1.5, kKinked,
       kNumbers, float_dtype},
      {"step",
       [](Arg x) { return step(std::move(x), -0.5); },
       step_of,
       0,
       {},
       kNumbers,
       float_dtype},
      {"softplus", softplus, softplus_of, 3.5, kAny, kNumbers, float_dtype},
      {"log_sigmoid", log_sigmoid, log_sigmoid_of, 3.5, kAny, kNumbers, float_dtype},
      {"gelu", [](Arg x) { return gelu(std::move(x)); }, gelu_of, 6, kAny, kNumbers, float_dtype},
  };
  return rows;
}

std::vector<Case> activation_cases() {
  std::vector<Case> cases = cases_of(activation_rows());
  for (Case& row : cases_of(
           std::vector<BinaryRow>{{"prelu",
                                   prelu,
                                   [](double x, double alpha) { return x < 0 ? alpha * x : x; },
                                   {kKinked, {}},
                                   kNumbers,
                                   float_dtype,
                                   true}})) {
    cases.push_back(std::move(row));
  }
  cases.push_back(unary_case(
      "leaky_relu_downwards", {"leaky_relu"}, [](Arg x) { return leaky_relu(std::move(x), -0.5); },
      [](Wide x) { return x < 0 ? -0.5L * x : x; }, {}, kKinked));
  cases.push_back(unary_case(
      "step_at_zero", {"step"}, [](Arg x) { return step(std::move(x)); },
      [](Wide x) { return x > 0 ? 1.0L : 0.0L; }, {}, {.whole = true}));
  cases.back().differentiable = false;
  cases.push_back(unary_case(
      "gelu_by_tanh", {"gelu"}, [](Arg x) { return gelu(std::move(x), {.approximate = true}); },
      gelu_by_tanh_of, {.ulps = 10, .epsilons = 0.2}, kAny));
  cases.push_back(unary_case("hard_sigmoid", {"hard_sigmoid"}, hard_sigmoid, hard_sigmoid_of,
                             {.epsilons = 1}, {.low = -5, .high = 5, .away_from = {-2.5, 2.5}}));
  cases.push_back(unary_case(
      "elu_with_alpha", {"elu", "mul", "greater_equal", "where"},
      [](Arg x) { return elu(std::move(x), 1.5); }, elu_of, {.ulps = 4}, kKinked));
  cases.push_back(unary_case("silu", {"silu"}, silu, silu_of, {.ulps = 3.5}, kAny));
  cases.push_back(unary_case("swish", {"silu"}, swish, silu_of, {.ulps = 3.5}, kAny));
  cases.push_back(
      unary_case("mish", {"mul", "tanh", "softplus"}, mish, mish_of, {.ulps = 8}, kAny));
  cases.push_back(
      unary_case("softsign", {"div", "abs", "add"}, softsign, softsign_of, {.ulps = 2}, kKinked));
  keep_values_few(cases);
  for (Case& row : cases) {
    if (row.name == "elu_with_alpha") row.error_name = "elu";
    if (row.name == "swish" || row.name == "mish" || row.name == "softsign") {
      row.error_name = row.name;
    }
  }
  return cases;
}

}  // namespace tenure::testing
