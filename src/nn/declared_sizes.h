// Where sizes may vary, a layer is tried at two of each. What both tries are refused for is told of
// the sizes as they were declared: a number that differs from one to the other is one that varies.
#pragma once

#include "tenure/error.h"

namespace tenure::nn::detail {

// Makes the first try's error one of declared sizes. False, and nothing is done, where the second
// says something else.
bool tell_declared_sizes(Error& error, const Error& second);

}  // namespace tenure::nn::detail
