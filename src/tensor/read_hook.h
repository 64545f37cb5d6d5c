// How reading a variable reaches the tapes that record, which stand below this layer.
#pragma once

#include "tenure/tensor.h"

namespace tenure::detail {

void tell_tapes(const Tensor& value);  // defined beside the one road, in ops

}  // namespace tenure::detail
