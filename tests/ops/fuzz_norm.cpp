#include "fuzz.h"
#include "ops/apply.h"
#include "ops/norm_attrs.h"
#include "reference_norm.h"

namespace tenure::testing {
namespace {

constexpr Tolerance kFew{.ulps = 64, .epsilons = 1024};
const Input kVariance{.low = 0.25, .high = 2};

std::string out_of_range(int axis, const Shape& shape) {
  return "axis " + std::to_string(axis) + " out of range for " + to_string(shape);
}

// Whether a trial has a scale and an offset, which follow the inputs it always has.
struct Affine {
  bool scaled;
  bool shifted;
  explicit Affine(Dice& dice) : scaled(dice.chance(0.6)), shifted(dice.chance(0.6)) {}

  void draw(Dice& dice, Trial& trial, const Shape& shape, DType dtype) const {
    if (scaled) trial.inputs.push_back(drawn(dice, shape, dtype));
    if (shifted) trial.inputs.push_back(drawn(dice, shape, dtype));
  }
  template <class Options>
  void set(Options& options, Tensors& in, std::size_t first) const {
    if (shifted) options.offset = std::move(in.back());
    if (scaled) options.scale = std::move(in[first]);
  }
  Array scale(const Arrays& in, std::size_t first) const { return scaled ? in[first] : Array{}; }
  Array offset(const Arrays& in) const { return shifted ? in.back() : Array{}; }
};

Trial batch_training_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const Shape shape = dice.shape(1, 4, dice.chance(0.2) ? 30 : 5, 1);
  int axis = dice.axis(shape.rank());
  const Affine affine(dice);
  const int result = static_cast<int>(dice.in(0, 2));
  Trial trial;
  Shape features{shape[axis]};
  if (dice.chance(0.15)) {
    if ((affine.scaled || affine.shifted) && dice.chance(0.5)) {
      features[0] += 1;
      trial.complaint = {std::string("batch_norm_training: the ") +
                             (affine.scaled ? "scale" : "offset") + " is " + to_string(features),
                         to_string(shape)};
    } else {
      axis = shape.rank();
      trial.complaint = {"batch_norm_training: " + out_of_range(axis, shape)};
    }
  }
  trial.inputs = {drawn(dice, shape, dtype)};
  affine.draw(dice, trial, features, dtype);
  trial.run = [axis, affine, result](Tensors in) {
    BatchNormOptions options{.axis = axis, .epsilon = 0.02};
    affine.set(options, in, 1);
    BatchNormalized all = batch_norm_training(OP_IN(0), options);
    return result == 0 ? all.output : result == 1 ? all.mean : all.variance;
  };
  trial.expect = [axis, affine, result](const Arrays& in) {
    const Array mean = batch_mean(in[0], axis), variance = batch_variance(in[0], axis);
    if (result != 0) return result == 1 ? mean : variance;
    return batch_normed(in[0], mean, variance, affine.scale(in, 1), affine.offset(in), axis, 0.02);
  };
  trial.result = dtype;
  trial.tolerance = kFew;
  return trial;
}

Trial batch_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const Shape shape = dice.shape(1);
  int axis = dice.axis(shape.rank());
  const Affine affine(dice);
  Trial trial;
  const Shape features{shape[axis]};
  Shape of_variance = features;
  // Moments that broadcast with features last need not be vectors.
  const bool wide = axis == shape.rank() - 1 && dice.chance(0.3);
  if (wide) of_variance = Shape{1, features[0]};
  if (dice.chance(0.15)) {
    if (dice.chance(0.5)) {
      of_variance = Shape{features[0] + 1};
      trial.complaint = {"batch_norm: the variance is " + to_string(of_variance),
                         std::to_string(features[0]) + " features of " + to_string(shape)};
    } else {
      axis = -shape.rank() - 1;
      trial.complaint = {"batch_norm: " + out_of_range(axis, shape)};
    }
  }
  if (wide && shape.rank() == 1 && trial.complaint.empty()) of_variance = features;
  trial.inputs = {drawn(dice, shape, dtype), drawn(dice, features, dtype),
                  drawn(dice, of_variance, dtype, kVariance)};
  affine.draw(dice, trial, features, dtype);
  trial.run = [axis, affine](Tensors in) {
    BatchNormOptions options{.axis = axis, .epsilon = 0.02};
    affine.set(options, in, 3);
    return batch_norm(OP_IN(0), OP_IN(1), OP_IN(2), options);
  };
  trial.expect = [axis, affine](const Arrays& in) {
    return batch_normed(in[0], in[1], in[2], affine.scale(in, 3), affine.offset(in), axis, 0.02);
  };
  trial.result = dtype;
  trial.tolerance = kFew;
  return trial;
}

