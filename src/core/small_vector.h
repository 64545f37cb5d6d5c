// A growing list whose first N elements need no allocation. For lists of an op's inputs and
// outputs.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tenure {

template <class T, std::size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  explicit SmallVector(std::size_t size) { resize(size); }

  // Existing elements are lost when the list moves out of its inline room: size it once, up front.
  void resize(std::size_t size) {
    if (size > N) heap_ = std::make_unique<T[]>(size);
    size_ = size;
  }
  std::size_t size() const { return size_; }
  T* data() { return heap_ ? heap_.get() : inline_.data(); }
  const T* data() const { return heap_ ? heap_.get() : inline_.data(); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  operator std::span<T>() { return {data(), size_}; }
  operator std::span<const T>() const { return {data(), size_}; }

 private:
  std::array<T, N> inline_;  // default-made: nothing to zero
  std::unique_ptr<T[]> heap_;
  std::size_t size_ = 0;
};

}  // namespace tenure
