// Images varied at random.
#include "tenure/nn/augmentation_layers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "nn/layers/common.h"
#include "nn/layers/images.h"
#include "nn/layers/noise.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace detail {

namespace {

void pair_from(const std::vector<double>& numbers, const char* what, double& a, double& b) {
  if (numbers.size() != 2) raise<ValueError>("{} should be two numbers", what);
  a = numbers[0];
  b = numbers[1];
}

void factor_field(Fields& visit, const char* key, std::optional<Factor>& factor) {
  std::optional<std::vector<double>> numbers;
  if (factor) {
    numbers.emplace({factor->lower(), factor->upper()});
    if (factor->is_one()) numbers->erase(numbers->begin());
  }
  visit(key, numbers);
  if (!visit.reads()) return;
  factor.reset();
  if (!numbers) return;
  if (numbers->size() == 1) {
    factor = Factor(numbers->front());
    return;
  }
  double lower = 0, upper = 0;
  pair_from(*numbers, key, lower, upper);
  factor = Factor(lower, upper);
}

void factor_field(Fields& visit, const char* key, Factor& factor) {
  std::optional<Factor> given = factor;
  factor_field(visit, key, given);
  factor = given.value_or(Factor(0));
}

void range_field(Fields& visit, std::pair<double, double>& range) {
  std::vector<double> numbers{range.first, range.second};
  visit("value_range", numbers);
  pair_from(numbers, "value_range", range.first, range.second);
}

// What those that move pixels have in common.
template <class O>
void filling_fields(Fields& visit, O& o) {
  TENURE_FIELDS(visit, o, fill_mode, interpolation, seed, fill_value, data_format);
}

}  // namespace

void fields(Fields& visit, RandomFlipOptions& o) {
  TENURE_FIELDS(visit, o, mode, seed, data_format);
}

void fields(Fields& visit, RandomRotationOptions& o) {
  factor_field(visit, "factor", o.factor);
  filling_fields(visit, o);
}

void fields(Fields& visit, RandomZoomOptions& o) {
  factor_field(visit, "height_factor", o.height_factor);
  factor_field(visit, "width_factor", o.width_factor);
  filling_fields(visit, o);
}

void fields(Fields& visit, RandomTranslationOptions& o) {
  factor_field(visit, "height_factor", o.height_factor);
  factor_field(visit, "width_factor", o.width_factor);
  filling_fields(visit, o);
}

void fields(Fields& visit, RandomCropOptions& o) {
  TENURE_FIELDS(visit, o, height, width, seed, data_format);
}

void fields(Fields& visit, RandomContrastOptions& o) {
  factor_field(visit, "factor", o.factor);
  range_field(visit, o.value_range);
  TENURE_FIELDS(visit, o, seed, data_format);
}

void fields(Fields& visit, RandomBrightnessOptions& o) {
  factor_field(visit, "factor", o.factor);
  range_field(visit, o.value_range);
  TENURE_FIELDS(visit, o, seed);
}

namespace {

void check_factor(const char* layer, const char* what, const Factor& factor, double least,
                  double most) {
  if (!factor.is_one() && factor.lower() > factor.upper()) {
    raise<ValueError>("{}: {} must be a range: {}, {}", layer, what, factor.lower(),
                      factor.upper());
  }
  check_between(layer, what, factor.lower(), least, most);
  check_between(layer, what, factor.upper(), least, most);
}

// In training, of a batch of images in the layer's dtype, with the channels last.
template <class O>
class AugmentationLayer : public ConfiguredLayer<O> {
 public:
  AugmentationLayer(const char* name, O options)
      : ConfiguredLayer<O>(std::move(options)), noise_(this->options_.seed) {
    if constexpr (requires { this->options_.data_format; }) {
      channels_first_ = is_channels_first(name, this->options_.data_format);
    }
  }

  void build(const Shape& input) override {
    check_image(input);
    noise_.build(*this);
  }

