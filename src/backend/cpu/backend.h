// The CPU backend as the runtime sees it.
#pragma once

#include "memory/transfer.h"
#include "ops/kernel.h"

namespace tenure::cpu {

void install(ops::KernelTable& table, detail::DeviceTransfer& transfer);

}  // namespace tenure::cpu
