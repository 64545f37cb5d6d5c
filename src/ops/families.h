// The families the registry is made of; each file lists its own ops.
#pragma once

#include "ops/op_def.h"

namespace tenure::ops {

Family creation_ops();
Family unary_ops();
Family binary_ops();
Family select_ops();
Family reduce_ops();
Family matmul_ops();
Family view_ops();
Family join_ops();
Family random_ops();
Family custom_ops();
Family maths_ops();
Family activation_ops();
Family logical_ops();
Family softmax_ops();
Family scan_ops();
Family norm_ops();
Family gather_ops();
Family pad_ops();
Family sorting_ops();
Family counting_ops();
Family space_ops();
Family convolution_ops();
Family pooling_ops();
Family dilation_ops();
Family image_ops();
Family boxes_ops();
Family decomposition_ops();
Family einsum_ops();
Family matrix_ops();
Family segment_ops();
Family sparse_ops();
Family ragged_ops();
Family complex_ops();
Family fft_ops();
Family sampling_ops();
Family recurrent_ops();
Family adam_ops();

}  // namespace tenure::ops
