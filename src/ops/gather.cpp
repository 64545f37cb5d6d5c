// Picking and placing elements by index.
#include "ops/gather.h"

#include <array>
#include <limits>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/gather_attrs.h"
#include "ops/operands.h"
#include "ops/promote.h"
#include "ops/shapes.h"
#include "tensor/create.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/math.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

Shape gathered_shape(const Shape& x, const Shape& indices, int axis, int batch_dims) {
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(x[i]);
  for (int i = batch_dims; i < indices.rank(); ++i) shape.push_back(indices[i]);
  for (int i = axis + 1; i < x.rank(); ++i) shape.push_back(x[i]);
  return shape;
}

extern constinit const OpDef kGatherGrad;

constinit const OpDef kGather{
    .name = "gather",
    .infer =
        [](Infer& infer) {
          const auto& attrs = infer.attrs.as<GatherAttrs>();
          const Shape &x = infer.shape(0), &indices = infer.shape(1);
          for (int i = 0; i < attrs.batch_dims; ++i) {
            if (x[i] == indices[i]) continue;
            raise<ShapeError>("gather: x {} and indices {} must agree in the first {} axes", x,
                              indices, attrs.batch_dims);
          }
          infer.result(gathered_shape(x, indices, attrs.axis, attrs.batch_dims), infer.dtype(0));
        },
    .inputs = 2,
    .tfjs = "GatherV2",
    .checks_values = true,
    .grad_keeps = {kInput1, kNothing},
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<GatherAttrs>();
      const GatherGradAttrs grad{g.x_shape(), attrs.axis, attrs.batch_dims};
      return {apply(kGatherGrad, ref(grad), std::source_location::current(), g.dy(), g.x(1)),
              Tensor()};
    }};

constinit const OpDef kGatherGrad{
    .name = "gather_grad",
    .infer =
        [](Infer& infer) { infer.result(infer.attrs.as<GatherGradAttrs>().shape, infer.dtype(0)); },
    .inputs = 2,
    .checks_values = true,
    .grad_keeps = {kInput1, kNothing},
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<GatherGradAttrs>();
      return {gather(g.dy(), g.x(1), {.axis = attrs.axis, .batch_dims = attrs.batch_dims}),
              Tensor()};
    }};

// The shape of what lies at one row of coordinates: x without as many axes as there are of them.
Shape slice_shape(const char* op, const Shape& x, const Shape& indices) {
  if (indices.rank() == 0) raise<ShapeError>("{}: indices are a scalar, not coordinates", op);
  const std::int64_t depth = indices[-1];
  if (depth > x.rank()) {
    raise<ShapeError>("{}: {} coordinates for the {} axes of {}: indices {}", op, depth, x.rank(),
                      x, indices);
  }
  return Shape(x.dims().subspan(static_cast<std::size_t>(depth)));
}

Shape updates_shape(const char* op, const Shape& x, const Shape& indices) {
  const Shape slice = slice_shape(op, x, indices);
  Shape shape(indices.dims().first(static_cast<std::size_t>(indices.rank()) - 1));
  for (const std::int64_t dim : slice) shape.push_back(dim);
  return shape;
}

constinit const OpDef kGatherNd{
    .name = "gather_nd",
    .infer =
        [](Infer& infer) {
          infer.result(updates_shape("gather_nd", infer.shape(0), infer.shape(1)), infer.dtype(0));
        },
    .inputs = 2,
    .tfjs = "GatherNd",
    .checks_values = true,
    .grad_keeps = {kInput1, kNothing},
    .grad = [](GradContext& g) -> Grads {
      return {scatter_nd(g.x(1), g.dy(), g.x_shape()), Tensor()};
    }};

void check_updates(const char* op, const Shape& x, const Shape& indices, const Shape& updates) {
  const Shape wanted = updates_shape(op, x, indices);
  if (updates != wanted) {
    raise<ShapeError>("{}: updates are {}, not {}, for indices {} into {}", op, updates, wanted,
                      indices, x);
  }
}

constinit const OpDef kScatterNd{
    .name = "scatter_nd",
    .infer =
        [](Infer& infer) {
          const Shape& shape = infer.attrs.as<ShapeAttrs>().shape;
          check_updates("scatter_nd", shape, infer.shape(0), infer.shape(1));
          infer.result(shape, infer.dtype(1));
        },
    .inputs = 2,
    .tfjs = "ScatterNd",
    .dispatch_on = 1,
    .checks_values = true,
    .grad_keeps = {kNothing, kInput0},
    .grad = [](GradContext& g) -> Grads { return {Tensor(), gather_nd(g.dy(), g.x(0))}; }};

