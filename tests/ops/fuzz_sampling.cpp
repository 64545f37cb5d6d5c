#include <cmath>

#include "fuzz.h"
#include "reference_sparse.h"

namespace tenure::testing {
namespace {

// Logits with one class that has all the probability, so that every draw is known.
Trial multinomial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  Shape shape = dice.shape(1, 2, 5, 1);
  std::int64_t samples = dice.in(0, 6);
  const bool normalized = dice.chance(0.5), seeded = dice.chance(0.5);
  const std::int64_t classes = shape[-1], rows = shape.numel() / classes;
  Array logits = filled(shape, [&](const Index&) { return normalized ? 0.0 : -1e4; });
  std::vector<double> certain;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t which = dice.in(0, classes - 1);
    certain.push_back(static_cast<double>(which));
    logits.data[static_cast<std::size_t>(row * classes + which)] = normalized ? 1 : 3;
  }
  Trial trial;
  switch (dice.in(0, 20)) {
    case 0:
      samples = -3;
      trial.complaint = {"multinomial: a negative number of samples: -3"};
      break;
    case 1:
      logits.shape = {rows, 1, classes};
      trial.complaint = {"multinomial: logits of " + to_string(logits.shape)};
      break;
    case 2:
      for (std::int64_t c = 0; c < classes; ++c) {
        logits.data[static_cast<std::size_t>((rows - 1) * classes + c)] =
            normalized ? 0 : -INFINITY;
      }
      trial.complaint = {"multinomial: row " + std::to_string(rows - 1) +
                         " of the logits has no probabilities"};
      break;
    default:
      break;
  }
  trial.inputs = {{logits, dtype}};
  trial.run = [=](Tensors in) {
    random::MultinomialOptions options{.normalized = normalized};
    if (seeded) options.seed = 9;
    return random::multinomial(OP_IN(0), samples, options);
  };
  trial.expect = [=](const Arrays&) {
    Shape drawn = shape;
    drawn[-1] = samples;
    Array result{drawn, {}};
    for (const double which : certain) {
      result.data.insert(result.data.end(), static_cast<std::size_t>(samples), which);
    }
    return result;
  };
  trial.result = DType::int32;
  return trial;
}

Trial in_top_k_trial(Dice& dice) {
  const DType dtype = dice.pick(kNumbers);
  Shape shape = dice.shape(1, 3, 5);
  shape[-1] = dice.in(1, 6);
  Shape targets(shape.dims().first(static_cast<std::size_t>(shape.rank()) - 1));
  std::int64_t k = dice.in(1, shape[-1]);
  Trial trial;
  switch (dice.in(0, 15)) {
    case 0:
      k = dice.chance(0.5) ? 0 : shape[-1] + 1;
      trial.complaint = {"in_top_k: k " + std::to_string(k), to_string(shape)};
      break;
    case 1:
      targets.push_back(3);
      trial.complaint = {"in_top_k: targets of " + to_string(targets), to_string(shape)};
      break;
    default:
      break;
  }
  trial.inputs = {drawn(dice, shape, dtype, {.whole = true, .least = -2, .most = 2}),
                  drawn(dice, targets, dice.pick(kIndexTypes), {.least = -1, .most = 6})};
  trial.run = [k](Tensors in) { return in_top_k(OP_IN(0), OP_IN(1), k); };
  trial.expect = [k](const Arrays& in) { return among_top(in[0], in[1], k); };
  trial.result = DType::boolean;
  return trial;
}

Trial confusion(Dice& dice) {
  const Shape shape{dice.in(0, 12)};
  std::int64_t classes = dice.in(1, 5);
  const bool weighed = dice.chance(0.5);
  const DType dtype = weighed ? dice.pick(kNumbers) : DType::int32;
  Shape other = shape;
  Trial trial;
  switch (dice.in(0, 12)) {
    case 0:
      classes = -dice.in(0, 3);
      trial.complaint = {"confusion_matrix: " + std::to_string(classes) + " classes"};
      break;
    case 1:
      other = {shape[0] + 1};
      trial.complaint = {"confusion_matrix: labels " + to_string(shape) + " and predictions " +
                         to_string(other)};
      break;
    default:
      break;
  }
  const Input input{.least = -1, .most = 5};
  trial.inputs = {drawn(dice, shape, dice.pick(kIndexTypes), input),
                  drawn(dice, other, dice.pick(kIndexTypes), input)};
  if (weighed) trial.inputs.push_back(drawn(dice, shape, dtype));
  trial.run = [classes, weighed](Tensors in) {
    return weighed ? confusion_matrix(OP_IN(0), OP_IN(1), classes, OP_IN(2))
                   : confusion_matrix(OP_IN(0), OP_IN(1), classes);
  };
  trial.expect = [classes](const Arrays& in) { return confusions(in, classes); };
  trial.result = total_dtype(dtype);
  trial.tolerance = {.ulps = 2, .epsilons = 16};
  return trial;
}

}  // namespace

std::vector<Fuzz> sampling_fuzz() {
  return {{"multinomial", {"multinomial"}, multinomial},
          {"in_top_k", {"in_top_k"}, in_top_k_trial},
          {"confusion_matrix", {"confusion_matrix"}, confusion}};
}

}  // namespace tenure::testing