  Tensor call(const Tensor& x, const Call& call) override {
    check_image(x.shape());
    const DType dtype = this->options_.dtype;
    Tensor images = x.dtype() == dtype ? x.clone() : cast(x, dtype);
    if (!call.training && !changes_always()) return images;
    const bool is_single = images.rank() == 3;
    if (is_single) images = expand_dims(std::move(images), 0);
    if (channels_first_) images = transpose(std::move(images), {0, 2, 3, 1});
    images = call.training ? augmented(images) : settled(images);
    if (channels_first_) images = transpose(std::move(images), {0, 3, 1, 2});
    return is_single ? squeeze(std::move(images), {0}) : images;
  }

 protected:
  virtual Tensor augmented(const Tensor& images) = 0;
  virtual bool changes_always() const { return false; }
  virtual Tensor settled(const Tensor& images) { return images; }  // outside of training

  // A number for each image.
  Tensor drawn(const Tensor& images, double low, double high) {
    if (low == high) return full({images.dim(0)}, low, images.dtype());
    return noise_.uniform({images.dim(0)}, {.low = low, .high = high, .dtype = images.dtype()});
  }
  Tensor drawn(const Tensor& images, const Factor& factor) {
    return drawn(images, std::min(factor.lower(), factor.upper()),
                 std::max(factor.lower(), factor.upper()));
  }
  static Tensor for_pixels(Tensor numbers) { return reshape(std::move(numbers), {-1, 1, 1, 1}); }

  Noise noise_;

 private:
  bool channels_first_ = false;
};

class RandomFlipLayer final : public AugmentationLayer<RandomFlipOptions> {
 public:
  explicit RandomFlipLayer(RandomFlipOptions options)
      : AugmentationLayer("RandomFlip", std::move(options)) {
    const std::string& mode = options_.mode;
    if (mode != "horizontal" && mode != "vertical" && mode != "horizontal_and_vertical") {
      raise<ValueError>(
          "RandomFlip: no such mode: \"{}\" (horizontal, vertical, horizontal_and_vertical)", mode);
    }
  }
  const char* class_name() const override { return "RandomFlip"; }

 private:
  Tensor augmented(const Tensor& images) override {
    Tensor y = images;
    if (options_.mode != "vertical") y = flipped(y, 2);
    if (options_.mode != "horizontal") y = flipped(y, 1);
    return y;
  }
  Tensor flipped(const Tensor& images, int axis) {
    return where(for_pixels(drawn(images, 0, 1)) < 0.5, reverse(images, {axis}), images);
  }
};

// Those that sample an image at other places.
template <class O>
class MovingLayer : public AugmentationLayer<O> {
 public:
  MovingLayer(const char* name, O options) : AugmentationLayer<O>(name, std::move(options)) {
    const O& o = this->options_;
    constexpr std::array kModes{"constant", "reflect", "wrap", "nearest"};  // of image::FillMode
    const auto mode = std::ranges::find(kModes, o.fill_mode);
    if (mode == kModes.end()) {
      raise<ValueError>("{}: no such fill_mode: \"{}\" (constant, reflect, wrap, nearest)", name,
                        o.fill_mode);
    }
    if (o.interpolation != "bilinear" && o.interpolation != "nearest") {
      raise<ValueError>("{}: no such interpolation: \"{}\" (bilinear, nearest)", name,
                        o.interpolation);
    }
    how_.fill_mode = static_cast<image::FillMode>(mode - kModes.begin());
    how_.interpolation = o.interpolation == "nearest" ? image::Interpolation::nearest
                                                      : image::Interpolation::bilinear;
    how_.fill_value = o.fill_value;
  }

