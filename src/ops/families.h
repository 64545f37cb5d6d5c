// What each file of ops holds.
#pragma once

#include "ops/family_list.h"
#include "ops/op_def.h"

namespace tenure::ops {

#define TENURE_DECLARE(name) Family name##_ops();
TENURE_FAMILIES(TENURE_DECLARE, TENURE_NOT_HERE, TENURE_NOT_HERE, TENURE_NOT_HERE)
#undef TENURE_DECLARE

}  // namespace tenure::ops
