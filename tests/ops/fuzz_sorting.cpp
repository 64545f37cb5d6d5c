#include <limits>

#include "reference_indexing.h"
#include "trials.h"

namespace tenure::testing {
namespace {

// Ties half of the time, and now and then a NaN, an infinity or a zero of either sign.
Drawn drawn_for_order(Dice& dice, const Shape& shape, DType dtype) {
  const Input ties{.low = -3, .high = 3, .whole = true, .least = -3, .most = 3};
  Drawn x = drawn(dice, shape, dtype, dice.chance(0.5) ? ties : Input{});
  if (!is_floating(dtype) || !dice.chance(0.3)) return x;
  x.lay = Lay::contiguous;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> special{std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity,
                                    0.0, -0.0};
  for (double& value : x.values.data) {
    if (dice.chance(0.3)) value = dice.pick(special);
  }
  return x;
}

std::int64_t size_for_order(Dice& dice) { return dice.chance(0.1) ? 1500 : dice.in(1, 40); }

Trial top_k_trial(Dice& dice) {
  Shape shape = dice.shape(1, 3, 3);
  shape[-1] = size_for_order(dice);
  const DType dtype = dice.pick(kAnything);
  const std::int64_t k = dice.in(0, shape[-1]);
  const bool largest = dice.chance(0.5), values = dice.chance(0.5);
  if (dice.chance(kInvalid)) {
    if (dice.chance(0.3)) {
      return unsound({drawn(dice, {}, dtype)}, [](Tensors in) { return top_k(OP_IN(0), 1).values; },
                     {"top_k: a scalar has no axis to order"});
    }
    const std::int64_t wrong = dice.chance(0.5) ? shape[-1] + 1 : -1;
    return unsound({drawn(dice, shape, dtype)},
                   [wrong](Tensors in) { return top_k(OP_IN(0), wrong).values; },
                   {"top_k: k " + text(wrong), text(shape[-1]) + " elements", text(shape)});
  }
  return sound(
      {drawn_for_order(dice, shape, dtype)}, values ? dtype : DType::int32,
      [=](Tensors in) {
        ValuesAndIndices top = top_k(OP_IN(0), k, {.largest = largest});
        return values ? top.values : top.indices;
      },
      [=](const Arrays& in) {
        const Array places = first_places(in[0], k, largest);
        return values ? taken_along(in[0], places, in[0].shape.rank() - 1) : places;
      });
}

Fuzz sort_fuzz(const char* op, bool values) {
  return {op, {op}, [=](Dice& dice) {
            Shape shape = dice.shape(1, 3, 3);
            const DType dtype = dice.pick(kAnything);
            const int axis = dice.axis(shape.rank());
            const int at = axis < 0 ? axis + shape.rank() : axis;
            shape[at] = size_for_order(dice);
            const bool descending = dice.chance(0.5);
            const auto run = [=](int along) {
              return [=](Tensors in) {
                const SortOptions options{.axis = along, .descending = descending};
                return values ? sort(OP_IN(0), options) : argsort(OP_IN(0), options);
              };
            };
            if (dice.chance(kInvalid)) {
              const int wrong = shape.rank();
              return unsound({drawn(dice, shape, dtype)}, run(wrong),
                             {op + (": axis " + text(wrong)) + " out of range for " + text(shape)});
            }
            return sound({drawn_for_order(dice, shape, dtype)}, values ? dtype : DType::int32,
                         run(axis), [=](const Arrays& in) {
                           const Array places = order_of(in[0], at, descending);
                           return values ? taken_along(in[0], places, at) : places;
                         });
          }};
}

Trial unique_trial(Dice& dice) {
  const bool flat = dice.chance(0.4), values = dice.chance(0.5);
  const Shape shape = dice.shape(flat ? 0 : 1, 3, 5);
  const DType dtype = dice.pick(kAnything);
  const Input few{.low = -1, .high = 1, .whole = true, .least = 0, .most = 1};
  Drawn x = drawn(dice, shape, dtype, few);
  if (is_floating(dtype) && x.lay == Lay::contiguous && dice.chance(0.5)) {
    for (double& value : x.values.data) {
      if (value > 0) value = std::numeric_limits<double>::quiet_NaN();
    }
  }
  if (!flat && dice.chance(kInvalid)) {
    const int wrong = -shape.rank() - 1;
    return unsound({x}, [wrong](Tensors in) { return unique(OP_IN(0), wrong).values; },
                   {"unique: axis " + text(wrong) + " out of range for " + text(shape)});
  }
  const int axis = flat ? 0 : dice.axis(shape.rank());
  return sound(
      {x}, values ? dtype : DType::int32,
      [=](Tensors in) {
        const Unique found = flat ? unique(OP_IN(0)) : unique(OP_IN(0), axis);
        return values ? found.values : found.inverse;
      },
      [=](const Arrays& in) {
        const auto count = static_cast<std::int64_t>(in[0].data.size());
        const Array from = flat ? reshaped(in[0], {count}) : in[0];
        const Differing found = differing(from, axis < 0 ? axis + shape.rank() : axis);
        return values ? found.values : found.inverse;
      });
}

Fuzz search_fuzz(const char* op, std::function<Tensor(Tensor, Tensor, bool)> search,
                 std::optional<bool> side) {
  return {op, {op}, [=](Dice& dice) {
            const DType dtype = dice.pick(kNumbers);
            const bool right = side.value_or(dice.chance(0.5));
            const Input ties{.low = -3, .high = 3, .whole = true, .least = -3, .most = 3};
            Shape sorted = dice.shape(1, 3), values = sorted;
            values[-1] = dice.in(0, 6);
            if (sorted.rank() == 1) values = dice.shape(0, 3);
            Drawn rows = drawn(dice, sorted, dtype, ties);
            rows.lay = Lay::contiguous;
            const int last = sorted.rank() - 1;
            rows.values = taken_along(rows.values, order_of(rows.values, last, false), last);
            const auto run = [=](Tensors in) { return search(OP_IN(0), OP_IN(1), right); };
            if (dice.chance(kInvalid)) {
              const Shape wrong{3, 2, 2}, matrix{2, 4};
              return unsound(
                  {drawn(dice, matrix, dtype), drawn(dice, wrong, dtype)}, run,
                  {op + (": sorted rows " + text(matrix)) + " do not match values " + text(wrong)});
            }
            return sound({rows, drawn(dice, values, dtype, ties)}, DType::int32, run,
                         [right](const Arrays& in) { return searched(in[0], in[1], right); });
          }};
}

}  // namespace

std::vector<Fuzz> sorting_fuzz() {
  return {{"top_k", {"top_k"}, top_k_trial},
          sort_fuzz("sort", true),
          sort_fuzz("argsort", false),
          {"unique", {"unique"}, unique_trial},
          search_fuzz("searchsorted",
                      [](Tensor sorted, Tensor values, bool right) {
                        return searchsorted(std::move(sorted), std::move(values), {.right = right});
                      },
                      {}),
          search_fuzz(
              "lower_bound",
              [](Tensor sorted, Tensor values, bool) {
                return lower_bound(std::move(sorted), std::move(values));
              },
              false),
          search_fuzz(
              "upper_bound",
              [](Tensor sorted, Tensor values, bool) {
                return upper_bound(std::move(sorted), std::move(values));
              },
              true)};
}

}  // namespace tenure::testing
