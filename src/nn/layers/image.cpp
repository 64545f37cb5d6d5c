#include "tenure/image.h"

#include "nn/layers/common.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/math.h"
#include "tenure/nn/image_layers.h"
#include "tenure/reduce.h"

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

void check_size(const char* layer, std::int64_t height, std::int64_t width) {
  if (height < 1 || width < 1) {
    raise<ValueError>("{}: height and width must be positive: {}, {}", layer, height, width);
  }
}

void check_image(const Shape& input) {
  if (input.rank() != 3 && input.rank() != 4) {
    raise<ShapeError>("takes images of rank 3 or 4, was given {}", input);
  }
}

// The middle, height by width; the image is no smaller.
Tensor middle(const Tensor& x, std::int64_t height, std::int64_t width) {
  Shape begin = Shape::filled(x.rank(), 0), size = x.shape();
  begin[-3] = (size[-3] - height) / 2;
  begin[-2] = (size[-2] - width) / 2;
  size[-3] = height;
  size[-2] = width;
  return slice(x, begin, size);
}

// The middle that has the aspect ratio of height by width, as large as can be.
Tensor middle_of_ratio(const Tensor& x, std::int64_t height, std::int64_t width) {
  const std::int64_t h = x.dim(-3), w = x.dim(-2);
  return middle(x, std::min(h, w * height / width), std::min(w, h * width / height));
}

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
    check_size("Resizing", options_.height, options_.width);
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
    constexpr image::ResizeOptions kCenters{.align_corners = false, .half_pixel_centers = true};
    return options_.interpolation == "nearest"
               ? image::resize_nearest(std::move(x), size, kCenters)
               : image::resize_bilinear(std::move(x), size, kCenters);
  }
};

class CenterCropLayer final : public ConfiguredLayer<CenterCropOptions> {
 public:
  explicit CenterCropLayer(CenterCropOptions options) : ConfiguredLayer(std::move(options)) {
    check_size("CenterCrop", options_.height, options_.width);
  }
  const char* class_name() const override { return "CenterCrop"; }
  void build(const Shape& input) override { check_image(input); }
  Tensor call(const Tensor& picture, const Call&) override {
    check_image(picture.shape());
    const Tensor x = cast(picture, options_.dtype);
    const auto [height, width] = std::pair(options_.height, options_.width);
    if (x.dim(-3) >= height && x.dim(-2) >= width) return middle(x, height, width);
    return image::resize_bilinear(middle_of_ratio(x, height, width), {height, width},
                                  {.align_corners = false, .half_pixel_centers = true});
  }
};

class CategoryEncodingLayer final : public ConfiguredLayer<CategoryEncodingOptions> {
 public:
  explicit CategoryEncodingLayer(CategoryEncodingOptions options)
      : ConfiguredLayer(std::move(options)) {
    const std::string& mode = options_.output_mode;
    if (options_.num_tokens < 1) {
      raise<ValueError>("CategoryEncoding: num_tokens must be positive: {}", options_.num_tokens);
    }
    if (mode != "multi_hot" && mode != "one_hot" && mode != "count") {
      raise<ValueError>("CategoryEncoding: no such output_mode: \"{}\" (multi_hot, one_hot, count)",
                        mode);
    }
  }
  const char* class_name() const override { return "CategoryEncoding"; }

  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call&) override {
    const std::string& mode = options_.output_mode;
    if (inputs.size() != 1 && !(inputs.size() == 2 && mode == "count")) {
      raise<ShapeError>("takes one input, or two to count with weights, was given {} for \"{}\"",
                        inputs.size(), mode);
    }
    Tensor x = inputs[0];
    const Shape shape = x.shape();
    if (x.dtype() != DType::int32 && x.dtype() != DType::int64) x = cast(x, DType::int32);
    if (mode == "one_hot") {
      if (shape.rank() > 1 && shape[-1] == 1) x = squeeze(std::move(x), {-1});
      return {rows(x)};
    }
    if (shape.rank() != 1 && shape.rank() != 2) {
      raise<ShapeError>("takes inputs of rank 1 or 2 for \"{}\", was given {}", mode, shape);
    }
    if (mode == "multi_hot") return {max(rows(x), {-2})};
    if (inputs.size() == 1) return {sum(rows(x), {-2})};
    if (inputs[1].shape() != shape) {
      raise<ShapeError>("takes weights of the indices' shape: {}, {}", shape, inputs[1].shape());
    }
    return {sum(rows(x) * expand_dims(cast(inputs[1], options_.dtype), -1), {-2})};
  }

 private:
  Tensor rows(const Tensor& x) const {
    // one_hot lets an index out of range pass; looking it up does not.
    const Tensor zero = gather(zeros({options_.num_tokens}, options_.dtype), x);
    return one_hot(x, options_.num_tokens,
                   {.on = 1, .off = 0, .axis = -1, .dtype = options_.dtype}) +
           expand_dims(zero, -1);
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
