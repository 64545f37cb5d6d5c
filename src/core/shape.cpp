#include "tenure/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "core/layout.h"
#include "core/raise.h"

namespace tenure {

Shape::Shape(std::span<const std::int64_t> dims) {
  if (dims.size() > kInline) heap_ = new std::int64_t[dims.size()];
  rank_ = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), data());
}

Shape Shape::filled(int rank, std::int64_t value) {
  Shape shape;
  if (rank > kInline) shape.heap_ = new std::int64_t[static_cast<std::size_t>(rank)];
  shape.rank_ = rank;
  std::fill(shape.begin(), shape.end(), value);
  return shape;
}

void Shape::copy_large(const Shape& other) {
  heap_ = new std::int64_t[static_cast<std::size_t>(other.rank_)];
  rank_ = other.rank_;
  std::copy(other.begin(), other.end(), heap_);
}

void Shape::push_back(std::int64_t value) {
  Shape longer = filled(rank_ + 1, value);
  std::copy(begin(), end(), longer.begin());
  *this = std::move(longer);
}

void raise_not_countable(std::string_view op, const Shape& shape, DType dtype) {
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t dim) { return dim < 0; })) {
    raise<ShapeError>("{}: negative dimension: {}", op, shape);
  }
  raise<ShapeError>("{}: more {} than can be counted: {} of {}", op,
                    is_countable(shape, DType::int8) ? "bytes" : "elements", shape, dtype);
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }

}  // namespace tenure