Trial batch_gradient_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const Shape shape = dice.shape(1, 4, dice.chance(0.2) ? 30 : 5, 1);
  const auto axis = static_cast<int>(dice.in(0, shape.rank() - 1));
  const int result = static_cast<int>(dice.in(0, 2));
  const bool scaled = dice.chance(0.5);
  Trial trial;
  Shape of_x = shape, of_mean{shape[axis]};
  if (dice.chance(0.15)) {
    if (dice.chance(0.5)) {
      of_x.push_back(1);
      trial.complaint = {"batch_norm_grad: the input is " + to_string(of_x), to_string(shape)};
    } else {
      of_mean[0] += 2;
      trial.complaint = {"batch_norm_grad: the mean is " + to_string(of_mean), to_string(shape)};
    }
  }
  const Shape features{shape[axis]};
  trial.inputs = {drawn(dice, shape, dtype),    drawn(dice, of_x, dtype),
                  drawn(dice, of_mean, dtype),  drawn(dice, features, dtype, kVariance),
                  drawn(dice, features, dtype), drawn(dice, features, dtype)};
  if (scaled) trial.inputs.push_back(drawn(dice, features, dtype));
  const ops::BatchNormAttrs attrs{axis, 0.02, scaled, true};
  trial.run = [attrs, result](Tensors in) {
    Tensors out(3);
    ops::apply_into(op_named("batch_norm_grad"), in, ops::ref(attrs),
                    std::source_location::current(), out);
    return out[static_cast<std::size_t>(result)];
  };
  trial.expect = [axis, result](const Arrays& in) {
    return batch_gradient(in, axis, 0.02, result);
  };
  trial.result = dtype;
  trial.tolerance = {.ulps = 64, .epsilons = 8192};
  return trial;
}

Shape sizes_of(const Shape& shape, const Axes& axes) {
  Shape sizes;
  for (const std::int64_t axis : axes) sizes.push_back(shape[static_cast<int>(axis)]);
  return sizes;
}

// For layer_norm and rms_norm: axes, of which at least one, and what they say of a wrong one.
Axes some_axes(Dice& dice, const Shape& shape) {
  Axes axes = dice.axes(shape.rank());
  if (axes.rank() == 0) axes.push_back(dice.axis(shape.rank()));
  return axes;
}

Trial layer_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const Shape shape = dice.shape(1, 4, dice.chance(0.2) ? 30 : 5);
  Axes axes = some_axes(dice, shape);
  const Affine affine(dice);
  Trial trial;
  Shape sizes = sizes_of(shape, normal(axes, shape));
  if (dice.chance(0.15)) {
    if (affine.scaled && dice.chance(0.5)) {
      sizes.push_back(3);
      trial.complaint = {"layer_norm: the scale is " + to_string(sizes)};
    } else if (dice.chance(0.5)) {
      axes = {};
      trial.complaint = {"layer_norm: no axes to normalise of " + to_string(shape)};
    } else {
      axes.push_back(shape.rank());
      trial.complaint = {"layer_norm: " + out_of_range(shape.rank(), shape)};
    }
  }
  trial.inputs = {drawn(dice, shape, dtype)};
  affine.draw(dice, trial, sizes, dtype);
  trial.run = [axes, affine](Tensors in) {
    LayerNormOptions options{.axes = axes, .epsilon = 0.02};
    affine.set(options, in, 1);
    return layer_norm(OP_IN(0), options);
  };
  trial.expect = [axes, affine](const Arrays& in) {
    return layer_normed(in[0], affine.scale(in, 1), affine.offset(in), normal(axes, in[0].shape),
                        0.02);
  };
  trial.result = dtype;
  trial.tolerance = kFew;
  return trial;
}

