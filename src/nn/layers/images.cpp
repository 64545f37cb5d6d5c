#include "nn/layers/images.h"

#include <algorithm>

#include "core/raise.h"
#include "tenure/views.h"

namespace tenure::nn::detail {

void check_image_size(const char* layer, std::int64_t height, std::int64_t width) {
  if (height < 1 || width < 1) {
    raise<ValueError>("{}: height and width must be positive: {}, {}", layer, height, width);
  }
}

void check_image(const Shape& input) {
  if (input.rank() != 3 && input.rank() != 4) {
    raise<ShapeError>("takes images of rank 3 or 4, was given {}", input);
  }
}

Tensor middle(const Tensor& x, std::int64_t height, std::int64_t width) {
  Shape begin = Shape::filled(x.rank(), 0), size = x.shape();
  begin[-3] = (size[-3] - height) / 2;
  begin[-2] = (size[-2] - width) / 2;
  size[-3] = height;
  size[-2] = width;
  return slice(x, begin, size);
}

Tensor middle_of_ratio(const Tensor& x, std::int64_t height, std::int64_t width) {
  const std::int64_t h = x.dim(-3), w = x.dim(-2);
  return middle(x, std::min(h, w * height / width), std::min(w, h * width / height));
}

}  // namespace tenure::nn::detail
