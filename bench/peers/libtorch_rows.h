// The questions that have a file of their own here.
#pragma once

#include "harness.h"

void convolution(bench::Runner& runner);
