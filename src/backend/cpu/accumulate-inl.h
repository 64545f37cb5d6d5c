// What vectors of float or double come to: sums in double, largest and smallest elements.
#include <cstddef>
#include <cstdint>
#include <limits>

#include "backend/cpu/lanes-inl.h"
#include "hwy/highway.h"

#if defined(TENURE_BACKEND_CPU_ACCUMULATE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_BACKEND_CPU_ACCUMULATE_INL_H
#undef TENURE_BACKEND_CPU_ACCUMULATE_INL_H
#else
#define TENURE_BACKEND_CPU_ACCUMULATE_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

struct Sum {
  template <class T>
  using Total = double;
  template <class T>
  static constexpr T kIdentity = 0;
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return hn::Add(a, b);
  }
};

// NaN wins. The instructions' own treatment of NaN differs from target to target.
struct Max {
  template <class T>
  using Total = T;
  template <class T>
  static constexpr T kIdentity = -std::numeric_limits<T>::infinity();
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(b)), b, a);
  }
};

struct Min {
  template <class T>
  using Total = T;
  template <class T>
  static constexpr T kIdentity = std::numeric_limits<T>::infinity();
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
  }
};

template <class Op, class D>
HWY_INLINE hn::TFromD<D> reduce_vector([[maybe_unused]] D d, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(d) > 1) {
    const hn::Half<D> half;
    return reduce_vector<Op>(half, Op::combine(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  return hn::GetLane(v);
}

// The first `count` lanes of src; the others are such that they change nothing.
template <class Op, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_some(D d, const T* src, std::int64_t count) {
  const auto lanes = static_cast<std::size_t>(count);
  const auto loaded = load_first(d, src, lanes);
  if constexpr (Op::template kIdentity<T> == 0) {
    return loaded;
  } else {
    return hn::IfThenElse(hn::FirstN(d, lanes), loaded, hn::Set(d, Op::template kIdentity<T>));
  }
}

// What vectors of T come to: one of T, or two of double, for the lower and the upper half.
template <class Op, class T, class Total>
struct Accumulator {
  using D = hn::ScalableTag<T>;
  hn::Vec<D> all;

  HWY_INLINE Accumulator() : all(hn::Set(D(), Op::template kIdentity<T>)) {}
  HWY_INLINE explicit Accumulator(const T* src) : all(hn::LoadU(D(), src)) {}
  HWY_INLINE void add(hn::Vec<D> v) { all = Op::combine(all, v); }
  HWY_INLINE void store(T* dst) const { hn::StoreU(all, D(), dst); }
  HWY_INLINE T total() const { return reduce_vector<Op>(D(), all); }
};

template <class Op>
struct Accumulator<Op, float, double> {
  using D = hn::ScalableTag<float>;
#if HWY_TARGET == HWY_SCALAR
  using Wide = hn::ScalableTag<double>;
  hn::Vec<Wide> all;

  HWY_INLINE Accumulator() : all(hn::Zero(Wide())) {}
  HWY_INLINE explicit Accumulator(const double* src) : all(hn::LoadU(Wide(), src)) {}
  HWY_INLINE void add(hn::Vec<D> v) { all = hn::Add(all, hn::PromoteTo(Wide(), v)); }
  HWY_INLINE void store(double* dst) const { hn::StoreU(all, Wide(), dst); }
  HWY_INLINE double total() const { return hn::GetLane(all); }
#else
  using Half = hn::Half<D>;
  using Wide = hn::RepartitionToWide<D>;
  hn::Vec<Wide> lower;
  hn::Vec<Wide> upper;

  HWY_INLINE Accumulator() : lower(hn::Zero(Wide())), upper(hn::Zero(Wide())) {}
  HWY_INLINE explicit Accumulator(const double* src)
      : lower(hn::LoadU(Wide(), src)), upper(hn::LoadU(Wide(), src + hn::Lanes(Wide()))) {}
  HWY_INLINE void add(hn::Vec<D> v) {
    lower = hn::Add(lower, hn::PromoteTo(Wide(), hn::LowerHalf(Half(), v)));
    upper = hn::Add(upper, hn::PromoteTo(Wide(), hn::UpperHalf(Half(), v)));
  }
  HWY_INLINE void store(double* dst) const {
    hn::StoreU(lower, Wide(), dst);
    hn::StoreU(upper, Wide(), dst + hn::Lanes(Wide()));
  }
  HWY_INLINE double total() const { return reduce_vector<Op>(Wide(), hn::Add(lower, upper)); }
#endif
};

template <class Op, class T>
using AccumulatorOf = Accumulator<Op, T, typename Op::template Total<T>>;

// Has the line four pages ahead brought to the second cache; it may lie past the end. The
// processor's own prefetching stops at the end of a page, and one line of the next starts it there:
// memory was read a seventh faster (Zen 4).
HWY_INLINE void prefetch_ahead([[maybe_unused]] const void* at) {
#if HWY_ARCH_X86
  asm volatile("prefetcht1 %c1(%0)" : : "r"(at), "i"(4 * 4096));
#endif
}

// Of load(first) ... load(first + count - 1), pairwise; count is a power of two.
template <class Op, int count, class Load>
HWY_INLINE auto combine_pairs(Load load, int first = 0) {
  if constexpr (count == 2) {
    const auto lower = loaded_first(load(first));
    return loaded_first(Op::combine(lower, load(first + 1)));
  } else {
    const auto lower = combine_pairs<Op, count / 2>(load, first);
    return Op::combine(lower, combine_pairs<Op, count / 2>(load, first + count / 2));
  }
}

template <class Op, class T>
HWY_INLINE typename Op::template Total<T> reduce_run(const T* HWY_RESTRICT src,
                                                     std::int64_t count) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  AccumulatorOf<Op, T> sum;
  std::int64_t i = 0;
  const auto load = [&](int v) HWY_ATTR { return hn::LoadU(d, src + i + v * lanes); };
  // Many at a time: the fewer instructions a vector takes, the faster memory was read.
  for (; i + 32 * lanes <= count; i += 32 * lanes) {
    prefetch_ahead(src + i);
    sum.add(combine_pairs<Op, 32>(load));
  }
  for (; i + 8 * lanes <= count; i += 8 * lanes) sum.add(combine_pairs<Op, 8>(load));
  for (; i + lanes <= count; i += lanes) sum.add(hn::LoadU(d, src + i));
  if (i < count) sum.add(load_some<Op>(d, src + i, count - i));
  return sum.total();
}

// A place in runs of equal length, at which all of a vector lies within them, and one where only
// its first lanes do; there a load gives 0 for the others.
template <class T>
struct WholeVector {
  using D = hn::ScalableTag<T>;
  std::int64_t i;
  HWY_INLINE hn::Vec<D> load(const T* src) const { return hn::LoadU(D(), src + i); }
  HWY_INLINE void store(hn::Vec<D> v, T* dst) const { hn::StoreU(v, D(), dst + i); }
  HWY_INLINE hn::Vec<D> or_zero(hn::Vec<D> v) const { return v; }
};
template <class T>
struct PartOfVector {
  using D = hn::ScalableTag<T>;
  std::int64_t i;
  std::size_t count;
  HWY_INLINE hn::Vec<D> load(const T* src) const { return load_first(D(), src + i, count); }
  HWY_INLINE void store(hn::Vec<D> v, T* dst) const { store_first(D(), v, dst + i, count); }
  HWY_INLINE hn::Vec<D> or_zero(hn::Vec<D> v) const {
    return hn::IfThenElseZero(hn::FirstN(D(), count), v);
  }
};

// Calls body(place) for each vector of a run of `count` elements.
template <class T, class Body>
HWY_INLINE void for_vectors(std::int64_t count, Body body) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(WholeVector<T>{i});
  if (i < count) body(PartOfVector<T>{i, static_cast<std::size_t>(count - i)});
}

// The sum of all lanes of term(place), four vectors at a time.
template <class T, class Term>
HWY_INLINE double sum_of(std::int64_t count, Term term) {
  using At = WholeVector<T>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  AccumulatorOf<Sum, T> sum;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto a = term(At{i}), b = term(At{i + lanes});
    const auto c = term(At{i + 2 * lanes}), d = term(At{i + 3 * lanes});
    sum.add(hn::Add(hn::Add(a, b), hn::Add(c, d)));
  }
  for (; i + lanes <= count; i += lanes) sum.add(term(At{i}));
  if (i < count) {
    const PartOfVector<T> last{i, static_cast<std::size_t>(count - i)};
    sum.add(last.or_zero(term(last)));
  }
  return sum.total();
}

}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
