#include <algorithm>

#include "reference_indexing.h"
#include "trials.h"

namespace tenure::testing {
namespace {

Trial pad_trial(Dice& dice) {
  const Shape shape = dice.shape();
  const DType dtype = dice.pick(kAnything);
  Pads pads;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t before = dice.chance(0.4) ? 0 : dice.in(-2, 3);
    const std::int64_t least = std::max<std::int64_t>(-2, -shape[i] - before);
    pads.emplace_back(std::max(before, -shape[i]), dice.chance(0.4) ? 0 : dice.in(least, 3));
  }
  const Scalar value = dice.in(0, 1);
  const auto run = [&](const Pads& by) {
    return [by, value](Tensors in) { return pad(OP_IN(0), by, value); };
  };
  if (dice.chance(kInvalid)) {
    if (!is_floating(dtype) && dice.chance(0.5)) {
      return unsound({drawn(dice, shape, dtype)},
                     [pads](Tensors in) { return pad(OP_IN(0), pads, 0.5); },
                     {"pad: 0.5 is not exactly a value of " + std::string(name(dtype))});
    }
    pads.emplace_back(-1, 2);
    return unsound({drawn(dice, shape, dtype)}, run(pads), {"pad: [", "[-1, 2]]", text(shape)});
  }
  return sound({drawn(dice, shape, dtype)}, dtype, run(pads),
               [=](const Arrays& in) { return padded(in[0], pads, value.to_double()); });
}

Trial mirror_pad_trial(Dice& dice) {
  const Shape shape = dice.shape(1);
  const DType dtype = dice.pick(kAnything);
  const bool edge = dice.chance(0.5);
  Pads pads;
  for (const std::int64_t dim : shape) {
    const std::int64_t most = std::max<std::int64_t>(dim - (edge ? 0 : 1), 0);
    pads.emplace_back(dice.in(0, most), dice.in(0, most));
  }
  const auto run = [edge](const Pads& by) {
    return [edge, by](Tensors in) {
      return mirror_pad(OP_IN(0), by, edge ? Mirror::symmetric : Mirror::reflect);
    };
  };
  if (dice.chance(kInvalid)) {
    const std::int64_t much = shape[0] + 1;
    pads[0].first = much;
    return unsound({drawn(dice, shape, dtype)}, run(pads),
                   {"mirror_pad: " + text(much) + " elements", "axis 0 of " + text(shape)});
  }
  return sound({drawn(dice, shape, dtype)}, dtype, run(pads),
               [=](const Arrays& in) { return mirrored(in[0], pads, edge); });
}

}  // namespace

std::vector<Fuzz> pad_fuzz() {
  return {{"pad", {"pad"}, pad_trial}, {"mirror_pad", {"mirror_pad"}, mirror_pad_trial}};
}

}  // namespace tenure::testing
