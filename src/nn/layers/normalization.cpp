#include "tenure/nn/normalization_layers.h"

#include <algorithm>

#include "nn/layers/common.h"
#include "tenure/gradient.h"
#include "tenure/math.h"
#include "tenure/norm.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace detail {

namespace {

// Files of Keras have a list of one axis.
void axis_field(Fields& visit, int& axis) {
  Shape list{axis};
  visit("axis", Numbers{list});
  if (list.rank() != 1) raise<ValueError>("axis should be one number: {}", list);
  axis = static_cast<int>(list[0]);
}

template <class O>
void gain_fields(Fields& visit, O& o) {
  TENURE_FIELDS(visit, o, epsilon, center, scale, beta_initializer, gamma_initializer,
                beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint);
}

}  // namespace

void fields(Fields& visit, BatchNormalizationOptions& o) {
  axis_field(visit, o.axis);
  TENURE_FIELDS(visit, o, momentum);
  gain_fields(visit, o);
  TENURE_FIELDS(visit, o, moving_mean_initializer, moving_variance_initializer);
}

void fields(Fields& visit, LayerNormalizationOptions& o) {
  visit("axis", Numbers{o.axis, true});
  gain_fields(visit, o);
}

void fields(Fields& visit, GroupNormalizationOptions& o) {
  TENURE_FIELDS(visit, o, groups);
  axis_field(visit, o.axis);
  gain_fields(visit, o);
}

void fields(Fields& visit, RMSNormalizationOptions& o) {
  visit("axis", Numbers{o.axis});
  TENURE_FIELDS(visit, o, epsilon);
}

void fields(Fields& visit, UnitNormalizationOptions& o) { visit("axis", Numbers{o.axis}); }

namespace {

void check_axes(const char* layer, const Axes& axes) {
  if (axes.rank() == 0) raise<ValueError>("{}: no axis was given", layer);
}

// In order and from 0.
Axes axes_of(const Shape& input, const Axes& wanted) {
  Axes axes;
  for (const std::int64_t axis : wanted) axes.push_back(axis_of(input, axis));
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) {
    raise<ShapeError>("works along an axis twice: {}, of inputs {}", wanted, input);
  }
  return axes;
}

Shape sizes_along(const Axes& axes, const Shape& input) {
  Shape sizes;
  for (const std::int64_t axis : axes) sizes.push_back(input[static_cast<int>(axis)]);
  return sizes;
}

// Gamma and beta, which those of a batch, a layer and groups have.
template <class O>
class NormalizationLayer : public ConfiguredLayer<O> {
 public:
  NormalizationLayer(const char* name, O options) : ConfiguredLayer<O>(std::move(options)) {
    check_above(name, "epsilon", this->options_.epsilon, 0);
  }
  bool passes_mask() const override { return true; }
  bool keeps_precision() const override { return true; }  // statistics of halves are too coarse

 protected:
  void add_gain(const Shape& shape) {
    const O& o = this->options_;
    if (o.scale) {
      gamma_ = this->add_weight("gamma", shape, TENURE_WEIGHT_OPTIONS(o, gamma));
    }
    if (o.center) {
      beta_ = this->add_weight("beta", shape, TENURE_WEIGHT_OPTIONS(o, beta));
    }
  }
  std::optional<KeptArg> gamma() const { return optional_of(gamma_); }
  std::optional<KeptArg> beta() const { return optional_of(beta_); }

 private:
  static std::optional<KeptArg> optional_of(const Variable& variable) {
    return variable.defined() ? std::optional<KeptArg>(variable) : std::nullopt;
  }
  Variable gamma_, beta_;
};

class BatchNormalizationLayer final : public NormalizationLayer<BatchNormalizationOptions> {
 public:
  explicit BatchNormalizationLayer(BatchNormalizationOptions options)
      : NormalizationLayer("BatchNormalization", std::move(options)) {
    check_between("BatchNormalization", "momentum", options_.momentum, 0, 1);
  }
  const char* class_name() const override { return "BatchNormalization"; }

  void build(const Shape& input) override {
    const Shape features{input[axis_of(input, options_.axis)]};
    add_gain(features);
    mean_ = add_weight("moving_mean", features,
                       {.initializer = options_.moving_mean_initializer,
                        .trainable = false,
                        .dtype = options_.dtype});
    variance_ = add_weight("moving_variance", features,
                           {.initializer = options_.moving_variance_initializer,
                            .trainable = false,
                            .dtype = options_.dtype});
  }

  Tensor call(const Tensor& x, const Call& call) override {
    const BatchNormOptions how{.scale = gamma(),
                               .offset = beta(),
                               .axis = axis_of(x.shape(), options_.axis),
                               .epsilon = options_.epsilon};
    if (!call.training || !trainable()) return batch_norm(x, mean_, variance_, how);
    auto [output, mean, variance] =
        call.mask().defined() ? of_steps(x, call.mask(), how) : batch_norm_training(x, how);
    move(mean_, stop_gradient(std::move(mean)));
    move(variance_, stop_gradient(std::move(variance)));
    return output;
  }

