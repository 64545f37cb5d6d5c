// The peer's rows that have a file of their own.
// The questions that have a file of their own here.
#pragma once

#include "harness.h"

namespace bench {

void libtorch_norm(Runner& runner);

}  // namespace bench
void pooling(bench::Runner& runner);
void convolution(bench::Runner& runner);
