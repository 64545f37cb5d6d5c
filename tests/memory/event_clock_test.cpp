#include <gtest/gtest.h>

#include <chrono>

#include "memory/events.h"

namespace tenure::detail {
namespace {

std::int64_t system_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Whatever clock records are stamped by: what it says passed lies between what the system's says,
// read before and after it.
TEST(EventClock, it_goes_as_fast_as_the_systems) {
  const std::int64_t before_first = system_now(), first = events::now(), after_first = system_now();
  std::int64_t last = first, before_last = 0;
  for (std::int64_t previous = first; last - first < 20'000'000; previous = last) {
    before_last = system_now();
    last = events::now();
    ASSERT_GE(last, previous);
  }
  const std::int64_t after_last = system_now();
  const auto passed = static_cast<double>(last - first);
  EXPECT_GE(passed * 1.001, static_cast<double>(before_last - after_first));
  EXPECT_LE(passed * 0.999, static_cast<double>(after_last - before_first));
}

}  // namespace
}  // namespace tenure::detail
