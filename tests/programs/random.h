// Random choices that are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace tenure::programs {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  int below(int bound) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(bound)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T> const T& one_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }
  // Between -1.5 and 1.5, in 1/1024: products of a few such numbers are exact, ties are rare.
  double number() { return between(-1536, 1536) / 1024.0; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace tenure::programs
