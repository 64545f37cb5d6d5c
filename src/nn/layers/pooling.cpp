#include "tenure/nn/pooling_layers.h"

#include <array>

#include "nn/layers/common.h"
#include "ops/round_once.h"
#include "tenure/math.h"
#include "tenure/pool.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, PoolingOptions& o) {
  TENURE_FIELDS(visit, o, pool_size, strides, padding, data_format);
}

void fields(Fields& visit, GlobalPoolingOptions& o) {
  TENURE_FIELDS(visit, o, data_format, keepdims);
}

namespace {

template <int Count, PoolType Type>
class PoolingLayer final : public ConfiguredLayer<PoolingOptions> {
 public:
  explicit PoolingLayer(PoolingOptions options)
      : ConfiguredLayer(checked(std::move(options))),
        how_{.strides = options_.strides,
             .padding = padding_named(kName, options_.padding),
             .dilations = {},
             .rounding = Rounding::down,
             .channels_first = is_channels_first(kName, options_.data_format)} {}
  const char* class_name() const override { return kName; }
  void build(const Shape& input) override { check_rank(input, Count + 2); }
  Tensor call(const Tensor& x, const Call&) override {
    check_rank(x.shape(), Count + 2);
    return Type == PoolType::max ? max_pool(x, options_.pool_size, how_)
                                 : avg_pool(x, options_.pool_size, how_);
  }

 private:
  static constexpr const char* kName =
      Type == PoolType::max
          ? std::array{"MaxPooling1D", "MaxPooling2D", "MaxPooling3D"}[Count - 1]
          : std::array{"AveragePooling1D", "AveragePooling2D", "AveragePooling3D"}[Count - 1];
  static PoolingOptions checked(PoolingOptions o) {
    o.pool_size = per_axis(kName, "pool_size", o.pool_size, Count);
    if (o.strides.rank() == 0) o.strides = o.pool_size;
    o.strides = per_axis(kName, "strides", o.strides, Count);
    return o;
  }
  const PoolOptions how_;
};

template <int Count, PoolType Type>
class GlobalPoolingLayer final : public ConfiguredLayer<GlobalPoolingOptions> {
 public:
  explicit GlobalPoolingLayer(GlobalPoolingOptions options)
      : ConfiguredLayer(std::move(options)),
        channels_first_(is_channels_first(kName, options_.data_format)) {}
  const char* class_name() const override { return kName; }
  void build(const Shape& input) override { check_rank(input, Count + 2); }
  Tensor call(const Tensor& x, const Call& call) override {
    check_rank(x.shape(), Count + 2);
    const GlobalPoolOptions how{.keep_dims = options_.keepdims, .channels_first = channels_first_};
    if constexpr (Type == PoolType::max) return global_max_pool(x, how);
    const Tensor mask = call.mask();
    if (!kTakesMask || !mask.defined()) return global_avg_pool(x, how);
    const int steps = channels_first_ ? 2 : 1;
    Tensor wide = x;
    const ops::RoundOnce rounded(kName, wide, std::source_location::current());
    const Tensor weights = expand_dims(cast(mask, wide.dtype()), channels_first_ ? 1 : 2);
    const ReduceOptions keep{.keep_dims = options_.keepdims};
    return rounded(sum(wide * weights, {steps}, keep) / sum(weights, {steps}, keep));
  }
  Tensor compute_mask(const std::vector<Tensor>& inputs,
                      const std::vector<Tensor>& masks) override {
    return kTakesMask ? Tensor() : LayerBase::compute_mask(inputs, masks);
  }

 private:
  static constexpr bool kTakesMask = Count == 1 && Type == PoolType::avg;
  static constexpr const char* kName =
      Type == PoolType::max
          ? std::array{"GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D"}[Count - 1]
          : std::array{"GlobalAveragePooling1D", "GlobalAveragePooling2D",
                       "GlobalAveragePooling3D"}[Count - 1];
  const bool channels_first_;
};

}  // namespace

// Under names without a comma, for the macro.
template <int Count>
using MaxPool = PoolingLayer<Count, PoolType::max>;
template <int Count>
using AveragePool = PoolingLayer<Count, PoolType::avg>;
template <int Count>
using GlobalMaxPool = GlobalPoolingLayer<Count, PoolType::max>;
template <int Count>
using GlobalAveragePool = GlobalPoolingLayer<Count, PoolType::avg>;

}  // namespace detail

TENURE_DEFINE_LAYER(MaxPooling1D, PoolingOptions, MaxPool<1>)
TENURE_DEFINE_LAYER(MaxPooling2D, PoolingOptions, MaxPool<2>)
TENURE_DEFINE_LAYER(MaxPooling3D, PoolingOptions, MaxPool<3>)
TENURE_DEFINE_LAYER(AveragePooling1D, PoolingOptions, AveragePool<1>)
TENURE_DEFINE_LAYER(AveragePooling2D, PoolingOptions, AveragePool<2>)
TENURE_DEFINE_LAYER(AveragePooling3D, PoolingOptions, AveragePool<3>)
TENURE_DEFINE_LAYER(GlobalMaxPooling1D, GlobalPoolingOptions, GlobalMaxPool<1>)
TENURE_DEFINE_LAYER(GlobalMaxPooling2D, GlobalPoolingOptions, GlobalMaxPool<2>)
TENURE_DEFINE_LAYER(GlobalMaxPooling3D, GlobalPoolingOptions, GlobalMaxPool<3>)
TENURE_DEFINE_LAYER(GlobalAveragePooling1D, GlobalPoolingOptions, GlobalAveragePool<1>)
TENURE_DEFINE_LAYER(GlobalAveragePooling2D, GlobalPoolingOptions, GlobalAveragePool<2>)
TENURE_DEFINE_LAYER(GlobalAveragePooling3D, GlobalPoolingOptions, GlobalAveragePool<3>)

std::span<const detail::LayerRow> detail::pooling_layers() {
  return rows_of<MaxPooling1D, MaxPooling2D, MaxPooling3D, AveragePooling1D, AveragePooling2D,
                 AveragePooling3D, GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D,
                 GlobalAveragePooling1D, GlobalAveragePooling2D, GlobalAveragePooling3D>();
}

}  // namespace tenure::nn
