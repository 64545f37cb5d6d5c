// What a fused convolution does to a row of finished columns: bias, then activation.
#include "backend/cpu/convolution_walk.h"
#include "backend/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/convolution_finish.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/lanes-inl.h"
#include "backend/cpu/vector_math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

template <class T, class F>
HWY_INLINE void each_vector(T* row, std::int64_t columns, const T* bias, const F& activate) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= columns; i += lanes) {
    auto v = hn::LoadU(d, row + i);
    if (bias != nullptr) v = hn::Add(v, hn::LoadU(d, bias + i));
    hn::StoreU(activate(d, v), d, row + i);
  }
  if (i < columns) {
    const auto count = static_cast<std::size_t>(columns - i);
    auto v = load_first(d, row + i, count);
    if (bias != nullptr) v = hn::Add(v, load_first(d, bias + i, count));
    store_first(d, activate(d, v), row + i, count);
  }
}

template <class T>
void finish_any(T* row, std::int64_t columns, const Finish<T>& finish) {
  const auto run = [&](const auto& activate)
                       HWY_ATTR { each_vector(row, columns, finish.bias, activate); };
  // Compared, not clamped, as relu is: NaN passes and -0 becomes 0.
  const auto relu = [](auto d, auto x)
                        HWY_ATTR { return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x); };
  switch (finish.activation) {
    case Activation::relu:
      return run(relu);
    case Activation::relu6:
      return run([relu](auto d, auto x) HWY_ATTR { return at_most(d, relu(d, x), 6); });
    case Activation::elu:
      return run([](auto d, auto x) HWY_ATTR {
        const auto below = expm1_of_negative(d, at_most(d, x, 0));
        return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), x, below);
      });
    case Activation::sigmoid:
      return run([](auto d, auto x) HWY_ATTR { return sigmoid(d, x); });
    case Activation::leaky_relu: {
      const T alpha = static_cast<T>(finish.alpha);
      return run([alpha](auto d, auto x) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, hn::Set(d, alpha)));
      });
    }
    default:
      return run([](auto, auto x) HWY_ATTR { return x; });
  }
}

void finish_f32(float* row, std::int64_t columns, const Finish<float>& finish) {
  finish_any(row, columns, finish);
}
void finish_f64(double* row, std::int64_t columns, const Finish<double>& finish) {
  finish_any(row, columns, finish);
}

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(finish_f32);
HWY_EXPORT(finish_f64);

void finish_row(float* row, std::int64_t columns, const Finish<float>& finish) noexcept {
  HWY_DYNAMIC_DISPATCH(finish_f32)(row, columns, finish);
}
void finish_row(double* row, std::int64_t columns, const Finish<double>& finish) noexcept {
  HWY_DYNAMIC_DISPATCH(finish_f64)(row, columns, finish);
}

}  // namespace tenure::cpu
#endif
