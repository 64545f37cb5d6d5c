#include "reference_indexing.h"
#include "trials.h"

namespace tenure::testing {
namespace {

Fuzz bincount_fuzz(const char* op, bool dense) {
  return {op, {op}, [=](Dice& dice) {
            const Shape shape = dice.shape(1, dense ? 2 : 1, 8);
            const std::int64_t size = dice.in(0, 8);
            const bool weighted = dice.chance(0.5), binary = dense && dice.chance(0.4);
            const DType dtype = dice.pick(DTypes{DType::float32, DType::float64, DType::int32,
                                                 DType::int64, DType::uint8, DType::int8});
            const auto run = [=](Tensors in) {
              if (!dense) {
                return weighted ? bincount(OP_IN(0), OP_IN(1), size) : bincount(OP_IN(0), size);
              }
              DenseBincountOptions options{.binary_output = binary};
              if (weighted) options.weights = OP_IN(1);
              return dense_bincount(OP_IN(0), size, options);
            };
            std::vector<Drawn> inputs{drawn_indices(dice, shape, 10)};
            if (weighted) inputs.push_back(drawn(dice, shape, dtype, kWholeNumbers));
            if (dice.chance(kInvalid)) {
              if (weighted && dice.chance(0.5)) {
                Shape wrong = shape;
                wrong[0] += 1;
                inputs[1] = drawn(dice, wrong, dtype);
                return unsound(std::move(inputs), run,
                               {op + (": weights " + text(wrong)) + " for x " + text(shape)});
              }
              if (shape.numel() > 0 && dice.chance(0.7)) {
                const std::int64_t place = dice.in(0, shape.numel() - 1);
                inputs[0].lay = Lay::contiguous;
                inputs[0].values.data[static_cast<std::size_t>(place)] = -3;
                return unsound(std::move(inputs), run,
                               {op + (": -3 at position " + text(place)) + " is negative"});
              }
              const Shape wrong{2, 2, 2};
              return unsound({drawn_indices(dice, wrong, 3), drawn(dice, wrong, dtype)}, run,
                             {op + (": x " + text(wrong)) + " is not a vector"});
            }
            return sound(std::move(inputs), weighted ? dtype : DType::int32, run,
                         [=](const Arrays& in) {
                           return counted(in[0], weighted ? &in[1] : nullptr, size, binary);
                         });
          }};
}

Trial histogram_trial(Dice& dice) {
  const Shape shape = dice.shape();
  const DType dtype = dice.pick(kNumbers);
  const auto low = static_cast<double>(dice.in(-4, 1));
  const double high = low + static_cast<double>(dice.in(1, 5));
  const std::int64_t bins = dice.in(1, 7);
  const Drawn x = drawn(dice, shape, dtype, {.low = -5, .high = 5});
  if (dice.chance(kInvalid)) {
    if (dice.chance(0.5)) {
      return unsound({x}, [](Tensors in) { return histogram(OP_IN(0), 1.5, 1.5, 3); },
                     {"histogram: low 1.5 is not below high 1.5"});
    }
    return unsound({x}, [](Tensors in) { return histogram(OP_IN(0), 0, 1, -4); },
                   {"histogram: -4 bins"});
  }
  return sound(
      {x}, DType::int32, [=](Tensors in) { return histogram(OP_IN(0), low, high, bins); },
      [=](const Arrays& in) { return binned(in[0], low, high, bins); });
}

}  // namespace

std::vector<Fuzz> counting_fuzz() {
  return {bincount_fuzz("bincount", false),
          bincount_fuzz("dense_bincount", true),
          {"histogram", {"histogram"}, histogram_trial}};
}

}  // namespace tenure::testing
