#include "tenure/image.h"

#include <array>
#include <vector>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/differentiate.h"
#include "ops/families.h"
#include "ops/image_attrs.h"
#include "ops/promote.h"
#include "ops/round_once.h"
#include "ops/shapes.h"
#include "tensor/access.h"
#include "tenure/create.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

// Of [batch, height, width, channels] or without the batch.
Shape size_of_images(const Shape& images) { return {images[-3], images[-2]}; }
Shape with_size(Shape images, const Shape& size) {
  images[-3] = size[0];
  images[-2] = size[1];
  return images;
}

void check_images(const char* op, const Shape& shape) {
  if (shape.rank() != 3 && shape.rank() != 4) {
    raise<ShapeError>("{}: images are [batch, height, width, channels] or without the batch: {}",
                      op, shape);
  }
}

void check_size(const char* op, const Shape& size) {
  if (size.rank() != 2 || size[0] < 1 || size[1] < 1) {
    raise<ShapeError>("{}: a size is height and width, each 1 or more: {}", op, size);
  }
}

// A linear op and its transpose are each other's gradients.
template <const OpDef* transposed, class Attrs>
Grads linear(GradContext& g) {
  const auto& attrs = g.attrs_as<Attrs>();
  return apply(*transposed, ref(attrs), std::source_location::current(), g.dy());
}

// Resizing.

void resized(Infer& infer) {
  infer.result(with_size(infer.shape(0), infer.attrs.as<ResizeAttrs>().out), infer.dtype(0));
}
void unresized(Infer& infer) {
  infer.result(with_size(infer.shape(0), infer.attrs.as<ResizeAttrs>().in), infer.dtype(0));
}

extern constinit const OpDef kResizeBilinearGrad;
extern constinit const OpDef kResizeNearestGrad;

constinit const OpDef kResizeBilinear{.name = "resize_bilinear",
                                      .infer = resized,
                                      .tfjs = "ResizeBilinear",
                                      .grad_keeps = kNothing,
                                      .grad = linear<&kResizeBilinearGrad, ResizeAttrs>};
constinit const OpDef kResizeBilinearGrad{.name = "resize_bilinear_grad",
                                          .infer = unresized,
                                          .tfjs = "ResizeBilinearGrad",
                                          .grad_keeps = kNothing,
                                          .grad = linear<&kResizeBilinear, ResizeAttrs>};
constinit const OpDef kResizeNearest{.name = "resize_nearest",
                                     .infer = resized,
                                     .tfjs = "ResizeNearestNeighbor",
                                     .grad_keeps = kNothing,
                                     .grad = linear<&kResizeNearestGrad, ResizeAttrs>};
constinit const OpDef kResizeNearestGrad{.name = "resize_nearest_grad",
                                         .infer = unresized,
                                         .tfjs = "ResizeNearestNeighborGrad",
                                         .grad_keeps = kNothing,
                                         .grad = linear<&kResizeNearest, ResizeAttrs>};

ResizeAttrs resize_attrs(const char* op, const Shape& images, const Shape& size,
                         image::ResizeOptions options) {
  check_images(op, images);
  check_size(op, size);
  if (options.align_corners && options.half_pixel_centers) {
    raise<ValueError>("{}: align_corners and half_pixel_centers exclude each other", op);
  }
  if (images.numel() == 0 && images[-3] * images[-2] == 0) {
    raise<ShapeError>("{}: there are no pixels to resize: {}", op, images);
  }
  return {size_of_images(images), size, options.align_corners, options.half_pixel_centers};
}

// Cropping. The op samples images at rows and columns it is given, [boxes, height] and [boxes,
// width] in float64; the public function computes those from the boxes with ops of their own, so
// that boxes get a gradient. A sample is linear in its row and in its column between pixels: its
// derivative by either is the op again, with by_row or by_column 1, and the second is 0.

extern constinit const OpDef kCropAndResizeGrad;

Tensor cropped(const OpDef& op, const CropAttrs& attrs, Tensor values, Tensor rows, Tensor columns,
               Tensor indices) {
  return apply(op, ref(attrs), std::source_location::current(), std::move(values), std::move(rows),
               std::move(columns), std::move(indices));
}

// `images` and `dy` are what is sampled and what the samples are weighed with.
void add_coordinate_gradients(GradContext& g, const CropAttrs& attrs, const Tensor& images,
                              const Tensor& dy, std::vector<Tensor>& grads);

constexpr Keep kCoordinates{2 | 4 | 8, 0};
constexpr Keep kAllFour{1 | 2 | 4 | 8, 0};

