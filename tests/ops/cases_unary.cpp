// Functions of one element. The bounds in ULP are those of src/backend/cpu/vector_math-inl.h, from
// the correctly rounded result; half of one more is the rounding of the result itself.
#include <cmath>

#include "elementwise_rows.h"

namespace tenure::testing {
namespace {

constexpr long double kSeluScale = 1.0507009873554804934193349852946L;
constexpr long double kSeluAlpha = 1.6732632423543772848170429916717L;

// Rounded once, in double, as the exact results of the ops are.
Wide sqrt_of(Wide x) { return std::sqrt(static_cast<double>(x)); }
Wide square_of(Wide x) { return static_cast<double>(x) * static_cast<double>(x); }

Wide sigmoid_of(Wide x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}
Wide relu_of(Wide x) { return x <= 0 ? 0 : x; }
Wide relu6_of(Wide x) { return x <= 0 ? 0 : x >= 6 ? 6 : x; }
Wide elu_of(Wide x) { return x >= 0 ? x : std::expm1(x); }
Wide selu_of(Wide x) { return kSeluScale * (x >= 0 ? x : kSeluAlpha * std::expm1(x)); }

const DTypes kSigned{DType::float32, DType::float64, DType::int32,
                     DType::int64,   DType::int8,    DType::boolean};

// Nothing, scalars, tails of vectors, and enough for several threads.
const std::vector<Shapes> kShapes{{{2, 3, 4}}, {{}},        {{1}}, {{0}},
                                  {{3, 0, 2}}, {{7, 1, 5}}, {{67}}};
const std::vector<Shapes> kLargeShapes{{{70001}}, {{250, 301}}};

}  // namespace

const std::vector<UnaryRow>& unary_rows() {
  static const std::vector<UnaryRow> rows{
      {"neg", neg, [](Wide x) { return -x; }, 0, {}, kSigned, number_dtype},
      {"exp", exp, std::exp, 1.5, {.low = -4, .high = 4}, kNumbers, float_dtype},
      {"log", log, std::log, 1.5, {.low = 0.1, .high = 5, .least = 1}, kNumbers, float_dtype},
      {"sqrt", sqrt, sqrt_of, 0, {.low = 0.1, .high = 5, .least = 0}, kNumbers, float_dtype},
      {"square", square, square_of, 0, {.least = -99, .most = 99}, kNumbers, number_dtype},
      {"relu", relu, relu_of, 0, {.away_from = {0}}, kNumbers, number_dtype},
      {"relu6",
       relu6,
       relu6_of,
       0,
       {.low = -3, .high = 9, .away_from = {0, 6}},
       kNumbers,
       number_dtype},
      {"elu", elu, elu_of, 2.5, {.away_from = {0}}, kNumbers, float_dtype},
      {"selu", selu, selu_of, 4, {.away_from = {0}}, kNumbers, float_dtype},
      {"tanh", tanh, std::tanh, 2.5, {.low = -3, .high = 3}, kNumbers, float_dtype},
      {"sigmoid", sigmoid, sigmoid_of, 2.5, {.low = -5, .high = 5}, kNumbers, float_dtype},
  };
  return rows;
}

void PrintTo(const UnaryRow& row, std::ostream* out) { *out << row.name; }

Case unary_case(const char* title, std::vector<std::string_view> ops, Tensor (*run)(Arg x),
                long double (*value)(long double x), Tolerance tolerance, Input input) {
  return {.name = title,
          .ops = std::move(ops),
          .run = [run](Tensors in, DType) { return run(OP_IN(0)); },
          .inputs = {std::move(input)},
          .shapes = kShapes,
          .value_shapes = kLargeShapes,
          .reference = elementwise(
              [value](const std::vector<double>& x) { return static_cast<double>(value(x[0])); }),
          .tolerance = tolerance,
          .dtypes = kNumbers,
          .result = float_dtype};
}

void keep_values_few(std::vector<Case>& cases) {
  for (Case& row : cases) row.value_shapes = {Shapes(row.inputs.size(), Shape{33001})};
}

std::vector<Case> cases_of(const std::vector<UnaryRow>& rows) {
  std::vector<Case> cases;
  for (const UnaryRow& row : rows) {
    Case made = unary_case(row.name, {row.name}, row.run, row.value, {.ulps = row.ulps}, row.input);
    made.dtypes = row.dtypes;
    made.result = row.result;
    made.differentiable = op_named(row.name).grad != nullptr;
    cases.push_back(std::move(made));
  }
  return cases;
}

std::vector<Case> unary_cases() {
  std::vector<Case> cases = cases_of(unary_rows());
  // Every pair of dtypes is in cast_test.cpp; here, that cast is an op like any other.
  cases.push_back({.name = "cast_to_float32",
                   .ops = {"cast"},
                   .run = OP_CALL(cast(OP_IN(0), DType::float32)),
                   .inputs = {{}},
                   .shapes = kShapes,
                   .value_shapes = kLargeShapes,
                   .reference = elementwise([](const std::vector<double>& x) { return x[0]; }),
                   .dtypes = kAnything,
                   .result = [](DType) { return DType::float32; },
                   .step = 1});
  return cases;
}

}  // namespace tenure::testing
