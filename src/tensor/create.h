#pragma once

#include <string_view>

#include "tenure/dtype.h"
#include "tenure/shape.h"

namespace tenure::detail {

// ShapeError for a negative dimension or a size past 2^63.
void check_shape(std::string_view op, const Shape& shape, DType dtype);

}  // namespace tenure::detail
