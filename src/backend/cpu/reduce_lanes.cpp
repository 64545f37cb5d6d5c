#include "backend/cpu/reduce_lanes.h"

#include "backend/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/reduce_lanes.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/accumulate-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

template <class Op, class T>
HWY_INLINE void reduce_rows(const T* const* rows, std::int64_t count, std::int64_t width,
                            typename Op::template Total<T>* HWY_RESTRICT dst) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto each_vector = [&](auto reduce) HWY_ATTR {
    std::int64_t j = 0;
    for (; j + lanes <= width; j += lanes) {
      reduce(j, [&](const T* row) HWY_ATTR { return hn::LoadU(d, row + j); });
    }
    if (j < width) {
      reduce(j, [&](const T* row) HWY_ATTR { return load_some<Op>(d, row + j, width - j); });
    }
  };
  std::int64_t r = 0;
  for (; r + 8 <= count; r += 8) {
    const T* const* eight = rows + r;
    each_vector([&](std::int64_t j, auto load) HWY_ATTR {
      AccumulatorOf<Op, T> sum(dst + j);
      sum.add(combine_pairs<Op, 8>([&](int v) HWY_ATTR { return load(eight[v]); }));
      sum.store(dst + j);
    });
  }
  for (; r < count; ++r) {
    each_vector([&](std::int64_t j, auto load) HWY_ATTR {
      AccumulatorOf<Op, T> sum(dst + j);
      sum.add(load(rows[r]));
      sum.store(dst + j);
    });
  }
}

template <class Op, class T>
struct Loops {
  using Total = typename Op::template Total<T>;
  static Total run(const T* src, std::int64_t count) noexcept { return reduce_run<Op>(src, count); }
  static void rows(const T* const* src, std::int64_t count, std::int64_t width,
                   Total* dst) noexcept {
    reduce_rows<Op>(src, count, width, dst);
  }
  static constexpr ReduceLoop<T, Total> kLoop{run, rows};
};

template <class T>
constexpr ReduceLoops<T> kLoops{Loops<Sum, T>::kLoop, Loops<Max, T>::kLoop, Loops<Min, T>::kLoop};

const ReduceLoops<float>* loops_f32() { return &kLoops<float>; }
const ReduceLoops<double>* loops_f64() { return &kLoops<double>; }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(loops_f32);
HWY_EXPORT(loops_f64);

template <>
const ReduceLoops<float>& reduce_loops<float>() noexcept {
  static const ReduceLoops<float>* loops = HWY_DYNAMIC_DISPATCH(loops_f32)();
  return *loops;
}
template <>
const ReduceLoops<double>& reduce_loops<double>() noexcept {
  static const ReduceLoops<double>* loops = HWY_DYNAMIC_DISPATCH(loops_f64)();
  return *loops;
}

}  // namespace tenure::cpu
#endif
