// The peer's rows that have a file of their own.
#pragma once

#include "harness.h"

namespace bench {

void libtorch_norm(Runner& runner);

}  // namespace bench