constinit const OpDef kCropAndResize{
    .name = "crop_and_resize",
    .infer =
        [](Infer& infer) {
          const Shape& images = infer.shape(0);
          infer.result({infer.shape(1)[0], infer.shape(1)[1], infer.shape(2)[1], images[3]},
                       infer.dtype(0));
        },
    .inputs = 4,
    .tfjs = "CropAndResize",
    .checks_values = true,
    .grad_keeps = {kCoordinates, kAllFour, kAllFour, kNothing},
    .grad = [](GradContext& g) -> Grads {
      CropAttrs attrs = g.attrs_as<CropAttrs>();
      attrs.outside = 0;
      std::vector<Tensor> grads(4);
      if (g.needs(0)) {
        grads[0] = cropped(kCropAndResizeGrad, attrs, g.dy(), g.x(1), g.x(2), g.x(3));
      }
      if (g.needs(1) || g.needs(2)) add_coordinate_gradients(g, attrs, g.x(0), g.dy(), grads);
      return grads;
    }};

constinit const OpDef kCropAndResizeGrad{
    .name = "crop_and_resize_grad",
    .infer = [](Infer& infer) { infer.result(infer.attrs.as<CropAttrs>().image, infer.dtype(0)); },
    .inputs = 4,
    .checks_values = true,
    .grad_keeps = {kCoordinates, kAllFour, kAllFour, kNothing},
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<CropAttrs>();
      std::vector<Tensor> grads(4);
      if (g.needs(0)) grads[0] = cropped(kCropAndResize, attrs, g.dy(), g.x(1), g.x(2), g.x(3));
      if (g.needs(1) || g.needs(2)) add_coordinate_gradients(g, attrs, g.dy(), g.x(0), grads);
      return grads;
    }};

void add_coordinate_gradients(GradContext& g, const CropAttrs& attrs, const Tensor& images,
                              const Tensor& dy, std::vector<Tensor>& grads) {
  if (attrs.nearest) return;
  const auto along = [&](const CropAttrs& once_more, const Axes& others) {
    const Tensor slope = cropped(kCropAndResize, once_more, images, g.x(1), g.x(2), g.x(3));
    return cast(sum(slope * dy, others), DType::float64);
  };
  CropAttrs once_more = attrs;
  if (g.needs(1) && attrs.by_row == 0) {
    once_more.by_row = 1;
    grads[1] = along(once_more, {2, 3});
    once_more.by_row = 0;
  }
  if (g.needs(2) && attrs.by_column == 0) {
    once_more.by_column = 1;
    grads[2] = along(once_more, {1, 3});
  }
}

// Where `count` samples along an axis of `size` pixels lie, from first to last as parts of it.
Tensor sample_places(const Tensor& boxes, int first, std::int64_t size, std::int64_t count) {
  const std::int64_t boxes_count = boxes.shape()[0];
  const auto last_pixel = static_cast<double>(size - 1);
  Tensor begin = slice(boxes, {0, first}, {boxes_count, 1});
  Tensor end = slice(boxes, {0, first + 2}, {boxes_count, 1});
  if (count == 1) return (std::move(begin) + std::move(end)) * (0.5 * last_pixel);
  const Tensor steps =
      reshape(arange(0.0, static_cast<double>(count), 1.0, DType::float64), {1, count});
  Tensor step = (std::move(end) - begin) * last_pixel / static_cast<double>(count - 1);
  return std::move(begin) * last_pixel + steps * std::move(step);
}

// Flipping.

extern constinit const OpDef kFlip;

constinit const OpDef kFlip{.name = "flip_image",
                            .infer = same_shape,
                            .grad_keeps = kNothing,
                            .grad = linear<&kFlip, AxisAttrs>};

Tensor flipped(const char* op, Arg& images, int from_end) {
  const detail::UserLine site(images.site());
  const detail::CallScope call(op, site);
  Tensor tensor = as_tensor(op, std::move(images));
  check_images(op, tensor.shape());
  const AxisAttrs attrs{tensor.rank() - from_end};
  return apply(kFlip, ref(attrs), site, std::move(tensor));
}

// Rotating and transforming.

extern constinit const OpDef kRotateGrad;

constinit const OpDef kRotate{.name = "rotate_with_offset",
                              .infer = same_shape,
                              .tfjs = "RotateWithOffset",
                              .grad_keeps = kNothing,
                              .grad = linear<&kRotateGrad, RotateAttrs>};

constinit const OpDef kRotateGrad{.name = "rotate_with_offset_grad",
                                  .infer = same_shape,
                                  .grad_keeps = kNothing,
                                  .grad = [](GradContext& g) -> Grads {
                                    RotateAttrs attrs = g.attrs_as<RotateAttrs>();
                                    attrs.red = attrs.green = attrs.blue = attrs.further = 0;
                                    return apply(kRotate, g.dy(), ref(attrs));
                                  }};

