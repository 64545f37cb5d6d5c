#include <cmath>
#include <limits>

#include "fuzz.h"
#include "reference_lines.h"

namespace tenure::testing {
namespace {

// A reduction of the elements of a line, as called with axes or without.
struct Reduction {
  const char* name;
  Tensor (*all)(Arg x);
  Tensor (*some)(Arg x, const Axes& axes, ReduceOptions options);
  long double (*value)(const Line& line);
  DTypes dtypes;
  DType (*result)(DType);
  Input input = {};
  Tolerance tolerance = {};
};

long double largest_of(const Line& line) {
  long double best = -std::numeric_limits<double>::infinity();
  for (const long double each : line) best = larger(best, each);
  return best;
}

long double smallest_of(const Line& line) {
  long double best = std::numeric_limits<double>::infinity();
  for (const long double each : line) best = -larger(-best, -each);
  return best;
}

long double product_of(const Line& line) {
  long double product = 1;
  for (const long double each : line) product *= each;
  return product;
}

long double any_of(const Line& line) { return std::count(line.begin(), line.end(), 1) > 0; }
long double all_of(const Line& line) { return std::count(line.begin(), line.end(), 0) == 0; }
long double deviation_of(const Line& line) { return std::sqrt(variance_of(line)); }

long double logsumexp_of(const Line& line) {
  long double total = 0;
  for (const long double each : line) total += std::exp(each);
  return std::log(total);
}

// Axes of which one is out of range, or one named twice.
Axes unsound_axes(Dice& dice, int rank, std::int64_t& wrong) {
  Axes axes = dice.axes(rank);
  if (axes.rank() > 0 && dice.chance(0.5)) {
    wrong = axes[0];
    axes.push_back(wrong < 0 ? wrong + rank : wrong - rank);
    return axes;
  }
  wrong = dice.chance(0.5) ? rank + dice.in(0, 3) : -rank - dice.in(1, 3);
  axes.push_back(wrong);
  return axes;
}

Trial reduction_trial(const Reduction& row, Dice& dice) {
  const DType dtype = dice.pick(row.dtypes);
  const Shape shape = dice.shape();
  Trial trial;
  trial.inputs = {drawn(dice, shape, dtype, row.input)};
  trial.result = row.result(dtype);
  trial.tolerance = row.tolerance;
  if (dice.chance(0.15)) {
    std::int64_t wrong = 0;
    const Axes axes = unsound_axes(dice, shape.rank(), wrong);
    const bool twice = wrong >= -shape.rank() && wrong < shape.rank();
    trial.complaint = {row.name, twice ? "an axis is named twice: " + to_string(axes)
                                       : "axis " + std::to_string(wrong) + " out of range for " +
                                             to_string(shape)};
    trial.run = [row, axes](Tensors in) { return row.some(OP_IN(0), axes, {}); };
    return trial;
  }
  if (dice.chance(0.2)) {
    trial.run = [row](Tensors in) { return row.all(OP_IN(0)); };
    trial.expect = [row](const Arrays& in) {
      return reduced_by(in[0], normal({}, in[0].shape), false, row.value);
    };
    return trial;
  }
  const Axes axes = dice.axes(shape.rank());
  const bool keep = dice.chance(0.5);
  trial.run = [row, axes, keep](Tensors in) {
    return row.some(OP_IN(0), axes, {.keep_dims = keep});
  };
  trial.expect = [row, axes, keep](const Arrays& in) {
    return reduced_by(in[0], normal(axes, in[0].shape), keep, row.value);
  };
  return trial;
}

Trial place_trial(bool largest, Dice& dice) {
  const DType dtype = dice.pick(kNumbers);
  Shape shape = dice.shape(1);
  const int axis = dice.axis(shape.rank());
  Trial trial;
  const std::string name = largest ? "arg_max" : "arg_min";
  int used = axis;
  if (dice.chance(0.1)) {
    used = shape.rank() + static_cast<int>(dice.in(0, 2));
    trial.complaint = {name,
                       "axis " + std::to_string(used) + " out of range for " + to_string(shape)};
  } else if (shape[axis] == 0 || dice.chance(0.05)) {
    shape[axis] = 0;
    const int normal_axis = axis < 0 ? axis + shape.rank() : axis;
    trial.complaint = {
        name, "axis " + std::to_string(normal_axis) + " of " + to_string(shape) + " is empty"};
  }
  trial.inputs = {
      drawn(dice, shape, dtype, {.low = -3, .high = 3, .whole = true, .least = -3, .most = 3})};
  trial.run = [largest, used](Tensors in) {
    return largest ? arg_max(OP_IN(0), used) : arg_min(OP_IN(0), used);
  };
  trial.result = DType::int32;
  trial.expect = [largest, axis](const Arrays& in) {
    Array x = in[0];
    for (double& value : x.data) value = largest ? value : -value;
    return place_of_largest(x, axis < 0 ? axis + x.shape.rank() : axis);
  };
  return trial;
}

Trial norm_trial(Dice& dice) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const DType dtype = dice.pick(kNumbers);
  Shape shape = dice.shape(2, 4, 5, 1);
  NormOptions options{.keep_dims = dice.chance(0.5)};
  const int kind = static_cast<int>(dice.in(0, 2));  // of all, of vectors, of matrices
  const std::vector<double> vector_orders{0, 1, 2, 3, 0.5, 2.5, kInfinity, -kInfinity};
  if (kind == 1) options.axes = Axes{dice.axis(shape.rank())};
  if (kind == 2) {
    const auto first = dice.in(0, shape.rank() - 1);
    const auto second = (first + dice.in(1, shape.rank() - 1)) % shape.rank();
    options.axes = Axes{first, second - (dice.chance(0.5) ? shape.rank() : 0)};
  }
  if (dice.chance(0.8)) {
    options.order =
        dice.pick(kind == 2 ? std::vector<double>{1, kInfinity, -kInfinity} : vector_orders);
  }
  Trial trial;
  if (dice.chance(0.15)) {
    if (kind == 2) {
      options.order = 3;
      trial.complaint = {"norm: order 3 is none of a matrix's"};
    } else if (dice.chance(0.5)) {
      options.order = -2.5;
      trial.complaint = {"norm: order -2.5 is none of a vector's"};
    } else {
      options.axes = Axes{};
      trial.complaint = {"norm: over one axis or two", to_string(shape)};
    }
  }
  trial.inputs = {drawn(dice, shape, dtype, {.whole = dice.chance(0.5)})};
  trial.run = [options](Tensors in) { return norm(OP_IN(0), options); };
  trial.expect = [options](const Arrays& in) { return norm_of(in[0], options); };
  trial.result = float_dtype(dtype);
  trial.tolerance = {.ulps = 64, .epsilons = 64};
  return trial;
}

}  // namespace