 private:
  // By the mean and variance of the steps that a mask leaves.
  static BatchNormalized of_steps(const Tensor& x, const Tensor& mask,
                                  const BatchNormOptions& how) {
    if (mask.rank() != x.rank() - 1) {
      raise<ShapeError>("takes a mask of every axis but the last, was given {} for inputs {}",
                        mask.shape(), x.shape());
    }
    Axes others;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (axis != how.axis) others.push_back(axis);
    }
    const Tensor counts = broadcast_to(cast(expand_dims(mask, -1), x.dtype()), x.shape()),
                 valid = counts > 0;
    constexpr double kNone = 1e-7;  // as Keras: where nothing is left, the mean is 0
    const Tensor size = sum(counts, others, {.keep_dims = true}) + kNone;
    const Tensor mean = sum(where(valid, x, 0), others, {.keep_dims = true}) / size;
    const Tensor variance =
        sum(where(valid, square(x - mean), 0), others, {.keep_dims = true}) / size;
    const auto flat = [](const Tensor& each) { return reshape(each, {-1}); };
    const Tensor means = flat(mean), variances = flat(variance);
    return {batch_norm(x, means, variances, how), means, variances};
  }
  void move(Variable& average, Tensor towards) const {
    const double momentum = options_.momentum;
    average.assign(average * momentum + cast(std::move(towards), average.dtype()) * (1 - momentum));
  }
  Variable mean_, variance_;
};

class LayerNormalizationLayer final : public NormalizationLayer<LayerNormalizationOptions> {
 public:
  explicit LayerNormalizationLayer(LayerNormalizationOptions options)
      : NormalizationLayer("LayerNormalization", std::move(options)) {
    check_axes("LayerNormalization", options_.axis);
  }
  const char* class_name() const override { return "LayerNormalization"; }

  void build(const Shape& input) override {
    add_gain(sizes_along(axes_of(input, options_.axis), input));
  }

  Tensor call(const Tensor& x, const Call&) override {
    return layer_norm(x, {.scale = gamma(),
                          .offset = beta(),
                          .axes = axes_of(x.shape(), options_.axis),
                          .epsilon = options_.epsilon});
  }
};

class GroupNormalizationLayer final : public NormalizationLayer<GroupNormalizationOptions> {
 public:
  explicit GroupNormalizationLayer(GroupNormalizationOptions options)
      : NormalizationLayer("GroupNormalization", std::move(options)) {
    if (options_.groups < 1 && options_.groups != -1) {
      raise<ValueError>("GroupNormalization: groups must be positive, or -1: {}", options_.groups);
    }
  }
  const char* class_name() const override { return "GroupNormalization"; }

  void build(const Shape& input) override {
    const std::int64_t channels = input[axis_of(input, options_.axis)];
    if (options_.groups > 0 && channels != kAny && channels % options_.groups != 0) {
      raise<ShapeError>("cannot split the {} channels of {} into {} groups", channels, input,
                        options_.groups);
    }
    add_gain({channels});
  }

  Tensor call(const Tensor& x, const Call&) override {
    const int axis = axis_of(x.shape(), options_.axis);
    const std::int64_t groups = options_.groups == -1 ? x.dim(axis) : options_.groups;
    return group_norm(
        x, groups, {.scale = gamma(), .offset = beta(), .axis = axis, .epsilon = options_.epsilon});
  }
};

class RMSNormalizationLayer final : public ConfiguredLayer<RMSNormalizationOptions> {
 public:
  explicit RMSNormalizationLayer(RMSNormalizationOptions options)
      : ConfiguredLayer(std::move(options)) {
    check_axes("RMSNormalization", options_.axis);
    check_above("RMSNormalization", "epsilon", options_.epsilon, 0);
  }
  const char* class_name() const override { return "RMSNormalization"; }
  bool passes_mask() const override { return true; }

  void build(const Shape& input) override {
    scale_ = add_weight("scale", sizes_along(axes_of(input, options_.axis), input),
                        {.initializer = "ones", .dtype = options_.dtype});
  }

  Tensor call(const Tensor& x, const Call&) override {
    return rms_norm(
        x,
        {.scale = scale_, .axes = axes_of(x.shape(), options_.axis), .epsilon = options_.epsilon});
  }

 private:
  Variable scale_;
};

class UnitNormalizationLayer final : public ConfiguredLayer<UnitNormalizationOptions> {
 public:
  explicit UnitNormalizationLayer(UnitNormalizationOptions options)
      : ConfiguredLayer(std::move(options)) {
    check_axes("UnitNormalization", options_.axis);
  }
  const char* class_name() const override { return "UnitNormalization"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call&) override {
    return l2_normalize(x, axes_of(x.shape(), options_.axis));
  }
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(BatchNormalization, BatchNormalizationOptions, BatchNormalizationLayer)
TENURE_DEFINE_LAYER(LayerNormalization, LayerNormalizationOptions, LayerNormalizationLayer)
TENURE_DEFINE_LAYER(GroupNormalization, GroupNormalizationOptions, GroupNormalizationLayer)
TENURE_DEFINE_LAYER(RMSNormalization, RMSNormalizationOptions, RMSNormalizationLayer)
TENURE_DEFINE_LAYER(UnitNormalization, UnitNormalizationOptions, UnitNormalizationLayer)

std::span<const detail::LayerRow> detail::normalization_layers() {
  return rows_of<BatchNormalization, LayerNormalization, GroupNormalization, RMSNormalization,
                 UnitNormalization>();
}

}  // namespace tenure::nn
