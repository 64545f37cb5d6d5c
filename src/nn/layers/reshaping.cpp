#include "tenure/nn/reshaping_layers.h"

#include <algorithm>
#include <array>

#include "nn/layers/common.h"
#include "tenure/image.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, FlattenOptions& o) { TENURE_FIELDS(visit, o, data_format); }

void fields(Fields& visit, ReshapeOptions& o) {
  visit("target_shape", Numbers{o.target_shape, true});
}

void fields(Fields& visit, PermuteOptions& o) { TENURE_FIELDS(visit, o, dims); }

void fields(Fields& visit, RepeatVectorOptions& o) { TENURE_FIELDS(visit, o, n); }

namespace {

// In files always pairs.
void margin_field(Fields& visit, const char* key, Margins& margins, int axes) {
  Paddings pairs = margins_per_axis("file", key, margins, axes);
  visit(key, MarginField{pairs, axes});
  margins = std::move(pairs);
}

}  // namespace

template <int Count>
void fields(Fields& visit, CroppingOptions<Count>& o) {
  margin_field(visit, "cropping", o.cropping, Count);
  if (Count > 1) visit("data_format", o.data_format);
}

template <int Count>
void fields(Fields& visit, ZeroPaddingOptions<Count>& o) {
  margin_field(visit, "padding", o.padding, Count);
  if (Count > 1) visit("data_format", o.data_format);
}

void fields(Fields& visit, UpSampling1DOptions& o) { TENURE_FIELDS(visit, o, size); }

void fields(Fields& visit, UpSampling2DOptions& o) {
  TENURE_FIELDS(visit, o, size, data_format, interpolation);
}

void fields(Fields& visit, UpSampling3DOptions& o) { TENURE_FIELDS(visit, o, size, data_format); }

namespace {

// Of one example.
std::int64_t elements_of(const Shape& input) { return Shape(input.dims().subspan(1)).numel(); }

class FlattenLayer final : public ConfiguredLayer<FlattenOptions> {
 public:
  explicit FlattenLayer(FlattenOptions options)
      : ConfiguredLayer(std::move(options)),
        channels_first_(is_channels_first("Flatten", options_.data_format)) {}
  const char* class_name() const override { return "Flatten"; }
  void build(const Shape& input) override { check_rank_from(input, 1); }
  Tensor call(const Tensor& x, const Call&) override {
    const Shape& shape = x.shape();
    check_rank_from(shape, 1);
    Tensor y = x;
    if (channels_first_ && shape.rank() > 2) {
      Axes last{0};
      for (int axis = 2; axis < shape.rank(); ++axis) last.push_back(axis);
      last.push_back(1);
      y = transpose(x, last);
    }
    return reshape(std::move(y), {shape[0], elements_of(shape)});
  }

