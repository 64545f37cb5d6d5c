// Matrix products.
//
//   tenure::Tensor y = tenure::matmul(x, w, {.transpose_b = true});
#pragma once

#include "tenure/export.h"
#include "tenure/tensor.h"

namespace tenure {

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};

// [..., m, k] x [..., k, n] gives [..., m, n]; the leading axes broadcast.
TENURE_API Tensor matmul(Arg a, Arg b, MatmulOptions options = {});

}  // namespace tenure