 protected:
  // Where each pixel comes from: x' = xx x + xy y + x0, y' = yx x + yy y + y0; a row per image.
  struct Places {
    Tensor xx, xy, x0, yx, yy, y0;
  };
  Tensor moved(const Tensor& images, const Places& from) const {
    const Tensor none = zeros_like(from.x0);
    return image::transform(
        images, stack({from.xx, from.xy, from.x0, from.yx, from.yy, from.y0, none, none}, 1), how_);
  }
  static double last(const Tensor& images, int axis) {
    return static_cast<double>(images.dim(axis) - 1);
  }

 private:
  image::TransformOptions how_;
};

class RandomRotationLayer final : public MovingLayer<RandomRotationOptions> {
 public:
  explicit RandomRotationLayer(RandomRotationOptions options)
      : MovingLayer("RandomRotation", std::move(options)) {
    check_factor("RandomRotation", "factor", options_.factor, -1, 1);
  }
  const char* class_name() const override { return "RandomRotation"; }

 private:
  // Around the middle, (x / 2, y / 2).
  Tensor augmented(const Tensor& images) override {
    const Tensor angle = drawn(images, options_.factor) * (2 * std::numbers::pi);
    const Tensor c = cos(angle), s = sin(angle);
    const double x = last(images, 2), y = last(images, 1);
    return moved(images, {.xx = c,
                          .xy = -s,
                          .x0 = (x - (c * x - s * y)) * 0.5,
                          .yx = s,
                          .yy = c,
                          .y0 = (y - (s * x + c * y)) * 0.5});
  }
};

class RandomZoomLayer final : public MovingLayer<RandomZoomOptions> {
 public:
  explicit RandomZoomLayer(RandomZoomOptions options)
      : MovingLayer("RandomZoom", std::move(options)) {
    constexpr double kMost = 1e6;
    check_factor("RandomZoom", "height_factor", options_.height_factor, -1, kMost);
    if (options_.width_factor) {
      check_factor("RandomZoom", "width_factor", *options_.width_factor, -1, kMost);
    }
  }
  const char* class_name() const override { return "RandomZoom"; }

 private:
  Tensor augmented(const Tensor& images) override {
    const Tensor down = drawn(images, options_.height_factor) + 1;
    const Tensor across = options_.width_factor ? drawn(images, *options_.width_factor) + 1 : down;
    const Tensor none = zeros_like(down);
    return moved(images, {.xx = across,
                          .xy = none,
                          .x0 = (1 - across) * (last(images, 2) / 2),
                          .yx = none,
                          .yy = down,
                          .y0 = (1 - down) * (last(images, 1) / 2)});
  }
};

class RandomTranslationLayer final : public MovingLayer<RandomTranslationOptions> {
 public:
  explicit RandomTranslationLayer(RandomTranslationOptions options)
      : MovingLayer("RandomTranslation", std::move(options)) {
    check_factor("RandomTranslation", "height_factor", options_.height_factor, -1, 1);
    check_factor("RandomTranslation", "width_factor", options_.width_factor, -1, 1);
  }
  const char* class_name() const override { return "RandomTranslation"; }

 private:
  Tensor augmented(const Tensor& images) override {
    const Tensor down = drawn(images, options_.height_factor);
    const Tensor across = drawn(images, options_.width_factor);
    const Tensor none = zeros_like(down), one = ones_like(down);
    return moved(images, {.xx = one,
                          .xy = none,
                          .x0 = across * -static_cast<double>(images.dim(2)),
                          .yx = none,
                          .yy = one,
                          .y0 = down * -static_cast<double>(images.dim(1))});
  }
};

class RandomCropLayer final : public AugmentationLayer<RandomCropOptions> {
 public:
  explicit RandomCropLayer(RandomCropOptions options)
      : AugmentationLayer("RandomCrop", std::move(options)) {
    check_image_size("RandomCrop", options_.height, options_.width);
  }
  const char* class_name() const override { return "RandomCrop"; }

 private:
  bool changes_always() const override { return true; }

