// Elementwise operations. Binary ones broadcast like NumPy's, promote mixed dtypes (docs/dtypes.md)
// and take numbers: `x * 2.0` keeps x's dtype. A tensor moved in may be overwritten.
//
//   tenure::Tensor y = tenure::maximum(x, 0.0) + tenure::exp(-x);
#pragma once

#include "tenure/export.h"
#include "tenure/tensor.h"

namespace tenure {

TENURE_API Tensor add(Arg a, Arg b);
TENURE_API Tensor sub(Arg a, Arg b);
TENURE_API Tensor mul(Arg a, Arg b);
TENURE_API Tensor div(Arg a, Arg b);  // integers: floor division, x / 0 is 0
TENURE_API Tensor maximum(Arg a, Arg b);
TENURE_API Tensor minimum(Arg a, Arg b);

TENURE_API Tensor operator+(Arg a, Arg b);
TENURE_API Tensor operator-(Arg a, Arg b);
TENURE_API Tensor operator*(Arg a, Arg b);
TENURE_API Tensor operator/(Arg a, Arg b);
TENURE_API Tensor operator-(Arg x);
TENURE_API Tensor& operator+=(Tensor& a,
                              Arg b);  // a = a + b: another tensor, in a's bytes if it can
TENURE_API Tensor& operator-=(Tensor& a, Arg b);
TENURE_API Tensor& operator*=(Tensor& a, Arg b);
TENURE_API Tensor& operator/=(Tensor& a, Arg b);

TENURE_API Tensor neg(Arg x);
TENURE_API Tensor exp(Arg x);
TENURE_API Tensor log(Arg x);
TENURE_API Tensor sqrt(Arg x);
TENURE_API Tensor square(Arg x);
TENURE_API Tensor relu(Arg x);
TENURE_API Tensor relu6(Arg x);
TENURE_API Tensor elu(Arg x);
TENURE_API Tensor selu(Arg x);
TENURE_API Tensor tanh(Arg x);
TENURE_API Tensor sigmoid(Arg x);

// Comparisons give bool tensors.
TENURE_API Tensor equal(Arg a, Arg b);
TENURE_API Tensor not_equal(Arg a, Arg b);
TENURE_API Tensor less(Arg a, Arg b);
TENURE_API Tensor less_equal(Arg a, Arg b);
TENURE_API Tensor greater(Arg a, Arg b);
TENURE_API Tensor greater_equal(Arg a, Arg b);

TENURE_API Tensor where(Arg condition, Arg a, Arg b);  // a where condition is true, else b
TENURE_API Tensor cast(Arg x, DType dtype);            // to an integer: towards zero, saturating

}  // namespace tenure
