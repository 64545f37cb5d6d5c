// Picking, placing, ordering and counting elements.
#include <bit>

#include "call.h"
#include "tenure/tenure.h"

namespace tenure::node {
namespace {

// Indices may come as float32: TensorFlow.js does not mind.
Tensor as_indices(Tensor x) { return cast(std::move(x), DType::int32); }

void run_gather(Call& call) {
  Tensor x = call.tensor();
  Tensor indices = as_indices(call.tensor());
  const int axis = call.integer();
  const int batch_dims = call.integer();
  call.give(gather(std::move(x), std::move(indices), {.axis = axis, .batch_dims = batch_dims}));
}

void run_gather_nd(Call& call) {
  Tensor x = call.tensor();
  call.give(gather_nd(std::move(x), as_indices(call.tensor())));
}

void run_scatter_nd(Call& call) {
  Tensor indices = as_indices(call.tensor());
  Tensor updates = call.tensor();
  const bool is_truth = updates.dtype() == DType::boolean;
  if (is_truth) updates = cast(std::move(updates), DType::int32);
  Tensor sums = scatter_nd(std::move(indices), std::move(updates), call.shape());
  call.give(is_truth ? cast(std::move(sums), DType::boolean) : std::move(sums));
}

void run_tensor_scatter_update(Call& call) {
  Tensor x = call.tensor();
  Tensor indices = as_indices(call.tensor());
  call.give(tensor_scatter_update(std::move(x), std::move(indices), call.tensor()));
}

void run_sparse_to_dense(Call& call) {
  Tensor indices = as_indices(call.tensor());
  Tensor values = call.tensor();
  Tensor otherwise = call.tensor();
  call.give(
      sparse_to_dense(std::move(indices), call.shape(), std::move(values), std::move(otherwise)));
}

void run_one_hot(Call& call) {
  Tensor indices = as_indices(call.tensor());
  const std::int64_t depth = call.integer();
  const DType dtype = call.dtype();
  const double on = call.number();
  const double off = call.number();
  Tensor hot = one_hot(std::move(indices), depth, {.on = on, .off = off});
  call.give(cast(std::move(hot), dtype));
}

// TensorFlow.js multiplies by a mask of float32.
void run_unsorted_segment_sum(Call& call) {
  Tensor x = cast(call.tensor(), DType::float32);
  Tensor ids = as_indices(call.tensor());
  call.give(unsorted_segment_sum(std::move(x), std::move(ids), call.integer()));
}

void run_multinomial(Call& call) {
  Tensor logits = call.tensor();
  const std::int64_t samples = call.integer();
  const bool normalized = call.flag();
  const auto seed = std::bit_cast<std::uint64_t>(call.number());
  call.give(
      random::multinomial(std::move(logits), samples, {.normalized = normalized, .seed = seed}));
}

void run_unique(Call& call) {
  Tensor x = call.tensor();
  Unique distinct = unique(std::move(x), call.integer());
  call.give(std::vector<Tensor>{std::move(distinct.values), std::move(distinct.inverse)});
}

// Counts have the dtype of the weights, even where there are none.
void run_dense_bincount(Call& call) {
  Tensor x = as_indices(call.tensor());
  DenseBincountOptions options;
  options.weights = call.maybe_tensor();
  const std::int64_t size = call.integer();
  const DType dtype = call.dtype();
  options.binary_output = call.flag();
  call.give(cast(dense_bincount(std::move(x), size, options), dtype));
}

constexpr Row kIndexRows[] = {
    {"gather", run_gather},
    {"gather_nd", run_gather_nd},
    {"scatter_nd", run_scatter_nd},
    {"tensor_scatter_update", run_tensor_scatter_update},
    {"sparse_to_dense", run_sparse_to_dense},
    {"one_hot", run_one_hot},
    {"unique", run_unique},
    {"dense_bincount", run_dense_bincount},
    {"unsorted_segment_sum", run_unsorted_segment_sum},
    {"multinomial", run_multinomial},
};

}  // namespace

std::span<const Row> index_rows() { return kIndexRows; }

}  // namespace tenure::node