  Tensor settled(const Tensor& images) override {
    const Shape size{options_.height, options_.width};
    return image::resize_bilinear(middle_of_ratio(images, size[0], size[1]), size, kPixelCenters);
  }

  Tensor augmented(const Tensor& images) override {
    const std::int64_t down = images.dim(1) - options_.height;
    const std::int64_t across = images.dim(2) - options_.width;
    if (down < 0 || across < 0) return settled(images);
    const Tensor x = first_of(across, images.dtype()), y = first_of(down, images.dtype());
    const Tensor none = zeros_like(x), one = ones_like(x);
    image::TransformOptions part;
    part.output_size = {options_.height, options_.width};
    return image::transform(images, stack({one, none, x, none, one, y, none, none}, 1), part);
  }

  // One of 0 to `room`, each as likely.
  Tensor first_of(std::int64_t room, DType dtype) {
    const auto places = static_cast<double>(room + 1);
    const Tensor at = noise_.uniform({1}, {.low = 0, .high = places, .dtype = dtype});
    return minimum(floor(at), room);
  }
};

void check_range(const char* layer, const std::pair<double, double>& range) {
  if (range.first < range.second) return;
  raise<ValueError>("{}: value_range must be from a number to a larger one: {}, {}", layer,
                    range.first, range.second);
}

class RandomContrastLayer final : public AugmentationLayer<RandomContrastOptions> {
 public:
  explicit RandomContrastLayer(RandomContrastOptions options)
      : AugmentationLayer("RandomContrast", std::move(options)) {
    check_between("RandomContrast", "factor", lower(), 0, 1);
    check_between("RandomContrast", "factor", options_.factor.upper(), 0, 1);
    check_range("RandomContrast", options_.value_range);
  }
  const char* class_name() const override { return "RandomContrast"; }

 private:
  double lower() const {
    return options_.factor.is_one() ? options_.factor.upper() : options_.factor.lower();
  }
  Tensor augmented(const Tensor& images) override {
    const Tensor factor = for_pixels(drawn(images, 1 - lower(), 1 + options_.factor.upper()));
    const Tensor middle = mean(images, {1, 2}, {.keep_dims = true});
    return clip((images - middle) * factor + middle, options_.value_range.first,
                options_.value_range.second);
  }
};

class RandomBrightnessLayer final : public AugmentationLayer<RandomBrightnessOptions> {
 public:
  explicit RandomBrightnessLayer(RandomBrightnessOptions options)
      : AugmentationLayer("RandomBrightness", std::move(options)) {
    check_factor("RandomBrightness", "factor", options_.factor, -1, 1);
    check_range("RandomBrightness", options_.value_range);
  }
  const char* class_name() const override { return "RandomBrightness"; }

 private:
  Tensor augmented(const Tensor& images) override {
    const auto [least, most] = options_.value_range;
    const Tensor more = for_pixels(drawn(images, options_.factor)) * (most - least);
    return clip(images + more, least, most);
  }
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(RandomFlip, RandomFlipOptions, RandomFlipLayer)
TENURE_DEFINE_LAYER(RandomRotation, RandomRotationOptions, RandomRotationLayer)
TENURE_DEFINE_LAYER(RandomZoom, RandomZoomOptions, RandomZoomLayer)
TENURE_DEFINE_LAYER(RandomTranslation, RandomTranslationOptions, RandomTranslationLayer)
TENURE_DEFINE_LAYER(RandomCrop, RandomCropOptions, RandomCropLayer)
TENURE_DEFINE_LAYER(RandomContrast, RandomContrastOptions, RandomContrastLayer)
TENURE_DEFINE_LAYER(RandomBrightness, RandomBrightnessOptions, RandomBrightnessLayer)

std::span<const detail::LayerRow> detail::augmentation_layers() {
  return rows_of<RandomFlip, RandomRotation, RandomZoom, RandomTranslation, RandomCrop,
                 RandomContrast, RandomBrightness>();
}

}  // namespace tenure::nn
