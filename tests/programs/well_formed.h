// Whether every value of a program is there where it is used: defined, not moved, not disposed.
#pragma once

#include "ast.h"

namespace tenure::programs {

bool is_well_formed(const Program& program);

}  // namespace tenure::programs
