// Ops as their users call them: operands become what the op takes, and attributes are settled.
#pragma once

#include <array>
#include <source_location>
#include <span>
#include <utility>

#include "memory/context.h"
#include "ops/apply.h"
#include "ops/promote.h"

namespace tenure::ops {

// Operands become what `op` takes (see Takes).
Tensor take(const OpDef& op, Arg&& x);
void take(const OpDef& op, std::span<Arg* const> args, std::span<Tensor> in);

// Runs `op` on what a user wrote.
Tensor call(const OpDef& op, Arg&& x);
Tensor call(const OpDef& op, Arg& a, Arg& b, AttrsRef attrs = {});
template <class A>
Tensor call(const OpDef& op, Arg&& x, A attrs) {
  const detail::UserLine site(x.site());
  Tensor in = take(op, std::move(x));
  if (op.settle != nullptr) op.settle(op.name, {&in, 1}, &attrs);
  Tensor out;
  apply_into(op, {&in, 1}, ref(attrs), site, {&out, 1});
  return out;
}

// For OpDef::settle: an axis, or axes, of the first input.
template <class A>
void settle_axis(const char* op, std::span<const Tensor> in, void* attrs) {
  auto& axis = static_cast<A*>(attrs)->axis;
  axis = normal_axis(op, axis, in[0].shape());
}
template <class A>
void settle_axes(const char* op, std::span<const Tensor> in, void* attrs) {
  auto& axes = static_cast<A*>(attrs)->axes;
  axes = normal_axes(op, axes, in[0].shape());
}

}  // namespace tenure::ops
