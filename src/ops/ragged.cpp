// Ragged tensors: rows of different lengths, as splits over their values.
//
// The ops here only count and compare positions: where each row of a result comes from. The values
// are then moved by segment_take, which has a gradient.
#include <array>

#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/index_operands.h"
#include "ops/segment.h"
#include "ops/segment_attrs.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/sparse.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

constexpr int kMostSplits = 8;  // ragged axes of one tensor
constexpr const char* kPositions = "positions change only in steps";

// Inputs: the splits, outermost first, and the indices. Outputs: the row of values that each row of
// the result's values comes from, and the result's splits.
constinit const OpDef kRaggedRows{
    .name = "ragged_rows",
    .infer =
        [](Infer& infer) {
          const std::size_t levels = infer.in.size() - 1;
          const Shape& indices = infer.shape(levels);
          const DType dtype = infer.dtype(0);
          infer.result({infer.measured(0)}, DType::int64, 0);
          std::int64_t rows = 1;
          const auto outer = static_cast<std::size_t>(indices.rank() == 0 ? 0 : indices.rank() - 1);
          for (std::size_t i = 0; i < outer; ++i) {
            rows *= indices[static_cast<int>(i)];
            infer.result({rows + 1}, dtype, 1 + i);
          }
          // Of a scalar the outermost axis is the one that is chosen from, and falls away.
          const std::size_t dropped = indices.rank() == 0 ? 1 : 0;
          for (std::size_t level = dropped; level < levels; ++level) {
            infer.result({infer.measured(1 + level)}, dtype, 1 + outer + level - dropped);
          }
        },
    .inputs = OpDef::kVariadic,
    .outputs = OpDef::kVariadic,
    .dynamic_sizes = 1 + kMostSplits,
    .checks_values = true,
    .no_gradient = kPositions};

// Inputs: the row partitions. Output, of the ragged axes' shape: the row of values that stands
// there, or -1.
constinit const OpDef kRaggedSources{
    .name = "ragged_sources",
    .infer =
        [](Infer& infer) {
          Shape shape;
          const int rank = infer.attrs.as<RaggedSourcesAttrs>().shape.rank();
          for (int i = 0; i < rank; ++i) {
            shape.push_back(infer.measured(static_cast<std::size_t>(i)));
          }
          infer.result(std::move(shape), DType::int64);
        },
    .inputs = OpDef::kVariadic,
    .dynamic_sizes = 1 + kMostSplits,
    .checks_values = true,
    .no_gradient = kPositions};

// Value i of a row is start + i * delta: limits only say how many there are, which changes in
// steps.
Grads ragged_range_grad(GradContext& g) {
  const Tensor splits = g.y(0), dy = g.dy(1);
  const Tensor place = arange(0, dy.numel(), 1, DType::int32);
  const Tensor row = upper_bound(splits, place) - 1;
  const auto summed = [&](int input, Tensor flow) {
    flow = unsorted_segment_sum(std::move(flow), row, splits.numel() - 1);
    return g.x_shape(input).rank() == 0 ? sum(std::move(flow)) : flow;
  };
  std::vector<Tensor> grads(3);
  if (g.needs(0)) grads[0] = summed(0, dy);
  if (g.needs(2)) grads[2] = summed(2, dy * cast(place - gather(splits, row), dy.dtype()));
  return grads;
}

constinit const OpDef kRaggedRange{
    .name = "ragged_range",
    .infer =
        [](Infer& infer) {
          std::int64_t rows = -1;
          for (std::size_t i = 0; i < 3; ++i) {
            const Shape& shape = infer.shape(i);
            if (shape.rank() == 0) continue;
            if (shape.rank() > 1 || (rows >= 0 && shape[0] != rows)) {
              raise<ShapeError>(
                  "ragged_range: starts {}, limits {} and deltas {} must be scalars or vectors of "
                  "one length",
                  infer.shape(0), infer.shape(1), infer.shape(2));
            }
            rows = shape[0];
          }
          infer.result({(rows < 0 ? 1 : rows) + 1}, DType::int32, 0);
          infer.result({infer.measured(0)}, infer.dtype(0), 1);
        },
    .inputs = 3,
    .outputs = 2,
    .tfjs = "RaggedRange",
    .dynamic_sizes = 1,
    .checks_values = true,
    .grad_keeps = kOutput,
    .grad = ragged_range_grad};

