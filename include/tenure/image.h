// Images: [batch, height, width, channels], or a single one without the batch.
//
//   tenure::Tensor small = tenure::image::resize_bilinear(photo, {224, 224});
//   tenure::Tensor kept = tenure::image::non_max_suppression(boxes, scores, 20);
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "tenure/export.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"

namespace tenure::image {

struct ResizeOptions {
  bool align_corners = false;       // the corners' centers stay corners' centers
  bool half_pixel_centers = false;  // a pixel's center is in its middle; not with align_corners
};
// `size` is {height, width}.
TENURE_API Tensor resize_bilinear(Arg images, const Shape& size, ResizeOptions options = {});
TENURE_API Tensor resize_nearest(Arg images, const Shape& size, ResizeOptions options = {});

enum class Interpolation : std::uint8_t { nearest, bilinear };

struct CropOptions {
  Interpolation method = Interpolation::bilinear;
  double extrapolation_value = 0;  // outside the image
};
// Cuts boxes, [count, 4], out of images, [batch, height, width, channels], and resizes each to
// `size`. A box is y1, x1, y2, x2, where 0 is the first row or column and 1 the last; box_indices,
// [count], says which image it is of.
TENURE_API Tensor crop_and_resize(Arg images, Arg boxes, Arg box_indices, const Shape& size,
                                  CropOptions options = {});

TENURE_API Tensor flip_left_right(Arg images);
TENURE_API Tensor flip_up_down(Arg images);

struct RotateOptions {
  double fill_value = 0;
  // Red, green and blue instead of one value; a fourth channel is filled with 255.
  std::optional<std::array<double, 3>> fill_color = {};
  double center_x = 0.5;  // as a part of width and height
  double center_y = 0.5;
};
// Counterclockwise, to the nearest pixel.
TENURE_API Tensor rotate_with_offset(Arg images, double radians, const RotateOptions& options = {});

enum class FillMode : std::uint8_t {
  constant,  // k k | a b c | k k
  reflect,   // b a | a b c | c b
  wrap,      // b c | a b c | a b
  nearest,   // a a | a b c | c c
};
struct TransformOptions {
  Interpolation interpolation = Interpolation::nearest;
  FillMode fill_mode = FillMode::constant;
  double fill_value = 0;
  Shape output_size = {};  // {height, width}; default: as the input's
};
// Projective: with a row of transforms a0, a1, a2, b0, b1, b2, c0, c1 the output at (x, y) is the
// input at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), where k = c0 x + c1 y + 1. There is
// one row for all images or one for each, [1, 8] or [batch, 8]. A gradient goes to the transforms
// where the interpolation is bilinear.
TENURE_API Tensor transform(Arg images, Arg transforms, const TransformOptions& options = {});

TENURE_API Tensor rgb_to_grayscale(Arg images);  // the last axis becomes 1
TENURE_API Tensor grayscale_to_rgb(Arg images);  // the last axis becomes 3

enum class ThresholdMethod : std::uint8_t { binary, otsu };
struct ThresholdOptions {
  ThresholdMethod method = ThresholdMethod::binary;
  bool inverted = false;
  double threshold = 0.5;  // as a part of 255; Otsu's method finds its own
};
// 255 where a gray or RGB image, [height, width, 1 or 3], of values from 0 to 255 is brighter than
// the threshold, otherwise 0: int32, [height, width, 1].
TENURE_API Tensor threshold(Arg image, ThresholdOptions options = {});

// Boxes are y1, x1, y2, x2: [count, 4]; scores are [count]. Of boxes that overlap, the one with the
// highest score is kept; indices are int32, the best box first.
struct SuppressionOptions {
  double iou_threshold = 0.5;  // of the boxes' intersection over their union
  double score_threshold = -std::numeric_limits<double>::infinity();
};
TENURE_API Tensor non_max_suppression(Arg boxes, Arg scores, std::int64_t max_output_size,
                                      SuppressionOptions options = {});

struct PaddedSuppressionOptions {
  double iou_threshold = 0.5;
  double score_threshold = -std::numeric_limits<double>::infinity();
  bool pad_to_max_output_size = false;  // with zeros; never beyond the number of boxes
};
struct PaddedSuppression {
  Tensor selected_indices;
  Tensor valid_outputs;  // a scalar: how many of them are no padding
};
TENURE_API PaddedSuppression non_max_suppression_padded(Arg boxes, Arg scores,
                                                        std::int64_t max_output_size,
                                                        PaddedSuppressionOptions options = {});

struct SoftSuppressionOptions {
  double iou_threshold = 0.5;
  double score_threshold = -std::numeric_limits<double>::infinity();
  double soft_nms_sigma = 0;  // more than 0: overlapping boxes lose score instead of all of it
};
struct ScoredSuppression {
  Tensor selected_indices;
  Tensor selected_scores;  // a gradient goes to the scores, and to the boxes that lower them
};
TENURE_API ScoredSuppression non_max_suppression_with_score(Arg boxes, Arg scores,
                                                            std::int64_t max_output_size,
                                                            SoftSuppressionOptions options = {});

}  // namespace tenure::image
