#include "tenure/nn/regularization_layers.h"

#include <array>
#include <cmath>

#include "nn/layers/common.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/norm.h"
#include "tenure/random.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, DropoutLayerOptions& o) {
  TENURE_FIELDS(visit, o, rate, noise_shape, seed);
}

void fields(Fields& visit, SpatialDropoutOptions& o) {
  TENURE_FIELDS(visit, o, rate, data_format, seed);
}

void fields(Fields& visit, GaussianDropoutOptions& o) { TENURE_FIELDS(visit, o, rate); }

void fields(Fields& visit, GaussianNoiseOptions& o) { TENURE_FIELDS(visit, o, stddev); }

void fields(Fields& visit, ActivityRegularizationOptions& o) { TENURE_FIELDS(visit, o, l1, l2); }

namespace {

DropoutOptions noise_options(const std::optional<std::int64_t>& seed,
                             const std::optional<Shape>& noise_shape, const Shape& input) {
  DropoutOptions options;
  if (seed) options.seed = static_cast<std::uint64_t>(*seed);
  if (!noise_shape) return options;
  check_rank(input, noise_shape->rank());
  options.noise_shape = *noise_shape;
  for (int axis = 0; axis < input.rank(); ++axis) {
    std::int64_t& size = (*options.noise_shape)[axis];
    if (size == kAny) size = input[axis];
  }
  return options;
}

class DropoutLayer final : public ConfiguredLayer<DropoutLayerOptions> {
 public:
  explicit DropoutLayer(DropoutLayerOptions options) : ConfiguredLayer(std::move(options)) {
    check_rate("Dropout", options_.rate);
  }
  const char* class_name() const override { return "Dropout"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call& call) override {
    if (!call.training || options_.rate == 0) return x.clone();
    return dropout(x, options_.rate, noise_options(options_.seed, options_.noise_shape, x.shape()));
  }
};

class AlphaDropoutLayer final : public ConfiguredLayer<DropoutLayerOptions> {
 public:
  explicit AlphaDropoutLayer(DropoutLayerOptions options) : ConfiguredLayer(std::move(options)) {
    check_rate("AlphaDropout", options_.rate);
  }
  const char* class_name() const override { return "AlphaDropout"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call& call) override {
    const double rate = options_.rate;
    if (!call.training || rate == 0) return x.clone();
    constexpr double kLowest = -1.7580993408473766;  // what SELU tends to far below zero
    const double a = 1 / std::sqrt((1 - rate) * (1 + rate * kLowest * kLowest));
    const double b = -a * kLowest * rate;
    const Tensor kept = dropout(ones_like(x), rate,
                                noise_options(options_.seed, options_.noise_shape, x.shape())) > 0;
    return where(kept, x, kLowest) * a + b;
  }
};

template <int Count>
class SpatialDropoutLayer final : public ConfiguredLayer<SpatialDropoutOptions> {
 public:
  explicit SpatialDropoutLayer(SpatialDropoutOptions options)
      : ConfiguredLayer(std::move(options)),
        channels_first_(Count > 1 && is_channels_first(kName, options_.data_format)) {
    check_rate(kName, options_.rate);
  }
  const char* class_name() const override { return kName; }
  bool passes_mask() const override { return true; }
  void build(const Shape& input) override { check_rank(input, Count + 2); }
  Tensor call(const Tensor& x, const Call& call) override {
    check_rank(x.shape(), Count + 2);
    if (!call.training || options_.rate == 0) return x.clone();
    Shape noise = Shape::filled(Count + 2, 1);
    const int channels = channels_first_ ? 1 : -1;
    noise[0] = kAny;
    noise[channels] = kAny;
    return dropout(x, options_.rate, noise_options(options_.seed, noise, x.shape()));
  }

 private:
  static constexpr const char* kName =
      std::array{"SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"}[Count - 1];
  const bool channels_first_;
};

class GaussianDropoutLayer final : public ConfiguredLayer<GaussianDropoutOptions> {
 public:
  explicit GaussianDropoutLayer(GaussianDropoutOptions options)
      : ConfiguredLayer(std::move(options)) {
    check_rate("GaussianDropout", options_.rate);
  }
  const char* class_name() const override { return "GaussianDropout"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call& call) override {
    if (!call.training || options_.rate == 0) return x.clone();
    const double deviation = std::sqrt(options_.rate / (1 - options_.rate));
    return x * random::normal(x.shape(), {.mean = 1, .deviation = deviation, .dtype = x.dtype()});
  }
};

class GaussianNoiseLayer final : public ConfiguredLayer<GaussianNoiseOptions> {
 public:
  explicit GaussianNoiseLayer(GaussianNoiseOptions options) : ConfiguredLayer(std::move(options)) {
    if (!(options_.stddev >= 0)) {
      raise<ValueError>("GaussianNoise: stddev must not be negative: {}", options_.stddev);
    }
  }
  const char* class_name() const override { return "GaussianNoise"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call& call) override {
    if (!call.training) return x.clone();
    return x +
           random::normal(x.shape(), {.mean = 0, .deviation = options_.stddev, .dtype = x.dtype()});
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
