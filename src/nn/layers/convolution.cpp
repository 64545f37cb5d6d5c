#include "nn/layers/convolution.h"

#include <algorithm>
#include <array>

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, ConvLayerOptions& o) {
  TENURE_FIELDS(visit, o, filters, kernel_size, strides, padding, data_format, dilation_rate,
                groups, activation, use_bias, kernel_initializer, bias_initializer,
                kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
                bias_constraint);
}

void fields(Fields& visit, ConvTransposeOptions& o) {
  TENURE_FIELDS(visit, o, filters, kernel_size, strides, padding);
  visit("output_padding", Numbers{o.output_padding});
  TENURE_FIELDS(visit, o, data_format, dilation_rate, activation, use_bias, kernel_initializer,
                bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                kernel_constraint, bias_constraint);
}

std::int64_t channels_of(const Shape& input, int axes, bool channels_first) {
  check_rank(input, axes + 2);
  const std::int64_t channels = input[channels_first ? 1 : -1];
  if (channels == kAny) {
    raise<ShapeError>("needs to know how many channels there are, was given {}", input);
  }
  return channels;
}

namespace {

template <int Count>
class ConvLayer final : public ConfiguredLayer<ConvLayerOptions> {
 public:
  explicit ConvLayer(ConvLayerOptions options)
      : ConfiguredLayer(checked(std::move(options))),
        how_(convolution_options(kName, options_, Count == 1)) {}
  const char* class_name() const override { return kName; }

  void build(const Shape& input) override {
    const std::int64_t channels = channels_of(input, Count, how_.channels_first);
    if (channels % options_.groups != 0) {
      raise<ShapeError>("cannot split the {} channels of {} into {} groups", channels, input,
                        options_.groups);
    }
    Shape kernel = options_.kernel_size;
    kernel.push_back(channels / options_.groups);
    kernel.push_back(options_.filters);
    kernel_ = add_weight("kernel", kernel, TENURE_WEIGHT_OPTIONS(options_, kernel));
    if (options_.use_bias) {
      bias_ = add_weight("bias", {options_.filters}, TENURE_WEIGHT_OPTIONS(options_, bias));
    }
  }

  Tensor call(const Tensor& x, const Call& call) override {
    check_rank(x.shape(), Count + 2);
    Tensor y;
    if constexpr (Count == 1) y = conv1d(x, kernel_, how_);
    if constexpr (Count == 2) y = conv2d(x, kernel_, how_);
    if constexpr (Count == 3) y = conv3d(x, kernel_, how_);
    return with_bias(std::move(y), bias_, options_, how_.channels_first, call);
  }

 private:
  static constexpr const char* kName = std::array{"Conv1D", "Conv2D", "Conv3D"}[Count - 1];
  static ConvLayerOptions checked(ConvLayerOptions o) {
    o = checked_convolution(kName, std::move(o), Count);
    if (o.groups < 1 || o.filters % o.groups != 0) {
      raise<ValueError>("{}: cannot split {} filters into {} groups", kName, o.filters, o.groups);
    }
    return o;
  }
  const ConvOptions how_;
  Variable kernel_, bias_;
};

template <int Count>
class ConvTransposeLayer final : public ConfiguredLayer<ConvTransposeOptions> {
 public:
  explicit ConvTransposeLayer(ConvTransposeOptions options)
      : ConfiguredLayer(checked(std::move(options))),
        how_(convolution_options(kName, options_, false)) {}
  const char* class_name() const override { return kName; }

  void build(const Shape& input) override {
    const std::int64_t channels = channels_of(input, Count, how_.channels_first);
    Shape kernel = options_.kernel_size;
    kernel.push_back(options_.filters);
    kernel.push_back(channels);
    kernel_ = add_weight("kernel", kernel, TENURE_WEIGHT_OPTIONS(options_, kernel));
    if (options_.use_bias) {
      bias_ = add_weight("bias", {options_.filters}, TENURE_WEIGHT_OPTIONS(options_, bias));
    }
  }

  Tensor call(const Tensor& x, const Call& call) override {
    const Shape& input = x.shape();
    check_rank(input, Count + 2);
    Shape output = input;
    output[how_.channels_first ? 1 : -1] = options_.filters;
    for (int i = 0; i < Count; ++i) {
      const int axis = (how_.channels_first ? 2 : 1) + i;
      output[axis] = output_size(input[axis], i);
    }
    Tensor y;
    if constexpr (Count == 1) y = conv1d_transpose(x, kernel_, output, how_);
    if constexpr (Count == 2) y = conv2d_transpose(x, kernel_, output, how_);
    if constexpr (Count == 3) y = conv3d_transpose(x, kernel_, output, how_);
    return with_bias(std::move(y), bias_, options_, how_.channels_first, call);
  }

 private:
  static constexpr const char* kName =
      std::array{"Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"}[Count - 1];
  static ConvTransposeOptions checked(ConvTransposeOptions o) {
    o = checked_convolution(kName, std::move(o), Count);
    if (o.output_padding.rank() == 0) return o;
    o.output_padding = per_axis(kName, "output_padding", o.output_padding, Count, 0);
    for (int axis = 0; axis < Count; ++axis) {
      if (o.output_padding[axis] >= o.strides[axis]) {
        raise<ValueError>("{}: output_padding must be less than strides: {}, {}", kName,
                          o.output_padding, o.strides);
      }
    }
    return o;
  }

  // Several sizes become `size` in a convolution with strides. Without output_padding it is the
  // largest that does not lose what the kernel reaches.
  std::int64_t output_size(std::int64_t size, int axis) const {
    const std::int64_t stride = options_.strides[axis];
    const std::int64_t reach = (options_.kernel_size[axis] - 1) * options_.dilation_rate[axis] + 1;
    const bool same = options_.padding == "same";
    if (options_.output_padding.rank() == 0) {
      return size * stride + (same ? 0 : std::max<std::int64_t>(reach - stride, 0));
    }
    const std::int64_t margin = same ? reach / 2 : 0;
    return (size - 1) * stride + reach - 2 * margin + options_.output_padding[axis];
  }

  const ConvOptions how_;
  Variable kernel_, bias_;
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(Conv1D, ConvLayerOptions, ConvLayer<1>)
TENURE_DEFINE_LAYER(Conv2D, ConvLayerOptions, ConvLayer<2>)
TENURE_DEFINE_LAYER(Conv3D, ConvLayerOptions, ConvLayer<3>)
TENURE_DEFINE_LAYER(Conv1DTranspose, ConvTransposeOptions, ConvTransposeLayer<1>)
TENURE_DEFINE_LAYER(Conv2DTranspose, ConvTransposeOptions, ConvTransposeLayer<2>)
TENURE_DEFINE_LAYER(Conv3DTranspose, ConvTransposeOptions, ConvTransposeLayer<3>)

std::span<const detail::LayerRow> detail::convolution_layers() {
  return rows_of<Conv1D, Conv2D, Conv3D, Conv1DTranspose, Conv2DTranspose, Conv3DTranspose>();
}

}  // namespace tenure::nn
