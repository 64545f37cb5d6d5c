// Images: resizing, cropping, turning, and choosing boxes.
#include <algorithm>

#include "call.h"
#include "operands.h"
#include "ops/apply.h"
#include "ops/image_attrs.h"
#include "tenure/tenure.h"

namespace tenure::node {
namespace {

image::ResizeOptions resize_options(Call& call) {
  const bool align_corners = call.flag();
  const bool half_pixel_centers = call.flag();
  return {.align_corners = align_corners, .half_pixel_centers = half_pixel_centers};
}

// TensorFlow.js resizes to float32.
void run_resize_bilinear(Call& call) {
  Tensor images = call.tensor();
  const Shape size = call.shape();
  const image::ResizeOptions options = resize_options(call);
  call.give(image::resize_bilinear(cast(std::move(images), DType::float32), size, options));
}

void run_resize_nearest(Call& call) {
  Tensor images = call.tensor();
  const Shape size = call.shape();
  const image::ResizeOptions options = resize_options(call);
  call.give(image::resize_nearest(std::move(images), size, options));
}

template <bool bilinear>
void resize_grad(Call& call) {
  static const ops::OpDef& op = **std::ranges::find(
      ops::all_ops(), std::string_view(bilinear ? "resize_bilinear_grad" : "resize_nearest_grad"),
      &ops::OpDef::name);
  Tensor dy = call.tensor();
  const Shape images = call.shape();
  const image::ResizeOptions options = resize_options(call);
  check_rank(op.name, "input", images, 4);
  check_rank(op.name, "gradient", dy.shape(), 4);
  dy = fitting(op.name, "gradient", std::move(dy), {images[0], dy.dim(1), dy.dim(2), images[3]});
  const ops::ResizeAttrs attrs{{images[1], images[2]},
                               {dy.dim(1), dy.dim(2)},
                               options.align_corners,
                               options.half_pixel_centers};
  call.give(ops::apply(op, ops::ref(attrs), std::source_location::current(), std::move(dy)));
}

void run_crop_and_resize(Call& call) {
  Tensor images = call.tensor();
  Tensor boxes = call.tensor();
  Tensor indices = call.tensor();
  const Shape size = call.shape();
  const auto method = call.choice(image::Interpolation::bilinear);
  const double outside = call.number();
  call.give(image::crop_and_resize(cast(std::move(images), DType::float32), std::move(boxes),
                                   std::move(indices), size,
                                   {.method = method, .extrapolation_value = outside}));
}

void run_flip_left_right(Call& call) { call.give(image::flip_left_right(call.tensor())); }

void run_rotate(Call& call) {
  Tensor images = call.tensor();
  const double radians = call.number();
  image::RotateOptions options;
  options.center_x = call.number();
  options.center_y = call.number();
  if (call.flag()) {
    const double red = call.number();
    const double green = call.number();
    options.fill_color = {red, green, call.number()};
  } else {
    options.fill_value = call.number();
  }
  call.give(image::rotate_with_offset(std::move(images), radians, options));
}

void run_transform(Call& call) {
  Tensor images = call.tensor();
  Tensor transforms = call.tensor();
  image::TransformOptions options;
  options.interpolation = call.choice(image::Interpolation::bilinear);
  options.fill_mode = call.choice(image::FillMode::nearest);
  options.output_size = call.shape();
  options.fill_value = call.number();
  call.give(image::transform(std::move(images), std::move(transforms), options));
}

void run_non_max_suppression_padded(Call& call) {
  Tensor boxes = call.tensor();
  Tensor scores = call.tensor();
  const std::int64_t most = call.integer();
  const bool pad = call.flag();
  const double overlap = call.number();
  const double least = call.number();
  image::PaddedSuppression kept = image::non_max_suppression_padded(
      std::move(boxes), std::move(scores), most,
      {.iou_threshold = overlap, .score_threshold = least, .pad_to_max_output_size = pad});
  call.give(std::vector<Tensor>{std::move(kept.selected_indices), std::move(kept.valid_outputs)});
}

constexpr Row kImageRows[] = {
    {"resize_bilinear", run_resize_bilinear},
    {"resize_nearest", run_resize_nearest},
    {"resize_bilinear_grad", resize_grad<true>},
    {"resize_nearest_grad", resize_grad<false>},
    {"crop_and_resize", run_crop_and_resize},
    {"flip_left_right", run_flip_left_right},
    {"rotate", run_rotate},
    {"transform", run_transform},
    {"non_max_suppression_padded", run_non_max_suppression_padded},
};

}  // namespace

std::span<const Row> image_rows() { return kImageRows; }

}  // namespace tenure::node
