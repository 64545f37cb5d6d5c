// Numbers in CSV fields.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenure/dtype.h"

namespace tenure::io {

enum class NumberFault : std::uint8_t { none, not_a_number, out_of_range, empty, unsupported };

// Writes the number that `text` is, blanks around it aside, to `to` as a `dtype`. An empty field is
// NaN for floats. Numbers nearer to 0 than any float are 0.
NumberFault parse_number(std::string_view text, DType dtype, void* to);

}  // namespace tenure::io
