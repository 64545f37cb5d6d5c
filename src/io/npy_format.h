// The head of a .npy file: a magic string, a version, and a Python dict in text that says type,
// order and shape of the elements that follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "io/host_tensor.h"
#include "io/origin.h"
#include "tenure/io.h"

namespace tenure::io {

struct NpyHeader {
  TensorInfo info;
  bool fortran_order = false;
  bool big_endian = false;
  std::uint64_t data_begin = 0;
};

// Fills all of a span with the next bytes, or fails.
using ReadBytes = std::function<void(std::span<std::byte>)>;

// Reads the head of a file, or an entry, of `size` bytes. The elements fill the rest exactly.
NpyHeader read_npy_header(const Origin& origin, std::uint64_t size, const ReadBytes& read);

// Reads the elements that follow the head into a tensor, in any order that the head gives.
Tensor read_npy_elements(const Origin& origin, const NpyHeader& header, const ReadBytes& read,
                         const char* op, std::source_location site);

// The whole head, of version 1. DtypeError for bfloat16.
std::string write_npy_header(std::string_view op, DType dtype, const Shape& shape);

}  // namespace tenure::io
