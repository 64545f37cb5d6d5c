// Several variables changed as one.
#pragma once

#include <source_location>
#include <span>

#include "tenure/tensor.h"
#include "tenure/variable.h"

namespace tenure::detail {

// Gives each variable its value. When one cannot take it (a wrong shape or dtype, a tensor that is
// gone, no memory), none has changed. Of a variable that is named twice the last value counts.
// `op` is what the user called, for errors.
void assign_all(std::span<const Variable> variables, std::span<const Tensor> values,
                std::source_location site, const char* op = "assign");

}  // namespace tenure::detail
