// What ops on images should give. Each reads a pixel of the output from a list of the input's
// pixels with weights; the gradient of a sum of weighed pixels goes back along the list.
#pragma once

#include <array>

#include "reference.h"

namespace tenure::testing {

struct Reading {
  std::int64_t y, x;
  double weight;
};
struct Pixel {
  std::vector<Reading> sources;
  double rest = 0;  // how much of the fill value is in it
};
// Of the output's pixel (y, x) of image number `image`.
using Sampling = std::function<Pixel(std::int64_t image, std::int64_t y, std::int64_t x)>;
using Fill = std::function<double(std::int64_t channel)>;

// Images are of rank 3 or 4; `size` is {height, width} of the result.
Array sampled(const Array& images, const Shape& size, const Sampling& sampling, const Fill& fill);
// The gradient of `sampled` for images of `size`.
Array unsampled(const Array& dy, const Shape& size, const Sampling& sampling);

Sampling bilinear_resizing(const Shape& in, const Shape& out, image::ResizeOptions options);
Sampling nearest_resizing(const Shape& in, const Shape& out, image::ResizeOptions options);
Sampling rotation(const Shape& in, double radians, double center_x, double center_y);
Sampling projection(const Shape& in, const Array& transforms, bool bilinear, image::FillMode mode);
// The gradient of the transforms of a bilinear projection of `images` that is filled with `fill`.
Array unprojected(const Array& images, const Array& transforms, const Array& dy,
                  image::FillMode mode, double fill);

// Images, boxes and indices; every derivative is 0 in nearest.
Array cropped(const Arrays& in, const Shape& size, bool nearest, double outside);
// Samples' gradient, rows, columns and indices, for images of that shape.
Array uncropped(const Arrays& in, const Shape& images, bool nearest);

Array flipped(const Array& images, int axis);
Array gray(const Array& rgb);
double otsu(const Array& gray);
Array thresholded(const Array& image, image::ThresholdOptions options);

struct Suppressed {
  std::vector<double> indices;
  std::vector<double> scores;
};
Suppressed suppressed(const Array& boxes, const Array& scores, std::int64_t most, double iou,
                      double least_score, double sigma);

}  // namespace tenure::testing
