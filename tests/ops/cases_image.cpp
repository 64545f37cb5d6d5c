#include "case.h"
#include "internal_call.h"
#include "ops/image_attrs.h"
#include "reference_image.h"

namespace tenure::testing {
namespace {

const Tolerance kSums{.ulps = 8, .epsilons = 64};

double no_fill(std::int64_t) { return 0; }
Shape size_of(const Shape& images) { return {images[-3], images[-2]}; }

std::vector<Case> resize_cases() {
  struct Row {
    const char* name;
    image::ResizeOptions options;
    Shape size;
  };
  const Row rows[] = {{"larger", {}, {7, 5}},
                      {"smaller", {}, {2, 1}},
                      {"with_aligned_corners", {.align_corners = true}, {5, 7}},
                      {"with_half_pixel_centers", {.half_pixel_centers = true}, {7, 2}}};
  std::vector<Case> cases;
  for (const Row& row : rows) {
    const image::ResizeOptions options = row.options;
    const Shape size = row.size;
    for (const bool nearest : {false, true}) {
      const std::string op = nearest ? "resize_nearest" : "resize_bilinear";
      const auto sampling = [=](const Shape& in) {
        return nearest ? nearest_resizing(in, size, options) : bilinear_resizing(in, size, options);
      };
      cases.push_back({.name = op + "_" + row.name,
                       .ops = {nearest ? "resize_nearest" : "resize_bilinear"},
                       .run =
                           [=](Tensors in, DType) {
                             return nearest ? image::resize_nearest(OP_IN(0), size, options)
                                            : image::resize_bilinear(OP_IN(0), size, options);
                           },
                       .inputs = {{}},
                       .shapes = {{{2, 4, 3, 2}}, {{3, 4, 1}}, {{0, 2, 2, 1}}, {{1, 2, 2, 0}}},
                       .reference =
                           [=](const Arrays& in) {
                             return sampled(in[0], size, sampling(size_of(in[0].shape)), no_fill);
                           },
                       .tolerance = nearest ? Tolerance{} : kSums,
                       .dtypes = nearest ? kAnything : kFloats});
      const Shape whole{4, 3};
      cases.push_back(
          {.name = op + "_grad_" + row.name,
           .ops = {nearest ? "resize_nearest_grad" : "resize_bilinear_grad"},
           .run = internal_call(
               nearest ? "resize_nearest_grad" : "resize_bilinear_grad",
               ops::ResizeAttrs{whole, size, options.align_corners, options.half_pixel_centers}),
           .inputs = {{}},
           .shapes = {{{2, size[0], size[1], 2}}, {{size[0], size[1], 1}}},
           .reference = [=](const Arrays& in) { return unsampled(in[0], whole, sampling(whole)); },
           .tolerance = kSums});
    }
  }
  for (const bool nearest : {false, true}) {
    const Shape size{50, 9};
    cases.push_back({.name = nearest ? "resize_nearest_of_many" : "resize_bilinear_of_many",
                     .ops = {nearest ? "resize_nearest" : "resize_bilinear"},
                     .run =
                         [=](Tensors in, DType) {
                           return nearest ? image::resize_nearest(OP_IN(0), size)
                                          : image::resize_bilinear(OP_IN(0), size);
                         },
                     .inputs = {{}},
                     .shapes = {{{1, 2, 2, 1}}},
                     .value_shapes = {{{2, 8, 30, 70}}},
                     .reference =
                         [=](const Arrays& in) {
                           const Shape from = size_of(in[0].shape);
                           return sampled(in[0], size,
                                          nearest ? nearest_resizing(from, size, {})
                                                  : bilinear_resizing(from, size, {}),
                                          no_fill);
                         },
                     .tolerance = kSums});
  }
  return cases;
}

std::vector<Case> crop_cases() {
  std::vector<Case> cases;
  const Input indices{.least = 0, .most = 1, .dtype = DType::int32};
  for (const bool nearest : {false, true}) {
    const image::CropOptions options{
        .method = nearest ? image::Interpolation::nearest : image::Interpolation::bilinear,
        .extrapolation_value = 3};
    const std::string name = nearest ? "crop_and_resize_nearest" : "crop_and_resize_bilinear";
    for (const Shape& size : {Shape{3, 4}, Shape{1, 2}}) {
      cases.push_back({.name = name + "_to_" + std::to_string(size[0]),
                       .ops = {"crop_and_resize"},
                       .run =
                           [=](Tensors in, DType) {
                             return image::crop_and_resize(OP_IN(0), OP_IN(1), OP_IN(2), size,
                                                           options);
                           },
                       .inputs = {{}, {.low = -0.2, .high = 1.2}, indices},
                       .shapes = {{{2, 5, 4, 2}, {3, 4}, {3}}, {{2, 3, 3, 1}, {0, 4}, {0}}},
                       .reference = [=](const Arrays& in) { return cropped(in, size, nearest, 3); },
                       .tolerance = kSums});
    }
    const Shape images{2, 5, 4, 2};
    cases.push_back({.name = name + "_grad",
                     .ops = {"crop_and_resize_grad"},
                     .run = internal_call("crop_and_resize_grad",
                                          ops::CropAttrs{.image = images, .nearest = nearest}),
                     .inputs = {{},
                                {.low = -0.5, .high = 4.5, .dtype = DType::float64},
                                {.low = -0.5, .high = 3.5, .dtype = DType::float64},
                                indices},
                     .shapes = {{{3, 2, 3, 2}, {3, 2}, {3, 3}, {3}}},
                     .reference = [=](const Arrays& in) { return uncropped(in, images, nearest); },
                     .tolerance = kSums});
  }
  return cases;
}

std::vector<Case> flip_cases() {
  std::vector<Case> cases;
  for (const bool up_down : {false, true}) {
    cases.push_back({.name = up_down ? "flip_up_down" : "flip_left_right",
                     .ops = {"flip_image"},
                     .run =
                         [=](Tensors in, DType) {
                           return up_down ? image::flip_up_down(OP_IN(0))
                                          : image::flip_left_right(OP_IN(0));
                         },
                     .inputs = {{}},
                     .shapes = {{{2, 3, 4, 2}}, {{3, 2, 1}}, {{1, 0, 2, 3}}},
                     .reference =
                         [=](const Arrays& in) {
                           return flipped(in[0], in[0].shape.rank() - (up_down ? 3 : 2));
                         },
                     .dtypes = kAnything,
                     .error_name = up_down ? "flip_up_down" : "flip_left_right"});
  }
  return cases;
}

std::vector<Case> rotate_cases() {
  struct Row {
    const char* name;
    double radians;
    image::RotateOptions options;
  };
  const Row rows[] = {
      {"a_quarter", 1.5707963267948966, {}},
      {"a_little", 0.4, {.fill_value = 7}},
      {"back_about_a_corner", -1, {.fill_color = {{1, 2, 3}}, .center_x = 0, .center_y = 0.25}}};
  std::vector<Case> cases;
  for (const Row& row : rows) {
    const double radians = row.radians;
    const image::RotateOptions options = row.options;
    const auto sampling = [=](const Shape& images) {
      return rotation(size_of(images), radians, options.center_x, options.center_y);
    };
    const auto fill = [options](std::int64_t channel) {
      if (!options.fill_color) return options.fill_value;
      return channel < 3 ? (*options.fill_color)[static_cast<std::size_t>(channel)] : 255;
    };
    cases.push_back(
        {.name = std::string("rotate_with_offset_") + row.name,
         .ops = {"rotate_with_offset"},
         .run = [=](Tensors in,
                    DType) { return image::rotate_with_offset(OP_IN(0), radians, options); },
         .inputs = {{}},
         .shapes = {{{2, 4, 3, 4}}, {{3, 4, 1}}, {{0, 2, 2, 1}}},
         .value_shapes = {{{2, 60, 60, 5}}},
         .reference =
             [=](const Arrays& in) {
               const Shape& shape = in[0].shape;
               return sampled(in[0], size_of(shape), sampling(shape), fill);
             }});
    cases.push_back({.name = std::string("rotate_with_offset_grad_") + row.name,
                     .ops = {"rotate_with_offset_grad"},
                     .run = internal_call("rotate_with_offset_grad",
                                          ops::RotateAttrs{.radians = radians,
                                                           .center_x = options.center_x,
                                                           .center_y = options.center_y}),
                     .inputs = {{}},
                     .shapes = {{{2, 4, 3, 2}}, {{3, 4, 1}}},
                     .reference =
                         [=](const Arrays& in) {
                           const Shape& shape = in[0].shape;
                           return unsampled(in[0], size_of(shape), sampling(shape));
                         },
                     .tolerance = kSums});
  }
  return cases;
}

// One for each of two images, moved a little by an input.
Array moved_transforms(const Array& by) {
  const Array transforms{{2, 8},
                         {1.1, 0.2, -1.3, -0.15, 0.9, 0.4, 0.01, -0.02,  //
                          0.7, -0.3, 2.6, 0.25, 1.2, -3.3, 0, 0}};
  return moved(transforms, by, 0.05);
}
Tensor moved_transforms(Tensor by) {
  const Tensor transforms =
      to_tensor(moved_transforms(Array{{2, 8}, std::vector<double>(16)}), DType::float64);
  return transforms + 0.05 * cast(std::move(by), DType::float64);
}

// Each mode with both interpolations.
std::vector<Case> transform_cases() {
  struct Row {
    const char* name;
    image::FillMode mode;
    bool bilinear;
    Shape size;
  };
  const Row rows[] = {{"nearest_constant", image::FillMode::constant, false, {}},
                      {"bilinear_constant", image::FillMode::constant, true, {6, 5}},
                      {"nearest_reflect", image::FillMode::reflect, false, {7, 6}},
                      {"bilinear_reflect", image::FillMode::reflect, true, {}},
                      {"nearest_wrap", image::FillMode::wrap, false, {}},
                      {"bilinear_wrap", image::FillMode::wrap, true, {2, 7}},
                      {"nearest_nearest", image::FillMode::nearest, false, {}},
                      {"bilinear_nearest", image::FillMode::nearest, true, {}}};
  std::vector<Case> cases;
  for (const Row& row : rows) {
    const bool bilinear = row.bilinear;
    const image::FillMode mode = row.mode;
    const image::TransformOptions options{
        .interpolation = bilinear ? image::Interpolation::bilinear : image::Interpolation::nearest,
        .fill_mode = mode,
        .fill_value = 2.5,
        .output_size = row.size};
    const Shape in_size{4, 5};
    const Shape size = row.size.rank() == 2 ? row.size : in_size;
    const Input by{.low = -1, .high = 1};
    const ops::TransformAttrs attrs{.in = in_size,
                                    .out = size,
                                    .bilinear = bilinear,
                                    .fill_mode = static_cast<int>(mode),
                                    .fill_value = 2.5};
    const auto sampling = [=](const Array& moved_by) {
      return projection(in_size, moved_transforms(moved_by), bilinear, mode);
    };
    cases.push_back({.name = std::string("transform_") + row.name,
                     .ops = {"transform"},
                     .run =
                         [=](Tensors in, DType) {
                           in[1] = moved_transforms(OP_IN(1));
                           return image::transform(OP_IN(0), OP_IN(1), options);
                         },
                     .inputs = {{}, by},
                     .shapes = {{{2, 4, 5, 2}, {2, 8}}},
                     .reference =
                         [=](const Arrays& in) {
                           return sampled(in[0], size, sampling(in[1]),
                                          [](std::int64_t) { return 2.5; });
                         },
                     .tolerance = kSums,
                     .error_name = ""});
    cases.push_back(
        {.name = std::string("transform_grad_") + row.name,
         .ops = {"transform_grad"},
         .run =
             [=](Tensors in, DType dtype) {
               in[1] = moved_transforms(OP_IN(1));
               return internal_call("transform_grad", attrs)(std::move(in), dtype);
             },
         .inputs = {{}, by},
         .shapes = {{{2, size[0], size[1], 2}, {2, 8}}},
         .reference = [=](const Arrays& in) { return unsampled(in[0], in_size, sampling(in[1])); },
         .tolerance = kSums,
         .error_name = ""});
    if (!bilinear) continue;
    cases.push_back({.name = std::string("transform_grad_transforms_") + row.name,
                     .ops = {"transform_grad_transforms"},
                     .run =
                         [=](Tensors in, DType dtype) {
                           in[1] = moved_transforms(OP_IN(1));
                           return internal_call("transform_grad_transforms", attrs)(std::move(in),
                                                                                    dtype);
                         },
                     .inputs = {{}, by, {}},
                     .shapes = {{{2, 4, 5, 2}, {2, 8}, {2, size[0], size[1], 2}}},
                     .reference =
                         [=](const Arrays& in) {
                           return unprojected(in[0], moved_transforms(in[1]), in[2], mode, 2.5);
                         },
                     .tolerance = {.ulps = 64, .epsilons = 1e4},
                     .result = [](DType) { return DType::float64; },
                     .error_name = ""});
  }
  // One for all images, which are many enough to be summed in pieces.
  cases.push_back({.name = "transform_grad_transforms_of_many",
                   .ops = {"transform_grad_transforms"},
                   .run =
                       [=](Tensors in, DType dtype) {
                         const Shape size{in[2].shape()[-3], in[2].shape()[-2]};
                         return internal_call(
                             "transform_grad_transforms",
                             ops::TransformAttrs{.in = {4, 5}, .out = size, .bilinear = true})(
                             std::move(in), dtype);
                       },
                   .inputs = {{}, {.low = 0.01, .high = 0.02, .dtype = DType::float64}, {}},
                   .shapes = {{{2, 4, 5, 1}, {1, 8}, {2, 3, 2, 1}}, {{4, 5, 2}, {1, 8}, {3, 3, 2}}},
                   .value_shapes = {{{2, 4, 5, 19}, {1, 8}, {2, 40, 50, 19}}},
                   .reference =
                       [](const Arrays& in) {
                         return unprojected(in[0], in[1], in[2], image::FillMode::constant, 0);
                       },
                   .tolerance = {.ulps = 64, .epsilons = 1e4},
                   .value_tolerance = {.ulps = 64, .epsilons = 1e6},
                   .result = [](DType) { return DType::float64; },
                   .error_name = ""});
  return cases;
}

std::vector<Case> color_cases() {
  std::vector<Case> cases{{.name = "rgb_to_grayscale",
                           .ops = {"matmul"},
                           .run = OP_CALL(image::rgb_to_grayscale(OP_IN(0))),
                           .inputs = {{}},
                           .shapes = {{{2, 3, 4, 3}}, {{4, 3}}, {{0, 3}}},
                           .reference = [](const Arrays& in) { return gray(in[0]); },
                           .tolerance = kSums,
                           .error_name = "rgb_to_grayscale"},
                          {.name = "grayscale_to_rgb",
                           .ops = {"broadcast_to"},
                           .run = OP_CALL(image::grayscale_to_rgb(OP_IN(0))),
                           .inputs = {{}},
                           .shapes = {{{2, 3, 4, 1}}, {{4, 1}}, {{0, 1}}},
                           .reference =
                               [](const Arrays& in) {
                                 Shape shape = in[0].shape;
                                 shape[-1] = 3;
                                 return broadcasted(in[0], shape);
                               },
                           .dtypes = kAnything,
                           .error_name = "grayscale_to_rgb"}};
  for (const bool otsu_method : {false, true}) {
    const image::ThresholdOptions options{.method = otsu_method ? image::ThresholdMethod::otsu
                                                                : image::ThresholdMethod::binary};
    cases.push_back({.name = otsu_method ? "threshold_otsu" : "threshold_binary",
                     .ops = {otsu_method ? "otsu_threshold" : "greater"},
                     .run = [=](Tensors in, DType) { return image::threshold(OP_IN(0), options); },
                     .inputs = {{.low = 0, .high = 255}},
                     .shapes = {{{4, 5, 1}}, {{3, 2, 3}}, {{0, 2, 1}}},
                     .reference = [=](const Arrays& in) { return thresholded(in[0], options); },
                     .result = int32_dtype,
                     .differentiable = false,
                     .error_name = "threshold"});
  }
  return cases;
}

}  // namespace

std::vector<Case> image_cases() {
  std::vector<Case> cases;
  for (const auto family :
       {resize_cases, crop_cases, flip_cases, rotate_cases, transform_cases, color_cases}) {
    for (Case& row : family()) cases.push_back(std::move(row));
  }
  return cases;
}

}  // namespace tenure::testing
