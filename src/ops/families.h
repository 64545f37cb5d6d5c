// The families the registry is made of; each file lists its own ops.
#pragma once

#include <span>

#include "ops/op_def.h"

namespace tenure::ops {

std::span<const OpDef* const> creation_ops();
std::span<const OpDef* const> unary_ops();
std::span<const OpDef* const> binary_ops();
std::span<const OpDef* const> select_ops();
std::span<const OpDef* const> reduce_ops();
std::span<const OpDef* const> matmul_ops();
std::span<const OpDef* const> view_ops();
std::span<const OpDef* const> join_ops();
std::span<const OpDef* const> random_ops();
std::span<const OpDef* const> custom_ops();

}  // namespace tenure::ops
