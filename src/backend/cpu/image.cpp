#include "backend/cpu/kernels.h"

namespace tenure::cpu {

std::span<const ops::KernelRow> image_kernels() { return {}; }

}  // namespace tenure::cpu
