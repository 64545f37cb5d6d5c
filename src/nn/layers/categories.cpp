#include "nn/layers/categories.h"

#include "core/raise.h"
#include "nn/layers/common.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn::detail {

namespace {

Tensor rows_of_one(const Tensor& indices, std::int64_t depth, DType dtype) {
  // one_hot lets an index out of range pass; looking it up does not.
  const Tensor zero = gather(zeros({depth}, dtype), indices);
  return one_hot(indices, depth, {.on = 1, .off = 0, .axis = -1, .dtype = dtype}) +
         expand_dims(zero, -1);
}

}  // namespace

void check_output_mode(const char* layer, const std::string& mode, const char* also) {
  if (mode == "multi_hot" || mode == "one_hot" || mode == "count") return;
  if (also != nullptr && mode == also) return;
  raise<ValueError>("{}: no such output_mode: \"{}\" ({}{}multi_hot, one_hot, count)", layer, mode,
                    also != nullptr ? also : "", also != nullptr ? ", " : "");
}

Tensor encoded(const Tensor& indices, const std::string& mode, std::int64_t depth, DType dtype,
               const Tensor& weights) {
  const Shape shape = indices.shape();
  Tensor x = as_indices(indices);
  if (mode == "one_hot") {
    if (shape.rank() > 1 && shape[-1] == 1) x = squeeze(std::move(x), {-1});
    return rows_of_one(x, depth, dtype);
  }
  if (shape.rank() != 1 && shape.rank() != 2) {
    raise<ShapeError>("takes inputs of rank 1 or 2 for \"{}\", was given {}", mode, shape);
  }
  const Tensor rows = rows_of_one(x, depth, dtype);
  if (mode == "multi_hot") return max(rows, {-2});
  if (!weights.defined()) return sum(rows, {-2});
  if (weights.shape() != shape) {
    raise<ShapeError>("takes weights of the indices' shape: {}, {}", shape, weights.shape());
  }
  return sum(rows * expand_dims(cast(weights, dtype), -1), {-2});
}

}  // namespace tenure::nn::detail