 private:
  const bool channels_first_;
};

class ReshapeLayer final : public ConfiguredLayer<ReshapeOptions> {
 public:
  explicit ReshapeLayer(ReshapeOptions options) : ConfiguredLayer(std::move(options)) {
    int unknown = 0;
    for (const std::int64_t size : options_.target_shape) {
      if (size < kAny) raise<ValueError>("Reshape: a size is negative: {}", options_.target_shape);
      unknown += size == kAny;
    }
    if (unknown > 1) {
      raise<ValueError>("Reshape: only one size can be -1: {}", options_.target_shape);
    }
  }
  const char* class_name() const override { return "Reshape"; }
  void build(const Shape& input) override { check_rank_from(input, 1); }
  Tensor call(const Tensor& x, const Call&) override {
    const Shape& input = x.shape();
    check_rank_from(input, 1);
    const std::int64_t elements = elements_of(input);
    std::int64_t known = 1;
    bool is_open = false;
    for (const std::int64_t size : options_.target_shape) {
      if (size == kAny) {
        is_open = true;
      } else {
        known *= size;
      }
    }
    if (is_open ? known == 0 || elements % known != 0 : elements != known) {
      raise<ShapeError>("cannot make {} of each example of {}", options_.target_shape, input);
    }
    Shape target{input[0]};
    for (const std::int64_t size : options_.target_shape) {
      target.push_back(size == kAny ? elements / known : size);
    }
    return reshape(x, target);
  }
};

class PermuteLayer final : public ConfiguredLayer<PermuteOptions> {
 public:
  explicit PermuteLayer(PermuteOptions options) : ConfiguredLayer(std::move(options)) {
    const int count = options_.dims.rank();
    std::vector<bool> seen(static_cast<std::size_t>(count), false);
    for (const std::int64_t axis : options_.dims) {
      if (axis < 1 || axis > count || seen[static_cast<std::size_t>(axis - 1)]) {
        raise<ValueError>("Permute: dims must have each of 1 to {} once: {}", count, options_.dims);
      }
      seen[static_cast<std::size_t>(axis - 1)] = true;
    }
    if (count == 0) raise<ValueError>("Permute: no dims were given");
  }
  const char* class_name() const override { return "Permute"; }
  void build(const Shape& input) override { check_rank(input, options_.dims.rank() + 1); }
  Tensor call(const Tensor& x, const Call&) override {
    check_rank(x.shape(), options_.dims.rank() + 1);
    Axes axes{0};
    for (const std::int64_t axis : options_.dims) axes.push_back(axis);
    return transpose(x, axes);
  }
};

class RepeatVectorLayer final : public ConfiguredLayer<RepeatVectorOptions> {
 public:
  explicit RepeatVectorLayer(RepeatVectorOptions options) : ConfiguredLayer(std::move(options)) {
    if (options_.n < 1) raise<ValueError>("RepeatVector: n must be positive: {}", options_.n);
  }
  const char* class_name() const override { return "RepeatVector"; }
  void build(const Shape& input) override { check_rank(input, 2); }
  Tensor call(const Tensor& x, const Call&) override {
    const Shape& shape = x.shape();
    check_rank(shape, 2);
    return broadcast_to(expand_dims(x, 1), {shape[0], options_.n, shape[1]});
  }
};

constexpr int first_axis(bool channels_first) { return channels_first ? 2 : 1; }

template <int Count>
class CroppingLayer final : public ConfiguredLayer<CroppingOptions<Count>> {
 public:
  explicit CroppingLayer(CroppingOptions<Count> options)
      : ConfiguredLayer<CroppingOptions<Count>>(checked(std::move(options))),
        channels_first_(Count > 1 && is_channels_first(kName, this->options_.data_format)) {}
  const char* class_name() const override { return kName; }
  void build(const Shape& input) override { check_rank(input, Count + 2); }
  Tensor call(const Tensor& x, const Call&) override {
    const Shape& input = x.shape();
    check_rank(input, Count + 2);
    Shape begin = Shape::filled(Count + 2, 0), size = input;
    for (int i = 0; i < Count; ++i) {
      const int axis = first_axis(channels_first_) + i;
      const auto [before, after] = this->options_.cropping.pairs()[static_cast<std::size_t>(i)];
      begin[axis] = before;
      size[axis] -= before + after;
      if (size[axis] < 1) {
        raise<ShapeError>("cuts {} and {} off axis {}, which leaves nothing of {}", before, after,
                          axis, input);
      }
    }
    return slice(x, begin, size);
  }

 private:
  static constexpr const char* kName =
      std::array{"Cropping1D", "Cropping2D", "Cropping3D"}[Count - 1];
  static CroppingOptions<Count> checked(CroppingOptions<Count> o) {
    o.cropping = margins_per_axis(kName, "cropping", o.cropping, Count);
    return o;
  }
  const bool channels_first_;
};

template <int Count>
class ZeroPaddingLayer final : public ConfiguredLayer<ZeroPaddingOptions<Count>> {
 public:
  explicit ZeroPaddingLayer(ZeroPaddingOptions<Count> options)
      : ConfiguredLayer<ZeroPaddingOptions<Count>>(checked(std::move(options))),
        channels_first_(Count > 1 && is_channels_first(kName, this->options_.data_format)) {}
  const char* class_name() const override { return kName; }
  void build(const Shape& input) override { check_rank(input, Count + 2); }
  Tensor call(const Tensor& x, const Call&) override {
    check_rank(x.shape(), Count + 2);
    Paddings all(Count + 2, {0, 0});
    const Paddings& padding = this->options_.padding.pairs();
    std::copy(padding.begin(), padding.end(), all.begin() + first_axis(channels_first_));
    return pad(x, all);
  }

