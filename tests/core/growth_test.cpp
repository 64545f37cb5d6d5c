// That the tests of growth see a square.
#include "support/growth.h"

#include <gtest/gtest-spi.h>

#include <cmath>

namespace tenure::testing {
namespace {

TEST(NearLinear, is_what_grows_as_its_size_and_a_little_more) {
  expect_near_linear(1000, [](std::int64_t n) { return 1e-9 * static_cast<double>(n); });
  expect_near_linear(1000, [](std::int64_t n) {
    const auto size = static_cast<double>(n);
    return 1e-9 * size * std::log(size);
  });
}

TEST(NearLinear, is_not_what_grows_as_a_square) {
  EXPECT_NONFATAL_FAILURE(expect_near_linear(1000,
                                             [](std::int64_t n) {
                                               const auto size = static_cast<double>(n);
                                               return 1e-9 * size * size;
                                             }),
                          "64 times as long");
}

TEST(NearLinear, counts_the_least_of_several_tries) {
  int tries = 0;
  expect_near_linear(1000, [&](std::int64_t n) {
    return 1e-9 * static_cast<double>(n) * (tries++ < 4 ? 1 + 20 * (tries % 2 == 0) : 1);
  });
  EXPECT_GT(tries, 2);
}

}  // namespace
}  // namespace tenure::testing
