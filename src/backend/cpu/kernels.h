// The kernels of each family, one row per op and dtype; the runtime's init installs them all.
//
// Rows point at code for the best instruction set this machine has, chosen when the function is
// called: running a kernel costs no further dispatch.
#pragma once

#include <span>

#include "ops/kernel.h"

namespace tenure::cpu {

std::span<const ops::KernelRow> unary_kernels();
std::span<const ops::KernelRow> binary_kernels();
std::span<const ops::KernelRow> compare_kernels();
std::span<const ops::KernelRow> where_kernels();
std::span<const ops::KernelRow> cast_kernels();
std::span<const ops::KernelRow> creation_kernels();
std::span<const ops::KernelRow> reduce_kernels();
std::span<const ops::KernelRow> arg_reduce_kernels();
std::span<const ops::KernelRow> matmul_kernels();
std::span<const ops::KernelRow> copy_kernels();
std::span<const ops::KernelRow> concat_kernels();
std::span<const ops::KernelRow> random_kernels();
std::span<const ops::KernelRow> shuffle_kernels();
std::span<const ops::KernelRow> maths_kernels();
std::span<const ops::KernelRow> activation_kernels();
std::span<const ops::KernelRow> logical_kernels();
std::span<const ops::KernelRow> softmax_kernels();
std::span<const ops::KernelRow> scan_kernels();
std::span<const ops::KernelRow> norm_kernels();
std::span<const ops::KernelRow> gather_kernels();
std::span<const ops::KernelRow> pad_kernels();
std::span<const ops::KernelRow> sorting_kernels();
std::span<const ops::KernelRow> counting_kernels();
std::span<const ops::KernelRow> space_kernels();
std::span<const ops::KernelRow> convolution_kernels();
std::span<const ops::KernelRow> pooling_kernels();
std::span<const ops::KernelRow> dilation_kernels();
std::span<const ops::KernelRow> image_kernels();
std::span<const ops::KernelRow> boxes_kernels();
std::span<const ops::KernelRow> decomposition_kernels();
std::span<const ops::KernelRow> einsum_kernels();
std::span<const ops::KernelRow> matrix_kernels();
std::span<const ops::KernelRow> segment_kernels();
std::span<const ops::KernelRow> sparse_kernels();
std::span<const ops::KernelRow> ragged_kernels();
std::span<const ops::KernelRow> complex_kernels();
std::span<const ops::KernelRow> fft_kernels();
std::span<const ops::KernelRow> sampling_kernels();
std::span<const ops::KernelRow> recurrent_kernels();
std::span<const ops::KernelRow> recurrent_grad_kernels();
std::span<const ops::KernelRow> fused_kernels();
std::span<const ops::KernelRow> adam_kernels();

}  // namespace tenure::cpu
