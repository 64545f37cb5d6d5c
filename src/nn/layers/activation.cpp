#include "tenure/activation.h"

#include "nn/layers/common.h"
#include "nn/precision.h"
#include "tenure/math.h"
#include "tenure/nn/activation_layers.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, ReLUOptions& o) {
  TENURE_FIELDS(visit, o, max_value, negative_slope, threshold);
}

void fields(Fields& visit, LeakyReLUOptions& o) {
  // As Keras 2, TensorFlow.js and older files of ours have it.
  if (visit.reads()) visit("alpha", o.negative_slope);
  TENURE_FIELDS(visit, o, negative_slope);
}

void fields(Fields& visit, PReLUOptions& o) {
  TENURE_FIELDS(visit, o, alpha_initializer, alpha_regularizer, alpha_constraint);
  visit("shared_axes", Numbers{o.shared_axes});
}

void fields(Fields& visit, ELUOptions& o) { TENURE_FIELDS(visit, o, alpha); }

void fields(Fields& visit, ThresholdedReLUOptions& o) { TENURE_FIELDS(visit, o, theta); }

void fields(Fields& visit, SoftmaxOptions& o) { visit("axis", Numbers{o.axis}); }

namespace {

class ReLULayer final : public ConfiguredLayer<ReLUOptions> {
 public:
  explicit ReLULayer(ReLUOptions options) : ConfiguredLayer(std::move(options)) {
    const ReLUOptions& o = options_;
    check_at_least("ReLU", "max_value", o.max_value.value_or(0), 0.0);
    check_at_least("ReLU", "negative_slope", o.negative_slope, 0.0);
    check_at_least("ReLU", "threshold", o.threshold, 0.0);
  }
  const char* class_name() const override { return "ReLU"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call&) override {
    const auto& [max_value, slope, threshold] =
        std::tie(options_.max_value, options_.negative_slope, options_.threshold);
    Tensor y = threshold == 0 ? relu(x) : where(x > threshold, x, 0);
    if (max_value) y = minimum(std::move(y), *max_value);
    if (slope == 0) return y;
    return std::move(y) - slope * relu(threshold - x);
  }
};

class LeakyReLULayer final : public ConfiguredLayer<LeakyReLUOptions> {
 public:
  using ConfiguredLayer::ConfiguredLayer;
  const char* class_name() const override { return "LeakyReLU"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call&) override {
    return leaky_relu(x, options_.negative_slope);
  }
};

class PReLULayer final : public ConfiguredLayer<PReLUOptions> {
 public:
  using ConfiguredLayer::ConfiguredLayer;
  const char* class_name() const override { return "PReLU"; }
  bool passes_mask() const override { return true; }
  void build(const Shape& input) override {
    check_rank_from(input, 2);
    Shape alpha(input.dims().subspan(1));
    for (const std::int64_t axis : options_.shared_axes) {
      const int shared = axis_of(input, axis);
      if (shared == 0) raise<ShapeError>("shares along axis {}: that is the batch", axis);
      alpha[shared - 1] = 1;
    }
    alpha_ = add_weight("alpha", alpha, TENURE_WEIGHT_OPTIONS(options_, alpha));
  }
  Tensor call(const Tensor& x, const Call&) override {
    check_rank(x.shape(), alpha_.shape().rank() + 1);
    return prelu(x, alpha_);
  }

 private:
  Variable alpha_;
};

class ELULayer final : public ConfiguredLayer<ELUOptions> {
 public:
  using ConfiguredLayer::ConfiguredLayer;
  const char* class_name() const override { return "ELU"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call&) override { return elu(x, options_.alpha); }
};

class ThresholdedReLULayer final : public ConfiguredLayer<ThresholdedReLUOptions> {
 public:
  explicit ThresholdedReLULayer(ThresholdedReLUOptions options)
      : ConfiguredLayer(std::move(options)) {
    check_at_least("ThresholdedReLU", "theta", options_.theta, 0.0);
  }
  const char* class_name() const override { return "ThresholdedReLU"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call&) override { return where(x > options_.theta, x, 0); }
};

class SoftmaxLayer final : public ConfiguredLayer<SoftmaxOptions> {
 public:
  explicit SoftmaxLayer(SoftmaxOptions options) : ConfiguredLayer(std::move(options)) {
    if (options_.axis.rank() == 0) raise<ValueError>("Softmax: no axis was given");
  }
  const char* class_name() const override { return "Softmax"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call& call) override {
    for (const std::int64_t axis : options_.axis) axis_of(x.shape(), axis);
    Tensor scores = masked(for_probabilities(x), call.mask());
    if (options_.axis.rank() == 1) {
      return softmax(std::move(scores), static_cast<int>(options_.axis[0]));
    }
    return exp(scores - logsumexp(scores, options_.axis, {.keep_dims = true}));
  }
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(ReLU, ReLUOptions, ReLULayer)
TENURE_DEFINE_LAYER(LeakyReLU, LeakyReLUOptions, LeakyReLULayer)
TENURE_DEFINE_LAYER(PReLU, PReLUOptions, PReLULayer)
TENURE_DEFINE_LAYER(ELU, ELUOptions, ELULayer)
TENURE_DEFINE_LAYER(ThresholdedReLU, ThresholdedReLUOptions, ThresholdedReLULayer)
TENURE_DEFINE_LAYER(Softmax, SoftmaxOptions, SoftmaxLayer)

std::span<const detail::LayerRow> detail::activation_layers() {
  return rows_of<ReLU, LeakyReLU, PReLU, ELU, ThresholdedReLU, Softmax>();
}

}  // namespace tenure::nn
