// What layers of images share. Images are [batch, height, width, channels], or without the batch.
#pragma once

#include <cstdint>

#include "tenure/image.h"
#include "tenure/tensor.h"

namespace tenure::nn::detail {

inline constexpr image::ResizeOptions kPixelCenters{.align_corners = false,
                                                    .half_pixel_centers = true};

void check_image_size(const char* layer, std::int64_t height, std::int64_t width);
void check_image(const Shape& input);

// The middle, height by width; the image is no smaller.
Tensor middle(const Tensor& x, std::int64_t height, std::int64_t width);
// The middle that has the aspect ratio of height by width, as large as can be.
Tensor middle_of_ratio(const Tensor& x, std::int64_t height, std::int64_t width);

}  // namespace tenure::nn::detail
