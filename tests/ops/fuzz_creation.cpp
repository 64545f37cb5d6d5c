#include <cmath>

#include "fuzz.h"

namespace tenure::testing {
namespace {

const DTypes kSigned{DType::float32, DType::float64, DType::int32,   DType::int64,
                     DType::int8,    DType::float16, DType::bfloat16};

Array all(const Shape& shape, double value) {
  return filled(shape, [=](const Index&) { return value; });
}

Trial made(DType dtype, std::function<Tensor(Tensors)> run, Array expected) {
  return {.inputs = {},
          .run = std::move(run),
          .expect = [expected = std::move(expected)](const Arrays&) { return expected; },
          .result = dtype};
}

Trial refused(std::function<Tensor(Tensors)> run, std::vector<std::string> complaint) {
  return {.inputs = {}, .run = std::move(run), .complaint = std::move(complaint)};
}

// One dimension below zero, one time in eight.
bool spoil(Dice& dice, Shape& shape) {
  if (shape.rank() == 0 || !dice.chance(0.125)) return false;
  shape[dice.axis(shape.rank())] = dice.in(-4, -1);
  return true;
}

template <bool one>
Trial constant_trial(Dice& dice) {
  Shape shape = dice.shape();
  const DType dtype = dice.pick(kAnything);
  const bool bad = spoil(dice, shape);
  const auto run = [=](const Tensors&) { return one ? ones(shape, dtype) : zeros(shape, dtype); };
  if (bad) return refused(run, {one ? "ones" : "zeros", to_string(shape)});
  return made(dtype, run, all(shape, one ? 1 : 0));
}

Trial full_trial(Dice& dice) {
  Shape shape = dice.shape();
  const DType dtype = dice.pick(kSigned);
  const std::int64_t value = dice.in(-99, 99);
  if (dice.chance(0.1)) {
    const auto run = [=](const Tensors&) { return full(shape, 300 + value, DType::uint8); };
    if (300 + value > 255) return refused(run, {"full: " + std::to_string(300 + value), "uint8"});
  }
  const bool bad = spoil(dice, shape);
  const auto run = [=](const Tensors&) { return full(shape, value, dtype); };
  if (bad) return refused(run, {"full", to_string(shape)});
  return made(dtype, run, all(shape, static_cast<double>(value)));
}

Trial like_trial(Dice& dice) {
  const DType dtype = dice.pick(kSigned);
  const std::int64_t which = dice.in(0, 2), value = dice.in(-99, 99);
  const bool bad = which == 2 && dice.chance(0.3);
  const DType own = bad ? DType::int8 : dtype;
  Trial trial{.inputs = {drawn(dice, dice.shape(), own)}, .run = {}, .result = own};
  const double expected = which == 0 ? 0 : which == 1 ? 1 : static_cast<double>(value);
  trial.expect = [=](const Arrays& in) { return all(in[0].shape, expected); };
  trial.run = [=](const Tensors& in) {
    if (bad) return full_like(in[0], 1000 + value);
    return which == 0 ? zeros_like(in[0]) : which == 1 ? ones_like(in[0]) : full_like(in[0], value);
  };
  if (bad) trial.complaint = {"full_like: " + std::to_string(1000 + value), "int8"};
  return trial;
}

Trial arange_trial(Dice& dice) {
  const DType dtype = dice.pick(kSigned);
  const std::int64_t start = dice.in(-40, 40), stop = dice.in(-40, 40), step = dice.in(-7, 7);
  const auto run = [=](const Tensors&) { return arange(start, stop, step, dtype); };
  if (step == 0) {
    return refused(run, {"arange: no range from " + std::to_string(start) + " to " +
                         std::to_string(stop) + " by 0"});
  }
  Array values{{0}, {}};
  for (std::int64_t x = start; step > 0 ? x < stop : x > stop; x += step) {
    values.data.push_back(static_cast<double>(x));
  }
  values.shape = {static_cast<std::int64_t>(values.data.size())};
  return made(dtype, run, values);
}

Trial linspace_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const double start = static_cast<double>(dice.in(-99, 99)) / 8;
  const double stop = static_cast<double>(dice.in(-99, 99)) / 8;
  const std::int64_t count = dice.chance(0.15) ? dice.in(-5, -1) : dice.in(0, 60);
  const auto run = [=](const Tensors&) { return linspace(start, stop, count, dtype); };
  if (count < 0) return refused(run, {"linspace: a negative count: " + std::to_string(count)});
  const double steps = static_cast<double>(std::max<std::int64_t>(count - 1, 1));
  Trial trial = made(dtype, run, filled({count}, [=](const Index& i) {
                       return start + (stop - start) * (static_cast<double>(i[0]) / steps);
                     }));
  trial.tolerance = {.ulps = 2, .epsilons = 50};
  return trial;
}

Trial eye_trial(Dice& dice) {
  const DType dtype = dice.pick(kAnything);
  const bool bad = dice.chance(0.15), square = dice.chance(0.3);
  const std::int64_t rows = bad ? dice.in(-5, -2) : dice.in(0, 9);
  const std::int64_t columns = square ? rows : dice.in(0, 9);
  const auto run = [=](const Tensors&) { return eye(rows, square ? -1 : columns, dtype); };
  if (bad) return refused(run, {"eye", to_string(Shape{rows, columns})});
  return made(dtype, run,
              filled({rows, columns}, [](const Index& i) { return i[0] == i[1] ? 1.0 : 0.0; }));
}

// A shape, and two that broadcast to it.
Trial broadcast_args_trial(Dice& dice) {
  const DType dtype = dice.chance(0.5) ? DType::int32 : DType::int64;
  const Shape whole = dice.shape(1, 5, 9);
  const auto drawn_from = [&](Shape shape) {
    Array sizes{{shape.rank()}, {}};
    for (const std::int64_t size : shape) sizes.data.push_back(static_cast<double>(size));
    const Lay lay = dice.chance(0.5) ? Lay::contiguous : Lay::strided;
    return Drawn{fitted(sizes, lay), dtype, lay};
  };
  Shape a = whole, b = dice.narrowed(whole);
  if (dice.chance(0.5)) std::swap(a, b);
  Trial trial{.inputs = {}, .run = [](const Tensors& in) { return broadcast_args(in[0], in[1]); }};
  trial.result = dtype;
  if (dice.chance(0.2)) {
    const std::int64_t n = dice.in(2, 9);
    a.push_back(n);
    b.push_back(n + 1);
    trial.complaint = {"broadcast_args: sizes " + std::to_string(n) + " and " +
                       std::to_string(n + 1) + " do not broadcast"};
  } else if (a.rank() > 0 && dice.chance(0.1)) {
    a[0] = -3;
    trial.complaint = {"broadcast_args", "-3"};
    b = Shape::filled(a.rank(), 1);
  }
  trial.inputs = {drawn_from(a), drawn_from(b)};
  trial.expect = [](const Arrays& in) {
    Array sizes{{std::max(in[0].shape[0], in[1].shape[0])}, {}};
    const auto longest = static_cast<std::size_t>(sizes.shape[0]);
    for (std::size_t i = 0; i < longest; ++i) {
      double size = 1;
      for (const Array& each : in) {
        const std::size_t missing = longest - each.data.size();
        if (i >= missing && each.data[i - missing] != 1) size = each.data[i - missing];
      }
      sizes.data.push_back(size);
    }
    return sizes;
  };
  return trial;
}

}  // namespace

std::vector<Fuzz> creation_fuzz() {
  return {{"zeros", {"fill", "zeros"}, constant_trial<false>},
          {"ones", {"fill", "ones"}, constant_trial<true>},
          {"full", {"fill", "full"}, full_trial},
          {"like", {"fill", "zeros_like", "ones_like", "full_like"}, like_trial},
          {"arange", {"arange"}, arange_trial},
          {"linspace", {"linspace"}, linspace_trial},
          {"eye", {"eye"}, eye_trial},
          {"broadcast_args", {"broadcast_args"}, broadcast_args_trial}};
}

}  // namespace tenure::testing
