// Reductions by segment. Ids are drawn, some of them out of range.
#include <limits>

#include "case.h"
#include "ops/segment.h"
#include "reference_sparse.h"

namespace tenure::testing {
namespace {

constexpr std::int64_t kSegments = 4;
const Input kIds{.least = -1, .most = kSegments, .dtype = DType::int32};
const Input kWideIds{.least = -1, .most = kSegments, .dtype = DType::int64};

using Segmented = Tensor (*)(Arg, Arg, std::int64_t);

Case by_segment(const char* name, Segmented run, double start, double (*fold)(double, double)) {
  return {
      .name = name,
      .ops = {name},
      .run = [run](Tensors in, DType) { return run(OP_IN(0), OP_IN(1), kSegments); },
      .inputs = {{}, kIds},
      .shapes =
          {{{5, 3}, {5}}, {{2, 3, 2}, {2, 3}}, {{4}, {4}}, {{2}, {}}, {{0, 2}, {0}}, {{3, 0}, {3}}},
      .value_shapes = {{{300, 111}, {300}}, {{40001}, {40001}}},
      .reference =
          [start, fold](const Arrays& in) {
            return segmented(in[0], in[1], kSegments, start, fold);
          },
      .tolerance = {.ulps = 4, .epsilons = 16},
      .value_tolerance = {.ulps = 4, .epsilons = 200'000},
      .dtypes = kNumbers,
      .result = total_dtype};
}

// Ids of `count` rows that do not descend, with gaps: 0, 0, 2, 2, 4, ...
std::vector<std::int64_t> ascending(std::int64_t count) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(i / 2 * 2);
  return ids;
}

Case by_sparse_segment(const char* name, Tensor (*run)(Arg, Arg, Arg), bool mean) {
  return {.name = name,
          .ops = {name},
          .run =
              [run](Tensors in, DType) {
                const std::int64_t count = in[1].defined() ? in[1].numel() : 5;
                return run(OP_IN(0), OP_IN(1), index_tensor(ascending(count)));
              },
          .inputs = {{}, {.least = 0, .most = 3, .dtype = DType::int64}},
          .shapes = {{{4, 3}, {5}}, {{4, 2, 2}, {4}}, {{4}, {1}}, {{4, 2}, {0}}},
          .value_shapes = {{{4, 9000}, {7}}, {{4, 2}, {9001}}},
          .reference =
              [mean](const Arrays& in) {
                return sparse_segmented(in[0], in[1], vector_of(ascending(in[1].shape[0])), mean);
              },
          .tolerance = {.ulps = 2, .epsilons = 4},
          .dtypes = kNumbers,
          .result = mean ? float_dtype : total_dtype};
}

}  // namespace

std::vector<Case> segment_cases() {
  const auto plus = [](double a, double b) { return a + b; };
  std::vector<Case> cases;
  cases.push_back(by_segment("unsorted_segment_sum", unsorted_segment_sum, 0, plus));

  Case row = by_segment("unsorted_segment_prod", unsorted_segment_prod, 1,
                        [](double a, double b) { return a * b; });
  row.inputs[0] = {.low = 0.5, .high = 2, .least = -3, .most = 3};
  row.value_shapes = {};
  cases.push_back(row);

  // Empty segments are brought into reach of every dtype.
  row = by_segment("unsorted_segment_max", unsorted_segment_max, -100,
                   [](double a, double b) { return a > b ? a : b; });
  row.run = OP_CALL(maximum(unsorted_segment_max(OP_IN(0), OP_IN(1), kSegments), -100));
  row.ops.push_back("maximum");
  row.inputs[1] = kWideIds;
  row.dtypes = {DType::float32, DType::float64, DType::int32, DType::int64, DType::int8};
  row.result = same_dtype;
  cases.push_back(row);

  row.name = "unsorted_segment_min";
  row.ops = {"unsorted_segment_min", "minimum"};
  row.error_name = "unsorted_segment_min";
  row.run = OP_CALL(minimum(unsorted_segment_min(OP_IN(0), OP_IN(1), kSegments), 100));
  row.reference = [](const Arrays& in) {
    return segmented(in[0], in[1], kSegments, 100,
                     [](double a, double b) { return a < b ? a : b; });
  };
  cases.push_back(row);

  row = by_segment("unsorted_segment_mean", unsorted_segment_mean, 0, plus);
  row.ops = {"unsorted_segment_sum", "maximum", "div"};
  row.reference = [](const Arrays& in) { return segment_means(in[0], in[1], kSegments); };
  row.result = float_dtype;
  cases.push_back(row);

  cases.push_back({.name = "segment_take",
                   .ops = {"segment_take"},
                   .run = OP_CALL(ops::segment_take(OP_IN(0), OP_IN(1))),
                   .inputs = {{}, kWideIds},
                   .shapes = {{{4, 3}, {5}},
                              {{4}, {2, 3}},
                              {{4, 2}, {}},
                              {{0, 2}, {3}},
                              {{4, 0}, {2}},
                              {{4, 2}, {0}}},
                   .value_shapes = {{{4, 9000}, {9}}, {{4}, {40001}}},
                   .reference = [](const Arrays& in) { return rows_taken(in[0], in[1]); },
                   .dtypes = kAnything});

  cases.push_back(by_sparse_segment("sparse_segment_sum", sparse_segment_sum, false));
  cases.push_back(by_sparse_segment("sparse_segment_mean", sparse_segment_mean, true));
  return cases;
}

}  // namespace tenure::testing
