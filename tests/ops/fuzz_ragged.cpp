#include <algorithm>
#include <cmath>

#include "fuzz.h"
#include "reference_sparse.h"

namespace tenure::testing {
namespace {

const DTypes kRangeTypes{DType::float32, DType::float64, DType::int32, DType::int64};

Splits random_splits(Dice& dice, std::int64_t rows, std::size_t levels) {
  Splits splits;
  for (std::size_t level = 0; level < levels; ++level) {
    splits.push_back({0});
    for (std::int64_t row = 0; row < rows; ++row) {
      splits.back().push_back(splits.back().back() + dice.in(0, 3));
    }
    rows = splits.back().back();
  }
  return splits;
}

std::vector<Tensor> index_tensors(const Splits& splits, DType dtype) {
  std::vector<Tensor> result;
  for (const auto& level : splits) result.push_back(index_tensor(level, dtype));
  return result;
}

Shape values_shape(Dice& dice, std::int64_t rows) {
  Shape shape = dice.shape(1, 3, 3);
  shape[0] = rows;
  return shape;
}

Trial gather(Dice& dice) {
  const DType dtype = dice.pick(kAnything), index_dtype = dice.pick(kIndexTypes);
  Splits splits = random_splits(dice, dice.in(1, 4), static_cast<std::size_t>(dice.in(1, 3)));
  const std::int64_t rows = static_cast<std::int64_t>(splits[0].size()) - 1;
  Drawn indices =
      drawn(dice, dice.shape(0, 3, 3), dice.pick(kIndexTypes), {.least = 0, .most = rows - 1});
  Shape values = values_shape(dice, splits.back().back());
  Trial trial;
  const Nest nest = nested(splits);
  switch (dice.in(0, 20)) {
    case 0:
      indices = {vector_of({0, rows}), DType::int32};
      trial.complaint = {"ragged_gather: index " + std::to_string(rows) + " at position 1",
                         std::to_string(rows) + " rows"};
      break;
    case 1:
      splits = {{0, 3, 1}};
      values[0] = 3;
      indices = {vector_of({0}), DType::int32};
      trial.complaint = {"ragged_gather: split 1 at position 2 is below 3"};
      break;
    case 2:
      values[0] = splits.back().back();
      splits.back().back() += 2;
      trial.complaint = {"the last split " + std::to_string(values[0] + 2) + " points past " +
                         std::to_string(values[0]) + " rows"};
      break;
    case 3:
      splits.clear();
      trial.complaint = {"ragged_gather: 0 ragged axes: there may be 1 to 8"};
      break;
    default:
      break;
  }
  trial.inputs = {drawn(dice, values, dtype), indices};
  const std::size_t levels = splits.size() + static_cast<std::size_t>(indices.values.shape.rank());
  const std::size_t wanted =
      levels < 2 ? 0 : static_cast<std::size_t>(dice.in(0, static_cast<std::int64_t>(levels) - 1));
  trial.run = [splits, index_dtype, wanted](Tensors in) {
    const Ragged result = ragged_gather(index_tensors(splits, index_dtype), OP_IN(0), OP_IN(1));
    return wanted == 0 ? result.values : result.splits[wanted - 1];
  };
  trial.expect = [nest, wanted, levels](const Arrays& in) {
    const Nest chosen = gathered(nest, in[1]);
    return wanted == 0 ? rows_taken(in[0], vector_of(leaves(chosen)))
                       : vector_of(splits_of(chosen, levels - 1)[wanted - 1]);
  };
  trial.result = wanted == 0 ? dtype : index_dtype;
  return trial;
}

Trial range(Dice& dice) {
  const DType dtype = dice.pick(kRangeTypes);
  const std::int64_t rows = dice.in(0, 4);
  const auto shape = [&] { return dice.chance(0.3) ? Shape{} : Shape{rows}; };
  const Shape shapes[] = {shape(), shape(), shape()};
  Trial trial;
  trial.inputs = {
      drawn(dice, shapes[0], dtype), drawn(dice, shapes[1], dtype),
      drawn(dice, shapes[2], dtype,
            dice.chance(0.5) ? Input{.low = 0.3, .high = 2, .least = 1, .most = 3}
                             : Input{.low = -2, .high = -0.3, .least = -3, .most = -1})};
  const std::int64_t wrong = dice.in(0, 12);
  if (wrong == 0) {
    trial.inputs[2] = {{{}, {0}}, dtype};
    trial.inputs[0].values = {{2}, {0, 0}};
    trial.inputs[1].values = {{}, {3}};
    trial.complaint = {"ragged_range: the delta of row 0 is 0"};
  }
  if (wrong == 1) {
    trial.inputs[0].values = {{rows + 1}, std::vector<double>(static_cast<std::size_t>(rows) + 1)};
    trial.inputs[1].values = {{rows}, std::vector<double>(static_cast<std::size_t>(rows))};
    trial.complaint = {"ragged_range: starts [" + std::to_string(rows + 1) + "], limits [" +
                       std::to_string(rows) + "]"};
  }
  for (Drawn& input : trial.inputs) {
    if (!trial.complaint.empty()) input.lay = Lay::contiguous;
  }
  const bool values = dice.chance(0.5);
  trial.run = [values](Tensors in) {
    const Ragged result = ragged_range(OP_IN(0), OP_IN(1), OP_IN(2));
    return values ? result.values : result.splits[0];
  };
  trial.expect = [values](const Arrays& in) {
    std::size_t count = 1;
    for (const Array& x : in) {
      if (x.shape.rank() == 1) count = x.data.size();
    }
    std::vector<double> all, splits{0};
    for (std::size_t row = 0; row < count; ++row) {
      const auto of = [&](std::size_t i) { return in[i].data[in[i].shape.rank() == 0 ? 0 : row]; };
      for (int i = 0;; ++i) {
        const double value = of(0) + i * of(2);
        if (of(2) > 0 ? value >= of(1) : value <= of(1)) break;
        all.push_back(value);
      }
      splits.push_back(static_cast<double>(all.size()));
    }
    Array result{{}, values ? all : splits};
    result.shape = {static_cast<std::int64_t>(result.data.size())};
    return result;
  };
  trial.result = values ? dtype : DType::int32;
  trial.tolerance = {.ulps = 2, .epsilons = 8};
  return trial;
}

// How long the longest list of each level is.
void measure(const Nest& nest, std::size_t level, std::vector<std::int64_t>& longest) {
  if (level == longest.size()) return;
  longest[level] = std::max(longest[level], static_cast<std::int64_t>(nest.items.size()));
  for (const Nest& item : nest.items) measure(item, level + 1, longest);
}

Trial to_tensor_trial(Dice& dice) {
  const DType dtype = dice.pick(kAnything), index_dtype = dice.pick(kIndexTypes);
  const auto levels = static_cast<std::size_t>(dice.in(1, 3));
  const std::int64_t rows = dice.in(1, 4);
  const Splits splits = random_splits(dice, rows, levels);
  const Nest nest = nested(splits);
  Shape values = values_shape(dice, splits.back().back());
  std::vector<std::int64_t> longest(levels + 1, 0);
  measure(nest, 0, longest);
  Shape shape, wanted;
  for (const std::int64_t size : longest) {
    wanted.push_back(dice.chance(0.5) ? -1 : dice.in(0, 4));
    shape.push_back(wanted[-1] < 0 ? size : wanted[-1]);
  }
  for (int axis = 1; axis < values.rank(); ++axis) {
    wanted.push_back(dice.chance(0.5) ? -1 : values[axis]);
    shape.push_back(values[axis]);
  }
  if (dice.chance(0.3)) {
    wanted = {};
    for (std::size_t i = 0; i < longest.size(); ++i) shape[static_cast<int>(i)] = longest[i];
  }
  Splits partitions;
  std::vector<RowPartition> types;
  const bool sized = dice.chance(0.5);
  for (std::size_t level = 0; level < levels; ++level) {
    const bool ids = (sized || level > 0) && dice.chance(0.5);
    types.push_back(ids ? RowPartition::value_row_ids : RowPartition::row_splits);
    partitions.push_back(splits[level]);
    if (!ids) continue;
    partitions.back().clear();
    for (std::size_t row = 0; row + 1 < splits[level].size(); ++row) {
      partitions.back().insert(
          partitions.back().end(),
          static_cast<std::size_t>(splits[level][row + 1] - splits[level][row]),
          static_cast<std::int64_t>(row));
    }
  }
  Trial trial;
  switch (dice.in(0, 24)) {
    case 0:
      wanted = Shape::filled(static_cast<int>(levels) + values.rank() + 1, -1);
      trial.complaint = {"ragged_tensor_to_tensor: shape " + to_string(wanted), to_string(values)};
      break;
    case 1:
      types.push_back(RowPartition::row_splits);
      trial.complaint = {"ragged_tensor_to_tensor: " + std::to_string(levels) +
                         " partitions with " + std::to_string(levels + 1) + " types"};
      if (sized) trial.complaint = {"ragged_tensor_to_tensor: ", "partitions with"};
      break;
    case 2:
      values[0] = splits.back().back();
      if (values[0] == 0) break;
      values[0] -= 1;
      trial.complaint = {"ragged_tensor_to_tensor: the partitions have " +
                         std::to_string(values[0] + 1) + " rows of values, but there are " +
                         std::to_string(values[0])};
      break;
    default:
      break;
  }
  const Shape rest(values.dims().subspan(1));
  trial.inputs = {drawn(dice, values, dtype),
                  drawn(dice, dice.chance(0.5) ? Shape{} : rest, dtype)};
  if (sized) types.insert(types.begin(), RowPartition::first_dim_size);
  trial.run = [=](Tensors in) {
    std::vector<Tensor> given = index_tensors(partitions, index_dtype);
    if (sized) given.insert(given.begin(), reshape(index_tensor({rows}, index_dtype), {}));
    return ragged_tensor_to_tensor(wanted, OP_IN(0), OP_IN(1), given, types);
  };
  trial.expect = [nest, shape](const Arrays& in) { return padded(nest, shape, in[0], in[1]); };
  trial.result = dtype;
  return trial;
}

}  // namespace

std::vector<Fuzz> ragged_fuzz() {
  return {
      {"ragged_gather", {"ragged_gather", "ragged_rows"}, gather},
      {"ragged_range", {"ragged_range"}, range},
      {"ragged_tensor_to_tensor", {"ragged_tensor_to_tensor", "ragged_sources"}, to_tensor_trial}};
}

}  // namespace tenure::testing
