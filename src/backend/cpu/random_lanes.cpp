#include "backend/cpu/random_lanes.h"

#include <cstddef>
#include <limits>
#include <numbers>

#include "backend/cpu/highway_targets.h"
#include "backend/cpu/philox.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/random_lanes.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/vector_math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

constexpr std::size_t kBlocks = kBatch;

#if HWY_TARGET == HWY_SCALAR
void draw(std::uint64_t seed, std::uint64_t counter, std::uint32_t attempt, Words& words) {
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const Philox::Counter block = Philox::block(seed, counter + i, attempt);
    for (std::size_t w = 0; w < 4; ++w) words.word[w][i] = block[w];
  }
}
#else
template <class V>
struct WideProduct {
  V high;
  V low;
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE WideProduct<V> multiply_wide(D d, V x, std::uint32_t factor) {
  const hn::RepartitionToWide<D> wide;
  const V factors = hn::Set(d, factor);
  const auto even = hn::MulEven(x, factors);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, x))), factors);
  return {hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even))),
          hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even))};
}

void draw(std::uint64_t seed, std::uint64_t counter, std::uint32_t attempt, Words& words) {
  const hn::ScalableTag<std::uint32_t> d;
  using Vec = hn::Vec<decltype(d)>;
  const auto first = hn::Set(d, Philox::low(counter));
  for (std::size_t i = 0; i < kBlocks; i += hn::Lanes(d)) {
    Vec c0 = hn::Add(first, hn::Iota(d, static_cast<std::uint32_t>(i)));
    const Vec carry = hn::VecFromMask(d, hn::Lt(c0, first));  // all ones, which is -1
    Vec c1 = hn::Sub(hn::Set(d, Philox::high(counter)), carry);
    Vec c2 = hn::Set(d, attempt);
    Vec c3 = hn::Zero(d);
    Philox::Key key = {Philox::low(seed), Philox::high(seed)};
    for (int round = 0; round < Philox::kRounds; ++round) {
      const auto even = multiply_wide(d, c0, Philox::kMultipliers[0]);
      const auto odd = multiply_wide(d, c2, Philox::kMultipliers[1]);
      c0 = hn::Xor(hn::Xor(odd.high, c1), hn::Set(d, key[0]));
      c1 = odd.low;
      c2 = hn::Xor(hn::Xor(even.high, c3), hn::Set(d, key[1]));
      c3 = even.low;
      key = {key[0] + Philox::kKeySteps[0], key[1] + Philox::kKeySteps[1]};
    }
    hn::Store(c0, d, words.word[0] + i);
    hn::Store(c1, d, words.word[1] + i);
    hn::Store(c2, d, words.word[2] + i);
    hn::Store(c3, d, words.word[3] + i);
  }
}
#endif

// x as a fraction: random bits below a fixed exponent.
template <class D, class VU>
HWY_INLINE hn::Vec<D> from_one_to_two(D d, VU bits) {
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> du;
  const auto one = hn::BitCast(du, hn::Set(d, T{1}));
  constexpr int kRest = 8 * sizeof(T) - (std::numeric_limits<T>::digits - 1);
  return hn::BitCast(d, hn::Or(hn::ShiftRight<kRest>(bits), one));
}

// In (0, 1].
template <class D, class VU>
HWY_INLINE hn::Vec<D> above_zero(D d, VU bits) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::Sub(hn::Set(d, 2.0), from_one_to_two(d, bits));
  } else {
    const auto integer = hn::BitCast(hn::RebindToSigned<D>(), hn::ShiftRight<1>(bits));
    return hn::MulAdd(hn::ConvertTo(d, integer), hn::Set(d, 0x1p-31f), hn::Set(d, 0x1p-32f));
  }
}

// (pi/2)^n / n! with alternating signs, for n = first, first + 2, ...
template <class T, int count>
struct QuarterTurnSeries {
  T terms[count];
  constexpr explicit QuarterTurnSeries(int first) : terms{} {
    double term = first == 1 ? std::numbers::pi / 2 : 1;
    for (int i = 0; i < count; ++i) {
      terms[i] = static_cast<T>(term);
      const int n = first + 2 * i;
      term *= -(std::numbers::pi / 2) * (std::numbers::pi / 2) / ((n + 1) * (n + 2));
    }
  }
};

template <class V>
struct Pair {
  V first;
  V second;
};

