#include "case.h"

#include <stdexcept>

#include "ops/families.h"

namespace tenure::testing {

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> all;
    for (const auto family : {
             creation_cases, unary_cases,    binary_cases,    reduce_cases,        matmul_cases,
             view_cases,     random_cases,   maths_cases,     activation_cases,    logical_cases,
             softmax_cases,  scan_cases,     norm_cases,      gather_cases,        pad_cases,
             sorting_cases,  counting_cases, space_cases,     convolution_cases,   pooling_cases,
             dilation_cases, image_cases,    boxes_cases,     decomposition_cases, einsum_cases,
             matrix_cases,   segment_cases,  sparse_cases,    ragged_cases,        complex_cases,
             fft_cases,      sampling_cases, recurrent_cases, adam_cases,
         }) {
      for (Case& row : family()) all.push_back(std::move(row));
    }
    return all;
  }();
  return cases;
}

const ops::OpDef& op_named(std::string_view name) {
  for (const ops::OpDef* op : ops::all_ops()) {
    if (op->name == name) return *op;
  }
  throw std::runtime_error("no op is named " + std::string(name));
}

}  // namespace tenure::testing
