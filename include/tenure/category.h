// What memory is for. A report counts each storage under one of these.
#pragma once

#include <cstdint>

namespace tenure {

enum class Category : std::uint8_t {
  parameter,
  gradient,
  optimizer_state,
  layer_state,
  saved_for_backward,
  workspace,  // held by no tensor: an op's scratch, a function's arena
  other,
};

}  // namespace tenure
