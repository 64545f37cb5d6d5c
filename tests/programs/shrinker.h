// Makes a failing program smaller for as long as it fails in the same way.
#pragma once

#include <functional>

#include "ast.h"

namespace tenure::programs {

Program shrink(Program program, const std::function<bool(const Program&)>& still_fails);

}  // namespace tenure::programs
