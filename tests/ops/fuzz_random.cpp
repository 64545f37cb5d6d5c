// What a random op draws has no reference; what is checked is how many elements lie outside their
// range or differ when the seed is set again, which should be none.
#include "fuzz.h"
#include "memory/context.h"
#include "ops/noise.h"

namespace tenure::testing {
namespace {

Tensor count(Tensor condition) { return sum(cast(std::move(condition), DType::int32)); }

// The same draw twice, and how many elements of it are not in [low, high].
Trial draw_trial(std::uint64_t seed, std::function<Tensor()> draw, double low, double high) {
  Trial trial;
  trial.run = [=](const Tensors&) {
    set_seed(seed);
    const Tensor x = draw();
    set_seed(seed);
    const Tensor again = draw();
    const Tensor values = cast(x, DType::float64);
    return count(not_equal(x, again)) + count(less(values, low)) + count(greater(values, high));
  };
  trial.expect = [](const Arrays&) { return Array{{}, {0}}; };
  trial.result = DType::int32;
  return trial;
}

std::uint64_t any_seed(Dice& dice) { return dice.random(); }

double quarter(Dice& dice, std::int64_t low, std::int64_t high) {
  return 0.25 * static_cast<double>(dice.in(low, high));
}

// A negative dimension, or a dtype that the op does not draw.
Shape any_shape(Dice& dice, Trial& trial, const char* name, DType& dtype) {
  Shape shape = dice.shape(0, 4, 7);
  if (dice.chance(0.05)) {
    shape.push_back(-2);
    trial.complaint = {name, "negative dimension: " + to_string(shape)};
  } else if (dice.chance(0.05)) {
    dtype = DType::complex64;
    trial.complaint = {name, "not defined for complex64"};
  }
  return shape;
}

Trial with(Trial trial, std::vector<std::string> complaint) {
  trial.complaint = std::move(complaint);
  return trial;
}

Trial normal_trial(bool truncated, Dice& dice) {
  const char* name = truncated ? "truncated_normal" : "normal";
  Trial unsound;
  DType dtype = dice.pick(kFloats);
  const Shape shape = any_shape(dice, unsound, name, dtype);
  random::NormalOptions options{quarter(dice, -9, 9), quarter(dice, 0, 9), dtype};
  if (unsound.complaint.empty() && dice.chance(0.1)) {
    options.deviation = -1.5;
    unsound.complaint = {name, "a deviation below zero: -1.5"};
  }
  const double reach = (truncated ? 2.0001 : 10) * options.deviation;
  return with(draw_trial(
                  any_seed(dice),
                  [=] {
                    return truncated ? random::truncated_normal(shape, options)
                                     : random::normal(shape, options);
                  },
                  options.mean - reach, options.mean + reach),
              unsound.complaint);
}

Trial uniform_trial(Dice& dice) {
  Trial unsound;
  DType dtype = dice.pick(kFloats);
  const Shape shape = any_shape(dice, unsound, "uniform", dtype);
  random::UniformOptions options{.low = quarter(dice, -9, 9), .dtype = dtype};
  options.high = options.low + quarter(dice, 1, 9);
  double high = options.high;
  if (unsound.complaint.empty() && dice.chance(0.1)) {
    options.high = options.low - 0.25;
    unsound.complaint = {"uniform: low", "is not below high"};
  } else {
    high -= 1e-9;  // not included
  }
  return with(
      draw_trial(
          any_seed(dice), [=] { return random::uniform(shape, options); }, options.low, high),
      unsound.complaint);
}

Trial bernoulli_trial(Dice& dice) {
  Trial unsound;
  DType dtype =
      dice.pick(DTypes{DType::float32, DType::float64, DType::int32, DType::uint8, DType::boolean});
  const Shape shape = any_shape(dice, unsound, "bernoulli", dtype);
  double probability = quarter(dice, 0, 4);
  if (unsound.complaint.empty() && dice.chance(0.1)) {
    probability = dice.chance(0.5) ? 1.25 : -0.5;
    unsound.complaint = {"bernoulli: ", probability > 1 ? "1.25" : "-0.5", " is no probability"};
  }
  // Never at 0, always at 1.
  const double low = probability == 1 ? 1 : 0, high = probability == 0 ? 0 : 1;
  return with(
      draw_trial(
          any_seed(dice), [=] { return random::bernoulli(shape, probability, dtype); }, low, high),
      unsound.complaint);
}

Trial randint_trial(Dice& dice) {
  Trial unsound;
  DType dtype = dice.pick(kIntegers);
  const Shape shape = any_shape(dice, unsound, "randint", dtype);
  std::int64_t low = dice.in(dtype == DType::uint8 ? 0 : -100, 50), high = low + dice.in(1, 60);
  if (unsound.complaint.empty() && dice.chance(0.15)) {
    if (dice.chance(0.5)) {
      high = low - dice.in(0, 9);
      unsound.complaint = {"randint: low " + std::to_string(low) + " is not below high " +
                           std::to_string(high)};
    } else {
      dtype = dice.chance(0.5) ? DType::uint8 : DType::int8;
      low = -200;
      unsound.complaint = {"randint: [-200, " + std::to_string(high) + ") does not fit",
                           std::string(name(dtype))};
    }
  }
  return with(draw_trial(
                  any_seed(dice), [=] { return random::randint(shape, low, high, dtype); },
                  static_cast<double>(low), static_cast<double>(high - 1)),
              unsound.complaint);
}

// Each column keeps its sum.
Trial shuffle_trial(Dice& dice) {
  const DType dtype = dice.pick(kIntegers);
  Trial trial;
  const bool unsound = dice.chance(0.15);
  trial.inputs = {drawn(dice, unsound ? Shape{} : dice.shape(1, 4, 7), dtype)};
  if (unsound) trial.complaint = {"shuffle: a scalar has no axis to shuffle"};
  trial.run = [](Tensors in) { return sum(random::shuffle(OP_IN(0)), {0}); };
  trial.expect = [](const Arrays& in) {
    return folded(in[0], {0}, false, 0, [](long double a, long double b) { return a + b; });
  };
  trial.result = total_dtype(dtype);
  return trial;
}

// Elements that differ from those of the next numbers in set_seed's sequence, had it come so far.
Trial at_trial(bool normal, Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const Shape shape = dice.shape(0, 4, 7);
  const std::uint64_t seed = any_seed(dice);
  const std::int64_t number = dice.in(0, 1 << 20);
  Trial trial;
  trial.run = [=](const Tensors&) {
    const Tensor draw = tensor({number}, Shape{});
    const auto drawn = [&] {
      return normal ? ops::normal_at(draw, seed, shape, {.dtype = dtype})
                    : ops::uniform_at(draw, seed, shape, {.dtype = dtype});
    };
    detail::OwnRandom random;
    random.set(seed, static_cast<std::uint64_t>(number) << ops::kDrawShift);
    const Tensor want =
        normal ? random::normal(shape, {.dtype = dtype}) : random::uniform(shape, {.dtype = dtype});
    return count(not_equal(drawn(), want));
  };
  trial.expect = [](const Arrays&) { return Array{{}, {0}}; };
  trial.result = DType::int32;
  return trial;
}

Trial dropout_at_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const double rate = 0.125 * static_cast<double>(dice.in(0, 7));
  const std::uint64_t seed = any_seed(dice);
  const bool unsound = dice.chance(0.1);
  Trial trial;
  trial.inputs = {drawn(dice, dice.shape(0, 4, 7), dtype)};
  trial.run = [=](Tensors in) {
    const Tensor draw = unsound ? tensor({1}) : tensor({std::int64_t{0}}, Shape{});
    const Tensor want = dropout(in[0], rate, {.seed = seed});
    return count(not_equal(ops::dropout_at(OP_IN(0), draw, seed, rate), want));
  };
  if (unsound) trial.complaint = {"dropout_at: the number of the draw is an int64 scalar"};
  trial.expect = [](const Arrays&) { return Array{{}, {0}}; };
  trial.result = DType::int32;
  return trial;
}

}  // namespace

std::vector<Fuzz> random_fuzz() {
  return {
      {"random_normal", {"random_normal"}, [](Dice& dice) { return normal_trial(false, dice); }},
      {"random_truncated_normal",
       {"random_truncated_normal"},
       [](Dice& dice) { return normal_trial(true, dice); }},
      {"random_uniform", {"random_uniform"}, uniform_trial},
      {"random_bernoulli", {"random_bernoulli"}, bernoulli_trial},
      {"random_randint", {"random_randint"}, randint_trial},
      {"shuffle", {"shuffle"}, shuffle_trial},
      {"random_normal_at", {"random_normal_at"}, [](Dice& dice) { return at_trial(true, dice); }},
      {"random_uniform_at",
       {"random_uniform_at"},
       [](Dice& dice) { return at_trial(false, dice); }},
      {"dropout_at", {"dropout_at"}, dropout_at_trial}};
}

}  // namespace tenure::testing
