// Several variables changed, or read, as one.
#pragma once

#include <source_location>
#include <span>
#include <vector>

#include "tenure/tensor.h"
#include "tenure/variable.h"

namespace tenure::detail {

// Gives each variable its value. When one cannot take it (a wrong shape or dtype, a tensor that is
// gone, no memory), none has changed. Of a variable that is named twice the last value counts.
// `op` is what the user called, for errors.
void assign_all(std::span<const Variable> variables, std::span<const Tensor> values,
                std::source_location site, const char* op = "assign");

// Their values at one moment: of a write that changes several as one (assign_all, a call of a
// traced function) all or nothing is read.
std::vector<Tensor> read_all(std::span<const Variable> variables, std::source_location site);

}  // namespace tenure::detail
