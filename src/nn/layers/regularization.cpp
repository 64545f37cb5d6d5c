#include "tenure/nn/regularization_layers.h"

#include <array>
#include <cmath>

#include "nn/layers/common.h"
#include "nn/layers/noise.h"
#include "tenure/create.h"
#include "tenure/math.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, DropoutLayerOptions& o) {
  TENURE_FIELDS(visit, o, rate, noise_shape, seed);
}

void fields(Fields& visit, SpatialDropoutOptions& o) {
  TENURE_FIELDS(visit, o, rate, data_format, seed);
}

void fields(Fields& visit, GaussianDropoutOptions& o) { TENURE_FIELDS(visit, o, rate, seed); }

void fields(Fields& visit, GaussianNoiseOptions& o) { TENURE_FIELDS(visit, o, stddev, seed); }

void fields(Fields& visit, ActivityRegularizationOptions& o) { TENURE_FIELDS(visit, o, l1, l2); }

namespace {

// What draws: its mask goes on, and it counts its draws where it has a seed.
template <class O>
class NoisyLayer : public ConfiguredLayer<O> {
 public:
  explicit NoisyLayer(O options)
      : ConfiguredLayer<O>(std::move(options)), noise_(this->options_.seed) {}
  bool passes_mask() const override { return true; }
  void build(const Shape&) override { noise_.build(*this); }

 protected:
  Noise noise_;
};

Shape noise_shape(const std::optional<Shape>& wanted, const Shape& input) {
  if (!wanted) return input;
  check_rank(input, wanted->rank());
  Shape shape = *wanted;
  for (int axis = 0; axis < input.rank(); ++axis) {
    if (shape[axis] == kAny) shape[axis] = input[axis];
  }
  return shape;
}

class DropoutLayer final : public NoisyLayer<DropoutLayerOptions> {
 public:
  explicit DropoutLayer(DropoutLayerOptions options) : NoisyLayer(std::move(options)) {
    check_part("Dropout", "rate", options_.rate);
  }
  const char* class_name() const override { return "Dropout"; }
  Tensor call(const Tensor& x, const Call& call) override {
    if (!call.training || options_.rate == 0) return x.clone();
    return noise_.dropout(x, options_.rate, noise_shape(options_.noise_shape, x.shape()));
  }
};

class AlphaDropoutLayer final : public NoisyLayer<DropoutLayerOptions> {
 public:
  explicit AlphaDropoutLayer(DropoutLayerOptions options) : NoisyLayer(std::move(options)) {
    check_part("AlphaDropout", "rate", options_.rate);
  }
  const char* class_name() const override { return "AlphaDropout"; }
  Tensor call(const Tensor& x, const Call& call) override {
    const double rate = options_.rate;
    if (!call.training || rate == 0) return x.clone();
    constexpr double kLowest = -1.7580993408473766;  // what SELU tends to far below zero
    const double a = 1 / std::sqrt((1 - rate) * (1 + rate * kLowest * kLowest));
    const double b = -a * kLowest * rate;
    const Shape shape = noise_shape(options_.noise_shape, x.shape());
    const Tensor kept = noise_.dropout(ones_like(x), rate, shape) > 0;
    return where(kept, x, kLowest) * a + b;
  }
};

template <int Count>
class SpatialDropoutLayer final : public NoisyLayer<SpatialDropoutOptions> {
 public:
  explicit SpatialDropoutLayer(SpatialDropoutOptions options)
      : NoisyLayer(std::move(options)),
        channels_first_(Count > 1 && is_channels_first(kName, options_.data_format)) {
    check_part(kName, "rate", options_.rate);
  }
  const char* class_name() const override { return kName; }
  void build(const Shape& input) override {
    check_rank(input, Count + 2);
    noise_.build(*this);
  }
  Tensor call(const Tensor& x, const Call& call) override {
    check_rank(x.shape(), Count + 2);
    if (!call.training || options_.rate == 0) return x.clone();
    Shape noise = Shape::filled(Count + 2, 1);
    const int channels = channels_first_ ? 1 : -1;
    noise[0] = kAny;
    noise[channels] = kAny;
    return noise_.dropout(x, options_.rate, noise_shape(noise, x.shape()));
  }

 private:
  static constexpr const char* kName =
      std::array{"SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"}[Count - 1];
  const bool channels_first_;
};

class GaussianDropoutLayer final : public NoisyLayer<GaussianDropoutOptions> {
 public:
  explicit GaussianDropoutLayer(GaussianDropoutOptions options) : NoisyLayer(std::move(options)) {
    check_part("GaussianDropout", "rate", options_.rate);
  }
  const char* class_name() const override { return "GaussianDropout"; }
  Tensor call(const Tensor& x, const Call& call) override {
    if (!call.training || options_.rate == 0) return x.clone();
    const double deviation = std::sqrt(options_.rate / (1 - options_.rate));
    return x * noise_.normal(x.shape(), {.mean = 1, .deviation = deviation, .dtype = x.dtype()});
  }
};

class GaussianNoiseLayer final : public NoisyLayer<GaussianNoiseOptions> {
 public:
  explicit GaussianNoiseLayer(GaussianNoiseOptions options) : NoisyLayer(std::move(options)) {
    check_at_least("GaussianNoise", "stddev", options_.stddev, 0.0);
  }
  const char* class_name() const override { return "GaussianNoise"; }
  Tensor call(const Tensor& x, const Call& call) override {
    if (!call.training) return x.clone();
    return x +
           noise_.normal(x.shape(), {.mean = 0, .deviation = options_.stddev, .dtype = x.dtype()});
  }
};

class ActivityRegularizationLayer final : public ConfiguredLayer<ActivityRegularizationOptions> {
 public:
  explicit ActivityRegularizationLayer(ActivityRegularizationOptions options)
      : ConfiguredLayer(std::move(options)), penalty_(L1L2(options_.l1, options_.l2)) {}
  const char* class_name() const override { return "ActivityRegularization"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call& call) override {
    add_activity_loss(call, penalty_, x);
    return x.clone();
  }

 private:
  const Regularizer penalty_;
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(Dropout, DropoutLayerOptions, DropoutLayer)
TENURE_DEFINE_LAYER(AlphaDropout, DropoutLayerOptions, AlphaDropoutLayer)
TENURE_DEFINE_LAYER(SpatialDropout1D, SpatialDropoutOptions, SpatialDropoutLayer<1>)
TENURE_DEFINE_LAYER(SpatialDropout2D, SpatialDropoutOptions, SpatialDropoutLayer<2>)
TENURE_DEFINE_LAYER(SpatialDropout3D, SpatialDropoutOptions, SpatialDropoutLayer<3>)
TENURE_DEFINE_LAYER(GaussianDropout, GaussianDropoutOptions, GaussianDropoutLayer)
TENURE_DEFINE_LAYER(GaussianNoise, GaussianNoiseOptions, GaussianNoiseLayer)
TENURE_DEFINE_LAYER(ActivityRegularization, ActivityRegularizationOptions,
                    ActivityRegularizationLayer)

std::span<const detail::LayerRow> detail::regularization_layers() {
  return rows_of<Dropout, AlphaDropout, SpatialDropout1D, SpatialDropout2D, SpatialDropout3D,
                 GaussianDropout, GaussianNoise, ActivityRegularization>();
}

}  // namespace tenure::nn