// A pixel of the output is the input sampled at a row and a column that the transforms give.
// Between pixels a sample is linear in either, as in cropping: its derivatives are the op again,
// with by_row or by_column one more.

extern constinit const OpDef kTransform;
extern constinit const OpDef kTransformGrad;
extern constinit const OpDef kTransformGradTransforms;

constexpr Keep kBoth{1 | 2, 0};
constexpr Keep kAllThree{1 | 2 | 4, 0};

Tensor transformed(const OpDef& op, const TransformAttrs& attrs, Tensor values, Tensor transforms) {
  return apply(op, ref(attrs), std::source_location::current(), std::move(values),
               std::move(transforms));
}

Tensor transforms_gradient(const TransformAttrs& attrs, Tensor images, Tensor transforms,
                           Tensor dy) {
  if (!attrs.bilinear) return {};
  return apply(kTransformGradTransforms, ref(attrs), std::source_location::current(),
               std::move(images), std::move(transforms), std::move(dy));
}

// What transform_grad_transforms computes.
Tensor transforms_gradient_in_ops(const TransformAttrs& attrs, const Tensor& images,
                                  const Tensor& transforms, const Tensor& dy) {
  const std::int64_t rows = transforms.shape()[0], height = attrs.out[0], width = attrs.out[1];
  const auto count = [](std::int64_t n) { return arange(0, n, 1, DType::float64); };
  const Tensor x = reshape(count(width), {1, 1, width}), y = reshape(count(height), {1, height, 1});
  const auto coefficient = [&](int i) {
    return reshape(slice(transforms, {0, i}, {rows, 1}), {rows, 1, 1});
  };
  const auto plane = [&](int i) { return coefficient(i) * x + coefficient(i + 1) * y; };
  Tensor k = plane(6) + 1;
  k = where(equal(k, 0), 1, k);  // such a pixel is of no place, and its slopes are 0
  const auto slope = [&](int by_row, int by_column) {
    TransformAttrs once_more = attrs;
    once_more.by_row += by_row;
    once_more.by_column += by_column;
    const Tensor flow = sum(transformed(kTransform, once_more, images, transforms) * dy, {-1});
    return cast(reshape(flow, {-1, height, width}), DType::float64) / k;
  };
  const Tensor across = slope(0, 1), down = slope(1, 0);
  const Tensor shrink =
      -(across * (plane(0) + coefficient(2)) + down * (plane(3) + coefficient(5))) / k;
  const auto total = [&](const Tensor& flow) {
    return reshape(sum(flow, rows == 1 ? Axes{0, 1, 2} : Axes{1, 2}), {rows, 1});
  };
  return concat({total(across * x), total(across * y), total(across), total(down * x),
                 total(down * y), total(down), total(shrink * x), total(shrink * y)},
                1);
}

constinit const OpDef kTransform{
    .name = "transform",
    .infer =
        [](Infer& infer) {
          infer.result(with_size(infer.shape(0), infer.attrs.as<TransformAttrs>().out),
                       infer.dtype(0));
        },
    .inputs = 2,
    .tfjs = "Transform",
    .grad_keeps = {kInput1, kBoth},
    .grad = [](GradContext& g) -> Grads {
      TransformAttrs attrs = g.attrs_as<TransformAttrs>();
      std::vector<Tensor> grads(2);
      if (g.needs(1)) grads[1] = transforms_gradient(attrs, g.x(0), g.x(1), g.dy());
      attrs.fill_value = 0;
      if (g.needs(0)) grads[0] = transformed(kTransformGrad, attrs, g.dy(), g.x(1));
      return grads;
    }};

constinit const OpDef kTransformGrad{
    .name = "transform_grad",
    .infer =
        [](Infer& infer) {
          infer.result(with_size(infer.shape(0), infer.attrs.as<TransformAttrs>().in),
                       infer.dtype(0));
        },
    .inputs = 2,
    .grad_keeps = {kInput1, kBoth},
    .grad = [](GradContext& g) -> Grads {
      TransformAttrs attrs = g.attrs_as<TransformAttrs>();
      attrs.fill_value = 0;
      std::vector<Tensor> grads(2);
      if (g.needs(0)) grads[0] = transformed(kTransform, attrs, g.dy(), g.x(1));
      if (g.needs(1)) grads[1] = transforms_gradient(attrs, g.dy(), g.x(1), g.x(0));
      return grads;
    }};

