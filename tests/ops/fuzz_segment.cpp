#include <algorithm>
#include <limits>

#include "fuzz.h"
#include "ops/segment.h"
#include "reference_sparse.h"

namespace tenure::testing {
namespace {

double lowest(DType dtype) {
  if (dtype == DType::float32) return std::numeric_limits<float>::lowest();
  if (dtype == DType::float64) return std::numeric_limits<double>::lowest();
  return rounded(-std::numeric_limits<double>::infinity(), dtype);
}
double highest(DType dtype) {
  return is_floating(dtype) ? -lowest(dtype)
                            : rounded(std::numeric_limits<double>::infinity(), dtype);
}

Drawn as_drawn(const std::vector<std::int64_t>& values, DType dtype) {
  return {vector_of(values), dtype};
}

struct Row {
  const char* name;
  Tensor (*run)(Arg, Arg, std::int64_t);
  Input input;
  DType (*result)(DType);
  Array (*expect)(const Array& x, const Array& ids, std::int64_t count, DType result);
  Tolerance tolerance;
};

const Row kRows[] = {
    {"unsorted_segment_sum",
     unsorted_segment_sum,
     {},
     total_dtype,
     [](const Array& x, const Array& ids, std::int64_t count, DType) {
       return segmented(x, ids, count, 0, [](double a, double b) { return a + b; });
     },
     {.ulps = 4, .epsilons = 64}},
    {"unsorted_segment_mean",
     unsorted_segment_mean,
     {},
     float_dtype,
     [](const Array& x, const Array& ids, std::int64_t count, DType) {
       return segment_means(x, ids, count);
     },
     {.ulps = 4, .epsilons = 64}},
    {"unsorted_segment_prod",
     unsorted_segment_prod,
     {.low = 0.5, .high = 1.5, .least = -1, .most = 1},
     total_dtype,
     [](const Array& x, const Array& ids, std::int64_t count, DType) {
       return segmented(x, ids, count, 1, [](double a, double b) { return a * b; });
     },
     {.ulps = 200}},
    {"unsorted_segment_max",
     unsorted_segment_max,
     {},
     number_dtype,
     [](const Array& x, const Array& ids, std::int64_t count, DType result) {
       return segmented(x, ids, count, lowest(result),
                        [](double a, double b) { return std::max(a, b); });
     },
     {}},
    {"unsorted_segment_min",
     unsorted_segment_min,
     {},
     number_dtype,
     [](const Array& x, const Array& ids, std::int64_t count, DType result) {
       return segmented(x, ids, count, highest(result),
                        [](double a, double b) { return std::min(a, b); });
     },
     {}},
};

Trial unsorted(const Row& row, Dice& dice) {
  const DType dtype = dice.pick(kNumbers);
  const Shape shape = dice.shape(0, 3);
  Shape ids(shape.dims().first(static_cast<std::size_t>(dice.in(0, shape.rank()))));
  std::int64_t count = dice.in(0, 5);
  DType ids_dtype = dice.pick(kIndexTypes);
  Trial trial;
  switch (dice.in(0, 20)) {
    case 0:
      ids = shape;
      ids.push_back(2);
      trial.complaint = {
          std::string(row.name == std::string("unsorted_segment_mean") ? "unsorted_segment_sum"
                                                                       : row.name) +
              ": ids of",
          to_string(ids), to_string(shape)};
      break;
    case 1:
      count = -dice.in(1, 9);
      trial.complaint = {std::string(row.name) + ": a negative number", std::to_string(count)};
      break;
    case 2:
      ids_dtype = DType::float32;
      trial.complaint = {"ids are float32: int32 or int64 is needed"};
      break;
    default:
      break;
  }
  trial.inputs = {drawn(dice, shape, dtype, row.input),
                  drawn(dice, ids, ids_dtype, {.least = -2, .most = 6})};
  trial.run = [run = row.run, count](Tensors in) { return run(OP_IN(0), OP_IN(1), count); };
  trial.result = row.result(dtype);
  trial.expect = [expect = row.expect, count, result = trial.result](const Arrays& in) {
    return expect(in[0], in[1], count, result);
  };
  trial.tolerance = row.tolerance;
  return trial;
}

Trial take(Dice& dice) {
  const DType dtype = dice.pick(kAnything);
  const bool scalar = dice.chance(0.1);
  Trial trial;
  trial.inputs = {drawn(dice, scalar ? Shape{} : dice.shape(1, 3), dtype),
                  drawn(dice, dice.shape(0, 2), dice.pick(kIndexTypes), {.least = -2, .most = 6})};
  if (scalar) trial.complaint = {"segment_take: a scalar has no rows"};
  trial.run = [](Tensors in) { return ops::segment_take(OP_IN(0), OP_IN(1)); };
  trial.expect = [](const Arrays& in) { return rows_taken(in[0], in[1]); };
  trial.result = dtype;
  return trial;
}

Trial sparse(const char* name, Tensor (*run)(Arg, Arg, Arg), bool mean, Dice& dice) {
  const DType dtype = dice.pick(kNumbers);
  Shape shape = dice.shape(1, 3);
  shape[0] = dice.in(1, 5);
  const std::int64_t rows = shape[0], count = dice.in(0, 8);
  std::vector<std::int64_t> indices, ids;
  for (std::int64_t i = 0; i < count; ++i) {
    indices.push_back(dice.in(0, rows - 1));
    ids.push_back(dice.in(0, 6));
  }
  std::ranges::sort(ids);
  Trial trial;
  const std::string prefix = std::string(name) + ": ";
  switch (dice.in(0, 24)) {
    case 0:
      indices = {0, 0, 0};
      ids = {0, 4, 3};
      trial.complaint = {prefix + "segment id 3 at position 2 is below 4"};
      break;
    case 1:
      indices = {0, rows};
      ids = {0, 0};
      trial.complaint = {prefix + "index " + std::to_string(rows) + " at position 1",
                         std::to_string(rows) + " rows"};
      break;
    case 2:
      ids = {-3};
      indices = {0};
      trial.complaint = {prefix + "segment id -3 at position 0 is negative"};
      break;
    case 3:
      ids.push_back(9);
      trial.complaint = {prefix + "indices [" + std::to_string(indices.size()),
                         "[" + std::to_string(ids.size()) + "]"};
      break;
    default:
      break;
  }
  trial.inputs = {drawn(dice, shape, dtype), as_drawn(indices, dice.pick(kIndexTypes)),
                  as_drawn(ids, dice.pick(kIndexTypes))};
  trial.run = [run](Tensors in) { return run(OP_IN(0), OP_IN(1), OP_IN(2)); };
  trial.expect = [mean](const Arrays& in) { return sparse_segmented(in[0], in[1], in[2], mean); };
  trial.result = mean ? float_dtype(dtype) : total_dtype(dtype);
  trial.tolerance = {.ulps = 4, .epsilons = 8};
  return trial;
}

}  // namespace

std::vector<Fuzz> segment_fuzz() {
  std::vector<Fuzz> rows;
  for (const Row& row : kRows) {
    rows.push_back({row.name, {row.name}, [&row](Dice& dice) { return unsorted(row, dice); }});
  }
  rows.push_back({"segment_take", {"segment_take"}, take});
  rows.push_back({"sparse_segment_sum", {"sparse_segment_sum"}, [](Dice& dice) {
                    return sparse("sparse_segment_sum", sparse_segment_sum, false, dice);
                  }});
  rows.push_back({"sparse_segment_mean", {"sparse_segment_mean"}, [](Dice& dice) {
                    return sparse("sparse_segment_mean", sparse_segment_mean, true, dice);
                  }});
  return rows;
}

}  // namespace tenure::testing
