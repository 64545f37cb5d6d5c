// What findings say is to be done, in the words of the language that the program is written in.
#pragma once

#include <cstdint>
#include <string>

#include "report/run.h"

namespace tenure::report {

enum class Advice : std::uint8_t {
  stored_in_a_loop,
  stored_and_forgotten,
  variables_in_a_loop,
  saved_for_ever,
  tape_over_steps,
  larger_every_turn,
  symbolic_outlived,
  outlived,
  undestroyed_tape,
  pinned_by_a_view,
  traced_again,
};

std::string advice(const Run& run, Advice about);

}  // namespace tenure::report
