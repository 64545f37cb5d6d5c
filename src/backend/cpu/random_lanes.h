// Philox and the transforms of its words, a batch of blocks at a time.
#pragma once

#include <cstdint>

namespace tenure::cpu {

inline constexpr std::int64_t kBatch = 64;

// word[w][i] is word w of block i.
struct Words {
  alignas(64) std::uint32_t word[4][kBatch];
};

// The blocks of the counters from `counter` on.
void draw_words(std::uint64_t seed, std::uint64_t counter, std::uint32_t attempt,
                Words& words) noexcept;

// Four elements a block: low + u * (high - low) with u in [0, 1), and never above `last`.
void uniform_of_four(const Words& words, float low, float high, float last, float* dst) noexcept;

// Four elements a block, by the Box-Muller transform of words 0 and 1, and of 2 and 3.
void normal_of_four(const Words& words, float mean, float deviation, float* dst) noexcept;

// Two independent standard normal numbers a block: of words 0 and 1, or, of float64, of all four.
template <class T>
struct NormalPairs {
  alignas(64) T first[kBatch];
  alignas(64) T second[kBatch];
};
void draw_pairs(const Words& words, NormalPairs<float>& pairs) noexcept;
void draw_pairs(const Words& words, NormalPairs<double>& pairs) noexcept;

}  // namespace tenure::cpu
