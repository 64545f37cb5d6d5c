// Fourier transforms over the last axis, and the frames a signal is cut into for them.
//
// fft is a matrix F, symmetric and with F^H F = n, so its gradient is n ifft(dy) and ifft's
// fft(dy) / n. rfft keeps half of a real signal's spectrum: a value in the kept half stands for its
// mirror image too, which is where the factors 2 and 1/2 in the gradients come from. Only the value
// at 0, and the last one if the length is even, is its own mirror image.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/count.h"
#include "core/raise.h"
#include "memory/context.h"
#include "ops/call.h"
#include "ops/complex.h"
#include "ops/families.h"
#include "ops/fft_attrs.h"
#include "ops/promote.h"
#include "ops/round_once.h"
#include "tensor/access.h"
#include "tensor/create.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

constexpr std::int64_t kMostLength = std::numeric_limits<int>::max() / 4;

void check_length(const char* op, const Shape& shape, std::int64_t length) {
  if (length < 1 || length > kMostLength) {
    raise<ShapeError>("{}: a transform of length {} of {}", op, length, shape);
  }
}

void check_rank(const char* op, const Shape& shape, int least) {
  if (shape.rank() < least) {
    raise<ShapeError>("{}: at least {} axes are needed: {}", op, least, shape);
  }
}

void transform(Infer& infer) {
  check_rank(infer.op, infer.shape(0), 1);
  check_length(infer.op, infer.shape(0), infer.shape(0)[-1]);
  infer.result(infer.shape(0), DType::complex64);
}

void half_transform(Infer& infer) {
  Shape shape = infer.shape(0);
  shape[-1] = infer.attrs.as<FourierAttrs>().length / 2 + 1;
  infer.result(std::move(shape), DType::complex64);
}

void half_inverse(Infer& infer) {
  Shape shape = infer.shape(0);
  shape[-1] = infer.attrs.as<FourierAttrs>().length;
  infer.result(std::move(shape), DType::float32);
}

double last_size(const Shape& shape) { return static_cast<double>(shape[-1]); }

// `inner` for every value of a half spectrum of a signal of `length`, 1 for those that have no
// mirror image.
Tensor mirror_weights(std::int64_t length, float inner) {
  std::vector<float> weights(static_cast<std::size_t>(length / 2 + 1), inner);
  weights.front() = 1;
  if (length % 2 == 0) weights.back() = 1;
  return tensor(weights);
}

constinit const OpDef kFft{
    .name = "fft",
    .infer = transform,
    .tfjs = "FFT(input)",
    .takes = Takes::complexes,
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads { return ifft(g.dy()) * last_size(g.x_shape()); }};

constinit const OpDef kIfft{
    .name = "ifft",
    .infer = transform,
    .tfjs = "IFFT(input)",
    .takes = Takes::complexes,
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads { return fft(g.dy()) / last_size(g.x_shape()); }};

constinit const OpDef kRfft{.name = "rfft",
                            .infer = half_transform,
                            .grad_keeps = kNothing,
                            .grad = [](GradContext& g) -> Grads {
                              const std::int64_t length = g.attrs_as<FourierAttrs>().length;
                              const Tensor weights =
                                  mirror_weights(length, 0.5F) * static_cast<double>(length);
                              return irfft(g.dy() * weights, length);
                            }};

constinit const OpDef kIrfft{.name = "irfft",
                             .infer = half_inverse,
                             .grad_keeps = kNothing,
                             .grad = [](GradContext& g) -> Grads {
                               const std::int64_t length = g.attrs_as<FourierAttrs>().length;
                               return rfft(g.dy()) *
                                      (mirror_weights(length, 2) / static_cast<double>(length));
                             }};

extern constinit const OpDef kOverlapAndAdd;

std::int64_t frame_count(std::int64_t size, const FrameAttrs& attrs) {
  return size < attrs.length ? 0 : (size - attrs.length) / attrs.step + 1;
}