void scatter_into(Infer& infer) {
  check_updates(infer.op, infer.shape(0), infer.shape(1), infer.shape(2));
  infer.result(infer.shape(0), infer.dtype(0));
}

// 1 for each row of coordinates that no later one repeats, 0 for the others; of updates' shape.
Tensor staying(const Tensor& indices, const Shape& x, const Shape& updates, DType dtype) {
  const auto depth = static_cast<std::size_t>(indices.shape()[-1]);
  const Shape places(x.dims().first(depth));
  Shape rows(indices.shape().dims().first(static_cast<std::size_t>(indices.rank()) - 1));
  const Tensor number = reshape(arange(0, rows.numel(), 1, DType::int64), rows);
  const Tensor last = tensor_scatter_update(full(places, -1, DType::int64), indices, number);
  const Tensor stays = cast(equal(gather_nd(last, indices), number), dtype);
  while (rows.rank() < updates.rank()) rows.push_back(1);
  return broadcast_to(reshape(stays, rows), updates);
}

constinit const OpDef kTensorScatterUpdate{
    .name = "tensor_scatter_update",
    .infer = scatter_into,
    .inputs = 3,
    .tfjs = "TensorScatterUpdate",
    .may_overwrite = input(0),
    .checks_values = true,
    .grad_keeps = {kInput1, kNothing, kInput1},
    .grad = [](GradContext& g) -> Grads {
      std::vector<Tensor> grads(3);
      const Tensor indices = g.x(1);
      if (g.needs(0)) {
        grads[0] = tensor_scatter_update(g.dy(), indices, zeros(g.x_shape(2), g.x_dtype(2)));
      }
      if (g.needs(2)) {
        grads[2] =
            gather_nd(g.dy(), indices) * staying(indices, g.x_shape(0), g.x_shape(2), g.x_dtype(2));
      }
      return grads;
    }};

constinit const OpDef kTensorScatterAdd{.name = "tensor_scatter_add",
                                        .infer = scatter_into,
                                        .inputs = 3,
                                        .may_overwrite = input(0),
                                        .checks_values = true,
                                        .grad_keeps = {kNothing, kNothing, kInput1},
                                        .grad = [](GradContext& g) -> Grads {
                                          std::vector<Tensor> grads(3);
                                          if (g.needs(0)) grads[0] = g.dy();
                                          if (g.needs(2)) grads[2] = gather_nd(g.dy(), g.x(1));
                                          return grads;
                                        }};

// Every element equal to the result gets the whole gradient, as with `max`.
Grads scatter_extreme_grad(GradContext& g) {
  std::vector<Tensor> grads(3);
  const DType dtype = g.x_dtype(0);
  if (g.needs(0)) grads[0] = g.dy() * cast(equal(g.x(0), g.y()), dtype);
  if (g.needs(2)) {
    const Tensor indices = g.x(1);
    grads[2] = gather_nd(g.dy(), indices) * cast(equal(g.x(2), gather_nd(g.y(), indices)), dtype);
  }
  return grads;
}
constexpr GradKeeps kExtremeKeeps{kInput0 | kOutput, kNothing, kInput1 | Keep{4, 0} | kOutput};

constinit const OpDef kTensorScatterMin{.name = "tensor_scatter_min",
                                        .infer = scatter_into,
                                        .inputs = 3,
                                        .may_overwrite = input(0),
                                        .checks_values = true,
                                        .grad_keeps = kExtremeKeeps,
                                        .grad = scatter_extreme_grad};
constinit const OpDef kTensorScatterMax{.name = "tensor_scatter_max",
                                        .infer = scatter_into,
                                        .inputs = 3,
                                        .may_overwrite = input(0),
                                        .checks_values = true,
                                        .grad_keeps = kExtremeKeeps,
                                        .grad = scatter_extreme_grad};

constinit const OpDef kOneHot{.name = "one_hot",
                              .infer =
                                  [](Infer& infer) {
                                    const auto& attrs = infer.attrs.as<OneHotAttrs>();
                                    Shape shape;
                                    for (int i = 0; i <= infer.shape(0).rank(); ++i) {
                                      if (i == attrs.axis) shape.push_back(attrs.depth);
                                      if (i < infer.shape(0).rank())
                                        shape.push_back(infer.shape(0)[i]);
                                    }
                                    infer.result(std::move(shape), attrs.dtype);
                                  },
                              .tfjs = "OneHot",
                              .dispatch_on = OpDef::kOutput0,
                              .no_gradient = "an index changes only in steps"};

