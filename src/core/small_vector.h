// A list of a size given once, of which N elements need no allocation. For lists of an op's inputs
// and outputs.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace tenure {

template <class T, std::size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  explicit SmallVector(std::size_t size) { resize(size); }
  ~SmallVector() {
    if (data_ != inline_.data()) delete[] data_;
  }
  SmallVector(SmallVector&& other) noexcept
      : inline_(std::move(other.inline_)), size_(std::exchange(other.size_, 0)) {
    if (other.data_ != other.inline_.data()) {
      data_ = std::exchange(other.data_, other.inline_.data());
    }
  }
  SmallVector& operator=(SmallVector&&) = delete;

  // Only once, before there are elements.
  void resize(std::size_t size) {
    if (size > N) [[unlikely]]
      data_ = new T[size]();
    size_ = size;
  }
  std::size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  operator std::span<T>() { return {data_, size_}; }
  operator std::span<const T>() const { return {data_, size_}; }

 private:
  std::array<T, N> inline_;  // default-made: nothing to zero
  T* data_ = inline_.data();
  std::size_t size_ = 0;
};

}  // namespace tenure
