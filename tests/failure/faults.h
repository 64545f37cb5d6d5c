// Allocations that fail, one by one: operator new's, which the program of these tests replaces, and
// the pool's.
#pragma once

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>

#include "memory/ledger.h"
#include "support/expect.h"

namespace tenure::testing {

// From now on this thread's nth operator new throws; the nothrow form never fails, since whoever
// asks so can do without.
void fail_nth_new(long n);
inline constexpr long kCountNews = 0;  // none fails
long news();                           // since then, on this thread
void disarm();

enum class Fails { operator_new, pool };

// Whether `call` was told of the nth allocation that failed in it. Anything but the two errors of
// memory fails the test. Some failures are borne without an error: then `call` gave a result.
template <class Call>
struct FaultyRun {
  std::optional<std::invoke_result_t<Call&>> result;
  bool reached = false;  // there was an nth allocation

  FaultyRun(Fails what, long n, Call& call) {
    if (what == Fails::pool) {
      detail::fail_nth_allocation(n);
    } else {
      fail_nth_new(n);
    }
    try {
      result.emplace(call());
    } catch (const OutOfMemoryError&) {
    } catch (const std::bad_alloc&) {
    }
    reached = (what == Fails::pool ? detail::allocation_count() : news()) >= n;
    disarm();
  }
};

// What has to be as it was after a call that failed.
struct Counters {
  std::size_t tensors, live_bytes, saved_bytes, workspace_bytes, external_bytes;
  static Counters now() {
    const MemoryInfo info = memory();
    return {info.tensors, info.live_bytes, info.saved_bytes, info.workspace_bytes,
            info.external_bytes};
  }
  bool operator==(const Counters&) const = default;
  friend void PrintTo(const Counters& counters, std::ostream* out) {
    *out << counters.tensors << " tensors, " << counters.live_bytes << " bytes, "
         << counters.saved_bytes << " saved, " << counters.workspace_bytes << " of workspace, "
         << counters.external_bytes << " external";
  }
};

// A state to work on, made anew for each failure; what is called on it; what of it must be the same
// after a failure as before the call. The call's result is compared with that of a call in which
// nothing fails.
template <class State>
struct Scenario {
  std::function<std::unique_ptr<State>()> make;
  std::function<Floats(State&)> call;
  std::function<Floats(State&)> unchanged = [](State&) { return Floats(); };
  bool tells_afterwards = false;  // what it did may be done when telling of it fails
  bool pool_only = false;         // operator new does not fail
  bool builds_for_good = false;   // what it has built when it fails stays, as a model's weights do
};

// The 1st, the 2nd, ... allocation fails, until the call runs through. After each failure the
// counters are back, the state is as it was, and the same call then gives the right numbers.
template <class State>
void expect_survives_failures(const Scenario<State>& scenario) {
  Floats expected, done;
  std::optional<Counters> settled;
  for (int i = 0; i < 2; ++i) {  // the first may make what stays for good, such as tables
    const auto state = scenario.make();
    expected = scenario.call(*state);
    settled = Counters::now();
    if (scenario.tells_afterwards) done = scenario.unchanged(*state);
  }
  long failures = 0;
  for (const Fails what : {Fails::operator_new, Fails::pool}) {
    if (what == Fails::operator_new && scenario.pool_only) continue;
    for (long n = 1;; ++n) {
      const std::string where = std::string(what == Fails::pool ? "pool" : "operator new") +
                                ", allocation " + std::to_string(n);
      const Counters outside = Counters::now();
      auto state = scenario.make();
      const Counters before = Counters::now();
      const Floats kept = scenario.unchanged(*state);
      bool reached = false;
      {
        const auto call = [&] { return scenario.call(*state); };
        const FaultyRun run(what, n, call);
        reached = run.reached;
        if (run.result) {
          ASSERT_EQ(*run.result, expected) << where;
        } else {
          ++failures;
          // A trace that is complete stays, as after a call that ran through.
          if (!scenario.builds_for_good && Counters::now() != *settled) {
            ASSERT_EQ(Counters::now(), before) << where;
          }
          const Floats now = scenario.unchanged(*state);
          if (!scenario.tells_afterwards || now != done) {
            ASSERT_EQ(now, kept) << where;
            ASSERT_EQ(scenario.call(*state), expected) << where << ", and then none";
          }
        }
      }
      state.reset();
      ASSERT_EQ(Counters::now(), outside) << where;
      if (!reached) break;
    }
  }
  EXPECT_GT(failures, 0);
}

class Faults : public ::testing::Test {
 protected:
  void TearDown() override {
    disarm();
    trim_pool();
  }
};

// For calls that need no state.
struct Nothing {};

}  // namespace tenure::testing
