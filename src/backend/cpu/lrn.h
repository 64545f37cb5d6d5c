// Local response normalisation and its gradient, for float and double.
#pragma once

#include "ops/kernel.h"

namespace tenure::cpu {

template <class T>
void local_response(const ops::KernelArgs& args) noexcept;
template <class T>
void local_response_grad(const ops::KernelArgs& args) noexcept;
template <class T>
std::size_t local_response_grad_scratch(const ops::KernelArgs& args) noexcept;

}  // namespace tenure::cpu