constexpr Composite kRaggedComposites[] = {
    {"ragged_gather", "RaggedGather", "ragged_rows, segment_take"},
    {"ragged_tensor_to_tensor", "RaggedTensorToTensor",
     "ragged_sources, segment_take, where, reshape"},
};

void check_levels(const char* op, std::size_t levels, std::size_t least) {
  if (levels < least || levels > kMostSplits) {
    raise<ShapeError>("{}: {} ragged axes: there may be {} to {}", op, levels, least, kMostSplits);
  }
}

const char* type_name(RowPartition type) {
  switch (type) {
    case RowPartition::first_dim_size:
      return "first_dim_size";
    case RowPartition::value_row_ids:
      return "value_row_ids";
    case RowPartition::row_splits:
      break;
  }
  return "row_splits";
}

// The wanted shape with what the values say of it; -1 where the rows decide.
Shape combined_shape(const char* op, const Shape& wanted, const Shape& values, int ragged_rank) {
  const int rank = ragged_rank + values.rank();
  Shape shape = wanted.rank() == 0 ? Shape::filled(rank, -1) : wanted;
  if (shape.rank() != rank) {
    raise<ShapeError>("{}: shape {} for {} ragged axes and values of {}", op, wanted, ragged_rank,
                      values);
  }
  for (const std::int64_t dim : shape) {
    if (dim < -1) raise<ShapeError>("{}: a dimension may be -1, none less: {}", op, wanted);
  }
  for (int axis = 1; axis < values.rank(); ++axis) {
    std::int64_t& dim = shape[ragged_rank + axis];
    if (dim >= 0 && dim != values[axis]) {
      raise<ShapeError>("{}: shape {} for {} ragged axes and values of {}", op, wanted, ragged_rank,
                        values);
    }
    dim = values[axis];
  }
  return shape;
}

// Checks the partitions and returns how many ragged axes they make.
int check_partitions(const char* op, const std::vector<Tensor>& partitions,
                     const std::vector<RowPartition>& types) {
  if (partitions.size() != types.size() || types.empty()) {
    raise<ShapeError>("{}: {} partitions with {} types", op, partitions.size(), types.size());
  }
  const bool sized = types[0] == RowPartition::first_dim_size;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool scalar = types[i] == RowPartition::first_dim_size;
    const bool fits = i == 0 ? types[i] != RowPartition::value_row_ids : !scalar;
    const Shape& shape = detail::checked(partitions[i], op, 1 + static_cast<int>(i)).layout.shape;
    if (!fits || shape.rank() != (scalar ? 0 : 1) ||
        (types[i] == RowPartition::row_splits && shape[0] == 0)) {
      raise<ShapeError>("{}: partition {} of {} cannot be {}", op, i, shape, type_name(types[i]));
    }
    check_index_dtype(op, "partitions", partitions[i].dtype());
  }
  check_levels(op, types.size() - (sized ? 1 : 0), 0);
  return static_cast<int>(types.size()) - (sized ? 1 : 0);
}

}  // namespace

Family ragged_ops() {
  static constexpr const OpDef* ops[] = {&kRaggedRows, &kRaggedSources, &kRaggedRange};
  return {ops, kRaggedComposites};
}

}  // namespace ops

using namespace ops;

