// How what layers, models, optimizers and metrics hold is ended, and what is said to who uses them
// afterwards.
#pragma once

#include <source_location>
#include <span>
#include <string>

#include "memory/label.h"
#include "tenure/story.h"
#include "tenure/variable.h"

namespace tenure::nn::detail {

// Ends variables that go with their owner; how many had not ended before.
int kill_variables(std::span<const Variable> variables, const tenure::detail::LabelRef& owner,
                   std::source_location site);

// `op` is what the user called, on a thing that `label` tells the birth of; `lost` says what went.
[[noreturn]] void raise_disposed(const char* op, const std::string& thing,
                                 const tenure::detail::Label& label, Death death,
                                 std::source_location used, const char* lost);

}  // namespace tenure::nn::detail
