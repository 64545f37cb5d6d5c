// Categories as rows of numbers.
#pragma once

#include <string>

#include "tenure/tensor.h"

namespace tenure::nn::detail {

// Refuses what is none of multi_hot, one_hot and count, or `also`.
void check_output_mode(const char* layer, const std::string& mode, const char* also = nullptr);

// Indices from 0 to depth - 1, of any dtype, as rows of `depth`; one out of range is a ValueError.
// "count" takes weights of the indices' shape, or an empty handle.
Tensor encoded(const Tensor& indices, const std::string& mode, std::int64_t depth, DType dtype,
               const Tensor& weights = {});

}  // namespace tenure::nn::detail
