// Sparse tensors: positions and what stands there.
#include "tenure/sparse.h"

#include "core/count.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/index_operands.h"
#include "ops/segment.h"
#include "ops/segment_attrs.h"
#include "ops/shapes.h"
#include "tensor/create.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/reduce.h"

namespace tenure {
namespace ops {
namespace {

// How many positions there are, and how many numbers each has.
std::int64_t position_count(const Shape& indices) { return indices.rank() == 0 ? 1 : indices[0]; }
std::int64_t position_rank(const Shape& indices) { return indices.rank() < 2 ? 1 : indices[1]; }

void check_positions(const char* op, const Shape& indices, DType dtype, const Shape& shape) {
  if (indices.rank() > 2 || position_rank(indices) != shape.rank()) {
    raise<ShapeError>("{}: indices of {} do not name elements of {}", op, indices, shape);
  }
  check_index_dtype(op, "indices", dtype);
}

constexpr Keep kOnlyIndices{1, 0};

constinit const OpDef kSparseToDense{
    .name = "sparse_to_dense",
    .infer =
        [](Infer& infer) {
          const Shape& shape = infer.attrs.as<ShapeAttrs>().shape;
          const Shape &indices = infer.shape(0), &values = infer.shape(1);
          check_positions(infer.op, indices, infer.dtype(0), shape);
          if (values.rank() != 0 && values != Shape{position_count(indices)}) {
            raise<ShapeError>("sparse_to_dense: values of {} for indices of {}", values, indices);
          }
          if (infer.shape(2).rank() != 0) {
            raise<ShapeError>("sparse_to_dense: a default of {}: a scalar is needed",
                              infer.shape(2));
          }
          infer.result(shape, infer.dtype(1));
        },
    .inputs = 3,
    .tfjs = "SparseToDense",
    .dispatch_on = 1,
    .checks_values = true,
    .grad_keeps = kOnlyIndices,
    .grad = [](GradContext& g) -> Grads {
      const Tensor dy = g.dy();
      const Tensor placed = sparse_to_dense_grad(dy, g.x(0));
      return std::vector<Tensor>{Tensor(),
                                 !g.needs(1)                ? Tensor()
                                 : g.x_shape(1).rank() == 0 ? sum(placed)
                                                            : placed,
                                 g.needs(2) ? sum(dy) - sum(placed) : Tensor()};
    }};

constinit const OpDef kSparseToDenseGrad{
    .name = "sparse_to_dense_grad",
    .infer =
        [](Infer& infer) {
          check_positions(infer.op, infer.shape(1), infer.dtype(1), infer.shape(0));
          infer.result({position_count(infer.shape(1))}, infer.dtype(0));
        },
    .inputs = 2,
    .checks_values = true,
    .grad_keeps = kInput1,
    .grad = [](GradContext& g) -> Grads {
      return sparse_to_dense(g.x(1), g.x_shape(0), g.dy(), zeros({}, g.x_dtype(0)));
    }};

constinit const OpDef kSparseFillEmptyRows{
    .name = "sparse_fill_empty_rows",
    .infer =
        [](Infer& infer) {
          const Shape& shape = infer.attrs.as<ShapeAttrs>().shape;
          const Shape &indices = infer.shape(0), &values = infer.shape(1);
          if (shape.rank() == 0 || indices.rank() != 2 || indices[1] != shape.rank()) {
            raise<ShapeError>("sparse_fill_empty_rows: indices of {} do not name elements of {}",
                              indices, shape);
          }
          check_index_dtype(infer.op, "indices", infer.dtype(0));
          if (values != Shape{indices[0]}) {
            raise<ShapeError>("sparse_fill_empty_rows: values of {} for indices of {}", values,
                              indices);
          }
          if (infer.shape(2).rank() != 0) {
            raise<ShapeError>("sparse_fill_empty_rows: a default of {}: a scalar is needed",
                              infer.shape(2));
          }
          if (infer.dtype(0) == DType::int32) {
            check_indexable(infer.op, count_sum(shape[0], indices[0]), shape);
          }
          infer.result({infer.measured(0), indices[1]}, infer.dtype(0), 0);
          infer.result({infer.measured(0)}, infer.dtype(1), 1);
          infer.result({shape[0]}, DType::boolean, 2);
          infer.result({indices[0]}, infer.dtype(0), 3);
        },
    .inputs = 3,
    .outputs = 4,
    .tfjs = "SparseFillEmptyRows",
    .dynamic_sizes = 1,
    .dispatch_on = 1,
    .checks_values = true,
    .grad_keeps = Keep{0, 1U << 3},
    .grad = [](GradContext& g) -> Grads {
      const Tensor dy = g.dy(1);
      const Tensor moved = segment_take(dy, g.y(3));
      return std::vector<Tensor>{Tensor(), moved, g.needs(2) ? sum(dy) - sum(moved) : Tensor()};
    }};

constinit const OpDef kSparseReshape{
    .name = "sparse_reshape",
    .infer =
        [](Infer& infer) {
          const auto& attrs = infer.attrs.as<SparseReshapeAttrs>();
          const Shape& indices = infer.shape(0);
          if (indices.rank() != 2 || indices[1] != attrs.from.rank()) {
            raise<ShapeError>("sparse_reshape: indices of {} do not name elements of {}", indices,
                              attrs.from);
          }
          check_index_dtype(infer.op, "indices", infer.dtype(0));
          for (const std::int64_t dim : attrs.to) {
            if (infer.dtype(0) == DType::int32) check_indexable(infer.op, dim, attrs.to);
          }
          infer.result({indices[0], attrs.to.rank()}, infer.dtype(0));
        },
    .tfjs = "SparseReshape",
    .checks_values = true,
    .no_gradient = "positions change only in steps"};

// `value` as a scalar of the values' dtype.
Tensor default_operand(const char* op, int input, Arg& value, DType dtype) {
  const detail::UserLine site(value.site());
  if (value.scalar()) return scalar_tensor(op, *value.scalar(), dtype, site);
  return operand_as(op, input, std::move(value).tensor(), dtype, site);
}

}  // namespace

Tensor sparse_to_dense_grad(Arg dy, Arg indices) {
  const detail::UserLine site(dy.site());
  Tensor dense = tensor_operand("sparse_to_dense_grad", 0, std::move(dy));
  Tensor which = tensor_operand("sparse_to_dense_grad", 1, std::move(indices));
  return apply(kSparseToDenseGrad, {}, site, std::move(dense), std::move(which));
}

Family sparse_ops() {
  static constexpr const OpDef* ops[] = {&kSparseToDense, &kSparseToDenseGrad,
                                         &kSparseFillEmptyRows, &kSparseReshape};
  return ops;
}

}  // namespace ops

using namespace ops;

Tensor sparse_to_dense(Arg indices, const Shape& shape, Arg values, Arg default_value) {
  const detail::UserLine site(indices.site());
  Tensor which = tensor_operand("sparse_to_dense", 0, std::move(indices));
  Tensor what = tensor_operand("sparse_to_dense", 1, std::move(values));
  detail::check_shape("sparse_to_dense", shape, what.dtype());
  Tensor otherwise = default_operand("sparse_to_dense", 2, default_value, what.dtype());
  return apply(kSparseToDense, ref(ShapeAttrs{shape}), site, std::move(which), std::move(what),
               std::move(otherwise));
}

SparseRows sparse_fill_empty_rows(Arg indices, Arg values, const Shape& dense_shape,
                                  Arg default_value) {
  constexpr const char* kName = "sparse_fill_empty_rows";
  const detail::UserLine site(indices.site());
  std::array<Tensor, 3> in;
  in[0] = tensor_operand(kName, 0, std::move(indices));
  in[1] = tensor_operand(kName, 1, std::move(values));
  in[2] = default_operand(kName, 2, default_value, in[1].dtype());
  detail::check_shape(kName, dense_shape, in[1].dtype());
  std::array<Tensor, 4> out;
  const ShapeAttrs attrs{dense_shape};
  apply_into(kSparseFillEmptyRows, in, ref(attrs), site, out);
  return {std::move(out[0]), std::move(out[1]), std::move(out[2]), std::move(out[3])};
}

SparseIndices sparse_reshape(Arg indices, const Shape& shape, const Shape& new_shape) {
  const detail::UserLine site(indices.site());
  detail::check_shape("sparse_reshape", shape, DType::float64);
  SparseReshapeAttrs attrs{shape, new_shape};
  std::int64_t known = 1;
  int free_axis = -1;
  for (int axis = 0; axis < new_shape.rank(); ++axis) {
    if (new_shape[axis] == -1 && free_axis < 0) {
      free_axis = axis;
    } else if (new_shape[axis] < 0) {
      raise<ShapeError>("sparse_reshape: at most one dimension may be -1, none less: {}",
                        new_shape);
    } else {
      known = count_product(known, new_shape[axis]);
    }
  }
  const std::int64_t elements = shape.numel();
  if (free_axis >= 0 && known != 0) {
    attrs.to[free_axis] = elements / known;
    known = count_product(known, attrs.to[free_axis]);
  }
  if (known != elements || (free_axis >= 0 && attrs.to[free_axis] < 0)) {
    raise<ShapeError>("sparse_reshape: {} elements do not fill {}: {}", elements, new_shape, shape);
  }
  detail::check_shape("sparse_reshape", attrs.to, DType::float64);
  Tensor which = tensor_operand("sparse_reshape", 0, std::move(indices));
  Tensor moved = apply(kSparseReshape, ref(attrs), site, std::move(which));
  return {std::move(moved), std::move(attrs.to)};
}

}  // namespace tenure
