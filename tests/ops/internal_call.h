// Calls of ops that have no public function of their own.
#pragma once

#include <functional>

#include "case.h"
#include "ops/apply.h"

namespace tenure::testing {

template <class Attrs>
std::function<Tensor(Tensors, DType)> internal_call(const char* op, Attrs attrs) {
  return [op, attrs](Tensors in, DType) {
    Tensor out;
    ops::apply_into(op_named(op), in, ops::ref(attrs), std::source_location::current(), {&out, 1});
    return out;
  };
}

}  // namespace tenure::testing