 private:
  static constexpr const char* kName =
      std::array{"ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D"}[Count - 1];
  static ZeroPaddingOptions<Count> checked(ZeroPaddingOptions<Count> o) {
    o.padding = margins_per_axis(kName, "padding", o.padding, Count);
    return o;
  }
  const bool channels_first_;
};

// Each element along the axes from `first` on as often as `factors` say.
Tensor repeated(const Tensor& x, int first, const Shape& factors) {
  const Shape& input = x.shape();
  Shape apart, wide, joined;
  for (int axis = 0; axis < input.rank(); ++axis) {
    const bool grows = axis >= first && axis < first + factors.rank();
    const std::int64_t factor = grows ? factors[axis - first] : 1;
    apart.push_back(input[axis]);
    wide.push_back(input[axis]);
    joined.push_back(input[axis] * factor);
    if (!grows) continue;
    apart.push_back(1);
    wide.push_back(factor);
  }
  return reshape(broadcast_to(reshape(x, apart), wide), joined);
}

class UpSampling1DLayer final : public ConfiguredLayer<UpSampling1DOptions> {
 public:
  explicit UpSampling1DLayer(UpSampling1DOptions options) : ConfiguredLayer(std::move(options)) {
    per_axis("UpSampling1D", "size", Sizes(options_.size), 1);
  }
  const char* class_name() const override { return "UpSampling1D"; }
  void build(const Shape& input) override { check_rank(input, 3); }
  Tensor call(const Tensor& x, const Call&) override {
    check_rank(x.shape(), 3);
    return repeated(x, 1, {options_.size});
  }
};

class UpSampling2DLayer final : public ConfiguredLayer<UpSampling2DOptions> {
 public:
  explicit UpSampling2DLayer(UpSampling2DOptions options)
      : ConfiguredLayer(checked(std::move(options))),
        channels_first_(is_channels_first("UpSampling2D", options_.data_format)) {}
  const char* class_name() const override { return "UpSampling2D"; }
  void build(const Shape& input) override { check_rank(input, 4); }
  Tensor call(const Tensor& x, const Call&) override {
    check_rank(x.shape(), 4);
    const int first = first_axis(channels_first_);
    if (options_.interpolation == "nearest") return repeated(x, first, options_.size);
    const Shape size{x.dim(first) * options_.size[0], x.dim(first + 1) * options_.size[1]};
    constexpr image::ResizeOptions kCenters{.align_corners = false, .half_pixel_centers = true};
    if (!channels_first_) return image::resize_bilinear(x, size, kCenters);
    const Tensor last = transpose(x, {0, 2, 3, 1});
    return transpose(image::resize_bilinear(last, size, kCenters), {0, 3, 1, 2});
  }

 private:
  static UpSampling2DOptions checked(UpSampling2DOptions o) {
    o.size = per_axis("UpSampling2D", "size", o.size, 2);
    if (o.interpolation != "nearest" && o.interpolation != "bilinear") {
      raise<ValueError>("UpSampling2D: no such interpolation: \"{}\" (nearest, bilinear)",
                        o.interpolation);
    }
    return o;
  }
  const bool channels_first_;
};

class UpSampling3DLayer final : public ConfiguredLayer<UpSampling3DOptions> {
 public:
  explicit UpSampling3DLayer(UpSampling3DOptions options)
      : ConfiguredLayer(checked(std::move(options))),
        channels_first_(is_channels_first("UpSampling3D", options_.data_format)) {}
  const char* class_name() const override { return "UpSampling3D"; }
  void build(const Shape& input) override { check_rank(input, 5); }
  Tensor call(const Tensor& x, const Call&) override {
    check_rank(x.shape(), 5);
    return repeated(x, first_axis(channels_first_), options_.size);
  }

 private:
  static UpSampling3DOptions checked(UpSampling3DOptions o) {
    o.size = per_axis("UpSampling3D", "size", o.size, 3);
    return o;
  }
  const bool channels_first_;
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(Flatten, FlattenOptions, FlattenLayer)
TENURE_DEFINE_LAYER(Reshape, ReshapeOptions, ReshapeLayer)
TENURE_DEFINE_LAYER(Permute, PermuteOptions, PermuteLayer)
TENURE_DEFINE_LAYER(RepeatVector, RepeatVectorOptions, RepeatVectorLayer)
TENURE_DEFINE_LAYER(Cropping1D, CroppingOptions<1>, CroppingLayer<1>)
TENURE_DEFINE_LAYER(Cropping2D, CroppingOptions<2>, CroppingLayer<2>)
TENURE_DEFINE_LAYER(Cropping3D, CroppingOptions<3>, CroppingLayer<3>)
TENURE_DEFINE_LAYER(ZeroPadding1D, ZeroPaddingOptions<1>, ZeroPaddingLayer<1>)
TENURE_DEFINE_LAYER(ZeroPadding2D, ZeroPaddingOptions<2>, ZeroPaddingLayer<2>)
TENURE_DEFINE_LAYER(ZeroPadding3D, ZeroPaddingOptions<3>, ZeroPaddingLayer<3>)
TENURE_DEFINE_LAYER(UpSampling1D, UpSampling1DOptions, UpSampling1DLayer)
TENURE_DEFINE_LAYER(UpSampling2D, UpSampling2DOptions, UpSampling2DLayer)
TENURE_DEFINE_LAYER(UpSampling3D, UpSampling3DOptions, UpSampling3DLayer)

std::span<const detail::LayerRow> detail::reshaping_layers() {
  return rows_of<Flatten, Reshape, Permute, RepeatVector, Cropping1D, Cropping2D, Cropping3D,
                 ZeroPadding1D, ZeroPadding2D, ZeroPadding3D, UpSampling1D, UpSampling2D,
                 UpSampling3D>();
}

}  // namespace tenure::nn
