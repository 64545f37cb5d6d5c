// The kernels of each family, one row per op and dtype; the runtime's init installs them all.
//
// Rows point at code for the best instruction set this machine has, chosen when the function is
// called: running a kernel costs no further dispatch.
#pragma once

#include <span>

#include "ops/family_list.h"
#include "ops/kernel.h"

namespace tenure::cpu {

#define TENURE_DECLARE(name) std::span<const ops::KernelRow> name##_kernels();
TENURE_FAMILIES(TENURE_NOT_HERE, TENURE_DECLARE, TENURE_NOT_HERE, TENURE_NOT_HERE)
#undef TENURE_DECLARE

}  // namespace tenure::cpu
