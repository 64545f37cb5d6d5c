// How reading and assigning a variable reaches traces, which stand below this layer.
// Defined beside the one road, in ops.
#pragma once

#include <memory>
#include <source_location>

#include "tenure/tensor.h"

namespace tenure::detail {

struct VariableState;

// True inside a trace, which then did what was asked.
bool trace_read(const std::shared_ptr<VariableState>& variable, std::source_location site,
                Tensor& value);
bool trace_assign(const std::shared_ptr<VariableState>& variable, const Tensor& value,
                  std::source_location site);

// What was read, in another dtype.
Tensor cast_read(Tensor value, DType dtype, std::source_location site);

}  // namespace tenure::detail
