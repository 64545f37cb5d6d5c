// Reductions: each over all axes, over the first, the last, one between and two apart.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "case.h"
#include "reference_lines.h"

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

// A reduction, as called with axes or without.
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

Reference reference(const Over& over, long double (*fn)(const Line&)) {
  return [axes = over.axes, keep = over.keep_dims, fn](const Arrays& in) {
    return reduced_by(in[0], normal(axes, in[0].shape), keep, fn);
  };
}

long double plus(long double a, long double b) { return a + b; }
long double times(long double a, long double b) { return a * b; }
long double smaller(long double a, long double b) { return -larger(-a, -b); }

long double deviation_of(const Line& line) { return std::sqrt(variance_of(line)); }

long double logsumexp_of(const Line& line) {
  long double total = 0;
  for (const long double x : line) total += std::exp(x);
  return std::log(total);
}

const Over& over_named(std::string_view name) {
  return *std::find_if(std::begin(kOver), std::end(kOver),
                       [&](const Over& over) { return over.name == name; });
}

// Products, extremes and logic, over everything that sums are.
void add_folds(std::vector<Case>& cases, const Over& over) {
  constexpr double kHighest = std::numeric_limits<double>::infinity();
  const std::string suffix = std::string("_over_") + over.name;
  Case row{.name = "min" + suffix,
           .ops = {"min"},
           .run = call({min, min}, over),
           .inputs = {{}},
           .shapes = over.shapes,
           .value_shapes = over.value_shapes,
           .reference = reference(over, kHighest, smaller, false),
           .dtypes = kNumbers,
           .result = number_dtype};
  cases.push_back(row);

  // Few factors, so that integers do not overflow and zeros are common.
  row.name = "prod" + suffix;
  row.ops = {"prod"};
  row.error_name = "prod";
  row.run = call({prod, prod}, over);
  row.inputs = {{.low = -1.5, .high = 1.5, .whole = true, .least = -1, .most = 1}};
  row.value_shapes = {};
  row.reference = reference(over, 1, times, false);
  row.tolerance = {.ulps = 2, .epsilons = 1};
  row.result = total_dtype;
  cases.push_back(row);

  row.name = "any" + suffix;
  row.ops = {"any"};
  row.error_name = "any";
  row.run = call({any, any}, over);
  row.value_shapes = over.value_shapes;
  row.reference = reference(
      over, 0, [](long double a, long double b) -> long double { return a != 0 || b != 0; }, false);
  row.tolerance = {};
  row.dtypes = {DType::boolean};
  row.result = bool_dtype;
  row.differentiable = false;
  cases.push_back(row);

  row.name = "all" + suffix;
  row.ops = {"all"};
  row.error_name = "all";
  row.run = call({all, all}, over);
  row.reference = reference(
      over, 1, [](long double a, long double b) -> long double { return a != 0 && b != 0; }, false);
  cases.push_back(row);
}

// Functions made of reductions. Of several elements each: a deviation of one has no gradient.
void add_composites(std::vector<Case>& cases, const Over& over) {
  const std::string suffix = std::string("_over_") + over.name;
  const bool keep = over.keep_dims;
  const std::vector<Shapes> shapes{{{2, 3, 4}}, {{3, 2, 3}}};
  Case row{.name = "variance" + suffix,
           .ops = {"sum", "sub", "square"},
           .run = call({variance, variance}, over),
           .inputs = {{}},
           .shapes = shapes,
           .reference = reference(over, variance_of),
           .tolerance = {.ulps = 4, .epsilons = 40},
           .dtypes = kNumbers,
           .result = float_dtype,
           .error_name = "variance"};
  cases.push_back(row);

  row.name = "moments" + suffix;
  row.error_name = "moments";
  row.run = [axes = over.axes, keep](Tensors in, DType) {
    return axes ? moments(OP_IN(0), *axes, {.keep_dims = keep}).mean : moments(OP_IN(0)).mean;
  };
  row.reference = reference(over, mean_of);
  cases.push_back(row);

  row.name = "standard_deviation" + suffix;
  row.error_name = "standard_deviation";
  row.run = call({standard_deviation, standard_deviation}, over);
  row.reference = reference(over, deviation_of);
  row.dtypes = kFloats;
  cases.push_back(row);

  row.name = "logsumexp" + suffix;
  row.ops = {"max", "sub", "exp", "sum", "log"};
  row.error_name = "logsumexp";
  row.shapes = {{{2, 3, 4}}, {{3, 0, 2}}, {{0, 3, 1}}};
  row.run = call({logsumexp, logsumexp}, over);
  row.reference = reference(over, logsumexp_of);
  cases.push_back(row);
}