constinit const OpDef kWhereIndices{.name = "where_indices",
                                    .infer =
                                        [](Infer& infer) {
                                          const Shape& shape = infer.shape(0);
                                          const DType dtype = infer.attrs.as<CastAttrs>().to;
                                          for (const std::int64_t dim : shape) {
                                            if (dtype == DType::int64) break;
                                            check_indexable(infer.op, dim, shape);
                                          }
                                          infer.result({infer.measured(0), shape.rank()}, dtype);
                                        },
                                    .dynamic_sizes = 1,
                                    .no_gradient = "an index changes only in steps"};

Tensor scatter(const OpDef& op, Arg& x, Arg& indices, Arg& updates) {
  const detail::UserLine site(x.site());
  std::array<Tensor, 3> in;
  in[0] = live_operand(op.name, 0, std::move(x));
  in[1] = index_operand(op.name, 1, std::move(indices));
  if (updates.scalar()) {
    in[2] = scalar_tensor(op.name, *updates.scalar(), in[0].dtype(), updates.site());
  } else {
    in[2] = live_operand(op.name, 2, std::move(updates));
    const DType dtype = promote(in[0].dtype(), in[2].dtype());
    for (const int i : {0, 2}) {
      Tensor& each = in[static_cast<std::size_t>(i)];
      each = operand_as(op.name, i, std::move(each), dtype, site);
    }
  }
  Tensor out;
  apply_into(op, in, {}, site, {&out, 1});
  return out;
}

}  // namespace

Tensor scatter_last_axis(Tensor dy, Tensor indices, const Shape& shape) {
  const GatherGradAttrs attrs{shape, shape.rank() - 1, shape.rank() - 1};
  return apply(kGatherGrad, ref(attrs), std::source_location::current(), std::move(dy),
               std::move(indices));
}

Family gather_ops() {
  static constexpr const OpDef* ops[] = {
      &kGather,           &kGatherGrad,          &kGatherNd,
      &kScatterNd,        &kTensorScatterUpdate, &kTensorScatterAdd,
      &kTensorScatterMin, &kTensorScatterMax,    &kOneHot,
      &kWhereIndices};
  static constexpr Composite composites[] = {
      {"take_along_axis", nullptr, "transpose, gather"},
      {"boolean_mask", nullptr, "reshape, where_indices, gather"},
  };
  return {ops, composites};
}

}  // namespace ops

using namespace ops;

Tensor gather(Arg x, Arg indices, GatherOptions options) {
  const detail::UserLine site(x.site());
  Tensor table = live_operand("gather", 0, std::move(x));
  Tensor index = index_operand("gather", 1, std::move(indices));
  const Shape& shape = table.shape();
  GatherAttrs attrs{normal_axis("gather", options.axis, shape), options.batch_dims};
  if (attrs.batch_dims < 0) attrs.batch_dims += index.rank();
  if (attrs.batch_dims < 0 || attrs.batch_dims > index.rank() || attrs.batch_dims > attrs.axis) {
    raise<ShapeError>("gather: batch_dims {} does not fit axis {} of {} and indices {}",
                      options.batch_dims, attrs.axis, shape, index.shape());
  }
  return apply(kGather, ref(attrs), site, std::move(table), std::move(index));
}

Tensor gather_nd(Arg x, Arg indices) {
  const detail::UserLine site(x.site());
  Tensor table = live_operand("gather_nd", 0, std::move(x));
  Tensor index = index_operand("gather_nd", 1, std::move(indices));
  return apply(kGatherNd, {}, site, std::move(table), std::move(index));
}

Tensor take_along_axis(Arg x, Arg indices, int axis) {
  constexpr const char* kName = "take_along_axis";
  const detail::UserLine site(x.site());
  const detail::CallScope call(kName, site);
  Tensor table = live_operand(kName, 0, std::move(x));
  Tensor index = index_operand(kName, 1, std::move(indices));
  axis = normal_axis(kName, axis, table.shape());
  Shape agreed = index.shape();
  if (agreed.rank() == table.rank()) agreed[axis] = table.shape()[axis];
  if (agreed != table.shape()) {
    raise<ShapeError>("{}: x {} and indices {} must agree but on axis {}", kName, table.shape(),
                      index.shape(), axis);
  }
  const int last = table.rank() - 1;
  if (axis == last) return gather(Arg(std::move(table), site), std::move(index), {last, last});
  Axes swapped = all_axes(agreed);
  std::swap(swapped[axis], swapped[last]);
  return transpose(Arg(gather(Arg(transpose(Arg(std::move(table), site), swapped), site),
                              transpose(Arg(std::move(index), site), swapped), {last, last}),
                       site),
                   swapped);
}