constinit const OpDef kFrame{.name = "frame",
                             .infer =
                                 [](Infer& infer) {
                                   const auto& attrs = infer.attrs.as<FrameAttrs>();
                                   Shape shape = infer.shape(0);
                                   shape[-1] = frame_count(shape[-1], attrs);
                                   shape.push_back(attrs.length);
                                   infer.result(std::move(shape), infer.dtype(0));
                                 },
                             .view =
                                 [](const Layout& in, AttrsRef attrs, Layout& out) {
                                   out.offset = in.offset;
                                   const int last = in.shape.rank() - 1;
                                   for (int axis = 0; axis < last; ++axis)
                                     out.strides[axis] = in.strides[axis];
                                   out.strides[last] = in.strides[last];
                                   if (out.shape[last] > 1)
                                     out.strides[last] *= attrs.as<FrameAttrs>().step;
                                   out.strides[last + 1] = in.strides[last];
                                   return true;
                                 },
                             .grad_keeps = kNothing,
                             .grad = [](GradContext& g) -> Grads {
                               const OverlapAttrs attrs{g.attrs_as<FrameAttrs>().step,
                                                        g.x_shape()[-1]};
                               return apply(kOverlapAndAdd, g.dy(), ref(attrs));
                             }};

constinit const OpDef kOverlapAndAdd{
    .name = "overlap_and_add",
    .infer =
        [](Infer& infer) {
          const Shape& frames = infer.shape(0);
          Shape shape(frames.dims().first(static_cast<std::size_t>(frames.rank()) - 1));
          shape[-1] = infer.attrs.as<OverlapAttrs>().length;
          infer.result(std::move(shape), infer.dtype(0));
        },
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads {
      const Shape& shape = g.x_shape();
      const auto& attrs = g.attrs_as<OverlapAttrs>();
      Tensor frames = frame(g.dy(), shape[-1], attrs.step);
      Shape begin = Shape::filled(shape.rank(), 0);
      return slice(std::move(frames), begin, shape);
    }};

// The last axis cut or padded with `value` to `length`.
Tensor fitted(Tensor x, std::int64_t length, double value = 0) {
  Shape shape = x.shape();
  const std::int64_t size = shape[-1];
  if (size == length) return x;
  if (size > length) {
    shape[-1] = length;
    return slice(std::move(x), Shape::filled(shape.rank(), 0), shape);
  }
  shape[-1] = length - size;
  const Tensor padding = full(shape, value, x.dtype());
  return concat({std::move(x), padding}, -1);
}

// Over the last axis, and over the one before it as the last of the transpose.
Tensor both_axes(const char* name, Tensor (*run)(Arg), Arg& x) {
  const detail::UserLine site(x.site());
  const detail::CallScope call(name, site);
  Tensor z = as_complex(name, std::move(x));
  check_rank(name, z.shape(), 2);
  Axes swapped = all_axes(z.shape());
  std::swap(swapped[-1], swapped[-2]);
  z = run(transpose(run(std::move(z)), swapped));
  return transpose(std::move(z), swapped);
}

Tensor cosine_window(const char* name, std::int64_t length, double mean, double swing,
                     std::source_location site) {
  const detail::CallScope call(name, site);
  if (length < 0) raise<ShapeError>("{}: a negative length: {}", name, length);
  detail::check_shape(name, {length}, DType::float32);
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(length));
  const auto period = static_cast<double>(length % 2 == 0 ? length : length - 1);
  for (std::int64_t i = 0; i < length; ++i) {
    const double turn = length == 1 ? 0.5 : static_cast<double>(i) / period;
    values.push_back(static_cast<float>(mean - swing * std::cos(2 * std::numbers::pi * turn)));
  }
  return tensor(values, site);
}

constexpr Composite kFftComposites[] = {
    {"fft2d", nullptr, "fft, transpose"},  {"ifft2d", nullptr, "ifft, transpose"},
    {"hann_window", nullptr, "tensor"},    {"hamming_window", nullptr, "tensor"},
    {"stft", nullptr, "frame, mul, rfft"},
};

}  // namespace

