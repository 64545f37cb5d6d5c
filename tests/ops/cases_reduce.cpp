// Reductions: each over all axes, over the first, the last, one between and two apart.
#include <limits>
#include <optional>

#include "case.h"

namespace tenure::testing {
namespace {

struct Over {
  const char* name;
  std::optional<Axes> axes;  // all of them when there is none
  bool keep_dims;
  std::vector<Shapes> shapes;
  std::vector<Shapes> value_shapes;
};

const Over kOver[] = {
    {"all",
     {},
     false,
     {{{2, 3, 4}}, {{}}, {{1}}, {{0}}, {{3, 0}}, {{67}}},
     {{{70001}}, {{99, 101, 7}}}},
    {"last",
     {{-1}},
     false,
     {{{2, 3, 4}}, {{5}}, {{3, 1}}, {{3, 0}}, {{0, 3}}, {{4, 33}}},
     {{{7, 20011}}, {{20011, 7}}, {{300, 300}}}},
    {"first",
     {{0}},
     true,
     {{{2, 3, 4}}, {{5}}, {{1, 3}}, {{0, 3}}, {{3, 0}}, {{33, 4}}},
     {{{7, 20011}}, {{20011, 7}}, {{300, 300}}}},
    {"middle",
     {{1}},
     false,
     {{{2, 3, 4}}, {{3, 4}}, {{2, 0, 3}}, {{2, 1, 3}}},
     {{{30, 300, 11}}, {{3, 40000, 1}}}},
    {"outer_two",
     {{2, 0}},
     true,
     {{{2, 3, 4}}, {{2, 3, 4, 2}}, {{0, 3, 2}}, {{1, 3, 1}}},
     {{{60, 11, 130}}}},
    {"inner_two", {{-1, 1}}, false, {{{2, 3, 4}}, {{2, 0, 4}}, {{3, 1, 1}}}, {{{60, 11, 130}}}},
    {"none", {Axes{}}, false, {{{2, 3}}, {{}}, {{0}}}, {}},
};

Axes normal(const std::optional<Axes>& axes, const Shape& shape) {
  Axes result;
  for (int axis = 0; axis < shape.rank() && !axes; ++axis) result.push_back(axis);
  if (axes) {
    for (const std::int64_t axis : *axes) result.push_back(axis < 0 ? axis + shape.rank() : axis);
  }
  return result;
}

// One of sum, mean and max, as called with axes or without.
struct Reduction {
  Tensor (*all)(Arg x);
  Tensor (*some)(Arg x, const Axes& axes, ReduceOptions options);
};

std::function<Tensor(Tensors, DType)> call(Reduction reduce, const Over& over) {
  return [reduce, axes = over.axes, keep = over.keep_dims](Tensors in, DType) {
    return axes ? reduce.some(OP_IN(0), *axes, {.keep_dims = keep}) : reduce.all(OP_IN(0));
  };
}

Reference reference(const Over& over, double start, long double (*fold)(long double, long double),
                    bool average) {
  return [axes = over.axes, keep = over.keep_dims, start, fold, average](const Arrays& in) {
    const Array& x = in[0];
    Array result = folded(x, normal(axes, x.shape), keep, start, fold);
    const auto count = static_cast<double>(x.data.size()) / static_cast<double>(result.data.size());
    for (double& value : result.data) value = average ? value / count : value;
    return result;
  };
}

long double plus(long double a, long double b) { return a + b; }

}  // namespace

std::vector<Case> reduce_cases() {
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  const Tolerance of_few{.ulps = 2, .epsilons = 10}, of_many{.ulps = 2, .epsilons = 5000};
  std::vector<Case> cases;
  for (const Over& over : kOver) {
    const std::string suffix = std::string("_over_") + over.name;
    const Case common{.name = "",
                      .ops = {"sum"},
                      .run = {},
                      .inputs = {{}},
                      .shapes = over.shapes,
                      .value_shapes = over.value_shapes,
                      .dtypes = kNumbers};
    Case row = common;
    row.name = "sum" + suffix;
    row.run = call({sum, sum}, over);
    row.reference = reference(over, 0, plus, false);
    row.tolerance = of_few;
    row.value_tolerance = of_many;
    row.result = total_dtype;
    cases.push_back(row);

    row.name = "mean" + suffix;
    row.ops = {"sum", "div"};
    row.run = call({mean, mean}, over);
    row.reference = reference(over, 0, plus, true);
    row.value_tolerance = of_few;
    row.result = float_dtype;
    row.error_name = "mean";
    cases.push_back(row);

    row = common;
    row.name = "max" + suffix;
    row.ops = {"max"};
    row.error_name = "max";
    row.run = call({max, max}, over);
    row.reference = reference(over, kLowest, larger, false);
    row.result = number_dtype;
    cases.push_back(row);
  }
  for (const int axis : {0, 1, -1}) {
    cases.push_back(
        {.name = axis < 0 ? "arg_max_over_last" : "arg_max_over_" + std::to_string(axis),
         .ops = {"arg_max"},
         .run = [axis](Tensors in, DType) { return arg_max(OP_IN(0), axis); },
         .inputs = {{.low = -5, .high = 5, .whole = true, .least = -5, .most = 5}},
         .shapes = {{{2, 3, 4}}, {{3, 4}}, {{1, 1}}, {{4, 33}}, {{3, 2, 0, 2}}},
         .value_shapes = {{{7, 20011}}, {{20011, 7}}, {{300, 300}}, {{30, 300, 11}}},
         .reference =
             [axis](const Arrays& in) {
               return place_of_largest(in[0], axis < 0 ? axis + in[0].shape.rank() : axis);
             },
         .dtypes = kNumbers,
         .result = int32_dtype,
         .differentiable = false});
  }
  return cases;
}

}  // namespace tenure::testing
