// Segments: rows that belong together by an id.
#include "ops/segment.h"

#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/index_operands.h"
#include "ops/round_once.h"
#include "ops/segment_attrs.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/sparse.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

// `head` followed by the axes of `shape` from `axis` on.
Shape joined(Shape head, const Shape& shape, int axis) {
  for (int i = axis; i < shape.rank(); ++i) head.push_back(shape[i]);
  return head;
}

void segments(Infer& infer) {
  const Shape &x = infer.shape(0), &ids = infer.shape(1);
  bool first_axes = ids.rank() <= x.rank();
  for (int i = 0; i < ids.rank() && first_axes; ++i) first_axes = ids[i] == x[i];
  if (!first_axes) {
    raise<ShapeError>("{}: ids of {} are not for the first axes of {}", infer.op, ids, x);
  }
  check_index_dtype(infer.op, "ids", infer.dtype(1));
  infer.result(joined({infer.attrs.as<SegmentAttrs>().count}, x, ids.rank()), infer.dtype(0));
}

std::int64_t count_of(GradContext& g) { return g.attrs_as<SegmentAttrs>().count; }

// 1 where x is the one its segment chose, shared where several are.
Grads grad_of_extreme(GradContext& g) {
  const Tensor ids = g.x(1);
  const Tensor chosen = cast(equal(g.x(0), segment_take(g.y(), ids)), g.x_dtype());
  const Tensor ways = maximum(unsorted_segment_sum(chosen, ids, count_of(g)), 1);
  return chosen * segment_take(g.dy() / ways, ids);
}

constinit const OpDef kUnsortedSegmentSum{
    .name = "unsorted_segment_sum",
    .infer = segments,
    .inputs = 2,
    .tfjs = "UnsortedSegmentSum",
    .grad_keeps = kInput1,
    .grad = [](GradContext& g) -> Grads { return segment_take(g.dy(), g.x(1)); }};

constinit const OpDef kUnsortedSegmentMax{.name = "unsorted_segment_max",
                                          .infer = segments,
                                          .inputs = 2,
                                          .grad_keeps = kInput0 | kInput1 | kOutput,
                                          .grad = grad_of_extreme};

constinit const OpDef kUnsortedSegmentMin{.name = "unsorted_segment_min",
                                          .infer = segments,
                                          .inputs = 2,
                                          .grad_keeps = kInput0 | kInput1 | kOutput,
                                          .grad = grad_of_extreme};

// The product of the others: of all divided by x; for an x of 0, of those that are not 0, unless
// there is another 0.
constinit const OpDef kUnsortedSegmentProd{
    .name = "unsorted_segment_prod",
    .infer = segments,
    .inputs = 2,
    .grad_keeps = kInput0 | kInput1,
    .grad = [](GradContext& g) -> Grads {
      const Tensor x = g.x(0), ids = g.x(1);
      const std::int64_t count = count_of(g);
      const Tensor zero = equal(x, 0);
      const Tensor others = where(zero, 1, x);
      const Tensor product = unsorted_segment_prod(others, ids, count);
      const Tensor zeros = unsorted_segment_sum(cast(zero, g.x_dtype()), ids, count);
      const Tensor whole = g.dy() * product;
      const Tensor without = segment_take(where(equal(zeros, 0), whole, 0), ids);
      const Tensor alone = segment_take(where(equal(zeros, 1), whole, 0), ids);
      return where(zero, alone, without / others);
    }};

constinit const OpDef kSegmentTake{.name = "segment_take",
                                   .infer =
                                       [](Infer& infer) {
                                         if (infer.shape(0).rank() == 0)
                                           raise<ShapeError>("segment_take: a scalar has no rows");
                                         check_index_dtype(infer.op, "ids", infer.dtype(1));
                                         infer.result(joined(infer.shape(1), infer.shape(0), 1),
                                                      infer.dtype(0));
                                       },
                                   .inputs = 2,
                                   .checks_values = true,
                                   .grad_keeps = kInput1,
                                   .grad = [](GradContext& g) -> Grads {
                                     return unsorted_segment_sum(g.dy(), g.x(1), g.x_shape()[0]);
                                   }};

void sparse_segments(Infer& infer) {
  const Shape &data = infer.shape(0), &indices = infer.shape(1), &ids = infer.shape(2);
  if (data.rank() == 0) raise<ShapeError>("{}: data has no rows: a scalar", infer.op);
  if (indices.rank() != 1 || ids != indices) {
    raise<ShapeError>("{}: indices {} and segment_ids {} must be vectors of one length", infer.op,
                      indices, ids);
  }
  check_index_dtype(infer.op, "indices", infer.dtype(1));
  check_index_dtype(infer.op, "segment_ids", infer.dtype(2));
  infer.result(joined({infer.measured(0)}, data, 1), infer.dtype(0));
}

Tensor grad_of_data(GradContext& g, const Tensor& dy) {
  return unsorted_segment_sum(segment_take(dy, g.x(2)), g.x(1), g.x_shape()[0]);
}

// How often each id occurs, at least 1, to divide `like` by.
Tensor occurrences(const Tensor& ids, std::int64_t count, const Shape& like, DType dtype) {
  Tensor ones_of = ones(ids.shape(), dtype);
  Shape shape = Shape::filled(like.rank(), 1);
  if (like.rank() > 0) shape[0] = count;
  return reshape(maximum(unsorted_segment_sum(std::move(ones_of), ids, count), 1), shape);
}