constinit const OpDef kTransformGradTransforms{
    .name = "transform_grad_transforms",
    .infer = [](Infer& infer) { infer.result(infer.shape(1), DType::float64); },
    .inputs = 3,
    .grad_keeps = kAllThree,
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<TransformAttrs>();
      return differentiate(g, [&](const std::vector<Tensor>& in) {
        return std::vector{transforms_gradient_in_ops(attrs, in[0], in[1], in[2])};
      });
    }};

// Otsu's threshold of an image of values from 0 to 255: what separates it best into two.
constinit const OpDef kOtsu{.name = "otsu_threshold",
                            .infer = [](Infer& infer) { infer.result({}, DType::float32); },
                            .no_gradient = "it changes only in steps"};

Tensor gray_of(Tensor rgb, std::source_location site) {
  const std::vector<double> luma{0.2989, 0.5870, 0.1140};
  const Tensor weights = cast(tensor(luma, {3, 1}, site), rgb.dtype());
  Shape gray = rgb.shape();
  gray[-1] = 1;
  return reshape(matmul(reshape(std::move(rgb), {gray.numel(), 3}), weights), gray);
}

}  // namespace

Family image_ops() {
  static constexpr const OpDef* ops[] = {&kResizeBilinear,
                                         &kResizeBilinearGrad,
                                         &kResizeNearest,
                                         &kResizeNearestGrad,
                                         &kCropAndResize,
                                         &kCropAndResizeGrad,
                                         &kFlip,
                                         &kRotate,
                                         &kRotateGrad,
                                         &kTransform,
                                         &kTransformGrad,
                                         &kTransformGradTransforms,
                                         &kOtsu};
  static constexpr Composite composites[] = {
      {"flip_left_right", "FlipLeftRight", "flip_image"},
      {"flip_up_down", nullptr, "flip_image"},
      {"rgb_to_grayscale", nullptr, "cast, matmul"},
      {"grayscale_to_rgb", nullptr, "broadcast_to"},
      {"threshold", nullptr, "matmul, otsu_threshold, greater, less_equal, where"},
  };
  return {ops, composites};
}

}  // namespace ops

