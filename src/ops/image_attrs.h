// Attributes of ops on images. Sizes are {height, width}.
#pragma once

#include "ops/attrs.h"

namespace tenure::ops {

struct ResizeAttrs {
  Shape in;
  Shape out;
  bool align_corners = false;
  bool half_pixel_centers = false;
  TENURE_ATTRS(ResizeAttrs, in, out, align_corners, half_pixel_centers)
};

struct CropAttrs {
  Shape image;  // shape of the images
  bool nearest = false;
  double outside = 0;
  // How often the samples are differentiated by their row and their column: 0 or 1.
  int by_row = 0;
  int by_column = 0;
  TENURE_ATTRS(CropAttrs, image, nearest, outside, by_row, by_column)
};

struct RotateAttrs {
  double radians = 0;
  double center_x = 0.5;
  double center_y = 0.5;
  double red = 0;
  double green = 0;
  double blue = 0;
  double further = 0;  // channels
  TENURE_ATTRS(RotateAttrs, radians, center_x, center_y, red, green, blue, further)
};

struct TransformAttrs {
  Shape in;
  Shape out;
  bool bilinear = false;
  int fill_mode = 0;  // an image::FillMode
  double fill_value = 0;
  // How often the samples are differentiated by their row and their column; twice gives 0.
  int by_row = 0;
  int by_column = 0;
  TENURE_ATTRS(TransformAttrs, in, out, bilinear, fill_mode, fill_value, by_row, by_column)
};

struct SuppressionAttrs {
  std::int64_t max_output_size = 0;
  double iou_threshold = 0.5;
  double score_threshold = 0;
  double soft_nms_sigma = 0;
  TENURE_ATTRS(SuppressionAttrs, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
};

}  // namespace tenure::ops