Trial layer_gradient_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const Shape shape = dice.shape(1, 4, dice.chance(0.2) ? 30 : 5, 1);
  const auto axes = static_cast<int>(dice.in(1, shape.rank()));
  const int result = static_cast<int>(dice.in(0, 2));
  const bool scaled = dice.chance(0.5);
  Trial trial;
  Shape of_x = shape;
  if (dice.chance(0.15)) {
    of_x[0] += 1;
    trial.complaint = {"layer_norm_grad: the input is " + to_string(of_x), to_string(shape)};
  }
  trial.inputs = {drawn(dice, shape, dtype), drawn(dice, of_x, dtype)};
  if (scaled) {
    const Shape sizes(shape.dims().last(static_cast<std::size_t>(axes)));
    trial.inputs.push_back(drawn(dice, sizes, dtype));
  }
  const ops::LayerNormAttrs attrs{axes, 0.02, scaled, true};
  trial.run = [attrs, result](Tensors in) {
    Tensors out(3);
    ops::apply_into(op_named("layer_norm_grad"), in, ops::ref(attrs),
                    std::source_location::current(), out);
    return out[static_cast<std::size_t>(result)];
  };
  trial.expect = [axes, result](const Arrays& in) {
    return layer_gradient(in, axes, 0.02, result);
  };
  trial.result = dtype;
  trial.tolerance = {.ulps = 64, .epsilons = 8192};
  return trial;
}

Trial rms_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const Shape shape = dice.shape(1);
  const Axes axes = some_axes(dice, shape);
  const bool scaled = dice.chance(0.6);
  Trial trial;
  Shape sizes = sizes_of(shape, normal(axes, shape));
  double epsilon = 0.02;
  if (dice.chance(0.15)) {
    if (scaled && dice.chance(0.5)) {
      sizes.push_back(2);
      trial.complaint = {"rms_norm: the scale is " + to_string(sizes), to_string(shape)};
    } else {
      epsilon = -0.5;
      trial.complaint = {"rms_norm: an epsilon below zero: -0.5"};
    }
  }
  trial.inputs = {drawn(dice, shape, dtype)};
  if (scaled) trial.inputs.push_back(drawn(dice, sizes, dtype));
  trial.run = [axes, epsilon](Tensors in) {
    RmsNormOptions options{.axes = axes, .epsilon = epsilon};
    if (in.size() > 1) options.scale = OP_IN(1);
    return rms_norm(OP_IN(0), options);
  };
  trial.expect = [axes, epsilon](const Arrays& in) {
    return rms_normed(in[0], in.size() > 1 ? in[1] : Array{}, normal(axes, in[0].shape), epsilon);
  };
  trial.result = dtype;
  trial.tolerance = kFew;
  return trial;
}

Trial group_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  Shape shape = dice.shape(2);
  int axis = static_cast<int>(dice.in(1, shape.rank() - 1));
  std::int64_t groups = dice.in(1, 3);
  shape[axis] = groups * dice.in(1, 3);
  const Affine affine(dice);
  Trial trial;
  const Shape features{shape[axis]};
  if (dice.chance(0.15)) {
    if (dice.chance(0.3)) {
      axis = 0;
      trial.complaint = {"group_norm: axis 0 of " + to_string(shape)};
    } else {
      groups = dice.chance(0.5) ? 0 : shape[axis] + 1;
      trial.complaint = {
          "group_norm: " + std::to_string(shape[axis]) + " features of " + to_string(shape),
          std::to_string(groups) + " groups"};
    }
  } else if (dice.chance(0.5)) {
    axis -= shape.rank();
  }
  trial.inputs = {drawn(dice, shape, dtype)};
  affine.draw(dice, trial, features, dtype);
  trial.run = [axis, groups, affine](Tensors in) {
    BatchNormOptions options{.axis = axis, .epsilon = 0.02};
    affine.set(options, in, 1);
    return group_norm(OP_IN(0), groups, options);
  };
  trial.expect = [axis, groups, affine](const Arrays& in) {
    return group_normed(in[0], affine.scale(in, 1), affine.offset(in), groups, axis, 0.02);
  };
  trial.result = dtype;
  trial.tolerance = kFew;
  return trial;
}

Trial local_response_trial(bool gradient, Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  Shape shape = dice.shape(1, 4, 6);
  LocalResponseOptions options{.depth_radius = dice.in(0, 7),
                               .bias = 0.5 + static_cast<double>(dice.in(0, 3)),
                               .alpha = 0.25 * static_cast<double>(dice.in(0, 4)),
                               .beta = 0.25 * static_cast<double>(dice.in(0, 4))};
  Trial trial;
  Shape of_x = shape;
  if (dice.chance(0.15)) {
    if (gradient) {
      of_x.push_back(2);
      trial.complaint = {"local_response_normalization_grad: the gradient is " + to_string(shape) +
                         ", but must be " + to_string(of_x)};
    } else if (dice.chance(0.5)) {
      options.depth_radius = -dice.in(1, 5);
      trial.complaint = {"local_response_normalization: a radius below zero: " +
                         std::to_string(options.depth_radius)};
    } else {
      of_x = Shape{};
      trial.complaint = {"local_response_normalization: a scalar has no axis"};
    }
  }
  if (gradient) trial.inputs = {drawn(dice, shape, dtype)};
  trial.inputs.push_back(drawn(dice, of_x, dtype));
  trial.run = [options, gradient](Tensors in) {
    if (!gradient) return local_response_normalization(OP_IN(0), options);
    const ops::LocalResponseAttrs attrs{options.depth_radius, options.bias, options.alpha,
                                        options.beta};
    return ops::apply(op_named("local_response_normalization_grad"), ops::ref(attrs),
                      std::source_location::current(), OP_IN(0), OP_IN(1));
  };
  trial.expect = [options, gradient](const Arrays& in) {
    return gradient ? local_response_gradient(in, options) : local_response_of(in[0], options);
  };
  trial.result = dtype;
  trial.tolerance = {.ulps = 4, .epsilons = gradient ? 64.0 : 4.0};
  return trial;
}

