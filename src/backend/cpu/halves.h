// float16 and bfloat16: every kernel of float32 computes them too.
#pragma once

#include "ops/kernel.h"

namespace tenure::cpu {

// For each op that has a kernel for float32 and none of its own for float16 or bfloat16: one that
// makes float32 of what it is given, runs that kernel, and rounds its results once.
void install_halves(ops::KernelTable& table);

}  // namespace tenure::cpu
