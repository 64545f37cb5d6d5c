#include "tenure/image.h"

#include "nn/layers/categories.h"
#include "nn/layers/common.h"
#include "nn/layers/images.h"
#include "tenure/math.h"
#include "tenure/nn/image_layers.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, RescalingOptions& o) { TENURE_FIELDS(visit, o, scale, offset); }

void fields(Fields& visit, ResizingOptions& o) {
  TENURE_FIELDS(visit, o, height, width, interpolation, crop_to_aspect_ratio);
}

void fields(Fields& visit, CenterCropOptions& o) { TENURE_FIELDS(visit, o, height, width); }

void fields(Fields& visit, CategoryEncodingOptions& o) {
  TENURE_FIELDS(visit, o, num_tokens, output_mode);
}

namespace {

class RescalingLayer final : public ConfiguredLayer<RescalingOptions> {
 public:
  using ConfiguredLayer::ConfiguredLayer;
  const char* class_name() const override { return "Rescaling"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call&) override {
    return cast(x, options_.dtype) * options_.scale + options_.offset;
  }
};

class ResizingLayer final : public ConfiguredLayer<ResizingOptions> {
 public:
  explicit ResizingLayer(ResizingOptions options) : ConfiguredLayer(std::move(options)) {
    check_image_size("Resizing", options_.height, options_.width);
    if (options_.interpolation != "bilinear" && options_.interpolation != "nearest") {
      raise<ValueError>("Resizing: no such interpolation: \"{}\" (bilinear, nearest)",
                        options_.interpolation);
    }
  }
  const char* class_name() const override { return "Resizing"; }
  void build(const Shape& input) override { check_image(input); }
  Tensor call(const Tensor& picture, const Call&) override {
    check_image(picture.shape());
    Tensor x = cast(picture, options_.dtype);
    const Shape size{options_.height, options_.width};
    if (options_.crop_to_aspect_ratio) x = middle_of_ratio(x, size[0], size[1]);
    return options_.interpolation == "nearest"
               ? image::resize_nearest(std::move(x), size, kPixelCenters)
               : image::resize_bilinear(std::move(x), size, kPixelCenters);
  }
};

class CenterCropLayer final : public ConfiguredLayer<CenterCropOptions> {
 public:
  explicit CenterCropLayer(CenterCropOptions options) : ConfiguredLayer(std::move(options)) {
    check_image_size("CenterCrop", options_.height, options_.width);
  }
  const char* class_name() const override { return "CenterCrop"; }
  void build(const Shape& input) override { check_image(input); }
  Tensor call(const Tensor& picture, const Call&) override {
    check_image(picture.shape());
    const Tensor x = cast(picture, options_.dtype);
    const auto [height, width] = std::pair(options_.height, options_.width);
    if (x.dim(-3) >= height && x.dim(-2) >= width) return middle(x, height, width);
    return image::resize_bilinear(middle_of_ratio(x, height, width), {height, width},
                                  kPixelCenters);
  }
};

class CategoryEncodingLayer final : public ConfiguredLayer<CategoryEncodingOptions> {
 public:
  explicit CategoryEncodingLayer(CategoryEncodingOptions options)
      : ConfiguredLayer(std::move(options)) {
    if (options_.num_tokens < 1) {
      raise<ValueError>("CategoryEncoding: num_tokens must be positive: {}", options_.num_tokens);
    }
    check_output_mode("CategoryEncoding", options_.output_mode);
  }
  const char* class_name() const override { return "CategoryEncoding"; }
  bool casts_inputs() const override { return false; }  // numbers of classes, however large

  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call&) override {
    const std::string& mode = options_.output_mode;
    if (inputs.size() != 1 && !(inputs.size() == 2 && mode == "count")) {
      raise<ShapeError>("takes one input, or two to count with weights, was given {} for \"{}\"",
                        inputs.size(), mode);
    }
    const Tensor weights = inputs.size() == 2 ? inputs[1] : Tensor();
    return telling<ValueError>(
        [this](Error& error) { name_index(error, *this, "num_tokens", options_.num_tokens); },
        [&]() -> std::vector<Tensor> {
          return {encoded(inputs[0], mode, options_.num_tokens, options_.dtype, weights)};
        });
  }
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(Rescaling, RescalingOptions, RescalingLayer)
TENURE_DEFINE_LAYER(Resizing, ResizingOptions, ResizingLayer)
TENURE_DEFINE_LAYER(CenterCrop, CenterCropOptions, CenterCropLayer)
TENURE_DEFINE_LAYER(CategoryEncoding, CategoryEncodingOptions, CategoryEncodingLayer)

std::span<const detail::LayerRow> detail::image_layers() {
  return rows_of<Rescaling, Resizing, CenterCrop, CategoryEncoding>();
}

}  // namespace tenure::nn
