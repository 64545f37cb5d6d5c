// Rows of libtorch that stand in files of their own.
#pragma once

#include "harness.h"

namespace bench::peers {

void einsum(Runner& runner);

}  // namespace bench::peers
