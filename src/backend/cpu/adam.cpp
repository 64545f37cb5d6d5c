#include "backend/cpu/adam.h"

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
template <class At, class V, class T>
HWY_INLINE void update(const AdamRun<T>& run, const At& at, const V* number) {
  const auto mean = at.load(run.mean), square = at.load(run.square);
  const auto gradient = at.load(run.gradient);
  const auto new_mean = hn::Add(hn::Mul(mean, number[0]), hn::Mul(gradient, number[1]));
  const auto new_square =
      hn::Add(hn::Mul(square, number[2]), hn::Mul(hn::Mul(gradient, gradient), number[3]));
  const auto step = hn::Div(hn::Mul(new_mean, number[4]), hn::Add(hn::Sqrt(new_square), number[5]));
  at.store(hn::Sub(at.load(run.value), step), run.new_value);
  at.store(new_mean, run.new_mean);
  at.store(new_square, run.new_square);
}

template <class T>
HWY_INLINE void update_all(const AdamRun<T>& run, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> number[6];
  for (std::size_t i = 0; i < 6; ++i) number[i] = hn::Set(d, run.numbers[i]);
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
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) update(run, Whole{d, i}, number);
  if (i < count) update(run, Part{d, i, static_cast<std::size_t>(count - i)}, number);
}

void update_f32(const AdamRun<float>& run, std::int64_t count) { update_all(run, count); }
void update_f64(const AdamRun<double>& run, std::int64_t count) { update_all(run, count); }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(update_f32);
HWY_EXPORT(update_f64);

void adam_update(const AdamRun<float>& run, std::int64_t count) noexcept {
  HWY_DYNAMIC_DISPATCH(update_f32)(run, count);
}
void adam_update(const AdamRun<double>& run, std::int64_t count) noexcept {
  HWY_DYNAMIC_DISPATCH(update_f64)(run, count);
}

namespace {

template <class T>
void adam(const ops::KernelArgs& args) noexcept {
  if (args.out[0].numel() == 0) return;
  const AdamRun<T> whole =
      adam_run<T>(args.attrs.as<ops::AdamAttrs>(), args.in.first(3), args.in.subspan(4), args.out);
  const T* gradient = args.in[3].as<T>();
  parallel_for(args.out[0].numel(), 8 * 1024, [&](std::int64_t begin, std::int64_t end) {
    adam_update(whole.from(begin, gradient + begin), end - begin);
  });
}

}  // namespace

std::span<const ops::KernelRow> adam_kernels() {
  static constexpr ops::KernelRow rows[] = {{"adam", DType::float32, adam<float>},
                                            {"adam", DType::float64, adam<double>}};
  return rows;
}

}  // namespace tenure::cpu
#endif