// A point at a random angle whose square distance from the origin is -2 log of a uniform number.
// The two highest bits of `angle` choose a quarter turn; the rest turns by up to an eighth from
// there, either way.
template <class D, class VU>
HWY_INLINE Pair<hn::Vec<D>> box_muller(D d, VU radius, VU angle) {
  using T = hn::TFromD<D>;
  using Vec = hn::Vec<D>;
  constexpr int kTerms = sizeof(T) == 4 ? 6 : 9;
  static constexpr QuarterTurnSeries<T, kTerms> kCosine(0);
  static constexpr QuarterTurnSeries<T, kTerms> kSine(1);
  const hn::RebindToUnsigned<D> du;
  const Vec x = hn::Sub(from_one_to_two(d, hn::ShiftLeft<2>(angle)), hn::Set(d, T{1.5}));
  const Vec x2 = hn::Mul(x, x);
  const Vec cosine = polynomial(d, x2, kCosine.terms);
  const Vec sine = hn::Mul(x, polynomial(d, x2, kSine.terms));
  const Vec distance = hn::Sqrt(hn::Mul(hn::Set(d, T{-2}), log(d, above_zero(d, radius))));
  // With bits (a, b): quarters 1 and 3, of odd b, swap the two; a negates the second, a ^ b the
  // first.
  const VU sign = hn::BitCast(du, hn::SignBit(d));
  const VU second_sign = hn::And(angle, sign);
  const VU odd = hn::And(hn::ShiftLeft<1>(angle), sign);
  const VU first_sign = hn::Xor(second_sign, odd);
  const auto swap = hn::RebindMask(d, hn::Ne(odd, hn::Zero(du)));
  const Vec first = hn::IfThenElse(swap, sine, cosine);
  const Vec second = hn::IfThenElse(swap, cosine, sine);
  return {hn::Mul(distance, hn::Xor(first, hn::BitCast(d, first_sign))),
          hn::Mul(distance, hn::Xor(second, hn::BitCast(d, second_sign)))};
}

void uniform(const Words& words, float low, float high, float last, float* dst) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  // Halves, since the whole range may be larger than any number.
  const auto start = hn::Set(d, low / 2);
  const auto range = hn::Set(d, high / 2 - low / 2);
  const auto draw_lane = [&](std::size_t w, std::size_t i) HWY_ATTR {
    const auto bits = hn::ShiftRight<8>(hn::Load(du, words.word[w] + i));
    const auto u = hn::Mul(hn::ConvertTo(d, hn::BitCast(di, bits)), hn::Set(d, 0x1p-24f));
    const auto half = hn::MulAdd(u, range, start);
    return hn::Min(hn::Add(half, half), hn::Set(d, last));
  };
  for (std::size_t i = 0; i < kBlocks; i += hn::Lanes(d)) {
    hn::StoreInterleaved4(draw_lane(0, i), draw_lane(1, i), draw_lane(2, i), draw_lane(3, i), d,
                          dst + 4 * i);
  }
}

void normal(const Words& words, float mean, float deviation, float* dst) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto scaled = [&](auto z) HWY_ATTR {
    return hn::MulAdd(z, hn::Set(d, deviation), hn::Set(d, mean));
  };
  for (std::size_t i = 0; i < kBlocks; i += hn::Lanes(d)) {
    const auto a = box_muller(d, hn::Load(du, words.word[0] + i), hn::Load(du, words.word[1] + i));
    const auto b = box_muller(d, hn::Load(du, words.word[2] + i), hn::Load(du, words.word[3] + i));
    hn::StoreInterleaved4(scaled(a.first), scaled(a.second), scaled(b.first), scaled(b.second), d,
                          dst + 4 * i);
  }
}

template <class T>
HWY_INLINE void pairs_of(const Words& words, NormalPairs<T>& pairs) {
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto bits = [&](std::size_t w, std::size_t i) HWY_ATTR {
    if constexpr (sizeof(T) == 4) {
      return hn::Load(du, words.word[w] + i);
    } else {
      const hn::Rebind<std::uint32_t, decltype(d)> half;
      const auto lower = hn::PromoteTo(du, hn::Load(half, words.word[2 * w] + i));
      const auto upper = hn::PromoteTo(du, hn::Load(half, words.word[2 * w + 1] + i));
      return hn::Or(hn::ShiftLeft<32>(upper), lower);
    }
  };
  for (std::size_t i = 0; i < kBlocks; i += hn::Lanes(d)) {
    const auto pair = box_muller(d, bits(0, i), bits(1, i));
    hn::Store(pair.first, d, pairs.first + i);
    hn::Store(pair.second, d, pairs.second + i);
  }
}

void pairs_f32(const Words& words, NormalPairs<float>& pairs) { pairs_of(words, pairs); }
void pairs_f64(const Words& words, NormalPairs<double>& pairs) { pairs_of(words, pairs); }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(draw);
HWY_EXPORT(uniform);
HWY_EXPORT(normal);
HWY_EXPORT(pairs_f32);
HWY_EXPORT(pairs_f64);

void draw_words(std::uint64_t seed, std::uint64_t counter, std::uint32_t attempt,
                Words& words) noexcept {
  HWY_DYNAMIC_DISPATCH(draw)(seed, counter, attempt, words);
}
void uniform_of_four(const Words& words, float low, float high, float last, float* dst) noexcept {
  HWY_DYNAMIC_DISPATCH(uniform)(words, low, high, last, dst);
}
void normal_of_four(const Words& words, float mean, float deviation, float* dst) noexcept {
  HWY_DYNAMIC_DISPATCH(normal)(words, mean, deviation, dst);
}
void draw_pairs(const Words& words, NormalPairs<float>& pairs) noexcept {
  HWY_DYNAMIC_DISPATCH(pairs_f32)(words, pairs);
}
void draw_pairs(const Words& words, NormalPairs<double>& pairs) noexcept {
  HWY_DYNAMIC_DISPATCH(pairs_f64)(words, pairs);
}

}  // namespace tenure::cpu
#endif
