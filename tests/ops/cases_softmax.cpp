// Softmax and its logarithm, and their gradients as ops of their own, along each kind of axis.
#include <cmath>

#include "case.h"
#include "ops/apply.h"
#include "reference_lines.h"

namespace tenure::testing {

std::vector<Case> softmax_cases() {
  std::vector<Case> cases;
  for (const int axis : {-1, 0, 1}) {
    const std::string suffix = axis < 0 ? "_along_last" : "_along_" + std::to_string(axis);
    for (const bool logarithm : {false, true}) {
      const std::string name = logarithm ? "log_softmax" : "softmax";
      cases.push_back(
          {.name = name + suffix,
           .ops = {logarithm ? "log_softmax" : "softmax"},
           .run =
               [axis, logarithm](Tensors in, DType) {
                 return logarithm ? log_softmax(OP_IN(0), axis) : softmax(OP_IN(0), axis);
               },
           .inputs = {{}},
           .shapes = {{{2, 3, 4}}, {{3, 37}}, {{1, 1}}, {{3, 0}}, {{0, 3}}},
           .value_shapes = {{{33, 1000}}, {{7, 20, 300}}, {{4, 9000}}},
           .reference =
               [axis, logarithm](const Arrays& in) { return softmax_of(in[0], axis, logarithm); },
           .tolerance = {.ulps = 8, .epsilons = logarithm ? 8.0 : 0.0},
           .dtypes = {DType::float32, DType::float64, DType::int32},
           .result = float_dtype});
      cases.push_back(
          {.name = name + "_grad" + suffix,
           .ops = {logarithm ? "log_softmax_grad" : "softmax_grad"},
           .run =
               [axis, logarithm](Tensors in, DType) {
                 const int rank = in[0].defined() ? in[0].rank() : 1;
                 const ops::AxisAttrs attrs{axis < 0 ? rank - 1 : axis};
                 return ops::apply(op_named(logarithm ? "log_softmax_grad" : "softmax_grad"),
                                   ops::ref(attrs), std::source_location::current(), OP_IN(0),
                                   OP_IN(1));
               },
           .inputs = {{}, {}},
           .shapes = {{{2, 3, 4}, {2, 3, 4}}, {{3, 19}, {3, 19}}, {{2, 0}, {2, 0}}},
           .value_shapes = {{{30, 1000}, {30, 1000}}, {{7, 20, 300}, {7, 20, 300}}},
           .reference = [axis, logarithm](
                            const Arrays& in) { return softmax_gradient_of(in, axis, logarithm); },
           .tolerance = {.ulps = 4, .epsilons = 200},
           .value_tolerance = {.ulps = 4, .epsilons = 20000}});
    }
  }
  return cases;
}

}  // namespace tenure::testing