Tensor scatter_nd(Arg indices, Arg updates, const Shape& shape) {
  const detail::UserLine site(indices.site());
  Tensor index = index_operand("scatter_nd", 0, std::move(indices));
  Tensor values = live_operand("scatter_nd", 1, std::move(updates));
  detail::check_shape("scatter_nd", shape, values.dtype());
  const ShapeAttrs attrs{shape};
  return apply(kScatterNd, ref(attrs), site, std::move(index), std::move(values));
}

Tensor tensor_scatter_update(Arg x, Arg indices, Arg updates) {
  return scatter(kTensorScatterUpdate, x, indices, updates);
}
Tensor tensor_scatter_add(Arg x, Arg indices, Arg updates) {
  return scatter(kTensorScatterAdd, x, indices, updates);
}
Tensor tensor_scatter_min(Arg x, Arg indices, Arg updates) {
  return scatter(kTensorScatterMin, x, indices, updates);
}
Tensor tensor_scatter_max(Arg x, Arg indices, Arg updates) {
  return scatter(kTensorScatterMax, x, indices, updates);
}

Tensor one_hot(Arg indices, std::int64_t depth, OneHotOptions options) {
  const detail::UserLine site(indices.site());
  Tensor index = index_operand("one_hot", 0, std::move(indices));
  const int rank = index.rank() + 1;
  if (depth < 0) raise<ShapeError>("one_hot: a depth of {}", depth);
  if (options.axis < -rank || options.axis >= rank) {
    raise<ShapeError>("one_hot: axis {} out of range for {} and a new axis", options.axis,
                      index.shape());
  }
  for (const Scalar& value : {options.on, options.off}) {
    if (value.fits(options.dtype)) continue;
    raise<DtypeError>("one_hot: {} is not exactly a value of {}", value, options.dtype);
  }
  const OneHotAttrs attrs{depth, options.axis < 0 ? options.axis + rank : options.axis, options.on,
                          options.off, options.dtype};
  Shape shape = index.shape();
  shape.push_back(depth);
  detail::check_shape("one_hot", shape, options.dtype);
  return apply(kOneHot, ref(attrs), site, std::move(index));
}

Tensor where_indices(Arg condition) {
  const detail::UserLine site(condition.site());
  Tensor tensor = live_operand("where_indices", 0, std::move(condition));
  tensor = operand_as("where_indices", 0, std::move(tensor), DType::boolean, site);
  return apply(kWhereIndices, ref(CastAttrs{DType::int32}), site, std::move(tensor));
}

Tensor boolean_mask(Arg x, Arg mask, int axis) {
  constexpr const char* kName = "boolean_mask";
  const detail::UserLine site(x.site());
  const detail::CallScope call(kName, site);
  Tensor tensor = live_operand(kName, 0, std::move(x));
  Tensor chosen = live_operand(kName, 1, std::move(mask));
  const Shape shape = tensor.shape(), masked = chosen.shape();
  axis = normal_axis(kName, axis, shape);
  bool fits = masked.rank() > 0 && axis + masked.rank() <= shape.rank();
  for (int i = 0; i < masked.rank() && fits; ++i) fits = masked[i] == shape[axis + i];
  if (!fits) {
    raise<ShapeError>("{}: mask {} does not cover the axes of {} from {} on", kName, masked, shape,
                      axis);
  }
  Shape flat;
  for (int i = 0; i < axis; ++i) flat.push_back(shape[i]);
  flat.push_back(masked.numel());
  for (int i = axis + masked.rank(); i < shape.rank(); ++i) flat.push_back(shape[i]);
  chosen = operand_as(kName, 1, std::move(chosen), DType::boolean, site);
  chosen = reshape(Arg(std::move(chosen), site), {masked.numel()});
  const bool wide = masked.numel() > std::numeric_limits<std::int32_t>::max();
  Tensor places = apply(kWhereIndices, ref(CastAttrs{wide ? DType::int64 : DType::int32}), site,
                        std::move(chosen));
  const std::int64_t count = places.shape()[0];
  return gather(Arg(reshape(Arg(std::move(tensor), site), flat), site),
                reshape(Arg(std::move(places), site), {count}), {.axis = axis});
}

}  // namespace tenure
