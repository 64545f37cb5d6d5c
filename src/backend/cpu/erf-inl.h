// The error function of float lanes and its complement, for x >= 0, both within 3 ULP. float64
// takes the C library's.
//
// Near 0 erf x = x + x p(x^2). Beyond, erfc x = s exp(q(s) - x^2) with s = 1 / (1 + x / 2), where q
// hardly varies. Both polynomials interpolate at Chebyshev nodes.
#include <cmath>

#include "backend/cpu/vector_math-inl.h"
#include "hwy/highway.h"

#if defined(TENURE_BACKEND_CPU_ERF_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_BACKEND_CPU_ERF_INL_H
#undef TENURE_BACKEND_CPU_ERF_INL_H
#else
#define TENURE_BACKEND_CPU_ERF_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {

// erfc x for x >= 0, given its square and what that has lost to rounding.
template <class D, class V>
HWY_INLINE V erfc_of_positive(D d, V x, V square, V lost) {
  static constexpr float kCentre = 0.578125f;
  static constexpr float kLogRatio[] = {-0x1.21a646p-1f, 0x1.5e2578p+0f,  0x1.8d84f2p-4f,
                                        -0x1.a05a02p-2f, -0x1.5b236p-5f,  0x1.2fcc58p-2f,
                                        -0x1.686944p-5f, -0x1.0083e8p-2f, 0x1.19dfe8p-3f,
                                        0x1.3608fap-3f,  -0x1.2f111p-3f};
  const V one = hn::Set(d, 1);
  const V s = hn::Div(one, hn::MulAdd(at_most(d, x, 10.4f), hn::Set(d, 0.5f), one));
  const V log_ratio = polynomial(d, hn::Sub(s, hn::Set(d, kCentre)), kLogRatio);
  // The exponent in two parts: the rounding of a large one would cost many ULP.
  const V bounded = at_most(d, square, 200);  // beyond, the result is 0
  const V high = hn::Sub(log_ratio, bounded);
  const V low = hn::Sub(hn::Sub(log_ratio, hn::Add(high, bounded)), lost);
  const V coarse = hn::Mul(s, HWY_NAMESPACE::exp(d, high));
  return hn::MulAdd(coarse, low, coarse);
}

template <class D, class V>
HWY_INLINE V erf(D d, V x) {
  static constexpr float kSlope[] = {0x1.06eba8p-3f,  -0x1.812744p-2f, 0x1.ce2e5cp-4f,
                                     -0x1.b815ccp-6f, 0x1.55107p-8f,   -0x1.acd92ap-11f,
                                     0x1.65bfcp-14f};
  const V size = hn::Abs(x), square = hn::Mul(x, x);
  const V near = hn::MulAdd(size, polynomial(d, square, kSlope), size);
  const V far = hn::Sub(hn::Set(d, 1), erfc_of_positive(d, size, square, hn::Zero(d)));
  return hn::CopySign(hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.9f)), near, far), x);
}

}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
