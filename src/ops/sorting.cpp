// Orders of elements. The ops work along the last axis; the functions bring others there.
#include <array>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/gather.h"
#include "ops/operands.h"
#include "ops/promote.h"
#include "ops/shapes.h"
#include "ops/sorting_attrs.h"
#include "tenure/indexing.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

constexpr Keep kSortedIndices{0, 2};  // the second output

Grads scatter_back(GradContext& g) { return scatter_last_axis(g.dy(0), g.y(1), g.x_shape()); }

void check_axis(const char* op, std::span<const Tensor> in, void*) {
  if (in[0].rank() == 0) raise<ShapeError>("{}: a scalar has no axis to order", op);
}

constinit const OpDef kTopK{.name = "top_k",
                            .infer =
                                [](Infer& infer) {
                                  Shape shape = infer.shape(0);
                                  const std::int64_t k = infer.attrs.as<TopKAttrs>().k;
                                  if (k < 0 || k > shape[-1]) {
                                    raise<ShapeError>(
                                        "top_k: k {} is not between 0 and the {} elements along "
                                        "the last axis of {}",
                                        k, shape[-1], shape);
                                  }
                                  check_indexable(infer.op, shape[-1], shape);
                                  shape[-1] = k;
                                  infer.result(shape, infer.dtype(0), 0);
                                  infer.result(std::move(shape), DType::int32, 1);
                                },
                            .outputs = 2,
                            .tfjs = "TopK",
                            .takes = Takes::anything,
                            .attrs = &kAttrs<TopKAttrs>,
                            .settle = check_axis,
                            .grad_keeps = kSortedIndices,
                            .grad = scatter_back};

constinit const OpDef kSort{.name = "sort",
                            .infer =
                                [](Infer& infer) {
                                  const Shape& shape = infer.shape(0);
                                  check_indexable(infer.op, shape[-1], shape);
                                  infer.result(shape, infer.dtype(0), 0);
                                  infer.result(shape, DType::int32, 1);
                                },
                            .outputs = 2,
                            .takes = Takes::anything,
                            .attrs = &kAttrs<SortAttrs>,
                            .settle = check_axis,
                            .grad_keeps = kSortedIndices,
                            .grad = scatter_back};

// Of the rows of a matrix. The rows that are kept are picked afterwards, by their places.
constinit const OpDef kUnique{.name = "unique",
                              .infer =
                                  [](Infer& infer) {
                                    const Shape& shape = infer.shape(0);
                                    check_indexable(infer.op, shape[0], shape);
                                    infer.result({infer.measured(0)}, DType::int32, 0);
                                    infer.result({shape[0]}, DType::int32, 1);
                                  },
                              .outputs = 2,
                              .tfjs = "Unique",
                              .dynamic_sizes = 1,
                              .no_gradient = "an index changes only in steps"};

void check_rows(const char* op, std::span<const Tensor> in, void*) {
  const Shape &rows = in[0].shape(), &wanted = in[1].shape();
  if (rows.rank() == 0) raise<ShapeError>("{}: the sorted row is a scalar", op);
  bool fits = rows.rank() == 1 || rows.rank() == wanted.rank();
  for (int i = 0; fits && i + 1 < rows.rank(); ++i) fits = rows[i] == wanted[i];
  if (!fits) raise<ShapeError>("{}: sorted rows {} do not match values {}", op, rows, wanted);
}

constinit const OpDef kSearchSorted{.name = "searchsorted",
                                    .infer =
                                        [](Infer& infer) {
                                          check_indexable(infer.op, infer.shape(0)[-1],
                                                          infer.shape(0));
                                          infer.result(infer.shape(1), DType::int32);
                                        },
                                    .inputs = 2,
                                    .tfjs = "SearchSorted",
                                    .takes = Takes::numbers,
                                    .attrs = &kAttrs<SearchAttrs>,
                                    .settle = check_rows,
                                    .no_gradient = "an index changes only in steps"};

// Elements that are ordered by value; bool counts as 0 and 1.
Tensor ordered_operand(const char* op, Arg&& x) {
  Tensor tensor = live_operand(op, 0, std::move(x));
  check_axis(op, {&tensor, 1}, nullptr);
  return tensor;
}