std::vector<Fuzz> reduce_fuzz() {
  const Tolerance few{.ulps = 4, .epsilons = 64};
  const Input signs{.low = -1.5, .high = 1.5, .least = -1, .most = 1};
  const DTypes booleans{DType::boolean};
  const std::vector<Reduction> reductions{
      {"sum", sum, sum, sum_of, kNumbers, total_dtype, {}, few},
      {"prod", prod, prod, product_of, kNumbers, total_dtype, signs, {.ulps = 700, .epsilons = 1}},
      {"mean", mean, mean, mean_of, kNumbers, float_dtype, {}, few},
      {"max", max, max, largest_of, kNumbers, number_dtype},
      {"min", min, min, smallest_of, kNumbers, number_dtype},
      {"any", any, any, any_of, booleans, bool_dtype},
      {"all", all, all, all_of, booleans, bool_dtype},
      {"variance", variance, variance, variance_of, kNumbers, float_dtype, {}, few},
      {"standard_deviation",
       standard_deviation,
       standard_deviation,
       deviation_of,
       kNumbers,
       float_dtype,
       {},
       {.ulps = 16, .epsilons = 256}},
      {"moments",
       [](Arg x) { return moments(std::move(x)).mean; },
       [](Arg x, const Axes& axes, ReduceOptions options) {
         return moments(std::move(x), axes, options).mean;
       },
       mean_of,
       kNumbers,
       float_dtype,
       {},
       few},
      {"logsumexp", logsumexp, logsumexp, logsumexp_of, kNumbers, float_dtype, {}, few},
  };
  std::vector<Fuzz> rows;
  for (const Reduction& each : reductions) {
    rows.push_back(
        {each.name, {each.name}, [each](Dice& dice) { return reduction_trial(each, dice); }});
  }
  for (const bool largest : {true, false}) {
    const char* name = largest ? "arg_max" : "arg_min";
    rows.push_back({name, {name}, [largest](Dice& dice) { return place_trial(largest, dice); }});
  }
  rows.push_back({"norm", {"norm"}, norm_trial});
  for (const bool each : {true, false}) {
    const std::string name = each ? "all" : "any";
    rows.push_back(
        {name + "_of_numbers", {each ? "all" : "any"}, [name, each](Dice& dice) {
           const DType dtype = dice.pick(kIntegers);
           Trial trial;
           trial.inputs = {drawn(dice, dice.shape(), dtype)};
           trial.run = [each](Tensors in) { return each ? all(OP_IN(0)) : any(OP_IN(0)); };
           trial.complaint = {name + ": not defined for", std::string(tenure::name(dtype))};
           return trial;
         }});
  }
  return rows;
}

}  // namespace tenure::testing
