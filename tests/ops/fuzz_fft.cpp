#include "fuzz.h"
#include "reference_fft.h"

namespace tenure::testing {
namespace {

const DTypes kReal{DType::float32, DType::float64, DType::int32};

Trial trial_of(Dice& dice, const Shape& shape, int inputs) {
  Trial trial;
  const DType dtype = dice.pick(kReal);
  for (int i = 0; i < inputs; ++i) trial.inputs.push_back(drawn(dice, shape, dtype));
  trial.tolerance = {.ulps = 8, .epsilons = 1500};
  return trial;
}

// Transforms of complex numbers, one axis or two.
Fuzz whole(const char* name, Tensor (*run)(Arg), int axes, bool inverse) {
  return {name, {name}, [=](Dice& dice) {
            const int least_rank = dice.chance(0.1) ? axes - 1 : axes;
            Shape shape = dice.shape(least_rank, axes + 1, axes == 1 ? 40 : 9, 1);
            if (shape.rank() == least_rank && least_rank < axes) {
              Trial trial = trial_of(dice, shape, 2);
              trial.complaint = {std::string(name) + ": at least", to_string(shape)};
              trial.run = [run](Tensors in) { return run(complex(OP_IN(0), OP_IN(1))); };
              return trial;
            }
            const bool empty = dice.chance(0.07);
            if (empty) shape[-1] = 0;
            Trial trial = trial_of(dice, shape, 2);
            if (empty) trial.complaint = {"a transform of length 0 of " + to_string(shape)};
            trial.run = [run](Tensors in) { return mixed(run(complex(OP_IN(0), OP_IN(1)))); };
            trial.expect = [axes, inverse](const Arrays& in) {
              return axes == 2 ? fft2d_mixed(in[0], in[1], inverse)
                               : fft_mixed(in[0], in[1], inverse);
            };
            return trial;
          }};
}

Trial rfft_trial(Dice& dice) {
  const Shape shape = dice.shape(1, 2, 40, 1);
  std::optional<std::int64_t> length;
  if (dice.chance(0.4)) length = dice.in(-1, 50);
  Trial trial = trial_of(dice, shape, 1);
  if (length && *length < 1) {
    trial.complaint = {"rfft: a transform of length", std::to_string(*length), to_string(shape)};
  }
  trial.run = [length](Tensors in) { return mixed(rfft(OP_IN(0), length)); };
  trial.expect = [length](const Arrays& in) {
    return rfft_mixed(in[0], length.value_or(in[0].shape[-1]));
  };
  return trial;
}

Trial irfft_trial(Dice& dice) {
  const Shape shape = dice.shape(1, 2, 30, 1);
  std::optional<std::int64_t> length;
  if (dice.chance(0.5)) length = dice.in(-3, 60);
  Trial trial = trial_of(dice, shape, 2);
  if (length && *length < 1) {
    trial.complaint = {"irfft: a transform of length", std::to_string(*length), to_string(shape)};
  }
  trial.run = [length](Tensors in) { return irfft(complex(OP_IN(0), OP_IN(1)), length); };
  trial.expect = [length](const Arrays& in) {
    const std::int64_t size = in[0].shape[-1];
    return irfft_of(in[0], in[1], length.value_or(size == 1 ? 1 : 2 * (size - 1)));
  };
  return trial;
}

Trial frame_trial(Dice& dice) {
  const DType dtype = dice.pick(kAnything);
  const Shape shape = dice.shape(1, 3, 12);
  const std::int64_t length = dice.in(dice.chance(0.2) ? 0 : 1, 5), step = dice.in(1, 5);
  const bool pad = dice.chance(0.5);
  Trial trial;
  trial.inputs = {drawn(dice, shape, dtype)};
  if (length < 1) trial.complaint = {"frame: length 0 and step " + std::to_string(step)};
  trial.run = [=](Tensors in) {
    return frame(OP_IN(0), length, step, {.pad_end = pad, .pad_value = 1});
  };
  trial.expect = [=](const Arrays& in) { return framed(in[0], length, step, pad, 1); };
  trial.result = dtype;
  return trial;
}

Trial overlap_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const Shape shape = dice.shape(dice.chance(0.15) ? 0 : 2, 4);
  const std::int64_t step = dice.in(dice.chance(0.2) ? 0 : 1, 6);
  Trial trial;
  trial.inputs = {drawn(dice, shape, dtype)};
  if (step < 1) trial.complaint = {"overlap_and_add: step 0"};
  if (shape.rank() < 2) trial.complaint = {"overlap_and_add: at least 2 axes", to_string(shape)};
  trial.run = [=](Tensors in) { return overlap_and_add(OP_IN(0), step); };
  trial.expect = [=](const Arrays& in) { return overlapped(in[0], step); };
  trial.result = dtype;
  trial.tolerance = {.ulps = 2, .epsilons = 16};
  return trial;
}

Fuzz window(const char* name, Tensor (*run)(std::int64_t, std::source_location), double mean,
            double swing) {
  return {name, {name}, [=](Dice& dice) {
            const std::int64_t length = dice.in(-2, 20);
            Trial trial;
            if (length < 0) trial.complaint = {name, std::to_string(length)};
            trial.run = [=](Tensors) { return run(length, std::source_location::current()); };
            trial.expect = [=](const Arrays&) {
              return Array{{length}, cosine_window(length, mean, swing)};
            };
            trial.tolerance = {.ulps = 1, .epsilons = 1};
            return trial;
          }};
}

Trial stft_trial(Dice& dice) {
  const Shape shape = dice.shape(1, 2, 40, 1);
  const std::int64_t length = dice.in(1, 12), step = dice.in(1, 6);
  const std::int64_t own = dice.in(1, 12);
  const bool windowed = dice.chance(0.4), sized = dice.chance(0.4);
  Trial trial = trial_of(dice, shape, 1);
  trial.inputs.push_back(drawn(dice, {own}, DType::float32));
  if (windowed && own != length) {
    trial.complaint = {"stft: a window of [" + std::to_string(own) + "]", std::to_string(length)};
  }
  trial.run = [=](Tensors in) {
    StftOptions options;
    if (windowed) options.window = in[1];
    if (sized) options.fft_length = 14;
    return mixed(stft(OP_IN(0), length, step, options));
  };
  trial.expect = [=](const Arrays& in) {
    Array frames = framed(in[0], length, step, false, 0);
    const std::vector<double> window = windowed ? in[1].data : cosine_window(length, 0.5, 0.5);
    for (std::size_t i = 0; i < frames.data.size(); ++i)
      frames.data[i] *= window[i % window.size()];
    std::int64_t power = 1;
    while (power < length) power *= 2;
    return rfft_mixed(frames, sized ? 14 : power);
  };
  return trial;
}

}  // namespace

std::vector<Fuzz> fft_fuzz() {
  return {whole("fft", fft, 1, false),
          whole("ifft", ifft, 1, true),
          whole("fft2d", fft2d, 2, false),
          whole("ifft2d", ifft2d, 2, true),
          {"rfft", {"rfft"}, rfft_trial},
          {"irfft", {"irfft"}, irfft_trial},
          {"frame", {"frame"}, frame_trial},
          {"overlap_and_add", {"overlap_and_add"}, overlap_trial},
          window("hann_window", hann_window, 0.5, 0.5),
          window("hamming_window", hamming_window, 0.54, 0.46),
          {"stft", {"stft"}, stft_trial}};
}

}  // namespace tenure::testing