constexpr Keep kSegmentIndices{6, 0};  // inputs 1 and 2

constinit const OpDef kSparseSegmentSum{
    .name = "sparse_segment_sum",
    .infer = sparse_segments,
    .inputs = 3,
    .tfjs = "SparseSegmentSum",
    .dynamic_sizes = 1,
    .checks_values = true,
    .grad_keeps = kSegmentIndices,
    .grad = [](GradContext& g) -> Grads { return grad_of_data(g, g.dy()); }};

constinit const OpDef kSparseSegmentMean{
    .name = "sparse_segment_mean",
    .infer = sparse_segments,
    .inputs = 3,
    .tfjs = "SparseSegmentMean",
    .dynamic_sizes = 1,
    .checks_values = true,
    .grad_keeps = kSegmentIndices,
    .grad = [](GradContext& g) -> Grads {
      const Tensor dy = g.dy();
      return grad_of_data(g, dy / occurrences(g.x(2), dy.dim(0), dy.shape(), dy.dtype()));
    }};

void check_count(const char* op, std::int64_t count) {
  if (count < 0) raise<ShapeError>("{}: a negative number of segments: {}", op, count);
}

Tensor by_segment(const OpDef& op, Tensor x, Arg& ids, std::int64_t count,
                  std::source_location site) {
  check_count(op.name, count);
  Tensor which = tensor_operand(op.name, 1, std::move(ids));
  return apply(op, ref(SegmentAttrs{count}), site, std::move(x), std::move(which));
}

Tensor by_sparse_segment(const OpDef& op, Tensor data, Arg& indices, Arg& ids,
                         std::source_location site) {
  Tensor from = tensor_operand(op.name, 1, std::move(indices));
  Tensor to = tensor_operand(op.name, 2, std::move(ids));
  return apply(op, {}, site, std::move(data), std::move(from), std::move(to));
}

constexpr Composite kSegmentComposites[] = {
    {"unsorted_segment_mean", nullptr, "unsorted_segment_sum, maximum, div"},
};

}  // namespace

Tensor segment_take(Arg rows, Arg ids) {
  const detail::UserLine site(rows.site());
  Tensor from = tensor_operand("segment_take", 0, std::move(rows));
  Tensor which = tensor_operand("segment_take", 1, std::move(ids));
  return apply(kSegmentTake, {}, site, std::move(from), std::move(which));
}

Family segment_ops() {
  static constexpr const OpDef* ops[] = {
      &kUnsortedSegmentSum, &kUnsortedSegmentMax, &kUnsortedSegmentMin, &kUnsortedSegmentProd,
      &kSegmentTake,        &kSparseSegmentSum,   &kSparseSegmentMean};
  return {ops, kSegmentComposites};
}

}  // namespace ops

using namespace ops;

Tensor unsorted_segment_sum(Arg x, Arg ids, std::int64_t segments) {
  const detail::UserLine site(x.site());
  return by_segment(kUnsortedSegmentSum, as_number("unsorted_segment_sum", std::move(x), true), ids,
                    segments, site);
}

Tensor unsorted_segment_prod(Arg x, Arg ids, std::int64_t segments) {
  const detail::UserLine site(x.site());
  return by_segment(kUnsortedSegmentProd, as_number("unsorted_segment_prod", std::move(x), true),
                    ids, segments, site);
}

Tensor unsorted_segment_max(Arg x, Arg ids, std::int64_t segments) {
  const detail::UserLine site(x.site());
  return by_segment(kUnsortedSegmentMax, as_number("unsorted_segment_max", std::move(x)), ids,
                    segments, site);
}

Tensor unsorted_segment_min(Arg x, Arg ids, std::int64_t segments) {
  const detail::UserLine site(x.site());
  return by_segment(kUnsortedSegmentMin, as_number("unsorted_segment_min", std::move(x)), ids,
                    segments, site);
}

Tensor unsorted_segment_mean(Arg x, Arg ids, std::int64_t segments) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("unsorted_segment_mean", site);
  check_count("unsorted_segment_mean", segments);
  Tensor values = as_float("unsorted_segment_mean", std::move(x));
  const RoundOnce rounded("unsorted_segment_mean", values, site);
  const Tensor which = tensor_operand("unsorted_segment_mean", 1, std::move(ids));
  const DType dtype = values.dtype();
  Tensor total = unsorted_segment_sum(std::move(values), which, segments);
  const Tensor counts = occurrences(which, segments, total.shape(), dtype);
  return rounded(std::move(total) / counts);
}

Tensor sparse_segment_sum(Arg data, Arg indices, Arg segment_ids) {
  const detail::UserLine site(data.site());
  return by_sparse_segment(kSparseSegmentSum,
                           as_number("sparse_segment_sum", std::move(data), true), indices,
                           segment_ids, site);
}

Tensor sparse_segment_mean(Arg data, Arg indices, Arg segment_ids) {
  const detail::UserLine site(data.site());
  return by_sparse_segment(kSparseSegmentMean, as_float("sparse_segment_mean", std::move(data)),
                           indices, segment_ids, site);
}

}  // namespace tenure
