// Sparse tensors. Positions are drawn, some of them twice.
#include "case.h"
#include "ops/segment.h"
#include "reference_sparse.h"

namespace tenure::testing {
namespace {

const Shape kShape{3, 4};
const Input kPositions{.least = 0, .most = 2, .dtype = DType::int32};
const Input kWidePositions{.least = 0, .most = 2, .dtype = DType::int64};

// One of the four results of sparse_fill_empty_rows.
Case fill_rows(const char* name, std::size_t output) {
  Case row{.name = name,
           .ops = {"sparse_fill_empty_rows"},
           .run =
               [output](Tensors in, DType) {
                 SparseRows filled = sparse_fill_empty_rows(OP_IN(0), OP_IN(1), kShape, OP_IN(2));
                 Tensor* all[] = {&filled.indices, &filled.values, &filled.empty_rows,
                                  &filled.reverse_index_map};
                 return *all[output];
               },
           .inputs = {kPositions, {}, {}},
           .shapes = {{{5, 2}, {5}, {}}, {{2, 2}, {2}, {}}, {{0, 2}, {0}, {}}},
           .reference =
               [output](const Arrays& in) {
                 return rows_filled(in[0], in[1], kShape, in[2].data[0])[output];
               },
           .dtypes = kAnything,
           .differentiable = output == 1};
  if (output == 0 || output == 3) row.result = int32_dtype;
  if (output == 2) row.result = bool_dtype;
  return row;
}

}  // namespace

std::vector<Case> sparse_cases() {
  std::vector<Case> cases;
  cases.push_back(
      {.name = "sparse_to_dense",
       .ops = {"sparse_to_dense"},
       .run = OP_CALL(sparse_to_dense(OP_IN(0), kShape, OP_IN(1), OP_IN(2))),
       .inputs = {kPositions, {}, {}},
       .shapes = {{{5, 2}, {5}, {}}, {{2, 2}, {}, {}}, {{0, 2}, {0}, {}}},
       .reference = [](const Arrays& in) { return dense(in[0], kShape, in[1], in[2].data[0]); },
       .tolerance = {.epsilons = 4},
       .dtypes = kAnything});
  cases.push_back({.name = "sparse_to_dense_vector",
                   .ops = {"sparse_to_dense"},
                   .run = OP_CALL(sparse_to_dense(OP_IN(0), {3}, OP_IN(1))),
                   .inputs = {kWidePositions, {}},
                   .shapes = {{{4}, {4}}, {{}, {}}, {{3}, {}}},
                   .reference = [](const Arrays& in) { return dense(in[0], {3}, in[1], 0); },
                   .dtypes = kAnything});
  cases.push_back({.name = "sparse_to_dense_grad",
                   .ops = {"sparse_to_dense_grad"},
                   .run = OP_CALL(ops::sparse_to_dense_grad(OP_IN(0), OP_IN(1))),
                   .inputs = {{}, kWidePositions},
                   .shapes = {{kShape, {5, 2}}, {kShape, {0, 2}}, {{3}, {4}}, {{3}, {}}},
                   .reference = [](const Arrays& in) { return dense_grad(in[0], in[1]); },
                   .dtypes = kAnything});
  cases.push_back(fill_rows("sparse_fill_empty_rows_indices", 0));
  cases.push_back(fill_rows("sparse_fill_empty_rows_values", 1));
  cases.push_back(fill_rows("sparse_fill_empty_rows_empty_rows", 2));
  cases.push_back(fill_rows("sparse_fill_empty_rows_map", 3));
  cases.push_back(
      {.name = "sparse_reshape",
       .ops = {"sparse_reshape"},
       .run = OP_CALL(sparse_reshape(OP_IN(0), kShape, {2, -1, 3}).indices),
       .inputs = {{.least = 0, .most = 2}},
       .shapes = {{{5, 2}}, {{0, 2}}},
       .value_shapes = {{{999, 2}}},
       .reference = [](const Arrays& in) { return indices_reshaped(in[0], kShape, {2, -1, 3}); },
       .dtypes = {DType::int32, DType::int64},
       .differentiable = false});
  return cases;
}

}  // namespace tenure::testing
