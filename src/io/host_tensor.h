// Tensors as bytes of the host: made from a file's, and given to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>

#include "core/layout.h"
#include "io/file.h"
#include "io/origin.h"
#include "memory/storage.h"
#include "tensor/access.h"
#include "tenure/tensor.h"

namespace tenure::io {

// Of a tensor in a file, read or written.
inline constexpr std::size_t kMaxRank = 1024;

// The bytes of a tensor that is to be: filled first, born when they are right.
class NewTensor {
 public:
  NewTensor(const Shape& shape, DType dtype);
  std::span<std::byte> bytes() const { return {storage_->data, layout_.nbytes()}; }
  // Reads the bytes as column-major from here on, and brings them into row-major order.
  void from_fortran_order();
  Tensor finish(const char* op, std::source_location site) &&;

 private:
  Layout layout_;
  detail::StorageRef storage_;
};

// A tensor over the pages of a mapping, which it holds.
Tensor mapped_tensor(std::shared_ptr<const Mapping> mapping, std::uint64_t offset, Layout layout,
                     const char* op, std::source_location site);

Strides fortran_strides(const Shape& shape);

// The values of a tensor that is being written, safe from what becomes of the tensor.
class HeldTensor {
 public:
  HeldTensor(const Tensor& tensor, const char* op, std::source_location site);
  const Shape& shape() const { return saved_.get()->layout.shape; }
  DType dtype() const { return saved_.get()->layout.dtype; }
  std::size_t nbytes() const { return saved_.get()->layout.nbytes(); }
  // Row-major; `scratch` takes a copy where they do not lie so.
  std::span<const std::byte> bytes(detail::StorageRef& scratch) const;

 private:
  detail::Saved saved_;
};

// IoError for a byte that is no bool: reading it as one would be undefined.
void check_bools(const Origin& origin, std::string_view name, std::span<const std::byte> bytes);

// elements * size with every step checked; nothing where it passes 2^63, and where a dimension is
// past what a tensor can have.
std::optional<std::uint64_t> bytes_of_shape(std::span<const std::uint64_t> dims,
                                            std::uint64_t element_bits);

}  // namespace tenure::io
