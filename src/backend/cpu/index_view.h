// Positions in a tensor of int32 or int64.
#pragma once

#include <cstdint>

#include "ops/kernel.h"

namespace tenure::cpu {

class IndexView {
 public:
  explicit IndexView(const ops::KernelView& view)
      : data_(view.data), wide_(view.dtype == DType::int64), size_(view.numel()) {}
  std::int64_t operator[](std::int64_t i) const {
    return wide_ ? reinterpret_cast<const std::int64_t*>(data_)[i]
                 : reinterpret_cast<const std::int32_t*>(data_)[i];
  }
  std::int64_t size() const { return size_; }
  // The first position in [begin, size) whose value is not below `value`; they must be sorted.
  std::int64_t first_from(std::int64_t value) const {
    std::int64_t low = 0, high = size_;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if ((*this)[middle] < value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  const std::byte* data_;
  bool wide_;
  std::int64_t size_;
};

// The same for results.
inline void store_index(const ops::KernelView& to, std::int64_t i, std::int64_t value) {
  if (to.dtype == DType::int64) {
    to.as<std::int64_t>()[i] = value;
  } else {
    to.as<std::int32_t>()[i] = static_cast<std::int32_t>(value);
  }
}

}  // namespace tenure::cpu
