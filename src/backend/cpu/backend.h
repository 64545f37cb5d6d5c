// The CPU backend as the runtime sees it.
#pragma once

#include <string_view>
#include <vector>

#include "memory/transfer.h"
#include "ops/kernel.h"

namespace tenure::cpu {

void install(ops::KernelTable& table, detail::DeviceTransfer& transfer);

// The instruction sets that kernels are compiled for and this processor has, best first; of those
// in use the first is taken. The last, "baseline", is what the whole library is compiled for.
std::vector<std::string_view> targets();
// Nothing better than `name` from now on; false, and nothing has changed, when it is not among
// them. Before `install`.
bool use_target(std::string_view name);

}  // namespace tenure::cpu
