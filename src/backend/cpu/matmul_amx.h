// Products of bfloat16 by the matrix unit of Intel's processors (AMX).
#pragma once

#include "ops/kernel.h"

namespace tenure::cpu {

// Takes over large products of bfloat16 where this machine has AMX and the chosen instruction set
// is AVX-512; small ones stay with the kernel that is there.
void install_amx(ops::KernelTable& table);

}  // namespace tenure::cpu
