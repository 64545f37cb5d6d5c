// Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a keyed
// bijection of 128-bit counters whose outputs pass for random. Any of them can be computed at once,
// so what an element becomes depends on its index and never on the thread that computes it.
//
// How Tenure lays out counter and key:
//
//   key      the seed: low word, high word
//   counter  word 0, 1: a 64-bit number, low word first: the op's offset plus
//                         i      for element i, or
//                         i / 4  where four elements share a block, each taking word i % 4
//            word 2:    0, and one more each time an element has to be drawn again
//            word 3:    0
//
// Every op moves the generator's offset on by its number of elements, so no two share a counter.
#pragma once

#include <array>
#include <cstdint>

namespace tenure::cpu {

struct Philox {
  using Counter = std::array<std::uint32_t, 4>;
  using Key = std::array<std::uint32_t, 2>;

  static constexpr int kRounds = 10;
  static constexpr Key kMultipliers = {0xD2511F53, 0xCD9E8D57};
  static constexpr Key kKeySteps = {0x9E3779B9, 0xBB67AE85};

  static constexpr Counter encrypt(Counter c, Key key) {
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t even = std::uint64_t{kMultipliers[0]} * c[0];
      const std::uint64_t odd = std::uint64_t{kMultipliers[1]} * c[2];
      c = {high(odd) ^ c[1] ^ key[0], low(odd), high(even) ^ c[3] ^ key[1], low(even)};
      key = {key[0] + kKeySteps[0], key[1] + kKeySteps[1]};
    }
    return c;
  }

  static constexpr Counter block(std::uint64_t seed, std::uint64_t counter,
                                 std::uint32_t attempt = 0) {
    return encrypt({low(counter), high(counter), attempt, 0}, {low(seed), high(seed)});
  }

  static constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
  static constexpr std::uint32_t high(std::uint64_t x) {
    return static_cast<std::uint32_t>(x >> 32);
  }
};

// An integer in [0, range) from all 128 bits of a block: floor(bits * range / 2^128). No value is
// more likely than another by more than range / 2^128.
inline std::uint64_t below(std::uint64_t range, const Philox::Counter& bits) {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t lower = std::uint64_t{bits[1]} << 32 | bits[0];
  const std::uint64_t upper = std::uint64_t{bits[3]} << 32 | bits[2];
  const Wide carry = static_cast<Wide>(lower) * range >> 64;
  return static_cast<std::uint64_t>((static_cast<Wide>(upper) * range + carry) >> 64);
}

}  // namespace tenure::cpu
