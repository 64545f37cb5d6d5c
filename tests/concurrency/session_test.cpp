// Sessions that open, run, close and hand tensors to each other while other threads hold what was
// theirs. Run under ThreadSanitizer by make sanitize.
#include <atomic>
#include <barrier>
#include <mutex>
#include <optional>
#include <thread>

#include "support/expect.h"
#include "support/race.h"

namespace tenure {
namespace {

using testing::Floats;
using testing::floats;
using testing::race;

TEST(Contract, L36_nothing_runs_in_a_session_that_is_closed) {
  for (int round = 0; round < 300; ++round) {
    Session session({.name = "racing"});
    std::atomic<bool> inside{false}, closed{false};
    race(
        [&] {
          try {
            for (;;) {
              session.run([&] {
                inside = true;
                EXPECT_FALSE(closed);
                inside = false;
              });
            }
          } catch (const DisposedError& error) {
            EXPECT_HAS(error.what(), "died      session_test.cpp:");
          }
        },
        [&] {
          while (!closed) {
            try {
              session.close();
              EXPECT_FALSE(inside);
              closed = true;
            } catch (const BusyError&) {
            }
          }
        });
  }
}

TEST(Contract, L36_a_transfer_comes_before_its_target_closes_or_is_refused) {
  int moved = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    Session target({.name = "target"});
    const Tensor x = full({16}, 2.f);
    SessionReport report;
    bool arrived = false;
    race(
        [&] {
          try {
            transfer(x, target);
            arrived = true;
          } catch (const DisposedError& error) {
            EXPECT_HAS(error.what(), "session \"target\" was closed");
          }
        },
        [&] { report = target.close(); });
    (arrived ? moved : refused) += 1;
    ASSERT_EQ(x.is_disposed(), arrived);
    ASSERT_EQ(report.disposed.size(), arrived ? 1u : 0u);
    ASSERT_EQ(target.memory().live_bytes, 0u);
    if (!arrived) {
      ASSERT_EQ(floats(x), Floats(16, 2.f));
    }
  }
  EXPECT_EQ(moved + refused, 300);
}

TEST(Contract, L36_a_transfer_out_comes_before_its_session_closes_or_finds_it_ended) {
  for (int round = 0; round < 300; ++round) {
    Session from({.name = "from"});
    const Tensor x = from.run([] { return full({16}, 2.f); });
    bool moved = false;
    race(
        [&] {
          try {
            transfer(x, Session::process());
            moved = true;
          } catch (const DisposedError& error) {
            EXPECT_EQ(error.story().death->cause, Cause::owner_disposed);
          }
        },
        [&] { from.close(); });
    ASSERT_EQ(x.is_disposed(), !moved);
    ASSERT_EQ(from.memory().live_bytes, 0u);
    if (moved) {
      ASSERT_EQ(floats(x), Floats(16, 2.f));
    }
  }
}

TEST(Contract, L36_bytes_never_belong_to_two_sessions) {
  Session target({.name = "target"});
  for (int round = 0; round < 300; ++round) {
    const Tensor x = full({16}, 2.f);
    Tensor copy;
    bool moved = false;
    race(
        [&] {
          try {
            copy = x.clone();
          } catch (const InaccessibleTensorError&) {
          }
        },
        [&] {
          try {
            transfer(x, target);
            moved = true;
          } catch (const ValueError& error) {
            EXPECT_HAS(error.what(), "shares its bytes");
          }
        });
    ASSERT_NE(moved, copy.defined());
    ASSERT_EQ(target.memory().live_bytes, moved ? 64u : 0u);
  }
}

// Spans and reads that outlive their session, dropped by another thread than closes it.
TEST(Contract, L36_what_is_passed_on_may_be_dropped_meanwhile) {
  for (int round = 0; round < 200; ++round) {
    Session session({.name = "racing"});
    std::optional<TensorSpan<float>> span;
    std::optional<Function<Tensor(Tensor)>> function_of_it;
    std::optional<GradientTape> tape;
    session.run([&] {
      const Tensor x = full({16}, 2.f);
      span.emplace(x.view<float>());
      function_of_it.emplace(function("f", [x](Tensor y) { return x + y; }));
      (*function_of_it)(x);
    });
    race([&] { session.close(); }, [&] { span.reset(); }, [&] { function_of_it.reset(); });
    ASSERT_EQ(session.memory().live_bytes, 0u);
    ASSERT_EQ(session.memory().reserved_bytes, 0u);
  }
  EXPECT_EQ(memory().live_bytes, 0u);
}

// Four threads serve requests, each in a session of its own, with functions that they share: one
// that was traced beforehand, and some that are traced, handed on and dropped on the way.
TEST(Sessions, requests_cross_each_other) {
  constexpr int kThreads = 4, kRequests = 60;
  const Tensor table = tensor({1.f, 2.f, 3.f, 4.f});
  Function shared = function("shared", [&](Tensor x) { return x * table + tensor({1.f}); });
  shared(ones({4}));
  struct Handed {
    std::optional<TensorSpan<float>> span;
    std::optional<Job<Floats>> read;
    std::optional<Function<Tensor(Tensor)>> of_request;
  };
  std::mutex mutex;
  Handed handed;  // from the last request to whoever comes next
  std::atomic<bool> stop{false};
  std::jthread watcher([&] {
    while (!stop) {
      memory();
      why_alive(table);
    }
  });
  std::vector<std::unique_ptr<Session>> served;
  const auto serve = [&](int number) {
    auto owned = std::make_unique<Session>(SessionOptions{.name = "request"});
    Session& session = *owned;
    Handed mine, taken;
    Tensor kept, sent;
    session.run([&] {
      const Tensor x = full({4}, static_cast<float>(number));
      const Floats expected{number + 1.f, 2.f * number + 1, 3.f * number + 1, 4.f * number + 1};
      kept = shared(x);
      sent = shared(x);
      EXPECT_EQ(floats(kept), expected);
      mine.span.emplace(kept.view<float>());
      mine.read = kept.read_async<float>();
      mine.of_request.emplace(function("own", [kept](Tensor y) { return kept - y; }));
      EXPECT_EQ(floats((*mine.of_request)(kept)), Floats(4, 0.f));
      GradientTape tape;
      tape.watch(x);
      EXPECT_EQ(floats(tape.gradient(shared(x), x)), (Floats{1, 2, 3, 4}));
    });
    transfer(sent, Session::process());
    const SessionReport report = session.close();
    // The span and the capture; the read where it is still in flight.
    EXPECT_GE(report.passed_on.size(), 2u) << report;
    EXPECT_LE(report.passed_on.size(), 3u) << report;
    EXPECT_TRUE(kept.is_disposed());  // its bytes go when the watcher does not look at it any more
    EXPECT_EQ(floats(sent)[0], number + 1.f);
    EXPECT_EQ((*mine.span)[0], number + 1.f);
    {
      const std::lock_guard lock(mutex);
      taken = std::exchange(handed, std::move(mine));
      served.push_back(std::move(owned));
    }
    if (!taken.span) return;
    const float first = (*taken.span)[0];
    EXPECT_EQ(taken.read->get(), Floats(taken.span->begin(), taken.span->end()));
    Session next({.name = "next"});
    next.run([&] { EXPECT_EQ(floats((*taken.of_request)(zeros({4})))[0], first); });
  };
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRequests; ++i) serve(t * kRequests + i);
    });
  }
  threads.clear();
  stop = true;
  watcher.join();
  for (const auto& session : served) EXPECT_EQ(session->memory().live_bytes, 0u);
}

}  // namespace
}  // namespace tenure
