// Elementwise operations. Binary ones broadcast like NumPy's, promote mixed dtypes (docs/dtypes.md)
// and take numbers: `x * 2.0` keeps x's dtype. A tensor moved in may be overwritten.
//
//   tenure::Tensor y = tenure::maximum(x, 0.0) + tenure::exp(-x);
#pragma once

#include <source_location>
#include <vector>

#include "tenure/export.h"
#include "tenure/scalar.h"
#include "tenure/tensor.h"

namespace tenure {

TENURE_API Tensor add(Arg a, Arg b);
TENURE_API Tensor sub(Arg a, Arg b);
TENURE_API Tensor mul(Arg a, Arg b);
TENURE_API Tensor div(Arg a, Arg b);        // integers: floor division, x / 0 is 0
TENURE_API Tensor floor_div(Arg a, Arg b);  // integers: as div
TENURE_API Tensor maximum(Arg a, Arg b);
TENURE_API Tensor minimum(Arg a, Arg b);
TENURE_API Tensor squared_difference(Arg a, Arg b);
TENURE_API Tensor mod(Arg a, Arg b);    // has the sign of b; by 0 it is NaN, and 0 for integers
TENURE_API Tensor pow(Arg a, Arg b);    // integers wrap; 2 to a negative power is 0
TENURE_API Tensor atan2(Arg y, Arg x);  // the angle of the point (x, y)
TENURE_API Tensor hypot(Arg a, Arg b);  // sqrt(a^2 + b^2), whose squares do not overflow
TENURE_API Tensor add_n(std::vector<Tensor> tensors,  // of one shape
                        std::source_location site = std::source_location::current());

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
TENURE_API Tensor rsqrt(Arg x);  // 1 / sqrt(x)
TENURE_API Tensor reciprocal(Arg x);
TENURE_API Tensor abs(Arg x);
TENURE_API Tensor sign(Arg x);  // -1, 0 or 1; 0 for NaN
TENURE_API Tensor floor(Arg x);
TENURE_API Tensor ceil(Arg x);
TENURE_API Tensor round(Arg x);                          // halves to the even number
TENURE_API Tensor clip(Arg x, Scalar low, Scalar high);  // NaN stays
TENURE_API Tensor expm1(Arg x);                          // exp(x) - 1, exact for small x
TENURE_API Tensor log1p(Arg x);                          // log(1 + x), exact for small x
TENURE_API Tensor erf(Arg x);
TENURE_API Tensor sin(Arg x);
TENURE_API Tensor cos(Arg x);
TENURE_API Tensor tan(Arg x);
TENURE_API Tensor asin(Arg x);
TENURE_API Tensor acos(Arg x);
TENURE_API Tensor atan(Arg x);
TENURE_API Tensor sinh(Arg x);
TENURE_API Tensor cosh(Arg x);
TENURE_API Tensor asinh(Arg x);
TENURE_API Tensor acosh(Arg x);
TENURE_API Tensor atanh(Arg x);
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
TENURE_API Tensor operator<(Arg a, Arg b);
TENURE_API Tensor operator<=(Arg a, Arg b);
TENURE_API Tensor operator>(Arg a, Arg b);
TENURE_API Tensor operator>=(Arg a, Arg b);
TENURE_API Tensor is_nan(Arg x);
TENURE_API Tensor is_inf(Arg x);
TENURE_API Tensor is_finite(Arg x);

// Of bool tensors only.
TENURE_API Tensor logical_and(Arg a, Arg b);
TENURE_API Tensor logical_or(Arg a, Arg b);
TENURE_API Tensor logical_xor(Arg a, Arg b);
TENURE_API Tensor logical_not(Arg x);
TENURE_API Tensor operator!(Arg x);

// Of integers.
TENURE_API Tensor bitwise_and(Arg a, Arg b);
TENURE_API Tensor bitwise_or(Arg a, Arg b);
TENURE_API Tensor bitwise_xor(Arg a, Arg b);

TENURE_API Tensor where(Arg condition, Arg a, Arg b);  // a where condition is true, else b
TENURE_API Tensor cast(Arg x, DType dtype);            // to an integer: towards zero, saturating

}  // namespace tenure
