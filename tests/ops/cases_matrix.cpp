// Diagonals, bands and the small products.
#include <algorithm>

#include "reference_matrix.h"

namespace tenure::testing {

std::vector<Case> matrix_cases() {
  std::vector<Case> cases;
  const std::vector<Shapes> stacks{{{3, 3}},    {{2, 4}}, {{4, 2}},       {{1, 1}},
                                   {{2, 3, 3}}, {{0, 3}}, {{2, 0, 2, 2}}, {{3, 2, 1, 4}}};
  struct Diagonal {
    const char* name;
    DiagonalOptions options;
    std::vector<Shapes> shapes;
  };
  for (const Diagonal& each : std::vector<Diagonal>{
           {"diagonal", {}, stacks},
           {"diagonal_above", {.offset = 1}, stacks},
           {"diagonal_below", {.offset = -2}, stacks},
           {"diagonal_of_outer_axes",
            {.offset = 1, .axis1 = 2, .axis2 = 0},
            {{{3, 2, 4}}, {{2, 2, 2}}, {{2, 1, 3, 2}}, {{0, 2, 3}}}},
       }) {
    cases.push_back(
        {.name = each.name,
         .ops = {"diagonal"},
         .run = [options = each.options](Tensors in, DType) { return diagonal(OP_IN(0), options); },
         .inputs = {{}},
         .shapes = each.shapes,
         .reference = [options =
                           each.options](const Arrays& in) { return diagonal_of(in[0], options); },
         .dtypes = kAnything});
  }
  for (const std::int64_t offset : {0, 2, -1}) {
    cases.push_back(
        {.name = offset == 0  ? "matrix_diag"
                 : offset > 0 ? "matrix_diag_above"
                              : "matrix_diag_below",
         .ops = {"undiagonal"},
         .run = [offset](Tensors in, DType) { return matrix_diag(OP_IN(0), offset); },
         .inputs = {{}},
         .shapes = {{{3}}, {{2, 3}}, {{1}}, {{0}}, {{0, 2}}, {{2, 1, 2}}},
         .value_shapes = {{{300}}, {{15000, 2}}},
         .reference = [offset](const Arrays& in) { return matrix_diag_of(in[0], offset); },
         .dtypes = kAnything,
         .error_name = "matrix_diag"});
  }
  cases.push_back({.name = "diag",
                   .ops = {"undiagonal", "reshape"},
                   .run = OP_CALL(diag(OP_IN(0))),
                   .inputs = {{}},
                   .shapes = {{{3}}, {{2, 3}}, {{}}, {{0}}, {{2, 1, 2}}},
                   .reference = [](const Arrays& in) { return diag_of(in[0]); },
                   .dtypes = kAnything,
                   .error_name = "diag"});
  cases.push_back({.name = "diag_part",
                   .ops = {"diagonal", "reshape"},
                   .run = OP_CALL(diag_part(OP_IN(0))),
                   .inputs = {{}},
                   .shapes = {{{3, 3}}, {{2, 3, 2, 3}}, {{}}, {{0, 0}}, {{1, 1}}},
                   .reference = [](const Arrays& in) { return diag_part_of(in[0]); },
                   .dtypes = kAnything,
                   .error_name = "diag_part"});
  cases.push_back({.name = "trace",
                   .ops = {"sum", "diagonal"},
                   .run = OP_CALL(trace(OP_IN(0))),
                   .inputs = {{}},
                   .shapes = stacks,
                   .reference = [](const Arrays& in) { return trace_of(in[0]); },
                   .tolerance = {.ulps = 2, .epsilons = 8},
                   .dtypes = kNumbers,
                   .result = total_dtype,
                   .error_name = "trace"});
  for (const auto& [name, lower, upper] : {std::tuple("band_part", 1, 0),
                                           {"band_part_lower", -1, 0},
                                           {"band_part_upper", 0, -1},
                                           {"band_part_all", -1, -1}}) {
    cases.push_back(
        {.name = name,
         .ops = {"band_part"},
         .run = [lower = lower, upper = upper](Tensors in,
                                               DType) { return band_part(OP_IN(0), lower, upper); },
         .inputs = {{}},
         .shapes = {{{3, 3}}, {{2, 4}}, {{4, 2}}, {{2, 3, 3}}, {{1, 0}}, {{2, 0, 2, 2}}, {{3, 5}}},
         .value_shapes = {{{3, 120, 130}}},
         .reference = [lower = lower,
                       upper = upper](const Arrays& in) { return band_of(in[0], lower, upper); },
         .dtypes = kAnything});
  }
  cases.push_back({.name = "matrix_transpose",
                   .ops = {"transpose"},
                   .run = OP_CALL(matrix_transpose(OP_IN(0))),
                   .inputs = {{}},
                   .shapes = {{{3, 2}}, {{2, 3, 4}}, {{0, 2}}},
                   .reference = [](const Arrays& in) { return matrix_transpose_of(in[0]); },
                   .dtypes = kAnything,
                   .error_name = "matrix_transpose"});
  cases.push_back(
      {.name = "dot",
       .ops = {"matmul", "reshape"},
       .run = OP_CALL(tenure::dot(OP_IN(0), OP_IN(1))),
       .inputs = {{}, {}},
       .shapes = {{{3}, {3}}, {{2, 3}, {3}}, {{3}, {3, 2}}, {{2, 3}, {3, 4}}, {{0}, {0}}},
       .reference = [](const Arrays& in) { return dot_of(in[0], in[1]); },
       .tolerance = {.ulps = 2, .epsilons = 16},
       .dtypes = {DType::float32, DType::float64, DType::int32, DType::int64},
       .error_name = "dot"});
  cases.push_back({.name = "outer",
                   .ops = {"reshape", "mul"},
                   .run = OP_CALL(outer(OP_IN(0), OP_IN(1))),
                   .inputs = {{}, {}},
                   .shapes = {{{3}, {4}}, {{1}, {1}}, {{0}, {2}}},
                   .reference = [](const Arrays& in) { return outer_of(in[0], in[1]); },
                   .dtypes = kNumbers,
                   .result = number_dtype,
                   .error_name = "outer"});
  // Repeated rows leave nothing to normalise: they are moved apart first.
  cases.push_back(
      {.name = "gram_schmidt",
       .ops = {"concat", "sub", "mul", "sum", "sqrt", "div"},
       .run = [](Tensors in, DType) { return gram_schmidt(made_regular(OP_IN(0))); },
       .inputs = {{}},
       .shapes = {{{3, 3}}, {{2, 4}}, {{1, 1}}, {{1, 3}}},
       .reference = [](const Arrays& in) { return gram_schmidt_of(made_regular(in[0])); },
       .tolerance = {.ulps = 16, .epsilons = 16},
       .several_calls = true,
       .error_name = ""});
  return cases;
}

}  // namespace tenure::testing
