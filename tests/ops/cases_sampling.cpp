#include <algorithm>

#include "case.h"
#include "reference_sparse.h"

namespace tenure::testing {

std::vector<Case> sampling_cases() {
  const Input classes{.least = -1, .most = 3, .dtype = DType::int32};
  std::vector<Case> cases;
  cases.push_back({.name = "multinomial",
                   .ops = {"multinomial"},
                   .run = OP_CALL(random::multinomial(OP_IN(0), 7, {.seed = 3})),
                   .inputs = {{}},
                   .shapes = {{{3, 5}}, {{4}}, {{0, 3}}, {{2, 1}}},
                   .dtypes = kFloats,
                   .result = int32_dtype,
                   .differentiable = false});
  cases.push_back({.name = "in_top_k",
                   .ops = {"in_top_k"},
                   .run = OP_CALL(in_top_k(OP_IN(0), OP_IN(1), 2)),
                   .inputs = {{.whole = true, .least = -2, .most = 2},
                              {.least = -1, .most = 4, .dtype = DType::int64}},
                   .shapes = {{{6, 4}, {6}}, {{2, 3, 4}, {2, 3}}, {{4}, {}}, {{0, 4}, {0}}},
                   .value_shapes = {{{7000, 5}, {7000}}},
                   .reference = [](const Arrays& in) { return among_top(in[0], in[1], 2); },
                   .dtypes = kNumbers,
                   .result = bool_dtype,
                   .differentiable = false});
  Case row{.name = "confusion_matrix",
           .ops = {"unsorted_segment_sum"},
           .run = OP_CALL(confusion_matrix(OP_IN(0), OP_IN(1), 3)),
           .inputs = {classes, classes},
           .shapes = {{{9}, {9}}, {{1}, {1}}, {{0}, {0}}},
           .value_shapes = {{{40001}, {40001}}},
           .reference = [](const Arrays& in) { return confusions(in, 3); },
           .dtypes = {DType::float32},
           .result = int32_dtype,
           .differentiable = false,
           .error_name = ""};
  cases.push_back(row);
  row.name = "confusion_matrix_with_weights";
  row.run = OP_CALL(confusion_matrix(OP_IN(0), OP_IN(1), 3, OP_IN(2)));
  row.inputs.push_back({});
  for (Shapes& shapes : row.shapes) shapes.push_back(shapes[0]);
  row.value_shapes = {};
  row.dtypes = kNumbers;
  row.result = total_dtype;
  row.differentiable = true;
  row.tolerance = {.epsilons = 8};
  cases.push_back(row);
  return cases;
}

}  // namespace tenure::testing