struct NormRow {
  const char* name;
  NormOptions options;
  bool differentiable = true;
};

void add_norms(std::vector<Case>& cases) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const NormRow rows[] = {
      {"norm_euclidean_of_all", {}},
      {"norm_2", {.order = 2, .axes = Axes{1}}},
      {"norm_1", {.order = 1, .axes = Axes{-1}}},
      {"norm_0", {.order = 0, .axes = Axes{0}}, false},
      {"norm_3", {.order = 3, .axes = Axes{1}, .keep_dims = true}},
      {"norm_1_5", {.order = 1.5}},
      {"norm_infinity", {.order = kInfinity, .axes = Axes{0}}},
      {"norm_minus_infinity", {.order = -kInfinity, .axes = Axes{-1}}},
      {"norm_of_matrix", {.axes = Axes{0, 2}}},
      {"norm_1_of_matrix", {.order = 1, .axes = Axes{-1, 0}}},
      {"norm_infinity_of_matrix", {.order = kInfinity, .axes = Axes{1, 2}, .keep_dims = true}},
      {"norm_minus_infinity_of_matrix", {.order = -kInfinity, .axes = Axes{2, 1}}},
  };
  for (const NormRow& each : rows) {
    cases.push_back(
        {.name = each.name,
         .ops = {"sum", "max", "min"},
         .run = [options = each.options](Tensors in, DType) { return norm(OP_IN(0), options); },
         .inputs = {{.away_from = {0}}},
         .shapes = {{{2, 3, 4}}},
         .reference = [options =
                           each.options](const Arrays& in) { return norm_of(in[0], options); },
         .tolerance = {.ulps = 8, .epsilons = 8},
         .differentiable = each.differentiable,
         .error_name = "norm"});
  }
}

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
    add_folds(cases, over);
  }
  for (const char* name : {"all", "last", "outer_two"}) add_composites(cases, over_named(name));
  add_norms(cases);
  for (const int axis : {0, 1, -1}) {
    for (const bool largest : {true, false}) {
      const std::string name = largest ? "arg_max" : "arg_min";
      cases.push_back({.name = name + (axis < 0 ? "_over_last" : "_over_" + std::to_string(axis)),
                       .ops = {largest ? "arg_max" : "arg_min"},
                       .run =
                           [axis, largest](Tensors in, DType) {
                             return largest ? arg_max(OP_IN(0), axis) : arg_min(OP_IN(0), axis);
                           },
                       .inputs = {{.low = -5, .high = 5, .whole = true, .least = -5, .most = 5}},
                       .shapes = {{{2, 3, 4}}, {{3, 4}}, {{1, 1}}, {{4, 33}}, {{3, 2, 0, 2}}},
                       .value_shapes = {{{7, 20011}}, {{20011, 7}}, {{300, 300}}, {{30, 300, 11}}},
                       .reference =
                           [axis, largest](const Arrays& in) {
                             Array x = in[0];
                             for (double& value : x.data) value = largest ? value : -value;
                             return place_of_largest(x, axis < 0 ? axis + x.shape.rank() : axis);
                           },
                       .dtypes = kNumbers,
                       .result = int32_dtype,
                       .differentiable = false});
    }
  }
  return cases;
}

}  // namespace tenure::testing
