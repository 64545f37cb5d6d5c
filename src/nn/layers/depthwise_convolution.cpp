#include <array>

#include "nn/layers/convolution.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, DepthwiseConvOptions& o) {
  TENURE_FIELDS(visit, o, kernel_size, strides, padding, depth_multiplier, data_format,
                dilation_rate, activation, use_bias, depthwise_initializer, bias_initializer,
                depthwise_regularizer, bias_regularizer, activity_regularizer, depthwise_constraint,
                bias_constraint);
}

void fields(Fields& visit, SeparableConvOptions& o) {
  TENURE_FIELDS(visit, o, filters, kernel_size, strides, padding, data_format, dilation_rate,
                depth_multiplier, activation, use_bias, depthwise_initializer,
                pointwise_initializer, bias_initializer, depthwise_regularizer,
                pointwise_regularizer, bias_regularizer, activity_regularizer, depthwise_constraint,
                pointwise_constraint, bias_constraint);
}

namespace {

// An image of one row stands for what has one axis: the operation has two.
int row_axis(bool channels_first) { return channels_first ? 2 : 1; }

ConvOptions of_row(ConvOptions how) {
  how.strides = {1, how.strides[0]};
  how.dilations = {1, how.dilations[0]};
  if (how.padding.kind == Padding::given) {
    how.padding = Padding({{0, 0}, {how.padding.before[0], how.padding.after[0]}});
  }
  return how;
}

template <int Count>
class DepthwiseConvLayer final : public ConfiguredLayer<DepthwiseConvOptions> {
 public:
  explicit DepthwiseConvLayer(DepthwiseConvOptions options)
      : ConfiguredLayer(checked_convolution(kName, std::move(options), Count)),
        how_(convolution_options(kName, options_, Count == 1)) {}
  const char* class_name() const override { return kName; }

  void build(const Shape& input) override {
    const std::int64_t channels = channels_of(input, Count, how_.channels_first);
    Shape kernel = options_.kernel_size;
    kernel.push_back(channels);
    kernel.push_back(options_.depth_multiplier);
    kernel_ = add_weight("depthwise_kernel", kernel, TENURE_WEIGHT_OPTIONS(options_, depthwise));
    if (!options_.use_bias) return;
    bias_ = add_weight("bias", {channels * options_.depth_multiplier},
                       TENURE_WEIGHT_OPTIONS(options_, bias));
  }

  Tensor call(const Tensor& x, const Call& call) override {
    check_rank(x.shape(), Count + 2);
    Tensor y;
    if constexpr (Count == 1) {
      const int row = row_axis(how_.channels_first);
      y = squeeze(depthwise_conv2d(expand_dims(x, row), expand_dims(kernel_, 0), of_row(how_)),
                  {row});
    } else {
      y = depthwise_conv2d(x, kernel_, how_);
    }
    return with_bias(std::move(y), bias_, options_, how_.channels_first, call);
  }

 private:
  static constexpr const char* kName = std::array{"DepthwiseConv1D", "DepthwiseConv2D"}[Count - 1];
  const ConvOptions how_;
  Variable kernel_, bias_;
};

template <int Count>
class SeparableConvLayer final : public ConfiguredLayer<SeparableConvOptions> {
 public:
  explicit SeparableConvLayer(SeparableConvOptions options)
      : ConfiguredLayer(checked_convolution(kName, std::move(options), Count)),
        how_(convolution_options(kName, options_, Count == 1)) {}
  const char* class_name() const override { return kName; }

  void build(const Shape& input) override {
    const std::int64_t channels = channels_of(input, Count, how_.channels_first);
    Shape kernel = options_.kernel_size;
    kernel.push_back(channels);
    kernel.push_back(options_.depth_multiplier);
    depthwise_ = add_weight("depthwise_kernel", kernel, TENURE_WEIGHT_OPTIONS(options_, depthwise));
    Shape point = Shape::filled(Count, 1);
    point.push_back(channels * options_.depth_multiplier);
    point.push_back(options_.filters);
    pointwise_ = add_weight("pointwise_kernel", point, TENURE_WEIGHT_OPTIONS(options_, pointwise));
    if (options_.use_bias) {
      bias_ = add_weight("bias", {options_.filters}, TENURE_WEIGHT_OPTIONS(options_, bias));
    }
  }

  Tensor call(const Tensor& x, const Call& call) override {
    check_rank(x.shape(), Count + 2);
    Tensor y;
    if constexpr (Count == 1) {
      const int row = row_axis(how_.channels_first);
      y = squeeze(separable_conv2d(expand_dims(x, row), expand_dims(depthwise_, 0),
                                   expand_dims(pointwise_, 0), of_row(how_)),
                  {row});
    } else {
      y = separable_conv2d(x, depthwise_, pointwise_, how_);
    }
    return with_bias(std::move(y), bias_, options_, how_.channels_first, call);
  }

 private:
  static constexpr const char* kName = std::array{"SeparableConv1D", "SeparableConv2D"}[Count - 1];
  const ConvOptions how_;
  Variable depthwise_, pointwise_, bias_;
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(DepthwiseConv1D, DepthwiseConvOptions, DepthwiseConvLayer<1>)
TENURE_DEFINE_LAYER(DepthwiseConv2D, DepthwiseConvOptions, DepthwiseConvLayer<2>)
TENURE_DEFINE_LAYER(SeparableConv1D, SeparableConvOptions, SeparableConvLayer<1>)
TENURE_DEFINE_LAYER(SeparableConv2D, SeparableConvOptions, SeparableConvLayer<2>)

std::span<const detail::LayerRow> detail::depthwise_convolution_layers() {
  return rows_of<DepthwiseConv1D, DepthwiseConv2D, SeparableConv1D, SeparableConv2D>();
}

}  // namespace tenure::nn
