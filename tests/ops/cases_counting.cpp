// Counting.
#include "case.h"
#include "reference_indexing.h"

namespace tenure::testing {
namespace {

const Input kCounted{.least = 0, .most = 7, .dtype = DType::int32};

}  // namespace

std::vector<Case> counting_cases() {
  std::vector<Case> cases;
  cases.push_back({.name = "bincount",
                   .ops = {"bincount"},
                   .run = OP_CALL(bincount(OP_IN(0), 6)),
                   .inputs = {{.least = 0, .most = 7}},
                   .shapes = {{{9}}, {{0}}},
                   .reference = [](const Arrays& in) { return counted(in[0], nullptr, 6, false); },
                   .dtypes = {DType::int32, DType::int64, DType::uint8},
                   .result = int32_dtype,
                   .differentiable = false});
  cases.push_back({.name = "bincount_of_weights",
                   .ops = {"bincount"},
                   .run = OP_CALL(bincount(OP_IN(0), OP_IN(1), 6)),
                   .inputs = {kCounted, {}},
                   .shapes = {{{9}, {9}}, {{0}, {0}}},
                   .reference = [](const Arrays& in) { return counted(in[0], &in[1], 6, false); },
                   .tolerance = {.epsilons = 40},
                   .dtypes = {DType::float32, DType::float64, DType::int32, DType::int64}});
  cases.push_back({.name = "dense_bincount",
                   .ops = {"bincount"},
                   .run = OP_CALL(dense_bincount(OP_IN(0), 6, {.weights = OP_IN(1)})),
                   .inputs = {kCounted, {}},
                   .shapes = {{{3, 5}, {3, 5}}, {{4}, {4}}, {{2, 0}, {2, 0}}},
                   .value_shapes = {{{200, 100}, {200, 100}}},
                   .reference = [](const Arrays& in) { return counted(in[0], &in[1], 6, false); },
                   .tolerance = {.epsilons = 40},
                   .value_tolerance = {.epsilons = 400},
                   .dtypes = {DType::float32, DType::float64, DType::int32},
                   .error_name = "dense_bincount"});
  cases.push_back(
      {.name = "dense_bincount_binary",
       .ops = {"bincount"},
       .run = OP_CALL(dense_bincount(OP_IN(0), 6, {.weights = OP_IN(1), .binary_output = true})),
       .inputs = {kCounted, {}},
       .shapes = {{{3, 5}, {3, 5}}, {{4}, {4}}},
       .reference = [](const Arrays& in) { return counted(in[0], &in[1], 6, true); },
       .dtypes = kFloats,
       .error_name = "dense_bincount"});
  cases.push_back({.name = "histogram",
                   .ops = {"histogram"},
                   .run = OP_CALL(histogram(OP_IN(0), -1.5, 1, 4)),
                   .inputs = {{}},
                   .shapes = {{{3, 5}}, {{}}, {{0}}, {{40}}},
                   .reference = [](const Arrays& in) { return binned(in[0], -1.5, 1, 4); },
                   .dtypes = kNumbers,
                   .result = int32_dtype,
                   .differentiable = false});
  return cases;
}

}  // namespace tenure::testing
