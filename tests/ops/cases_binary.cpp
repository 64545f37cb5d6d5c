// Functions of two elements and of three, with broadcasting.
#include <cmath>

#include "elementwise_rows.h"

namespace tenure::testing {
namespace {

// Equal shapes, scalars, every way of broadcasting, and nothing.
const std::vector<Shapes> kShapes{{{2, 3, 4}, {2, 3, 4}},
                                  {{}, {}},
                                  {{2, 3}, {}},
                                  {{}, {5}},
                                  {{4}, {3, 4}},
                                  {{3, 1}, {1, 4}},
                                  {{2, 1, 4}, {3, 1}},
                                  {{67}, {67}},
                                  {{1}, {1}},
                                  {{0}, {1}},
                                  {{0, 3}, {0, 3}},
                                  {{2, 0}, {}}};
// Runs of every length, binary_rows_of_arithmetic that repeat, and enough for several threads.
const std::vector<Shapes> kLargeShapes{
    {{70001}, {70001}}, {{300, 257}, {257}},       {{300, 1}, {1, 257}},      {{30000, 3}, {3}},
    {{}, {40001}},      {{2, 3, 5, 7}, {3, 1, 7}}, {{40, 1, 33}, {40, 29, 1}}};

double larger_of(double a, double b) { return static_cast<double>(larger(a, b)); }
double floor_quotient(double a, double b) { return b == 0 ? 0 : std::floor(a / b); }

// Whole numbers, so that some are equal.
const std::vector<Input> kEqualAtTimes(
    2, Input{.low = -2, .high = 2, .whole = true, .least = -2, .most = 2});
const std::vector<Input> kAnyPair(2, Input{.least = -99, .most = 99});

std::vector<BinaryRow> binary_rows_of_arithmetic() {
  return {
      {"add", add, [](double a, double b) { return a + b; }, kAnyPair, kNumbers, number_dtype,
       true},
      {"sub", sub, [](double a, double b) { return a - b; }, kAnyPair, kNumbers, number_dtype,
       true},
      {"mul", mul, [](double a, double b) { return a * b; }, kAnyPair, kNumbers, number_dtype,
       true},
      {"div",
       div,
       [](double a, double b) { return a / b; },
       {{}, {.low = 0.5, .high = 3}},
       kFloats,
       same_dtype,
       true},
      {"div",
       div,
       floor_quotient,
       {{.least = -99, .most = 99}, {.least = -3, .most = 3}},
       kWholeTypes,
       number_dtype,
       false,
       "div_of_integers"},
      {"floor_div",
       floor_div,
       [](double a, double b) { return std::floor(a / b); },
       {{}, {.low = -3, .high = 3, .away_from = {0}}},
       kFloats,
       same_dtype,
       false},
      {"floor_div",
       floor_div,
       floor_quotient,
       {{.least = -99, .most = 99}, {.least = -3, .most = 3}},
       kWholeTypes,
       number_dtype,
       false,
       "floor_div_of_integers"},
      {"maximum", maximum, larger_of, kAnyPair, kNumbers, number_dtype, true},
      {"maximum", maximum, larger_of, kEqualAtTimes, kNumbers, number_dtype, false,
       "maximum_of_equals"},
      {"minimum", minimum, [](double a, double b) { return b < a ? b : a; }, kAnyPair, kNumbers,
       number_dtype, true},
      {"squared_difference", squared_difference,
       [](double a, double b) { return (a - b) * (a - b); }, kAnyPair, kNumbers, number_dtype, true,
       "squared_difference", 2},
      {"equal", equal, [](double a, double b) { return a == b ? 1.0 : 0.0; }, kEqualAtTimes,
       kNumbers, bool_dtype, false},
      {"not_equal", not_equal, [](double a, double b) { return a != b ? 1.0 : 0.0; }, kEqualAtTimes,
       kNumbers, bool_dtype, false},
      {"less", less, [](double a, double b) { return a < b ? 1.0 : 0.0; }, kEqualAtTimes, kNumbers,
       bool_dtype, false},
      {"less_equal", less_equal, [](double a, double b) { return a <= b ? 1.0 : 0.0; },
       kEqualAtTimes, kNumbers, bool_dtype, false},
      {"greater", greater, [](double a, double b) { return a > b ? 1.0 : 0.0; }, kEqualAtTimes,
       kNumbers, bool_dtype, false},
      {"greater_equal", greater_equal, [](double a, double b) { return a >= b ? 1.0 : 0.0; },
       kEqualAtTimes, kNumbers, bool_dtype, false},
  };
}

Case add_n_case() {
  return {.name = "add_n",
          .ops = {"add_n"},
          .run = OP_CALL(add_n(std::move(in))),
          .inputs = {{}, {}, {}},
          .shapes = {{{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
                     {{}, {}, {}},
                     {{0, 2}, {0, 2}, {0, 2}},
                     {{67}, {67}, {67}}},
          .value_shapes = {{{70001}, {70001}, {70001}}},
          .reference = elementwise([](const std::vector<double>& x) { return x[0] + x[1] + x[2]; }),
          .tolerance = {.epsilons = 8},
          .dtypes = kNumbers,
          .result = number_dtype};
}

Case where_case() {
  return {.name = "where",
          .ops = {"where"},
          .run = OP_CALL(where(OP_IN(0), OP_IN(1), OP_IN(2))),
          .inputs = {{.dtype = DType::boolean}, {}, {}},
          .shapes = {{{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
                     {{}, {}, {}},
                     {{3}, {}, {}},
                     {{}, {3}, {2, 1}},
                     {{2, 1}, {3}, {}},
                     {{4}, {3, 1}, {2, 1, 1}},
                     {{0}, {1}, {}},
                     {{67}, {67}, {67}}},
          .value_shapes = {{{70001}, {70001}, {70001}}, {{300, 1}, {257}, {300, 257}}},
          .reference =
              elementwise([](const std::vector<double>& x) { return x[0] != 0 ? x[1] : x[2]; }),
          .dtypes = kAnything};
}

}  // namespace

std::vector<Case> cases_of(const std::vector<BinaryRow>& binary_rows_of_arithmetic) {
  std::vector<Case> cases;
  for (const BinaryRow& row : binary_rows_of_arithmetic) {
    cases.push_back({.name = row.title,
                     .ops = {row.name},
                     .run = [run = row.run](Tensors in, DType) { return run(OP_IN(0), OP_IN(1)); },
                     .inputs = row.inputs,
                     .shapes = kShapes,
                     .value_shapes = kLargeShapes,
                     .reference = elementwise([value = row.value](const std::vector<double>& x) {
                       return value(x[0], x[1]);
                     }),
                     .tolerance = {.ulps = row.ulps},
                     .dtypes = row.dtypes,
                     .result = row.result,
                     .differentiable = row.differentiable});
  }
  return cases;
}

std::vector<Case> binary_cases() {
  std::vector<Case> cases = cases_of(binary_rows_of_arithmetic());
  cases.push_back(add_n_case());
  cases.push_back(where_case());
  return cases;
}

}  // namespace tenure::testing
