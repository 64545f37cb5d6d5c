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
std::span<const ops::KernelRow> matmul_kernels();
std::span<const ops::KernelRow> reduce_kernels();
std::span<const ops::KernelRow> arg_reduce_kernels();
std::span<const ops::KernelRow> copy_kernels();
std::span<const ops::KernelRow> concat_kernels();
std::span<const ops::KernelRow> random_kernels();
std::span<const ops::KernelRow> shuffle_kernels();

}  // namespace tenure::cpu