Trial l2_trial(Dice& dice) {
  const DType dtype = dice.pick(kNumbers);
  const Shape shape = dice.shape();
  Axes axes = dice.axes(shape.rank());
  Trial trial;
  const double epsilon = dice.chance(0.5) ? 1e-12 : 9;
  if (dice.chance(0.15)) {
    axes.push_back(-shape.rank() - 1);
    trial.complaint = {"l2_normalize: " + out_of_range(-shape.rank() - 1, shape)};
  }
  trial.inputs = {drawn(dice, shape, dtype)};
  trial.run = [axes, epsilon](Tensors in) { return l2_normalize(OP_IN(0), axes, epsilon); };
  trial.expect = [axes, epsilon](const Arrays& in) {
    return l2_normalized(in[0], normal(axes, in[0].shape), epsilon);
  };
  trial.result = float_dtype(dtype);
  trial.tolerance = kFew;
  return trial;
}

Tensor count(Tensor condition) { return sum(cast(std::move(condition), DType::int32)); }

// How many elements are neither zero nor scaled, and how many differ between two calls with a seed.
Trial dropout_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const Shape shape = dice.shape(0, 4, 7);
  double rate = 0.125 * static_cast<double>(dice.in(0, 7));
  DropoutOptions options{.seed = static_cast<std::uint64_t>(dice.in(0, 1 << 20))};
  if (dice.chance(0.4)) options.noise_shape = dice.narrowed(shape);
  Trial trial;
  if (dice.chance(0.15)) {
    if (dice.chance(0.5)) {
      rate = dice.chance(0.5) ? 1 : -0.5;
      trial.complaint = {"dropout: a rate not in [0, 1): ", rate == 1 ? "1" : "-0.5"};
    } else {
      options.noise_shape = Shape{2};
      for (const std::int64_t size : shape) options.noise_shape->push_back(size);
      trial.complaint = {"dropout: noise of " + to_string(*options.noise_shape), to_string(shape)};
    }
  }
  trial.inputs = {drawn(dice, shape, dtype, {.away_from = {0}})};
  trial.run = [rate, options](Tensors in) {
    const Tensor y = dropout(in[0], rate, options), again = dropout(in[0], rate, options);
    const Tensor kept = in[0] * (1 / (1 - rate));
    return sum(cast(not_equal(y, 0), DType::int32) * cast(not_equal(y, kept), DType::int32)) +
           count(not_equal(y, again));
  };
  trial.expect = [](const Arrays&) { return Array{{}, {0}}; };
  trial.result = DType::int32;
  return trial;
}

}  // namespace

std::vector<Fuzz> norm_fuzz() {
  return {
      {"batch_norm", {"batch_norm"}, batch_trial},
      {"batch_norm_training", {"batch_norm_training"}, batch_training_trial},
      {"batch_norm_grad", {"batch_norm_grad"}, batch_gradient_trial},
      {"layer_norm", {"layer_norm"}, layer_trial},
      {"layer_norm_grad", {"layer_norm_grad"}, layer_gradient_trial},
      {"rms_norm", {"rms_norm"}, rms_trial},
      {"group_norm", {"group_norm"}, group_trial},
      {"local_response_normalization",
       {"local_response_normalization"},
       [](Dice& dice) { return local_response_trial(false, dice); }},
      {"local_response_normalization_grad",
       {"local_response_normalization_grad"},
       [](Dice& dice) { return local_response_trial(true, dice); }},
      {"l2_normalize", {"l2_normalize"}, l2_trial},
      {"dropout", {"dropout"}, dropout_trial},
  };
}

}  // namespace tenure::testing
