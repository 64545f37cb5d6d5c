// A reduction of a contiguous tensor, with axes that are neighbours and both kept or both reduced
// counted as one.
//
// The innermost of these merged axes decides how the tensor is read: if it is reduced, every output
// is made of straight runs; if it is kept, rows of outputs are made of rows of inputs.
#pragma once

#include <array>
#include <cstdint>

#include "tenure/shape.h"

namespace tenure::cpu {

// Merged axes, innermost first.
class MergedAxes {
 public:
  void add(std::int64_t size, std::int64_t stride) {
    axes_[static_cast<std::size_t>(count_++)] = {size, stride};
    numel_ *= size;
  }
  void widen_last(std::int64_t factor) {
    axes_[static_cast<std::size_t>(count_ - 1)].size *= factor;
    numel_ *= factor;
  }
  std::int64_t numel() const { return numel_; }
  // Of the element with this index in row-major order.
  std::int64_t offset(std::int64_t index) const {
    if (count_ <= 1) return count_ == 0 ? 0 : index * axes_[0].stride;
    std::int64_t offset = 0;
    for (int i = 0; i < count_; ++i) {
      const Axis& axis = axes_[static_cast<std::size_t>(i)];
      offset += index % axis.size * axis.stride;
      index /= axis.size;
    }
    return offset;
  }

 private:
  struct Axis {
    std::int64_t size;
    std::int64_t stride;
  };
  // Every merged axis at least doubles the number of elements, which fits 63 bits.
  std::array<Axis, 63> axes_;
  int count_ = 0;
  std::int64_t numel_ = 1;
};

struct ReduceLayout {
  std::int64_t inner = 1;  // size of the innermost axis
  bool inner_reduced = true;
  MergedAxes kept;     // outside the innermost
  MergedAxes reduced;  // outside the innermost

  // `shape` has no axis of size 0; `axes` are ascending.
  ReduceLayout(const Shape& shape, const Axes& axes) {
    bool inside = true;  // still within the innermost axis
    bool last_reduced = true;
    bool first = true;
    std::int64_t stride = 1;
    int next = axes.rank() - 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const bool is_reduced = next >= 0 && axes[next] == axis;
      if (is_reduced) --next;
      const std::int64_t size = shape[axis];
      if (size == 1) continue;
      if (first) {
        inner_reduced = is_reduced;
      } else if (is_reduced != last_reduced) {
        inside = false;
      }
      if (inside) {
        inner *= size;
      } else if (MergedAxes& list = is_reduced ? reduced : kept; is_reduced == last_reduced) {
        list.widen_last(size);
      } else {
        list.add(size, stride);
      }
      stride *= size;
      first = false;
      last_reduced = is_reduced;
    }
  }
};

}  // namespace tenure::cpu
