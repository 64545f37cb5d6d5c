#include "reference_indexing.h"
#include "trials.h"

namespace tenure::testing {
namespace {

Trial space_to_batch_trial(Dice& dice) {
  Shape shape = dice.shape(2, 4, 4, 1), block;
  const DType dtype = dice.pick(kAnything);
  Pads pads;
  const std::int64_t axes = dice.in(0, shape.rank() - 1);
  for (int i = 0; i < axes; ++i) {
    block.push_back(dice.in(1, 3));
    const std::int64_t missing = (block[i] - shape[i + 1] % block[i]) % block[i];
    const std::int64_t front = dice.in(0, missing);
    pads.emplace_back(front, missing - front);
  }
  const auto run = [&] {
    return [block, pads](Tensors in) { return space_to_batch_nd(OP_IN(0), block, pads); };
  };
  if (dice.chance(kInvalid)) {
    if (axes > 0 && dice.chance(0.5)) {
      block[0] = 2;
      shape[1] = 3;
      pads[0] = {2, 0};
      return unsound({drawn(dice, shape, dtype)}, run(),
                     {"space_to_batch_nd: axis 1 has 5 elements with its padding, not a multiple "
                      "of 2"});
    }
    block.push_back(0);
    return unsound({drawn(dice, shape, dtype)}, run(),
                   {"space_to_batch_nd: block " + text(block), text(shape)});
  }
  return sound({drawn(dice, shape, dtype)}, dtype, run(),
               [=](const Arrays& in) { return space_to_batch(in[0], block, pads); });
}

Trial batch_to_space_trial(Dice& dice) {
  Shape shape = dice.shape(2, 4, 3, 1), block;
  const DType dtype = dice.pick(kAnything);
  Pads crops;
  const std::int64_t axes = dice.in(0, shape.rank() - 1);
  for (int i = 0; i < axes; ++i) {
    block.push_back(dice.in(1, 3));
    const std::int64_t gone = dice.in(0, block[i] * shape[i + 1]), front = dice.in(0, gone);
    crops.emplace_back(front, gone - front);
  }
  shape[0] *= block.numel();
  const auto run = [&] {
    return [block, crops](Tensors in) { return batch_to_space_nd(OP_IN(0), block, crops); };
  };
  if (axes > 0 && dice.chance(kInvalid)) {
    if (dice.chance(0.5)) {
      crops[0] = {shape[1] * block[0], 1};
      return unsound({drawn(dice, shape, dtype)}, run(),
                     {"batch_to_space_nd: crops " + text(crops[0].first) + " and 1"});
    }
    block[0] = shape[0] + 1;
    return unsound({drawn(dice, shape, dtype)}, run(),
                   {"batch_to_space_nd: a batch of " + text(shape[0]), text(shape), text(block)});
  }
  return sound({drawn(dice, shape, dtype)}, dtype, run(),
               [=](const Arrays& in) { return batch_to_space(in[0], block, crops); });
}

Trial depth_trial(Dice& dice, bool to_space) {
  const DType dtype = dice.pick(kAnything);
  const bool first = dice.chance(0.5);
  const ImageLayout layout = first ? ImageLayout::nchw : ImageLayout::nhwc;
  const std::string op = to_space ? "depth_to_space" : "space_to_depth";
  const std::int64_t block = dice.in(1, 3);
  const auto run = [=](Tensors in) {
    return to_space ? depth_to_space(OP_IN(0), block, layout)
                    : space_to_depth(OP_IN(0), block, layout);
  };
  if (dice.chance(kInvalid)) {
    if (dice.chance(0.5) || block == 1) {
      const Shape wrong = dice.shape(1, 3);
      return unsound({drawn(dice, wrong, dtype)}, run, {op + ": " + text(wrong)});
    }
    const Shape wrong = Shape::filled(4, block + 1);
    return unsound({drawn(dice, wrong, dtype)}, run, {op + ": ", text(block), text(wrong)});
  }
  std::int64_t h = dice.in(1, 3), w = dice.in(1, 3), c = dice.in(1, 3);
  if (to_space) {
    c *= block * block;
  } else {
    h *= block;
    w *= block;
  }
  const std::int64_t n = dice.in(0, 2);
  const Shape shape = first ? Shape{n, c, h, w} : Shape{n, h, w, c};
  return sound({drawn(dice, shape, dtype)}, dtype, run, [=](const Arrays& in) {
    return to_space ? depth_to_pixels(in[0], block, first) : pixels_to_depth(in[0], block, first);
  });
}

}  // namespace

std::vector<Fuzz> space_fuzz() {
  return {
      {"space_to_batch_nd", {"space_to_batch_nd"}, space_to_batch_trial},
      {"batch_to_space_nd", {"batch_to_space_nd"}, batch_to_space_trial},
      {"depth_to_space", {"depth_to_space"}, [](Dice& dice) { return depth_trial(dice, true); }},
      {"space_to_depth", {"space_to_depth"}, [](Dice& dice) { return depth_trial(dice, false); }}};
}

}  // namespace tenure::testing
