// Convolutions.
#pragma once

#include "tenure/export.h"
#include "tenure/tensor.h"

namespace tenure {}  // namespace tenure