Ragged ragged_gather(const std::vector<Tensor>& splits, Arg values, Arg indices,
                     std::source_location site) {
  constexpr const char* kName = "ragged_gather";
  const detail::CallScope call(kName, site);
  const std::size_t levels = splits.size();
  check_levels(kName, levels, 1);
  std::vector<Tensor> in = splits;
  for (std::size_t i = 0; i < levels; ++i) {
    const Shape& shape = detail::checked(in[i], kName, static_cast<int>(i)).layout.shape;
    if (shape.rank() != 1 || shape[0] == 0) {
      raise<ShapeError>("ragged_gather: splits {} of {}: a vector that is not empty is needed", i,
                        shape);
    }
    check_index_dtype(kName, "splits", in[i].dtype());
  }
  Tensor from = tensor_operand(kName, static_cast<int>(levels), std::move(values));
  if (from.rank() == 0) raise<ShapeError>("ragged_gather: values have no rows: a scalar");
  in.push_back(tensor_operand(kName, static_cast<int>(levels) + 1, std::move(indices)));
  check_index_dtype(kName, "indices", in.back().dtype());
  const std::size_t rank = static_cast<std::size_t>(in.back().rank());
  std::vector<Tensor> out(levels + rank);  // the rows, and levels + rank - 1 splits
  apply_into(kRaggedRows, in, ref(RaggedRowsAttrs{from.dim(0)}), site, out);
  Ragged result;
  result.values = segment_take(Arg(std::move(from), site), out[0]);
  result.splits.assign(std::make_move_iterator(out.begin() + 1),
                       std::make_move_iterator(out.end()));
  return result;
}

Ragged ragged_range(Arg starts, Arg limits, Arg deltas) {
  const detail::UserLine site(starts.site());
  std::array<Tensor, 3> in;
  unify("ragged_range", std::array{&starts, &limits, &deltas}, in, true);
  std::array<Tensor, 2> out;
  apply_into(kRaggedRange, in, {}, site, out);
  return {{std::move(out[0])}, std::move(out[1])};
}

Tensor ragged_tensor_to_tensor(const Shape& shape, Arg values, Arg default_value,
                               const std::vector<Tensor>& partitions,
                               const std::vector<RowPartition>& types, std::source_location site) {
  constexpr const char* kName = "ragged_tensor_to_tensor";
  const detail::CallScope call(kName, site);
  Tensor from = tensor_operand(kName, 0, std::move(values));
  if (from.rank() == 0) {
    raise<ShapeError>("ragged_tensor_to_tensor: values have no rows: a scalar");
  }
  const int ragged_rank = check_partitions(kName, partitions, types);
  const Shape full = combined_shape(kName, shape, from.shape(), ragged_rank);
  RaggedSourcesAttrs attrs{{}, {}, from.dim(0)};
  for (const RowPartition type : types) attrs.types.push_back(static_cast<std::int64_t>(type));
  for (int axis = 0; axis <= ragged_rank; ++axis) attrs.shape.push_back(full[axis]);
  std::vector<Tensor> in = partitions;
  Tensor sources;
  apply_into(kRaggedSources, in, ref(attrs), site, {&sources, 1});

  Arg otherwise = std::move(default_value);
  const Shape rest(from.shape().dims().subspan(1));
  const Shape default_shape = shape_of(kName, otherwise);
  if (default_shape.rank() > rest.rank() || broadcast_shapes(kName, default_shape, rest) != rest) {
    raise<ShapeError>("ragged_tensor_to_tensor: a default of {} for rows of {}", default_shape,
                      rest);
  }
  Shape column = sources.shape();
  for (int i = 0; i < rest.rank(); ++i) column.push_back(1);
  const Tensor there = reshape(greater_equal(sources, 0), column);
  if (otherwise.scalar()) {
    otherwise = Arg(scalar_tensor(kName, *otherwise.scalar(), from.dtype(), site), site);
  } else {
    otherwise = Arg(operand_as(kName, 1, std::move(otherwise).tensor(), from.dtype(), site), site);
  }
  return where(there, segment_take(std::move(from), sources), std::move(otherwise));
}

}  // namespace tenure
