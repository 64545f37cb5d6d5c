// Loops over vectors of float or double whose last, partial vector goes through the same code as
// the full ones: an element's bits do not depend on where it lies.
#include <cstddef>
#include <cstring>

#include "hwy/highway.h"

#if defined(TENURE_BACKEND_CPU_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_BACKEND_CPU_LANES_INL_H
#undef TENURE_BACKEND_CPU_LANES_INL_H
#else
#define TENURE_BACKEND_CPU_LANES_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The first `count` lanes of a vector, fewer than it has. Made once for a loop: the compiler would
// make a mask again each time round, on a port that multiplications need.
template <class D>
class FirstLanes {
 public:
  using T = hn::TFromD<D>;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  HWY_INLINE FirstLanes(D d, std::size_t count) : mask_(hn::FirstN(d, count)) {
#if HWY_TARGET == HWY_AVX3
    asm("" : "+k"(mask_.raw));
#endif
  }
  // The others are 0.
  HWY_INLINE hn::Vec<D> load(D d, const T* src) const { return hn::MaskedLoad(mask_, d, src); }
  HWY_INLINE void store(D d, hn::Vec<D> vector, T* dst) const {
    hn::BlendedStore(vector, mask_, d, dst);
  }

 private:
  hn::Mask<D> mask_;
#else
  HWY_INLINE FirstLanes(D, std::size_t count) : count_(count) {}
  HWY_INLINE hn::Vec<D> load(D d, const T* src) const {
    HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
    std::memcpy(lanes, src, count_ * sizeof(T));
    return hn::Load(d, lanes);
  }
  HWY_INLINE void store(D d, hn::Vec<D> vector, T* dst) const {
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    hn::Store(vector, d, lanes);
    std::memcpy(dst, lanes, count_ * sizeof(T));
  }

 private:
  std::size_t count_;
#endif
};

template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* src, std::size_t count) {
  return FirstLanes<D>(d, count).load(d, src);
}
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_first(D d, hn::Vec<D> vector, T* dst, std::size_t count) {
  FirstLanes<D>(d, count).store(d, vector, dst);
}

// A vector, or with kPartial its first `count` lanes.
template <bool kPartial, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_lanes(D d, const T* src, std::size_t count) {
  if constexpr (kPartial) {
    return load_first(d, src, count);
  } else {
    return hn::LoadU(d, src);
  }
}
template <bool kPartial, class D, class T = hn::TFromD<D>>
HWY_INLINE void store_lanes(D d, hn::Vec<D> vector, T* dst, std::size_t count) {
  if constexpr (kPartial) {
    store_first(d, vector, dst, count);
  } else {
    hn::StoreU(vector, d, dst);
  }
}

// The vector, before anything of what comes next in the program: the compiler may neither exchange
// loads nor read again what is in a register. Memory that is read in order arrives up to a third
// sooner (Zen 4).
template <class V>
HWY_INLINE V loaded_first(V v) {
#if HWY_TARGET == HWY_AVX3
  asm volatile("" : "+v"(v.raw));
#elif HWY_TARGET == HWY_AVX2
  asm volatile("" : "+x"(v.raw));
#endif
  return v;
}

// An operand that advances with the output, and one that is the same throughout.
template <class D, class T = hn::TFromD<D>>
struct Stepped {
  const T* src;
  HWY_INLINE hn::Vec<D> load(D d, std::size_t i) const { return hn::LoadU(d, src + i); }
  HWY_INLINE hn::Vec<D> load_first(D d, std::size_t i, std::size_t count) const {
    return HWY_NAMESPACE::load_first(d, src + i, count);
  }
};

template <class D>
struct Constant {
  hn::Vec<D> value;
  HWY_INLINE hn::Vec<D> load(D, std::size_t) const { return value; }
  HWY_INLINE hn::Vec<D> load_first(D, std::size_t, std::size_t) const { return value; }
};

// How many vectors go through an Op side by side. The steps of a long function wait for each other;
// those of several vectors do not.
template <class Op>
constexpr std::size_t vectors_at_once() {
  if constexpr (requires { Op::kAtOnce; }) {
    return Op::kAtOnce;
  } else {
    return 1;
  }
}

// dst[i] = op(d, operands[i]...)
template <class Op, class D, class T, class... Operands>
HWY_INLINE void map_lanes(D d, T* dst, std::size_t count, const Operands&... operands) {
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  if constexpr (vectors_at_once<Op>() == 4) {
    for (; i + 4 * lanes <= count; i += 4 * lanes) {
      const auto v0 = Op::apply(d, operands.load(d, i)...);
      const auto v1 = Op::apply(d, operands.load(d, i + lanes)...);
      const auto v2 = Op::apply(d, operands.load(d, i + 2 * lanes)...);
      const auto v3 = Op::apply(d, operands.load(d, i + 3 * lanes)...);
      hn::StoreU(v0, d, dst + i);
      hn::StoreU(v1, d, dst + i + lanes);
      hn::StoreU(v2, d, dst + i + 2 * lanes);
      hn::StoreU(v3, d, dst + i + 3 * lanes);
    }
  }
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(Op::apply(d, operands.load(d, i)...), d, dst + i);
  }
  if (i < count) {
    store_first(d, Op::apply(d, operands.load_first(d, i, count - i)...), dst + i, count - i);
  }
}

}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
