// Tensors of more than 2^31 elements. Values follow from positions by arithmetic, so that chosen
// places can be checked.
#pragma once

#include <fstream>
#include <string>

#include "support/expect.h"

namespace tenure::testing {

inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;
inline constexpr std::int64_t kPast = std::int64_t{1} << 31;  // where int32 ends
inline constexpr std::int64_t kSide = 46'342;                 // squared, past that

// A period that no power of two divides: a position that lost its high bits shows another value.
inline constexpr std::int64_t kPeriod = 251;
inline constexpr std::int64_t kRepeats = kPast / kPeriod + 1;
inline constexpr std::int64_t kSize = kPeriod * kRepeats;

constexpr std::int8_t value_at(std::int64_t i) {
  return static_cast<std::int8_t>(i % kPeriod - kPeriod / 2);
}

// int8 of kSize elements, value_at each position.
inline Tensor pattern() {
  std::vector<std::int8_t> once(kPeriod);
  for (std::int64_t i = 0; i < kPeriod; ++i) once[static_cast<std::size_t>(i)] = value_at(i);
  return tile(tensor(once), {kRepeats});
}

// Places that tell: the ends, both sides of 2^31, and some between.
inline constexpr std::int64_t kPlaces[] = {
    0, 1, 250, 251, 1'000'003, kPast / 2 - 1, kPast / 2, kPast - 1, kPast, kPast + 1, kSize - 1};

template <class T>
T item(const Tensor& x, std::int64_t i) {
  return slice(x, {i}, {1}).item<T>();
}

// Coordinates, `rank` to a row.
inline Tensor coordinates(const std::vector<std::int64_t>& all, std::int64_t rank = 1) {
  return tensor(all, {static_cast<std::int64_t>(all.size()) / rank, rank});
}

// Bytes that can be had without swapping.
inline std::int64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::int64_t kib = 0;
    if (word == "MemAvailable:" && file >> kib) return kib * 1024;
  }
  return 0;
}

// Tests leave their memory in the pool for the next one: getting it from the system, page by page,
// takes longer than computing with it.
class Large : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { trim_pool(); }
};

// Each test says how much it holds at once, and is skipped where that is not to be had.
#define NEEDS_GIB(count)                                                                          \
  const std::int64_t room = available_bytes() + static_cast<std::int64_t>(memory().pooled_bytes); \
  if (room < ((count) + 1) * kGiB) {                                                              \
    GTEST_SKIP() << "needs " << (count) + 1 << " GiB of memory, there are " << room / kGiB;       \
  }

}  // namespace tenure::testing
