#include "fuzz.h"
#include "ops/segment.h"
#include "reference_sparse.h"

namespace tenure::testing {
namespace {

// `count` positions in `shape`.
Array positions(Dice& dice, const Shape& shape, std::int64_t count) {
  Array indices{{count, shape.rank()}, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    for (const std::int64_t dim : shape) {
      indices.data.push_back(static_cast<double>(dice.in(0, dim - 1)));
    }
  }
  return indices;
}

// One of the positions past the end of one axis.
void spoil(Dice& dice, Array& indices, const Shape& shape, Trial& trial) {
  const std::int64_t i = dice.in(0, indices.shape[0] - 1), axis = dice.in(0, shape.rank() - 1);
  const std::int64_t past = shape[static_cast<int>(axis)] + dice.in(0, 3);
  indices.data[static_cast<std::size_t>(i * shape.rank() + axis)] = static_cast<double>(past);
  trial.complaint = {"index " + std::to_string(past) + " at position " + std::to_string(i) +
                     " is out of range for axis " + std::to_string(axis)};
}

Trial to_dense_trial(Dice& dice) {
  const DType dtype = dice.pick(kAnything);
  const Shape shape = dice.shape(1, 3, 4, 1);
  const std::int64_t count = dice.in(0, 6);
  Array indices = positions(dice, shape, count);
  if (shape.rank() == 1 && dice.chance(0.5)) indices.shape = {count};
  Shape values = dice.chance(0.2) ? Shape{} : Shape{count};
  Shape otherwise;
  Trial trial;
  const std::int64_t wrong = dice.in(0, 20);
  if (wrong == 0 && count > 0) spoil(dice, indices, shape, trial);
  if (wrong == 1) {
    values = {count + 1};
    trial.complaint = {"sparse_to_dense: values of " + to_string(values) + " for indices of " +
                       to_string(indices.shape)};
  }
  if (wrong == 2) {
    otherwise = {2};
    trial.complaint = {"sparse_to_dense: a default of [2]: a scalar is needed"};
  }
  if (wrong == 3) {
    indices.shape = {1, 1, count * shape.rank()};
    trial.complaint = {"sparse_to_dense: indices of " + to_string(indices.shape), to_string(shape)};
  }
  trial.inputs = {
      {indices, dice.pick(kIndexTypes)}, drawn(dice, values, dtype), drawn(dice, otherwise, dtype)};
  trial.run = [shape](Tensors in) { return sparse_to_dense(OP_IN(0), shape, OP_IN(1), OP_IN(2)); };
  trial.expect = [shape](const Arrays& in) { return dense(in[0], shape, in[1], in[2].data[0]); };
  trial.result = dtype;
  return trial;
}

Trial to_dense_grad_trial(Dice& dice) {
  const DType dtype = dice.pick(kAnything);
  const Shape shape = dice.shape(1, 3, 4, 1);
  Array indices = positions(dice, shape, dice.in(0, 6));
  Trial trial;
  if (dice.chance(0.15) && indices.shape[0] > 0) spoil(dice, indices, shape, trial);
  trial.inputs = {drawn(dice, shape, dtype), {indices, dice.pick(kIndexTypes)}};
  trial.run = [](Tensors in) { return ops::sparse_to_dense_grad(OP_IN(0), OP_IN(1)); };
  trial.expect = [](const Arrays& in) { return dense_grad(in[0], in[1]); };
  trial.result = dtype;
  return trial;
}

Trial fill_rows_trial(Dice& dice) {
  const DType dtype = dice.pick(kAnything), index_dtype = dice.pick(kIndexTypes);
  const Shape shape = dice.shape(1, 3, 4, 1);
  const std::int64_t count = dice.in(0, 6);
  Array indices = positions(dice, shape, count);
  Shape values{count}, dense_shape = shape;
  Trial trial;
  const std::int64_t wrong = dice.in(0, 20);
  if (wrong == 0 && count > 0) {
    const std::int64_t i = dice.in(0, count - 1);
    const std::int64_t row = dice.chance(0.5) ? -2 : shape[0];
    indices.data[static_cast<std::size_t>(i * shape.rank())] = static_cast<double>(row);
    trial.complaint = {"sparse_fill_empty_rows: row " + std::to_string(row) + " at position " +
                       std::to_string(i) + " is out of range for " + std::to_string(shape[0])};
  }
  if (wrong == 1) {
    values = {count + 2};
    trial.complaint = {"sparse_fill_empty_rows: values of " + to_string(values)};
  }
  if (wrong == 2) {
    dense_shape.push_back(3);
    trial.complaint = {"sparse_fill_empty_rows: indices of " + to_string(indices.shape),
                       to_string(dense_shape)};
  }
  const auto output = static_cast<std::size_t>(dice.in(0, 3));
  trial.inputs = {{indices, index_dtype}, drawn(dice, values, dtype), drawn(dice, {}, dtype)};
  trial.run = [dense_shape, output](Tensors in) {
    SparseRows filled = sparse_fill_empty_rows(OP_IN(0), OP_IN(1), dense_shape, OP_IN(2));
    Tensor* all[] = {&filled.indices, &filled.values, &filled.empty_rows,
                     &filled.reverse_index_map};
    return *all[output];
  };
  trial.expect = [shape, output](const Arrays& in) {
    return rows_filled(in[0], in[1], shape, in[2].data[0])[output];
  };
  trial.result = output == 1 ? dtype : output == 2 ? DType::boolean : index_dtype;
  return trial;
}

Trial sparse_reshape_trial(Dice& dice) {
  const Shape shape = dice.shape(1, 3, 4, 1);
  Shape to;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) to.push_back(shape[axis]);
  if (dice.chance(0.3)) to = {shape.numel()};
  if (dice.chance(0.3)) to.push_back(1);
  if (dice.chance(0.4)) to[static_cast<int>(dice.in(0, to.rank() - 1))] = -1;
  Array indices = positions(dice, shape, dice.in(0, 6));
  Trial trial;
  const std::int64_t wrong = dice.in(0, 20);
  if (wrong == 0 && indices.shape[0] > 0) spoil(dice, indices, shape, trial);
  if (wrong == 1) {
    to = {shape.numel() + 1};
    trial.complaint = {"sparse_reshape: " + std::to_string(shape.numel()) +
                           " elements do not fill " + to_string(to),
                       to_string(shape)};
  }
  if (wrong == 2) {
    to = {-1, -1};
    trial.complaint = {"sparse_reshape: at most one dimension may be -1, none less: [-1, -1]"};
  }
  const DType dtype = dice.pick(kIndexTypes);
  trial.inputs = {{indices, dtype}};
  trial.run = [shape, to](Tensors in) {
    SparseIndices moved = sparse_reshape(OP_IN(0), shape, to);
    EXPECT_EQ(moved.shape.numel(), shape.numel());
    return moved.indices;
  };
  trial.expect = [shape, to](const Arrays& in) { return indices_reshaped(in[0], shape, to); };
  trial.result = dtype;
  return trial;
}

}  // namespace

std::vector<Fuzz> sparse_fuzz() {
  return {{"sparse_to_dense", {"sparse_to_dense"}, to_dense_trial},
          {"sparse_to_dense_grad", {"sparse_to_dense_grad"}, to_dense_grad_trial},
          {"sparse_fill_empty_rows", {"sparse_fill_empty_rows"}, fill_rows_trial},
          {"sparse_reshape", {"sparse_reshape"}, sparse_reshape_trial}};
}

}  // namespace tenure::testing