std::array<Tensor, 2> sorted(const char* name, Arg& x, SortOptions options, int wanted) {
  const detail::UserLine site(x.site());
  const detail::CallScope call(name, site);
  Tensor tensor = ordered_operand(name, std::move(x));
  const int axis = normal_axis(name, options.axis, tensor.shape());
  const int last = tensor.rank() - 1;
  Axes swapped = all_axes(tensor.shape());
  std::swap(swapped[axis], swapped[last]);
  if (axis != last) tensor = transpose(Arg(std::move(tensor), site), swapped);
  std::array<Tensor, 2> out;
  const SortAttrs attrs{options.descending};
  apply_into(kSort, {&tensor, 1}, ref(attrs), site, out);
  if (axis != last) {
    Tensor& result = out[static_cast<std::size_t>(wanted)];
    result = transpose(Arg(std::move(result), site), swapped);
  }
  return out;
}

// The rows of `x`, a matrix, that differ.
Unique unique_rows(Tensor x, std::source_location site) {
  std::array<Tensor, 2> out;
  Tensor rows = x;
  apply_into(kUnique, {&rows, 1}, {}, site, out);
  return {gather(Arg(std::move(x), site), std::move(out[0])), std::move(out[1])};
}

}  // namespace

Family sorting_ops() {
  static constexpr const OpDef* ops[] = {&kTopK, &kSort, &kUnique, &kSearchSorted};
  static constexpr Composite composites[] = {
      {"argsort", nullptr, "transpose, sort"},
      {"lower_bound", "LowerBound", "searchsorted"},
      {"upper_bound", "UpperBound", "searchsorted"},
  };
  return {ops, composites};
}

}  // namespace ops

using namespace ops;

ValuesAndIndices top_k(Arg x, std::int64_t k, TopKOptions options) {
  const detail::UserLine site(x.site());
  Tensor tensor = ordered_operand("top_k", std::move(x));
  const TopKAttrs attrs{k, options.sorted, options.largest};
  std::array<Tensor, 2> out;
  apply_into(kTopK, {&tensor, 1}, ref(attrs), site, out);
  return {std::move(out[0]), std::move(out[1])};
}

Tensor sort(Arg x, SortOptions options) { return std::move(sorted("sort", x, options, 0)[0]); }
Tensor argsort(Arg x, SortOptions options) {
  return std::move(sorted("argsort", x, options, 1)[1]);
}

Unique unique(Arg x) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("unique", site);
  Tensor tensor = live_operand("unique", 0, std::move(x));
  const std::int64_t count = tensor.numel();
  Unique rows = unique_rows(reshape(Arg(std::move(tensor), site), {count, 1}), site);
  rows.values = reshape(Arg(std::move(rows.values), site), {-1});
  return rows;
}

Unique unique(Arg x, int axis) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("unique", site);
  Tensor tensor = live_operand("unique", 0, std::move(x));
  axis = normal_axis("unique", axis, tensor.shape());
  Axes swapped = all_axes(tensor.shape());
  std::swap(swapped[axis], swapped[0]);
  if (axis != 0) tensor = transpose(Arg(std::move(tensor), site), swapped);
  Shape shape = tensor.shape();
  Shape row = shape;
  row[0] = 1;
  Unique rows = unique_rows(reshape(Arg(std::move(tensor), site), {shape[0], row.numel()}), site);
  shape[0] = rows.values.shape()[0];
  rows.values = reshape(Arg(std::move(rows.values), site), shape);
  if (axis != 0) rows.values = transpose(Arg(std::move(rows.values), site), swapped);
  return rows;
}

namespace {

Tensor search(const char* name, Arg& sorted, Arg& values, bool right) {
  const detail::UserLine site(sorted.site());
  const detail::CallScope call(name, site);
  if (!sorted.scalar()) check_alive(name, 0, sorted);
  if (!values.scalar()) check_alive(name, 1, values);
  std::array<Tensor, 2> in;
  unify(name, std::array{&sorted, &values}, in, true);
  check_rows(name, in, nullptr);
  const SearchAttrs attrs{right};
  Tensor out;
  apply_into(kSearchSorted, in, ref(attrs), site, {&out, 1});
  return out;
}

}  // namespace

Tensor searchsorted(Arg sorted, Arg values, SearchOptions options) {
  return search("searchsorted", sorted, values, options.right);
}
Tensor lower_bound(Arg sorted, Arg values) { return search("lower_bound", sorted, values, false); }
Tensor upper_bound(Arg sorted, Arg values) { return search("upper_bound", sorted, values, true); }

}  // namespace tenure
