#include "fuzz.h"
#include "reference_convolution.h"

namespace tenure::testing {
namespace {

const Tolerance kTolerance{.ulps = 64, .epsilons = 400};
const Input kUnit{.low = -1, .high = 1};

// A convolution that fits: options, and shapes as the user gives them.
struct ConvolutionDrawing {
  ConvKind kind;
  Shape x, filter, y;
  bool batched = true;
};

ConvolutionDrawing draw_conv(Dice& dice, int axes, bool depthwise) {
  ConvolutionDrawing drawing;
  drawing.kind = {.axes = axes, .depthwise = depthwise};
  ConvOptions& options = drawing.kind.options;
  options.channels_first = dice.chance(0.3);
  if (dice.chance(0.6)) {
    const bool one = dice.chance(0.3);
    for (int i = 0; i < (one ? 1 : axes); ++i) options.strides.push_back(dice.in(1, 3));
  }
  if (dice.chance(0.4)) {
    for (int i = 0; i < axes; ++i) options.dilations.push_back(dice.in(1, 3));
  }
  if (dice.chance(0.4)) {
    options.padding = Padding::same;
  } else if (dice.chance(0.5)) {
    options.padding = dice.in(0, 2);
    if (dice.chance(0.5)) {
      options.padding = Padding::valid;
      options.padding.kind = Padding::given;
      for (int i = 0; i < axes; ++i) {
        options.padding.before.push_back(dice.in(0, 3));
        options.padding.after.push_back(dice.in(0, 3));
      }
    }
  }
  if (options.padding.kind != Padding::same) {
    options.rounding = static_cast<Rounding>(dice.in(0, 2));
  }
  Shape spatial;
  for (int i = 0; i < axes; ++i) {
    const std::int64_t taps = dice.in(1, 4);
    drawing.filter.push_back(taps);
    const std::int64_t window =
        (taps - 1) * (options.dilations.rank() > 0 ? options.dilations[i] : 1) + 1;
    const std::int64_t least = options.padding.kind == Padding::same ? 1 : window;
    spatial.push_back(dice.in(least, std::max(least, std::int64_t{axes == 3 ? 4 : 7})));
  }
  if (!depthwise && dice.chance(0.2)) options.groups = dice.in(2, 3);
  const std::int64_t most = dice.chance(0.1) ? 40 : 5;
  const std::int64_t depth = dice.in(1, most);
  drawing.filter.push_back(depth);
  drawing.filter.push_back(dice.in(1, depthwise ? 3 : most) * options.groups);
  drawing.batched = dice.chance(0.8);
  if (drawing.batched) drawing.x.push_back(dice.chance(0.03) ? 0 : dice.in(1, 2));
  if (options.channels_first) drawing.x.push_back(depth * options.groups);
  for (const std::int64_t size : spatial) drawing.x.push_back(size);
  if (!options.channels_first) drawing.x.push_back(depth * options.groups);
  drawing.y = conv_result(drawing.kind, drawing.x, drawing.filter);
  return drawing;
}

// Makes the drawing one that does not fit, and says what the error must name.
std::vector<std::string> spoil(Dice& dice, ConvolutionDrawing& drawing, const std::string& op) {
  ConvOptions& options = drawing.kind.options;
  const int axes = drawing.kind.axes;
  const int channels = options.channels_first ? (drawing.batched ? 1 : 0) : drawing.x.rank() - 1;
  switch (dice.in(0, 5)) {
    case 0:
      drawing.x[channels] += 1;
      return {op + ": the input has " + std::to_string(drawing.x[channels]) + " channels",
              to_string(drawing.x), to_string(drawing.filter)};
    case 1:
      drawing.filter.push_back(1);
      return {op + ": the filter needs " + std::to_string(axes + 2) + " axes",
              to_string(drawing.filter)};
    case 2:
      options.strides = {0};
      return {op + ": strides must be at least 1", "[0]"};
    case 3:
      options.dilations = Shape::filled(axes + 1, 2);
      return {op + ": dilations " + to_string(options.dilations) + " are for " +
              std::to_string(axes + 1) + " axes"};
    case 4:
      options.padding = Padding::valid;
      options.rounding = Rounding::down;
      options.dilations = {};
      drawing.filter[0] = 20;
      return {op + ": a window of 20 does not fit", to_string(drawing.x),
              to_string(drawing.filter)};
    default:
      options.groups = 0;
      return {op + ": groups must be ", ": 0"};
  }
}

using Conv = Tensor (*)(Arg, Arg, const ConvOptions&);
using ConvGrad = Tensor (*)(Arg, Arg, const Shape&, const ConvOptions&);

Trial trial_of(Dice& dice, const Shapes& shapes) {
  Trial trial;
  trial.tolerance = kTolerance;
  trial.result = dice.chance(0.5) ? DType::float32 : DType::float64;
  for (const Shape& shape : shapes) {
    trial.inputs.push_back(drawn(dice, shape, trial.result, kUnit));
  }
  return trial;
}

Fuzz fuzz_conv(const char* name, int axes, bool depthwise, Conv run) {
  return {name, {name}, [=](Dice& dice) {
            ConvolutionDrawing d = draw_conv(dice, axes, depthwise);
            std::vector<std::string> complaint;
            if (dice.chance(0.12)) complaint = spoil(dice, d, name);
            Trial trial = trial_of(dice, {d.x, d.filter});
            trial.complaint = complaint;
            trial.run = [run, d](Tensors in) { return run(OP_IN(0), OP_IN(1), d.kind.options); };
            trial.expect = [d](const Arrays& in) { return conv_of(d.kind, in[0], in[1]); };
            return trial;
          }};
}

// A gradient of the input, from dy and the filter, or of the filter, from the input and dy.
enum class Gradient { input, filter };

// The result's shape is an argument; refused is a gradient of another shape.
Fuzz fuzz_grad(Gradient of, const char* name, int axes, bool depthwise, ConvGrad run) {
  return {name, {name}, [=](Dice& dice) {
            const bool of_input = of == Gradient::input;
            ConvolutionDrawing d = draw_conv(dice, axes, depthwise);
            std::vector<std::string> complaint;
            if (dice.chance(0.08)) {
              complaint = spoil(dice, d, name);
            } else if (dice.chance(0.08)) {
              const std::string expected = to_string(d.y);
              d.y[of_input ? -2 : -1] += 1;
              complaint = {std::string(name) + ": a convolution of " + to_string(d.x) + " with " +
                               to_string(d.filter) + " gives " + expected,
                           "not " + to_string(d.y)};
            }
            Trial trial = trial_of(dice, of_input ? Shapes{d.y, d.filter} : Shapes{d.x, d.y});
            trial.complaint = complaint;
            trial.run = [=](Tensors in) {
              return run(OP_IN(0), OP_IN(1), of_input ? d.x : d.filter, d.kind.options);
            };
            trial.expect = [=](const Arrays& in) {
              return of_input ? conv_grad_input_of(d.kind, in[0], in[1], d.x)
                              : conv_grad_filter_of(d.kind, in[0], in[1], d.filter);
            };
            return trial;
          }};
}

Trial separable_trial(Dice& dice) {
  const std::string name = "separable_conv2d";
  ConvolutionDrawing d = draw_conv(dice, 2, true);
  Shape pointwise{1, 1, d.filter[2] * d.filter[3], dice.in(1, 5)};
  std::vector<std::string> complaint;
  if (dice.chance(0.05)) {
    complaint = spoil(dice, d, name);
  } else if (dice.chance(0.1)) {
    if (dice.chance(0.5)) {
      pointwise[0] = 2;
      complaint = {name + ": the pointwise filter is not", to_string(pointwise)};
    } else {
      pointwise[2] += 1;
      complaint = {
          name + ": the depthwise filter gives " + std::to_string(pointwise[2] - 1) + " channels",
          to_string(d.filter), to_string(pointwise)};
    }
  }
  Trial trial = trial_of(dice, {d.x, d.filter, pointwise});
  trial.complaint = complaint;
  trial.run = [d](Tensors in) {
    return separable_conv2d(OP_IN(0), OP_IN(1), OP_IN(2), d.kind.options);
  };
  trial.expect = [d](const Arrays& in) {
    const ConvKind all{.axes = 2, .options = {.channels_first = d.kind.options.channels_first}};
    return conv_of(all, conv_of(d.kind, in[0], in[1]), in[2]);
  };
  return trial;
}

// Bias and prelu's weights of a fused op, drawn to broadcast to `y`.
struct Tail {
  Activation activation = Activation::linear;
  bool bias = false;
  double alpha = 0.2;
  std::vector<std::string> complaint = {};
};

Shape tail_shape(Dice& dice, const Shape& y, std::int64_t channels) {
  const Shape narrow = dice.narrowed(y);
  return narrow.rank() == 1 || dice.chance(0.6) ? Shape{channels} : narrow;
}

Tail add_tail(Dice& dice, const std::string& op, const Shape& y, std::int64_t channels,
              Shapes& shapes) {
  Tail tail{.activation = static_cast<Activation>(dice.in(0, 8)), .bias = dice.chance(0.7)};
  if (dice.chance(0.1)) tail.alpha = -0.3;
  if (tail.bias) shapes.push_back(tail_shape(dice, y, channels));
  if (tail.activation == Activation::prelu) shapes.push_back(tail_shape(dice, y, channels));
  if (tail.bias && dice.chance(0.1)) {
    Shape& bias = shapes[2];
    bias = {channels + 1, channels + 2, channels + 3, channels + 4, channels + 5};
    tail.complaint = {op + ": the bias " + to_string(bias) + " does not broadcast to",
                      to_string(y)};
  }
  return tail;
}

FusedOptions options_of(const Tail& tail, Tensors& in) {
  FusedOptions fused{.activation = tail.activation, .leaky_relu_alpha = tail.alpha};
  if (tail.bias) fused.bias = OP_IN(2);
  if (tail.activation == Activation::prelu) fused.prelu_weights = std::move(in.back());
  return fused;
}

Array finished(const Tail& tail, Array z, const Arrays& in, bool channels_first) {
  if (tail.bias) {
    const Array bias = per_channel(in[2], z.shape, channels_first);
    for (std::size_t i = 0; i < z.data.size(); ++i) z.data[i] += bias.data[i];
  }
  if (tail.activation != Activation::prelu) {
    return activated(tail.activation, std::move(z), tail.alpha, nullptr);
  }
  const Array prelu = per_channel(in.back(), z.shape, channels_first);
  return activated(tail.activation, std::move(z), tail.alpha, &prelu);
}

Fuzz fuzz_fused(const char* name, bool depthwise,
                Tensor (*run)(Arg, Arg, const FusedOptions&, const ConvOptions&)) {
  return {name, {name}, [=](Dice& dice) {
            ConvolutionDrawing d = draw_conv(dice, 2, depthwise);
            const bool first = d.kind.options.channels_first;
            Shapes shapes{d.x, d.filter};
            Tail tail = add_tail(dice, name, d.y, d.y[first ? -3 : -1], shapes);
            if (tail.complaint.empty() && dice.chance(0.08)) {
              tail.complaint = spoil(dice, d, name);
              shapes[0] = d.x;
              shapes[1] = d.filter;
            }
            Trial trial = trial_of(dice, shapes);
            trial.complaint = tail.complaint;
            trial.run = [run, d, tail](Tensors in) {
              const FusedOptions fused = options_of(tail, in);
              return run(OP_IN(0), OP_IN(1), fused, d.kind.options);
            };
            trial.expect = [d, tail, first](const Arrays& in) {
              return finished(tail, conv_of(d.kind, in[0], in[1]), in, first);
            };
            return trial;
          }};
}

Trial fused_matmul_trial(Dice& dice) {
  const std::string name = "fused_matmul";
  const std::int64_t m = dice.in(1, 7), k = dice.in(1, 9), n = dice.in(1, 20);
  const MatmulOptions options{dice.chance(0.3), dice.chance(0.3)};
  Shape a = options.transpose_a ? Shape{k, m} : Shape{m, k};
  const Shape b = options.transpose_b ? Shape{n, k} : Shape{k, n};
  Shapes shapes{a, b};
  Tail tail = add_tail(dice, name, {m, n}, n, shapes);
  if (tail.complaint.empty() && dice.chance(0.1)) {
    shapes[0][options.transpose_a ? 0 : 1] += 1;
    tail.complaint = {"inner dimensions differ", to_string(shapes[0]), to_string(b)};
  }
  Trial trial = trial_of(dice, shapes);
  trial.complaint = tail.complaint;
  trial.run = [options, tail](Tensors in) {
    const FusedOptions fused = options_of(tail, in);
    return fused_matmul(OP_IN(0), OP_IN(1), fused, options);
  };
  trial.expect = [options, tail](const Arrays& in) {
    return finished(tail, multiplied(in[0], in[1], options.transpose_a, options.transpose_b), in,
                    false);
  };
  return trial;
}

}  // namespace

std::vector<Fuzz> convolution_fuzz() {
  return {
      fuzz_conv("conv1d", 1, false, conv1d),
      fuzz_conv("conv2d", 2, false, conv2d),
      fuzz_conv("conv3d", 3, false, conv3d),
      fuzz_conv("depthwise_conv2d", 2, true, depthwise_conv2d),
      fuzz_grad(Gradient::input, "conv1d_grad_input", 1, false, conv1d_grad_input),
      fuzz_grad(Gradient::input, "conv2d_grad_input", 2, false, conv2d_grad_input),
      fuzz_grad(Gradient::input, "conv3d_grad_input", 3, false, conv3d_grad_input),
      fuzz_grad(Gradient::input, "depthwise_conv2d_grad_input", 2, true,
                depthwise_conv2d_grad_input),
      fuzz_grad(Gradient::input, "conv1d_transpose", 1, false, conv1d_transpose),
      fuzz_grad(Gradient::input, "conv2d_transpose", 2, false, conv2d_transpose),
      fuzz_grad(Gradient::input, "conv3d_transpose", 3, false, conv3d_transpose),
      fuzz_grad(Gradient::filter, "conv1d_grad_filter", 1, false, conv1d_grad_filter),
      fuzz_grad(Gradient::filter, "conv2d_grad_filter", 2, false, conv2d_grad_filter),
      fuzz_grad(Gradient::filter, "conv3d_grad_filter", 3, false, conv3d_grad_filter),
      fuzz_grad(Gradient::filter, "depthwise_conv2d_grad_filter", 2, true,
                depthwise_conv2d_grad_filter),
      {"separable_conv2d", {"separable_conv2d"}, separable_trial},
      fuzz_fused("fused_conv2d", false, fused_conv2d),
      fuzz_fused("fused_depthwise_conv2d", true, fused_depthwise_conv2d),
      {"fused_matmul", {"fused_matmul"}, fused_matmul_trial},
  };
}

}  // namespace tenure::testing
