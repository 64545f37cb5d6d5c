#include "reference_convolution.h"

#include <algorithm>
#include <cmath>

namespace tenure::testing {
namespace {

std::int64_t option(const Shape& given, int axis, std::int64_t otherwise) {
  if (given.rank() == 0) return otherwise;
  return given.rank() == 1 ? given[0] : given[axis];
}

// One axis: sizes, and where the window of output 0 begins.
struct Line {
  std::int64_t in, out, taps, stride, dilation, first;
};

Line line_of(const ConvOptions& options, int axis, std::int64_t in, std::int64_t taps) {
  Line line{in, 0, taps, option(options.strides, axis, 1), option(options.dilations, axis, 1), 0};
  const double window = static_cast<double>((taps - 1) * line.dilation + 1);
  const auto size = static_cast<double>(in);
  const auto stride = static_cast<double>(line.stride);
  if (options.padding.kind == Padding::same) {
    const double out = std::ceil(size / stride);
    line.out = static_cast<std::int64_t>(out);
    const double padding = std::max(0.0, (out - 1) * stride + window - size);
    line.first = -static_cast<std::int64_t>(std::floor(padding / 2));
    return line;
  }
  const std::int64_t before = option(options.padding.before, axis, 0);
  const std::int64_t after = option(options.padding.after, axis, 0);
  const double count = (size + static_cast<double>(before + after) - window) / stride + 1;
  line.first = -before;
  line.out =
      static_cast<std::int64_t>(options.rounding == Rounding::up        ? std::ceil(count)
                                : options.rounding == Rounding::nearest ? std::floor(count + 0.5)
                                                                        : std::floor(count));
  return line;
}

struct Sizes {
  std::int64_t batch = 1, channels = 1, outputs = 1;
  Line lines[3] = {{1, 1, 1, 1, 1, 0}, {1, 1, 1, 1, 1, 0}, {1, 1, 1, 1, 1, 0}};
  std::int64_t filter_in = 1, filter_out = 1, groups = 1;
};

Sizes sizes_of(const ConvKind& kind, const Shape& x, const Shape& filter) {
  Sizes sizes;
  const bool batched = x.rank() == kind.axes + 2;
  const int front = batched ? 1 : 0;
  const bool first = kind.options.channels_first;
  if (batched) sizes.batch = x[0];
  sizes.channels = x[first ? front : -1];
  for (int axis = 0; axis < kind.axes; ++axis) {
    sizes.lines[3 - kind.axes + axis] =
        line_of(kind.options, axis, x[front + (first ? 1 : 0) + axis], filter[axis]);
  }
  sizes.filter_in = filter[-2];
  sizes.filter_out = filter[-1];
  sizes.groups = kind.options.groups;
  sizes.outputs = kind.depthwise ? sizes.filter_in * sizes.filter_out : sizes.filter_out;
  return sizes;
}

// Where element (image, place, channel) of x or y lies.
std::size_t place_of(std::int64_t image, const std::int64_t (&at)[3], std::int64_t channel,
                     const std::int64_t (&size)[3], std::int64_t channels, bool first) {
  std::int64_t pixel = (at[0] * size[1] + at[1]) * size[2] + at[2];
  const std::int64_t pixels = size[0] * size[1] * size[2];
  return static_cast<std::size_t>(first ? (image * channels + channel) * pixels + pixel
                                        : (image * pixels + pixel) * channels + channel);
}

// fn(place in x, place in the filter, place in y) for every product.
template <class F>
void each_product(const ConvKind& kind, const Shape& x, const Shape& filter, F&& fn) {
  const Sizes s = sizes_of(kind, x, filter);
  const bool first = kind.options.channels_first;
  const std::int64_t in[3] = {s.lines[0].in, s.lines[1].in, s.lines[2].in};
  const std::int64_t out[3] = {s.lines[0].out, s.lines[1].out, s.lines[2].out};
  const Shape outputs{s.batch, out[0], out[1], out[2]};
  const Shape taps{s.lines[0].taps, s.lines[1].taps, s.lines[2].taps};
  each_index(outputs, [&](const Index& o) {
    const std::int64_t to[3] = {o[1], o[2], o[3]};
    std::int64_t tap = -1;
    each_index(taps, [&](const Index& k) {
      ++tap;
      std::int64_t from[3];
      for (int i = 0; i < 3; ++i) {
        const Line& line = s.lines[i];
        from[i] = to[i] * line.stride + line.first + k[static_cast<std::size_t>(i)] * line.dilation;
        if (from[i] < 0 || from[i] >= line.in) return;
      }
      for (std::int64_t c = 0; c < s.filter_in; ++c) {
        for (std::int64_t j = 0; j < s.filter_out; ++j) {
          const std::int64_t y_channel = kind.depthwise ? c * s.filter_out + j : j;
          const std::int64_t group = kind.depthwise ? 0 : j / (s.filter_out / s.groups);
          const std::int64_t x_channel = group * s.filter_in + c;
          fn(place_of(o[0], from, x_channel, in, s.channels, first),
             static_cast<std::size_t>((tap * s.filter_in + c) * s.filter_out + j),
             place_of(o[0], to, y_channel, out, s.outputs, first));
        }
      }
    });
  });
}

}  // namespace

Shape conv_result(const ConvKind& kind, const Shape& x, const Shape& filter) {
  const Sizes sizes = sizes_of(kind, x, filter);
  Shape y;
  if (x.rank() == kind.axes + 2) y.push_back(sizes.batch);
  if (kind.options.channels_first) y.push_back(sizes.outputs);
  for (int axis = 3 - kind.axes; axis < 3; ++axis) y.push_back(sizes.lines[axis].out);
  if (!kind.options.channels_first) y.push_back(sizes.outputs);
  return y;
}

Array conv_of(const ConvKind& kind, const Array& x, const Array& filter) {
  Array y = zero_array(conv_result(kind, x.shape, filter.shape));
  each_product(kind, x.shape, filter.shape, [&](std::size_t i, std::size_t f, std::size_t o) {
    y.data[o] += x.data[i] * filter.data[f];
  });
  return y;
}

Array conv_grad_input_of(const ConvKind& kind, const Array& dy, const Array& filter,
                         const Shape& x_shape) {
  Array dx = zero_array(x_shape);
  each_product(kind, x_shape, filter.shape, [&](std::size_t i, std::size_t f, std::size_t o) {
    dx.data[i] += dy.data[o] * filter.data[f];
  });
  return dx;
}

Array conv_grad_filter_of(const ConvKind& kind, const Array& x, const Array& dy,
                          const Shape& filter_shape) {
  Array df = zero_array(filter_shape);
  each_product(kind, x.shape, filter_shape, [&](std::size_t i, std::size_t f, std::size_t o) {
    df.data[f] += x.data[i] * dy.data[o];
  });
  return df;
}

Array per_channel(const Array& values, const Shape& shape, bool channels_first) {
  if (!channels_first || values.shape.rank() != 1) return broadcasted(values, shape);
  return broadcasted(reshaped(values, {values.shape[0], 1, 1}), shape);
}

Array activated(Activation activation, Array z, double leaky_relu_alpha,
                const Array* prelu_weights) {
  for (std::size_t i = 0; i < z.data.size(); ++i) {
    double& v = z.data[i];
    switch (activation) {
      case Activation::linear:
        break;
      case Activation::relu:
        v = std::max(v, 0.0);
        break;
      case Activation::relu6:
        v = std::min(std::max(v, 0.0), 6.0);
        break;
      case Activation::elu:
        v = v > 0 ? v : std::expm1(v);
        break;
      case Activation::leaky_relu:
        v = v > 0 ? v : v * leaky_relu_alpha;
        break;
      case Activation::prelu:
        v = v > 0 ? v : v * prelu_weights->data[i];
        break;
      case Activation::sigmoid:
        v = 1 / (1 + std::exp(-v));
        break;
      case Activation::tanh:
        v = std::tanh(v);
        break;
      case Activation::hard_sigmoid:
        v = std::clamp(0.2 * v + 0.5, 0.0, 1.0);
        break;
    }
  }
  return z;
}

}  // namespace tenure::testing
