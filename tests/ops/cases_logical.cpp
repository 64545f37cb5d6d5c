// Logic of booleans and of the bits of integers.
#include "elementwise_rows.h"

namespace tenure::testing {
namespace {

const DTypes kBooleans{DType::boolean};

std::int64_t bits(double value) { return static_cast<std::int64_t>(value); }

std::vector<BinaryRow> logical_rows() {
  const std::vector<Input> any(2, Input{.least = -99, .most = 99});
  return {
      {"logical_and", logical_and, [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; },
       any, kBooleans, same_dtype, false},
      {"logical_or", logical_or, [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; },
       any, kBooleans, same_dtype, false},
      {"logical_xor", logical_xor, [](double a, double b) { return a != b ? 1.0 : 0.0; }, any,
       kBooleans, same_dtype, false},
      {"bitwise_and", bitwise_and,
       [](double a, double b) { return static_cast<double>(bits(a) & bits(b)); }, any, kIntegers,
       same_dtype, false},
      {"bitwise_or", bitwise_or,
       [](double a, double b) { return static_cast<double>(bits(a) | bits(b)); }, any, kIntegers,
       same_dtype, false},
      {"bitwise_xor", bitwise_xor,
       [](double a, double b) { return static_cast<double>(bits(a) ^ bits(b)); }, any, kIntegers,
       same_dtype, false},
  };
}

}  // namespace

std::vector<Case> logical_cases() {
  std::vector<Case> cases = cases_of(logical_rows());
  Case inverted = unary_case("logical_not", {"logical_not"}, logical_not,
                             [](Wide x) { return x == 0 ? 1.0L : 0.0L; }, {}, {});
  inverted.dtypes = kBooleans;
  inverted.result = same_dtype;
  inverted.differentiable = false;
  cases.push_back(std::move(inverted));
  keep_values_few(cases);
  return cases;
}

}  // namespace tenure::testing
