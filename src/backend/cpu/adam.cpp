#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/adam.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

// One vector of each operand, loaded and stored whole or in part by `at`.
template <class D, class At, class T = hn::TFromD<D>>
HWY_INLINE void update(D d, const ops::KernelArgs& args, const At& at, const hn::Vec<D>* number) {
  const auto parameter = at.load(args.in[0].as<T>()), mean = at.load(args.in[1].as<T>());
  const auto square = at.load(args.in[2].as<T>()), gradient = at.load(args.in[3].as<T>());
  const auto new_mean = hn::Add(hn::Mul(mean, number[0]), hn::Mul(gradient, number[1]));
  const auto new_square =
      hn::Add(hn::Mul(square, number[2]), hn::Mul(hn::Mul(gradient, gradient), number[3]));
  const auto step = hn::Div(hn::Mul(new_mean, number[4]), hn::Add(hn::Sqrt(new_square), number[5]));
  at.store(hn::Sub(parameter, step), args.out[0].as<T>());
  at.store(new_mean, args.out[1].as<T>());
  at.store(new_square, args.out[2].as<T>());
  (void)d;
}

template <class T>
void adam(const ops::KernelArgs& args) noexcept {
  parallel_for(args.out[0].numel(), 8 * 1024, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const hn::Vec<decltype(d)> number[6] = {
        hn::Set(d, *args.in[4].as<T>()), hn::Set(d, *args.in[5].as<T>()),
        hn::Set(d, *args.in[6].as<T>()), hn::Set(d, *args.in[7].as<T>()),
        hn::Set(d, *args.in[8].as<T>()), hn::Set(d, *args.in[9].as<T>())};
    struct Whole {
      decltype(d) tag;
      std::int64_t i;
      HWY_INLINE auto load(const T* src) const { return hn::LoadU(tag, src + i); }
      HWY_INLINE void store(hn::Vec<decltype(d)> v, T* dst) const { hn::StoreU(v, tag, dst + i); }
    };
    struct Part {
      decltype(d) tag;
      std::int64_t i;
      std::size_t count;
      HWY_INLINE auto load(const T* src) const { return load_first(tag, src + i, count); }
      HWY_INLINE void store(hn::Vec<decltype(d)> v, T* dst) const {
        store_first(tag, v, dst + i, count);
      }
    };
    std::int64_t i = begin;
    for (; i + lanes <= end; i += lanes) update(d, args, Whole{d, i}, number);
    if (i < end) update(d, args, Part{d, i, static_cast<std::size_t>(end - i)}, number);
  });
}

std::span<const ops::KernelRow> adam_rows() {
  static constexpr ops::KernelRow rows[] = {{"adam", DType::float32, adam<float>},
                                            {"adam", DType::float64, adam<double>}};
  return rows;
}

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(adam_rows);

std::span<const ops::KernelRow> adam_kernels() { return HWY_DYNAMIC_DISPATCH(adam_rows)(); }

}  // namespace tenure::cpu
#endif
