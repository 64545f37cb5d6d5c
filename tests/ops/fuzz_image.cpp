#include "fuzz.h"
#include "internal_call.h"
#include "ops/image_attrs.h"
#include "reference_image.h"

namespace tenure::testing {
namespace {

const Tolerance kSums{.ulps = 8, .epsilons = 64};

double no_fill(std::int64_t) { return 0; }
Shape size_of(const Shape& images) { return {images[-3], images[-2]}; }

Shape draw_images(Dice& dice, int least_rank = 3) {
  Shape shape;
  const std::int64_t rank = dice.in(least_rank, 4);
  if (rank == 4) shape.push_back(dice.chance(0.05) ? 0 : dice.in(1, 3));
  shape.push_back(dice.in(1, 6));
  shape.push_back(dice.in(1, 6));
  shape.push_back(dice.chance(0.1) ? dice.in(60, 70) : dice.in(1, 4));
  return shape;
}

Shape draw_size(Dice& dice) { return {dice.in(1, 7), dice.in(1, 7)}; }
Shape draw_no_images(Dice& dice) {
  return dice.chance(0.5) ? dice.shape(0, 2) : dice.shape(5, 6, 2);
}

image::ResizeOptions draw_resize_options(Dice& dice) {
  const std::int64_t which = dice.in(0, 2);
  return {.align_corners = which == 1, .half_pixel_centers = which == 2};
}

Fuzz fuzz_resize(bool nearest) {
  const char* op = nearest ? "resize_nearest" : "resize_bilinear";
  return {op, {op}, [=](Dice& dice) {
            Shape images = draw_images(dice);
            Shape size = draw_size(dice);
            image::ResizeOptions options = draw_resize_options(dice);
            Trial trial;
            const std::string prefix = std::string(op) + ": ";
            if (dice.chance(0.15)) {
              switch (dice.in(0, 3)) {
                case 0:
                  images = draw_no_images(dice);
                  trial.complaint = {prefix + "images are", to_string(images)};
                  break;
                case 1:
                  size = dice.chance(0.5) ? Shape{3} : Shape{2, -dice.in(0, 2)};
                  trial.complaint = {prefix + "a size is", to_string(size)};
                  break;
                case 2:
                  options = {true, true};
                  trial.complaint = {prefix + "align_corners and half_pixel_centers"};
                  break;
                default:
                  images[dice.chance(0.5) ? -2 : -3] = 0;
                  trial.complaint = {prefix + "there are no pixels", to_string(images)};
                  break;
              }
            }
            const DType dtype = dice.pick(nearest ? kAnything : kNumbers);
            trial.inputs = {drawn(dice, images, dtype)};
            trial.run = [=](Tensors in) {
              return nearest ? image::resize_nearest(OP_IN(0), size, options)
                             : image::resize_bilinear(OP_IN(0), size, options);
            };
            trial.expect = [=](const Arrays& in) {
              const Shape from = size_of(images);
              return sampled(in[0], size,
                             nearest ? nearest_resizing(from, size, options)
                                     : bilinear_resizing(from, size, options),
                             no_fill);
            };
            trial.result = nearest ? dtype : float_dtype(dtype);
            trial.tolerance = nearest ? Tolerance{} : kSums;
            return trial;
          }};
}

// The ops that only gradients call.
template <class Attrs>
Fuzz fuzz_gradient(
    const char* op,
    std::function<std::pair<Attrs, Sampling>(Dice&, const Shape& in, const Shape& out)> draw,
    bool keeps_size) {
  return {op, {op}, [=](Dice& dice) {
            Shape images = draw_images(dice);
            const Shape in_size = size_of(images);
            const Shape out_size = keeps_size ? in_size : draw_size(dice);
            const auto [attrs, sampling] = draw(dice, in_size, out_size);
            images[-3] = out_size[0];
            images[-2] = out_size[1];
            const DType dtype = dice.pick(kFloats);
            Trial trial;
            trial.inputs = {drawn(dice, images, dtype)};
            trial.run = [=, attrs = attrs](Tensors in) {
              return internal_call(op, attrs)(std::move(in), dtype);
            };
            trial.expect = [=, sampling = sampling](const Arrays& in) {
              return unsampled(in[0], in_size, sampling);
            };
            trial.result = dtype;
            trial.tolerance = kSums;
            return trial;
          }};
}

Fuzz fuzz_resize_grad(bool nearest) {
  return fuzz_gradient<ops::ResizeAttrs>(
      nearest ? "resize_nearest_grad" : "resize_bilinear_grad",
      [=](Dice& dice, const Shape& in, const Shape& out) {
        const image::ResizeOptions options = draw_resize_options(dice);
        return std::pair(
            ops::ResizeAttrs{in, out, options.align_corners, options.half_pixel_centers},
            nearest ? nearest_resizing(in, out, options) : bilinear_resizing(in, out, options));
      },
      false);
}

Fuzz fuzz_rotate_grad() {
  return fuzz_gradient<ops::RotateAttrs>(
      "rotate_with_offset_grad",
      [](Dice& dice, const Shape& in, const Shape&) {
        const double radians = static_cast<double>(dice.in(-400, 400)) / 100;
        return std::pair(ops::RotateAttrs{.radians = radians}, rotation(in, radians, 0.5, 0.5));
      },
      true);
}

Trial crop_trial(Dice& dice) {
  Shape images = draw_images(dice, 4);
  images[0] = dice.in(1, 3);
  Shape boxes{dice.in(0, 4), 4};
  Shape count{boxes[0]};
  Shape size = draw_size(dice);
  const bool nearest = dice.chance(0.4);
  const DType dtype = dice.pick(kFloats);
  Trial trial;
  Input indices{.least = 0, .most = images[0] - 1, .dtype = DType::int32};
  if (dice.chance(0.3)) indices.dtype = DType::int64;
  if (dice.chance(0.15)) {
    switch (dice.in(0, 3)) {
      case 0:
        images = dice.chance(0.5) ? Shape{4, 4, 2} : Shape{2, 0, 3, 1};
        trial.complaint = {"crop_and_resize: images are", to_string(images)};
        break;
      case 1:
        if (dice.chance(0.5))
          boxes[1] = 3;
        else
          count[0] += 1;
        trial.complaint = {"crop_and_resize: boxes are", to_string(boxes), to_string(count)};
        break;
      case 2:
        size = {0, 3};
        trial.complaint = {"crop_and_resize: a size is", "[0, 3]"};
        break;
      default:
        boxes[0] = count[0] = 2;
        indices.least = indices.most = dice.chance(0.5) ? images[0] : -1;
        trial.complaint = {"crop_and_resize: box index", std::to_string(indices.least),
                           "position 0", std::to_string(images[0]) + " images"};
        break;
    }
  }
  const image::CropOptions options{
      .method = nearest ? image::Interpolation::nearest : image::Interpolation::bilinear,
      .extrapolation_value = static_cast<double>(dice.in(-3, 3))};
  trial.inputs = {drawn(dice, images, dtype), drawn(dice, boxes, dtype, {.low = -0.3, .high = 1.3}),
                  drawn(dice, count, dtype, indices)};
  trial.run = [=](Tensors in) {
    return image::crop_and_resize(OP_IN(0), OP_IN(1), OP_IN(2), size, options);
  };
  trial.expect = [=](const Arrays& in) {
    return cropped(in, size, nearest, options.extrapolation_value);
  };
  trial.result = dtype;
  trial.tolerance = kSums;
  return trial;
}

Trial crop_grad_trial(Dice& dice) {
  const Shape images{dice.in(1, 3), dice.in(1, 5), dice.in(1, 5), dice.in(1, 3)};
  const std::int64_t boxes = dice.in(1, 4);
  const Shape size = draw_size(dice);
  const bool nearest = dice.chance(0.4);
  const DType dtype = dice.pick(kFloats);
  const Input places{.low = -0.5, .high = 5, .dtype = DType::float64};
  Trial trial;
  trial.inputs = {
      drawn(dice, {boxes, size[0], size[1], images[3]}, dtype),
      drawn(dice, {boxes, size[0]}, dtype, places), drawn(dice, {boxes, size[1]}, dtype, places),
      drawn(dice, {boxes}, dtype, {.least = 0, .most = images[0] - 1, .dtype = DType::int32})};
  trial.run = [=](Tensors in) {
    return internal_call("crop_and_resize_grad",
                         ops::CropAttrs{.image = images, .nearest = nearest})(std::move(in), dtype);
  };
  trial.expect = [=](const Arrays& in) { return uncropped(in, images, nearest); };
  trial.result = dtype;
  trial.tolerance = kSums;
  return trial;
}

Fuzz fuzz_flip(bool up_down) {
  const char* op = up_down ? "flip_up_down" : "flip_left_right";
  return {op, {op, "flip_image"}, [=](Dice& dice) {
            Trial trial;
            Shape images = draw_images(dice);
            if (dice.chance(0.15)) {
              images = draw_no_images(dice);
              trial.complaint = {std::string(op) + ": images are", to_string(images)};
            }
            const DType dtype = dice.pick(kAnything);
            trial.inputs = {drawn(dice, images, dtype)};
            trial.run = [=](Tensors in) {
              return up_down ? image::flip_up_down(OP_IN(0)) : image::flip_left_right(OP_IN(0));
            };
            trial.expect = [=](const Arrays& in) {
              return flipped(in[0], in[0].shape.rank() - (up_down ? 3 : 2));
            };
            trial.result = dtype;
            return trial;
          }};
}

Trial rotate_trial(Dice& dice) {
  Shape images = draw_images(dice);
  Trial trial;
  if (dice.chance(0.15)) {
    images = draw_no_images(dice);
    trial.complaint = {"rotate_with_offset: images are", to_string(images)};
  }
  const double radians = static_cast<double>(dice.in(-400, 400)) / 100;
  const image::RotateOptions options{.fill_value = static_cast<double>(dice.in(-3, 3)),
                                     .center_x = static_cast<double>(dice.in(0, 4)) / 4,
                                     .center_y = static_cast<double>(dice.in(0, 4)) / 4};
  const DType dtype = dice.pick(kFloats);
  trial.inputs = {drawn(dice, images, dtype)};
  trial.run = [=](Tensors in) { return image::rotate_with_offset(OP_IN(0), radians, options); };
  trial.expect = [=](const Arrays& in) {
    return sampled(in[0], size_of(images),
                   rotation(size_of(images), radians, options.center_x, options.center_y),
                   [&](std::int64_t) { return options.fill_value; });
  };
  trial.result = dtype;
  return trial;
}

struct Projecting {
  bool bilinear;
  image::FillMode mode;
  Input transforms{.low = -2.5, .high = 2.5, .dtype = DType::float64};
  explicit Projecting(Dice& dice)
      : bilinear(dice.chance(0.5)), mode(static_cast<image::FillMode>(dice.in(0, 3))) {}
};

Trial transform_trial(Dice& dice) {
  Shape images = draw_images(dice);
  if (images.rank() == 4 && images[0] == 0) images[0] = 1;
  const std::int64_t batch = images.rank() == 4 ? images[0] : 1;
  Shape transforms{dice.chance(0.5) ? 1 : batch, 8};
  Shape size = dice.chance(0.5) ? draw_size(dice) : Shape{};
  Trial trial;
  if (dice.chance(0.15)) {
    switch (dice.in(0, 2)) {
      case 0:
        images = draw_no_images(dice);
        trial.complaint = {"transform: images are", to_string(images)};
        break;
      case 1:
        transforms = dice.chance(0.5) ? Shape{batch, 9} : Shape{batch + 1, 8};
        trial.complaint = {"transform: transforms are", to_string(transforms)};
        break;
      default:
        size = {3, 0};
        trial.complaint = {"transform: a size is", "[3, 0]"};
        break;
    }
  }
  const Projecting how(dice);
  const image::TransformOptions options{.interpolation = how.bilinear
                                                             ? image::Interpolation::bilinear
                                                             : image::Interpolation::nearest,
                                        .fill_mode = how.mode,
                                        .fill_value = static_cast<double>(dice.in(-3, 3)),
                                        .output_size = size};
  const DType dtype = dice.pick(kFloats);
  trial.inputs = {drawn(dice, images, dtype), drawn(dice, transforms, dtype, how.transforms)};
  trial.run = [=](Tensors in) { return image::transform(OP_IN(0), OP_IN(1), options); };
  trial.expect = [=](const Arrays& in) {
    return sampled(in[0], size.rank() == 2 ? size : size_of(images),
                   projection(size_of(images), in[1], how.bilinear, how.mode),
                   [&](std::int64_t) { return options.fill_value; });
  };
  trial.result = dtype;
  trial.tolerance = {.ulps = 8, .epsilons = 500};
  return trial;
}

Trial transform_grad_trial(Dice& dice) {
  const Shape in_size = draw_size(dice), out_size = draw_size(dice);
  const std::int64_t batch = dice.in(1, 2);
  const Projecting how(dice);
  const DType dtype = dice.pick(kFloats);
  Trial trial;
  trial.inputs = {drawn(dice, {batch, out_size[0], out_size[1], dice.in(1, 3)}, dtype),
                  drawn(dice, {dice.chance(0.5) ? 1 : batch, 8}, dtype, how.transforms)};
  trial.run = [=](Tensors in) {
    return internal_call("transform_grad",
                         ops::TransformAttrs{.in = in_size,
                                             .out = out_size,
                                             .bilinear = how.bilinear,
                                             .fill_mode = static_cast<int>(how.mode)})(
        std::move(in), dtype);
  };
  trial.expect = [=](const Arrays& in) {
    return unsampled(in[0], in_size, projection(in_size, in[1], how.bilinear, how.mode));
  };
  trial.result = dtype;
  trial.tolerance = {.ulps = 8, .epsilons = 500};
  return trial;
}

Trial transform_grad_transforms_trial(Dice& dice) {
  const Shape in_size = draw_size(dice), out_size = draw_size(dice);
  const std::int64_t batch = dice.in(1, 2), channels = dice.in(1, 19);
  const Projecting how(dice);
  const double fill = static_cast<double>(dice.in(-3, 3));
  const DType dtype = dice.pick(kFloats);
  Drawn transforms = drawn(dice, {dice.chance(0.5) ? 1 : batch, 8}, dtype, how.transforms);
  transforms.lay = Lay::contiguous;
  for (std::size_t i = 0; i < transforms.values.data.size(); ++i) {
    if (i % 8 >= 6) transforms.values.data[i] *= 0.02;  // nothing is divided by almost 0
  }
  Trial trial;
  trial.inputs = {drawn(dice, {batch, in_size[0], in_size[1], channels}, dtype), transforms,
                  drawn(dice, {batch, out_size[0], out_size[1], channels}, dtype)};
  trial.run = [=](Tensors in) {
    return internal_call("transform_grad_transforms",
                         ops::TransformAttrs{.in = in_size,
                                             .out = out_size,
                                             .bilinear = true,
                                             .fill_mode = static_cast<int>(how.mode),
                                             .fill_value = fill})(std::move(in), dtype);
  };
  trial.expect = [=](const Arrays& in) { return unprojected(in[0], in[1], in[2], how.mode, fill); };
  trial.result = DType::float64;
  trial.tolerance = {.ulps = 64, .epsilons = 1e6};
  return trial;
}

Fuzz fuzz_colors(bool to_rgb) {
  const char* op = to_rgb ? "grayscale_to_rgb" : "rgb_to_grayscale";
  return {op, {op}, [=](Dice& dice) {
            Shape shape = dice.shape(1, 4);
            shape.push_back(to_rgb ? 1 : 3);
            Trial trial;
            if (dice.chance(0.15)) {
              if (dice.chance(0.3))
                shape = {3};
              else
                shape[-1] = 2;
              trial.complaint = {std::string(op) + ": the last of 2 or more axes",
                                 to_string(shape)};
            }
            const DType dtype = dice.pick(to_rgb ? kAnything : kFloats);
            trial.inputs = {drawn(dice, shape, dtype)};
            trial.run = [=](Tensors in) {
              return to_rgb ? image::grayscale_to_rgb(OP_IN(0)) : image::rgb_to_grayscale(OP_IN(0));
            };
            trial.expect = [=](const Arrays& in) {
              if (!to_rgb) return gray(in[0]);
              Shape rgb = shape;
              rgb[-1] = 3;
              return broadcasted(in[0], rgb);
            };
            trial.result = dtype;
            trial.tolerance = to_rgb ? Tolerance{} : kSums;
            return trial;
          }};
}

Trial threshold_trial(Dice& dice) {
  Shape shape{dice.in(1, 6), dice.in(1, 6), dice.chance(0.5) ? 1 : 3};
  Trial trial;
  if (dice.chance(0.15)) {
    shape = dice.chance(0.5) ? Shape{4, 4, 2} : Shape{2, 3};
    trial.complaint = {"threshold: an image is", to_string(shape)};
  }
  const image::ThresholdOptions options{
      .method = dice.chance(0.5) ? image::ThresholdMethod::otsu : image::ThresholdMethod::binary,
      .inverted = dice.chance(0.5),
      .threshold = static_cast<double>(dice.in(1, 9)) / 10 + 0.0123};
  const DType dtype = dice.pick(DTypes{DType::float32, DType::float64, DType::int32, DType::uint8});
  trial.inputs = {
      drawn(dice, shape, dtype, {.low = 0, .high = 255, .least = 0, .most = dice.in(3, 255)})};
  trial.run = [=](Tensors in) { return image::threshold(OP_IN(0), options); };
  trial.expect = [=](const Arrays& in) { return thresholded(in[0], options); };
  trial.result = DType::int32;
  return trial;
}

}  // namespace

std::vector<Fuzz> image_fuzz() {
  return {
      fuzz_resize(false),
      fuzz_resize(true),
      fuzz_resize_grad(false),
      fuzz_resize_grad(true),
      {"crop_and_resize", {"crop_and_resize"}, crop_trial},
      {"crop_and_resize_grad", {"crop_and_resize_grad"}, crop_grad_trial},
      fuzz_flip(false),
      fuzz_flip(true),
      {"rotate_with_offset", {"rotate_with_offset"}, rotate_trial},
      fuzz_rotate_grad(),
      {"transform", {"transform"}, transform_trial},
      {"transform_grad", {"transform_grad"}, transform_grad_trial},
      {"transform_grad_transforms", {"transform_grad_transforms"}, transform_grad_transforms_trial},
      fuzz_colors(false),
      fuzz_colors(true),
      {"threshold", {"threshold", "otsu_threshold"}, threshold_trial}};
}

}  // namespace tenure::testing