namespace image {

using namespace ops;

Tensor resize_bilinear(Arg images, const Shape& size, ResizeOptions options) {
  const detail::UserLine site(images.site());
  Tensor values = as_float("resize_bilinear", std::move(images));
  const ResizeAttrs attrs = resize_attrs("resize_bilinear", values.shape(), size, options);
  return apply(kResizeBilinear, ref(attrs), site, std::move(values));
}

Tensor resize_nearest(Arg images, const Shape& size, ResizeOptions options) {
  const detail::UserLine site(images.site());
  Tensor values = as_tensor("resize_nearest", std::move(images));
  const ResizeAttrs attrs = resize_attrs("resize_nearest", values.shape(), size, options);
  return apply(kResizeNearest, ref(attrs), site, std::move(values));
}

Tensor crop_and_resize(Arg images, Arg boxes, Arg box_indices, const Shape& size,
                       CropOptions options) {
  const char* op = "crop_and_resize";
  const detail::UserLine site(images.site());
  const detail::CallScope call(op, site);
  Tensor pictures = as_float(op, std::move(images));
  Tensor of_boxes = std::move(boxes).tensor();
  Tensor indices = std::move(box_indices).tensor();
  check_alive(op, 0, pictures, site);
  check_alive(op, 1, of_boxes, site);
  check_alive(op, 2, indices, site);
  const Shape& shape = pictures.shape();
  const Shape& all = of_boxes.shape();
  check_size(op, size);
  if (shape.rank() != 4 || shape[1] < 1 || shape[2] < 1) {
    raise<ShapeError>("crop_and_resize: images are [batch, height, width, channels]: {}", shape);
  }
  if (all.rank() != 2 || all[1] != 4 || indices.rank() != 1 || indices.shape()[0] != all[0]) {
    raise<ShapeError>("crop_and_resize: boxes are [count, 4] and box_indices [count]: {} and {}",
                      all, indices.shape());
  }
  if (!is_integer(indices.dtype())) {
    raise<DtypeError>("crop_and_resize: box_indices must be integers, not {}", indices.dtype());
  }
  of_boxes = operand_as(op, 1, std::move(of_boxes), DType::float64, site);
  if (indices.dtype() != DType::int64) {
    indices = operand_as(op, 2, std::move(indices), DType::int32, site);
  }
  Tensor rows = sample_places(of_boxes, 0, shape[1], size[0]);
  Tensor columns = sample_places(of_boxes, 1, shape[2], size[1]);
  of_boxes = {};
  const CropAttrs attrs{.image = shape,
                        .nearest = options.method == Interpolation::nearest,
                        .outside = options.extrapolation_value};
  return apply(kCropAndResize, ref(attrs), site, std::move(pictures), std::move(rows),
               std::move(columns), std::move(indices));
}

Tensor flip_left_right(Arg images) { return flipped("flip_left_right", images, 2); }
Tensor flip_up_down(Arg images) { return flipped("flip_up_down", images, 3); }

Tensor rotate_with_offset(Arg images, double radians, const RotateOptions& options) {
  const detail::UserLine site(images.site());
  Tensor values = as_float("rotate_with_offset", std::move(images));
  check_images("rotate_with_offset", values.shape());
  const double fill = options.fill_value;
  RotateAttrs attrs{radians, options.center_x, options.center_y, fill, fill, fill, fill};
  if (options.fill_color) {
    const auto& [red, green, blue] = *options.fill_color;
    attrs = {radians, options.center_x, options.center_y, red, green, blue, 255};
  }
  return apply(kRotate, ref(attrs), site, std::move(values));
}

Tensor transform(Arg images, Arg transforms, const TransformOptions& options) {
  const detail::UserLine site(images.site());
  Tensor values = as_float("transform", std::move(images));
  Tensor rows = std::move(transforms).tensor();
  check_images("transform", values.shape());
  check_alive("transform", 0, values, site);
  check_alive("transform", 1, rows, site);
  const std::int64_t batch = values.rank() == 4 ? values.shape()[0] : 1;
  const Shape& shape = rows.shape();
  if (shape.rank() != 2 || shape[1] != 8 || (shape[0] != 1 && shape[0] != batch)) {
    raise<ShapeError>("transform: transforms are [1, 8] or [{}, 8]: {}", batch, shape);
  }
  TransformAttrs attrs{.in = size_of_images(values.shape()),
                       .out = options.output_size,
                       .bilinear = options.interpolation == Interpolation::bilinear,
                       .fill_mode = static_cast<int>(options.fill_mode),
                       .fill_value = options.fill_value};
  if (attrs.out.rank() == 0) {
    attrs.out = attrs.in;
  } else {
    check_size("transform", attrs.out);
  }
  rows = operand_as("transform", 1, std::move(rows), DType::float64, site);
  return apply(kTransform, ref(attrs), site, std::move(values), std::move(rows));
}

Tensor rgb_to_grayscale(Arg images) {
  const detail::UserLine site(images.site());
  const detail::CallScope call("rgb_to_grayscale", site);
  Tensor values = as_tensor("rgb_to_grayscale", std::move(images));
  if (values.rank() < 2 || values.shape()[-1] != 3) {
    raise<ShapeError>("rgb_to_grayscale: the last of 2 or more axes must be 3: {}", values.shape());
  }
  const DType dtype = values.dtype();
  const RoundOnce rounded("rgb_to_grayscale", values, site);
  if (is_floating(dtype)) return rounded(gray_of(std::move(values), site));
  return cast(gray_of(cast(std::move(values), DType::float32), site), dtype);
}

Tensor grayscale_to_rgb(Arg images) {
  const detail::UserLine site(images.site());
  const detail::CallScope call("grayscale_to_rgb", site);
  Tensor values = as_tensor("grayscale_to_rgb", std::move(images));
  if (values.rank() < 2 || values.shape()[-1] != 1) {
    raise<ShapeError>("grayscale_to_rgb: the last of 2 or more axes must be 1: {}", values.shape());
  }
  Shape shape = values.shape();
  shape[-1] = 3;
  return broadcast_to(std::move(values), shape);
}

Tensor threshold(Arg image, ThresholdOptions options) {
  const detail::UserLine site(image.site());
  const detail::CallScope call("threshold", site);
  Tensor gray = as_float("threshold", std::move(image));
  const Shape shape = gray.shape();
  if (shape.rank() != 3 || (shape[2] != 1 && shape[2] != 3)) {
    raise<ShapeError>("threshold: an image is [height, width, 1 or 3]: {}", shape);
  }
  const RoundOnce widened("threshold", gray, site);
  if (shape[2] == 3) gray = gray_of(std::move(gray), site);
  Tensor limit;
  if (options.method == ThresholdMethod::otsu) {
    limit = cast(apply(kOtsu, {}, site, gray), gray.dtype());
  } else {
    limit = cast(tensor(options.threshold * 255, site), gray.dtype());
  }
  const Tensor bright = options.inverted ? less_equal(std::move(gray), std::move(limit))
                                         : greater(std::move(gray), std::move(limit));
  return where(bright, 255, 0);
}

}  // namespace image
}  // namespace tenure
