// Functions of one element and of two, beyond the everyday ones. The bounds in ULP are those of
// src/backend/cpu/{vector_math,wide_math,erf}-inl.h and, for float64, of the C library; half of one
// more is the rounding of the result itself.
#include <cmath>

#include "elementwise_rows.h"

namespace tenure::testing {
namespace {

Wide sign_of(Wide x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
Wide reciprocal_of(Wide x) { return 1 / static_cast<double>(x); }
Wide is_nan_of(Wide x) { return std::isnan(x) ? 1 : 0; }
Wide is_inf_of(Wide x) { return std::isinf(x) ? 1 : 0; }
Wide is_finite_of(Wide x) { return std::isfinite(x) ? 1 : 0; }
Wide clip_of(Wide x) { return x > 5 ? 5 : x < 1 ? 1 : x; }

double mod_of(double a, double b) {
  const double rest = std::fmod(a, b);
  return (a < 0) == (b < 0) ? rest : std::fmod(rest + b, b);
}
double mod_of_integers(double a, double b) { return b == 0 ? 0 : a - b * std::floor(a / b); }
double pow_of_integers(double a, double b) {
  return a == 0 && b < 0 ? 0 : std::trunc(std::pow(a, b));
}

std::vector<BinaryRow> binary_rows() {
  const Input any{.least = -99, .most = 99};
  const Input divisor{.low = 0.5, .high = 3};
  const Input either_side{.low = -3, .high = 3, .away_from = {0}};
  const Input small{.least = -3, .most = 3};
  return {
      {"mod", mod, mod_of, {any, divisor}, kFloats, same_dtype, true},
      {"mod", mod, mod_of, {any, either_side}, kFloats, same_dtype, false, "mod_of_either_sign"},
      {"mod",
       mod,
       mod_of_integers,
       {any, small},
       kWholeTypes,
       number_dtype,
       false,
       "mod_of_integers"},
      {"pow",
       pow,
       [](double a, double b) { return std::pow(a, b); },
       {{.low = 0.3, .high = 3}, {}},
       kFloats,
       same_dtype,
       true,
       "pow",
       1},
      {"pow",
       pow,
       [](double a, double b) { return std::pow(a, b); },
       {{}, {.low = -3, .high = 4, .whole = true}},
       kFloats,
       same_dtype,
       false,
       "pow_of_negatives",
       1},
      {"pow",
       pow,
       pow_of_integers,
       {{}, {.least = -3, .most = 7}},
       kWholeTypes,
       number_dtype,
       false,
       "pow_of_integers"},
      {"atan2",
       atan2,
       [](double y, double x) { return std::atan2(y, x); },
       {{.away_from = {0}}, {.away_from = {0}}},
       kNumbers,
       float_dtype,
       true,
       "atan2",
       1.5},
      {"hypot",
       hypot,
       [](double a, double b) { return std::hypot(a, b); },
       {{.away_from = {0}}, {.away_from = {0}}},
       kNumbers,
       float_dtype,
       true,
       "hypot",
       1.5},
  };
}

}  // namespace

const std::vector<UnaryRow>& maths_rows() {
  const Input steep{.low = 0.3, .high = 4, .least = 1};
  const Input any{.low = -9, .high = 9};
  const Input within_one{.low = -0.95, .high = 0.95, .least = -1, .most = 1};
  static const std::vector<UnaryRow> rows{
      {"abs", abs, std::fabs, 0, {.away_from = {0}}, kNumbers, number_dtype},
      {"sign", sign, sign_of, 0, {}, kNumbers, number_dtype},
      {"floor", floor, std::floor, 0, any, kNumbers, number_dtype},
      {"ceil", ceil, std::ceil, 0, any, kNumbers, number_dtype},
      {"round", round, std::nearbyint, 0, any, kNumbers, number_dtype},
      {"is_nan", is_nan, is_nan_of, 0, {}, kNumbers, bool_dtype},
      {"is_inf", is_inf, is_inf_of, 0, {}, kNumbers, bool_dtype},
      {"is_finite", is_finite, is_finite_of, 0, {}, kNumbers, bool_dtype},
      {"clip",
       [](Arg x) { return clip(std::move(x), 1, 5); },
       clip_of,
       0,
       {.low = -3, .high = 9, .away_from = {1, 5}},
       kNumbers,
       number_dtype},
      {"reciprocal", reciprocal, reciprocal_of, 0, steep, kNumbers, float_dtype},
      {"rsqrt", rsqrt, [](Wide x) { return 1 / std::sqrt(x); }, 1.5, steep, kNumbers, float_dtype},
      {"expm1", expm1, std::expm1, 2.5, {.low = -4, .high = 4}, kNumbers, float_dtype},
      {"log1p",
       log1p,
       std::log1p,
       2.5,
       {.low = -0.8, .high = 4, .least = 0},
       kNumbers,
       float_dtype},
      {"erf", erf, std::erf, 2.5, {.low = -4, .high = 4}, kNumbers, float_dtype},
      {"sin", sin, std::sin, 1.5, any, kNumbers, float_dtype},
      {"cos", cos, std::cos, 1.5, any, kNumbers, float_dtype},
      {"tan", tan, std::tan, 1.5, {.low = -1.3, .high = 1.3}, kNumbers, float_dtype},
      {"asin", asin, std::asin, 1.5, within_one, kNumbers, float_dtype},
      {"acos", acos, std::acos, 1.5, within_one, kNumbers, float_dtype},
      {"atan", atan, std::atan, 1.5, any, kNumbers, float_dtype},
      {"sinh", sinh, std::sinh, 2.5, {.low = -4, .high = 4}, kNumbers, float_dtype},
      {"cosh", cosh, std::cosh, 2.5, {.low = -4, .high = 4}, kNumbers, float_dtype},
      {"asinh", asinh, std::asinh, 2.5, any, kNumbers, float_dtype},
      {"acosh", acosh, std::acosh, 2.5, {.low = 1.2, .high = 9, .least = 1}, kNumbers, float_dtype},
      {"atanh",
       atanh,
       std::atanh,
       2.5,
       {.low = -0.9, .high = 0.9, .least = 0, .most = 0},
       kNumbers,
       float_dtype},
  };
  return rows;
}

std::vector<Case> maths_cases() {
  std::vector<Case> cases = cases_of(maths_rows());
  for (Case& row : cases_of(binary_rows())) cases.push_back(std::move(row));
  keep_values_few(cases);
  return cases;
}

}  // namespace tenure::testing
