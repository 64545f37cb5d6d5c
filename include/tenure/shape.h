// Shapes of any rank; zero-size dimensions are shapes like any other.
//
//   tenure::Shape s{2, 3};   s.rank() == 2;   s.numel() == 6;   s[-1] == 3
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>

#include "tenure/export.h"

namespace tenure {

// A short list of integers: dimensions, strides or axes. Up to six are stored inline.
class Shape {
 public:
  Shape() { heap_ = nullptr; }  // not zeroing the rest of the union
  Shape(std::initializer_list<std::int64_t> dims)
      : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  TENURE_API explicit Shape(std::span<const std::int64_t> dims);
  TENURE_API static Shape filled(int rank, std::int64_t value);
  Shape(const Shape& other) { copy(other); }
  Shape(Shape&& other) noexcept { steal(other); }
  Shape& operator=(const Shape& other) {
    if (this != &other) *this = Shape(other);
    return *this;
  }
  Shape& operator=(Shape&& other) noexcept {
    if (this != &other) {
      drop();
      steal(other);
    }
    return *this;
  }
  ~Shape() { drop(); }

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return data()[axis < 0 ? axis + rank_ : axis]; }
  std::int64_t& operator[](int axis) { return data()[axis < 0 ? axis + rank_ : axis]; }
  const std::int64_t* begin() const { return data(); }
  const std::int64_t* end() const { return data() + rank_; }
  std::int64_t* begin() { return data(); }
  std::int64_t* end() { return data() + rank_; }
  std::span<const std::int64_t> dims() const { return {data(), static_cast<std::size_t>(rank_)}; }
  TENURE_API void push_back(std::int64_t value);

  // The product of the dimensions; 1 for a scalar.
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (std::int64_t d : *this) n *= d;
    return n;
  }

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a.data()[i] != b.data()[i]) return false;
    }
    return true;
  }

 private:
  static constexpr int kInline = 6;
  const std::int64_t* data() const { return rank_ <= kInline ? inline_ : heap_; }
  std::int64_t* data() { return rank_ <= kInline ? inline_ : heap_; }
  void copy(const Shape& other) {
    if (other.rank_ > kInline) {
      copy_large(other);
      return;
    }
    rank_ = other.rank_;
    std::memcpy(inline_, other.inline_, sizeof inline_);
  }
  void steal(Shape& other) noexcept {
    rank_ = other.rank_;
    std::memcpy(inline_, other.inline_, sizeof inline_);  // the pointer, if there is one, included
    if (rank_ > kInline) other.rank_ = 0;
  }
  void drop() noexcept {
    if (rank_ > kInline) delete[] heap_;
  }
  TENURE_API void copy_large(const Shape& other);

  int rank_ = 0;
  union {
    std::int64_t* heap_;
    std::int64_t inline_[kInline];
  };
};

using Strides = Shape;  // in elements
using Axes = Shape;

TENURE_API std::string to_string(const Shape& shape);  // "[2, 3]"
TENURE_API std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace tenure
