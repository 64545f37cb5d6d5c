// The peer's rows that have a file of their own.
#pragma once

#include "harness.h"

namespace bench::peers {

void norm(Runner& runner);
void indexing(Runner& runner);
void einsum(Runner& runner);
void pooling(Runner& runner);
void convolution(Runner& runner);
void recurrent(Runner& runner);
void training(Runner& runner);

}  // namespace bench::peers