Family fft_ops() {
  static constexpr const OpDef* ops[] = {&kFft, &kIfft, &kRfft, &kIrfft, &kFrame, &kOverlapAndAdd};
  return {ops, kFftComposites};
}

}  // namespace ops

using namespace ops;

Tensor fft(Arg x) { return call(kFft, std::move(x)); }
Tensor ifft(Arg x) { return call(kIfft, std::move(x)); }
Tensor fft2d(Arg x) { return both_axes("fft2d", fft, x); }
Tensor ifft2d(Arg x) { return both_axes("ifft2d", ifft, x); }

Tensor rfft(Arg x, std::optional<std::int64_t> length) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("rfft", site);
  Tensor signal = as_float("rfft", std::move(x));
  check_rank("rfft", signal.shape(), 1);
  const FourierAttrs attrs{length.value_or(signal.dim(-1))};
  check_length("rfft", signal.shape(), attrs.length);
  signal = operand_as("rfft", 0, std::move(signal), DType::float32, site);
  return apply(kRfft, ref(attrs), site, fitted(std::move(signal), attrs.length));
}

Tensor irfft(Arg x, std::optional<std::int64_t> length) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("irfft", site);
  Tensor spectrum = as_complex("irfft", std::move(x));
  check_rank("irfft", spectrum.shape(), 1);
  const std::int64_t size = spectrum.dim(-1);
  const FourierAttrs attrs{length.value_or(size == 1 ? 1 : 2 * (size - 1))};
  check_length("irfft", spectrum.shape(), attrs.length);
  return apply(kIrfft, ref(attrs), site, fitted(std::move(spectrum), attrs.length / 2 + 1));
}

Tensor frame(Arg signal, std::int64_t length, std::int64_t step, FrameOptions options) {
  const detail::UserLine site(signal.site());
  const detail::CallScope call("frame", site);
  Tensor x = as_tensor("frame", std::move(signal));
  check_rank("frame", x.shape(), 1);
  if (length < 1 || step < 1) {
    raise<ShapeError>("frame: length {} and step {} must be above 0", length, step);
  }
  if (options.pad_end) {
    if (x.dim(-1) > 0) {
      const std::int64_t last = (x.dim(-1) - 1) / step * step;  // where the last frame begins
      x = fitted(std::move(x), count_sum(last, length), options.pad_value);
    }
  }
  return apply(kFrame, ref(FrameAttrs{length, step}), site, std::move(x));
}

Tensor overlap_and_add(Arg frames, std::int64_t step) {
  const detail::UserLine site(frames.site());
  Tensor x = as_tensor("overlap_and_add", std::move(frames));
  check_rank("overlap_and_add", x.shape(), 2);
  if (step < 1) raise<ShapeError>("overlap_and_add: step {} must be above 0", step);
  const std::int64_t count = x.dim(-2);
  const OverlapAttrs attrs{step,
                           count == 0 ? 0 : count_sum(count_product(count - 1, step), x.dim(-1))};
  return apply(kOverlapAndAdd, ref(attrs), site, std::move(x));
}

Tensor hann_window(std::int64_t length, std::source_location site) {
  return cosine_window("hann_window", length, 0.5, 0.5, site);
}
Tensor hamming_window(std::int64_t length, std::source_location site) {
  return cosine_window("hamming_window", length, 0.54, 0.46, site);
}

Tensor stft(Arg signal, std::int64_t frame_length, std::int64_t frame_step, StftOptions options) {
  const detail::UserLine site(signal.site());
  const detail::CallScope call("stft", site);
  Tensor x = as_tensor("stft", std::move(signal));
  const RoundOnce widened("stft", x, site);
  Tensor frames = frame(Arg(std::move(x), site), frame_length, frame_step);
  const Tensor window = options.window.defined() ? options.window : hann_window(frame_length, site);
  if (window.shape() != Shape{frame_length}) {
    raise<ShapeError>("stft: a window of {} for frames of {}", window.shape(), frame_length);
  }
  const auto next =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(frame_length)));
  return rfft(std::move(frames) * window, options.fft_length.value_or(next));
}

}  // namespace tenure
