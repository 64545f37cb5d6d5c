// Rows of functions of one element and of two, and the case rows made of them.
#pragma once

#include <vector>

#include "case.h"

namespace tenure::testing {

using Wide = long double;

const std::vector<UnaryRow>& maths_rows();
const std::vector<UnaryRow>& activation_rows();
std::vector<Case> cases_of(const std::vector<UnaryRow>& rows);

struct BinaryRow {
  const char* name;
  Tensor (*run)(Arg a, Arg b);
  double (*value)(double a, double b);
  std::vector<Input> inputs;
  DTypes dtypes;
  DType (*result)(DType);
  bool differentiable;
  const char* title = name;
  double ulps = 0;
};
std::vector<Case> cases_of(const std::vector<BinaryRow>& rows);

// A function of one element with bounds that a UnaryRow cannot say.
Case unary_case(const char* title, std::vector<std::string_view> ops, Tensor (*run)(Arg x),
                long double (*value)(long double x), Tolerance tolerance, Input input);

// Leaves of the large shapes what shows that threads agree: the rows of add and exp show the rest.
void keep_values_few(std::vector<Case>& cases);

}  // namespace tenure::testing
