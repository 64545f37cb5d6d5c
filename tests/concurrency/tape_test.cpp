// A tape that is recorded on one thread and asked, or destroyed, on another.
#include <atomic>
#include <barrier>
#include <memory>
#include <optional>
#include <thread>

#include "support/expect.h"

namespace tenure {
namespace {

using testing::Floats;
using testing::floats;
using testing::here;

void on_another_thread(const std::function<void()>& code) { std::thread(code).join(); }

TEST(Tapes, give_their_gradient_on_another_thread) {
  const Tensor x = full({3}, 2.f);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x);
  Tensor slope;
  on_another_thread([&] { slope = tape.gradient(y, x); });
  EXPECT_EQ(floats(slope), Floats(3, 4.f));
  EXPECT_THROW(tape.gradient(y, x), TapeError);
  EXPECT_EQ(tape.saved_bytes(), 0u);
  (void)(x * 2);  // recorded no more
  EXPECT_EQ(tape.saved_bytes(), 0u);
}

TEST(Tapes, give_their_gradient_when_the_thread_that_recorded_has_ended) {
  const Tensor x = full({3}, 2.f);
  std::optional<GradientTape> tape;
  Tensor y;
  on_another_thread([&] {
    tape.emplace();
    tape->watch(x);
    y = square(x);
  });
  (void)(x * x);  // not on the tape's thread
  EXPECT_EQ(floats(tape->gradient(y, x)), Floats(3, 4.f));
}

TEST(Tapes, of_a_thread_that_has_ended_record_no_more) {
  const Tensor x = full({3}, 2.f);
  std::optional<GradientTape> tape;
  Tensor y;
  on_another_thread([&] {
    tape.emplace(TapeOptions{.persistent = true});
    tape->watch(x);
    y = square(x);
  });
  const Tensor z = y * 3;
  EXPECT_FALSE(tape->gradient(z, x).defined());
  EXPECT_EQ(floats(tape->gradient(y, x)), Floats(3, 4.f));
}

TEST(Tapes, may_be_destroyed_on_another_thread) {
  const Tensor x = full({300}, 2.f);
  const std::size_t before = memory().live_bytes;
  auto outer = std::make_unique<GradientTape>(TapeOptions{.persistent = true});
  outer->watch(x);
  auto inner = std::make_unique<GradientTape>(TapeOptions{.persistent = true});
  inner->watch(x);
  (void)square(x);
  EXPECT_GT(memory().saved_bytes, 0u);
  on_another_thread([&] { outer.reset(); });
  (void)square(x);
  on_another_thread([&] { inner.reset(); });
  (void)square(x);
  EXPECT_EQ(memory().saved_bytes, 0u);
  EXPECT_EQ(memory().live_bytes, before);
  GradientTape next;
  next.watch(x);
  EXPECT_EQ(floats(next.gradient(square(x), x))[0], 4.f);
}

TEST(Tapes, destroyed_elsewhere_let_functions_run_as_planned_again) {
  auto twice = function("twice", [](Tensor x) { return x * 2 + 1; });
  const Tensor x = ones({8});
  twice(x);
  auto tape = std::make_unique<GradientTape>();
  on_another_thread([&] { tape.reset(); });
  EXPECT_EQ(twice(x)[0].item<float>(), 3.f);
  EXPECT_EQ(twice.traces().at(0).hits, 1u);
}

TEST(Tapes, that_two_threads_use_at_once_name_both_lines) {
  const Tensor x = full({3}, 2.f);
  GradientTape tape({.persistent = true, .name = "shared"});
  tape.watch(x);
  // A gradient that is under way until the other has tried.
  std::barrier inside(2), tried(2);
  const Tensor y = custom_gradient(
      [&](const std::vector<Tensor>& in) {
        return CustomResult{in[0] * 2, [&](Tensor dy) {
                              inside.arrive_and_wait();
                              tried.arrive_and_wait();
                              return std::vector<Tensor>{dy * 2};
                            }};
      },
      {x});
  std::atomic<int> line = 0;
  std::thread other([&] {
    line = here().line() + 1;
    (void)tape.gradient(y, x);
  });
  inside.arrive_and_wait();
  int used = 0;
  const auto expect_told = [&](const std::string& text, const char* op) {
    EXPECT_HAS(text, std::string(op) + ": tape \"shared\" is in use on another thread");
    EXPECT_HAS(text, "in use    tape_test.cpp:" + std::to_string(line) + "    gradient");
    EXPECT_HAS(text, "tape_test.cpp:" + std::to_string(used));
  };
  const auto text_of = [](const std::function<void()>& code) {
    try {
      code();
    } catch (const TapeError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  used = here().line() + 1;
  expect_told(text_of([&] { tape.gradient(y, x); }), "gradient");
  used = here().line() + 1;
  expect_told(text_of([&] { tape.watch(x); }), "watch");
  used = here().line() + 1;
  expect_told(text_of([&] { tape.saved_bytes(); }), "saved_bytes");
  used = here().line() + 1;
  expect_told(text_of([&] { square(x); }), "square");
  tried.arrive_and_wait();
  other.join();
  inside.arrive_and_drop();
  tried.arrive_and_drop();
  EXPECT_EQ(floats(tape.gradient(y, x)), Floats(3, 2.f));
}

TEST(Tapes, destroyed_in_the_middle_of_a_gradient_elsewhere_are_emptied_at_its_end) {
  const Tensor x = full({300}, 2.f);
  auto tape = std::make_unique<GradientTape>(TapeOptions{.persistent = true});
  tape->watch(x);
  std::barrier inside(2), gone(2);
  Tensor y = custom_gradient(
      [&](const std::vector<Tensor>& in) {
        return CustomResult{square(in[0]), [&](Tensor dy) {
                              inside.arrive_and_wait();
                              gone.arrive_and_wait();
                              return std::vector<Tensor>{dy * 2};
                            }};
      },
      {x});
  y = square(y);
  GradientTape* asked = tape.get();
  std::thread other([&, asked] { EXPECT_EQ(floats(asked->gradient(y, x))[0], 16.f); });
  inside.arrive_and_wait();
  tape.reset();
  gone.arrive_and_wait();
  other.join();
  y = {};
  EXPECT_EQ(memory().saved_bytes, 0u);
}

// Whoever comes second is told where the first is; nothing else happens to the tape.
TEST(Tapes, survive_any_two_threads) {
  int answered = 0;
  for (int round = 0; round < 200; ++round) {
    const bool persistent = round % 2 == 0;
    const Tensor x = full({16}, 2.f);
    auto tape = std::make_unique<GradientTape>(TapeOptions{.persistent = persistent});
    tape->watch(x);
    const Tensor y = square(x);
    std::barrier start(2);
    const auto attempt = [](auto&& use) {
      try {
        use();
        return true;
      } catch (const TapeError& error) {
        EXPECT_HAS(error.what(), "tape_test.cpp:");
        return false;
      }
    };
    bool has_gradient = false;
    std::thread other([&] {
      start.arrive_and_wait();
      has_gradient =
          attempt([&] { EXPECT_EQ(floats(tape->gradient(y, x)), testing::Floats(16, 4.f)); });
      if (round % 4 < 2) tape.reset();
    });
    start.arrive_and_wait();
    for (int i = 0; i < 20; ++i) {
      attempt([&] { EXPECT_EQ(floats(square(x)), testing::Floats(16, 4.f)); });
    }
    other.join();
    answered += has_gradient ? 1 : 0;
    if (tape == nullptr) continue;
    // One that was refused took nothing.
    EXPECT_EQ(attempt([&] { EXPECT_EQ(floats(tape->gradient(y, x))[15], 4.f); }),
              persistent || !has_gradient);
  }
  EXPECT_GT(answered, 0);
  EXPECT_EQ(memory().saved_bytes, 0u);
}

}  // namespace
}  // namespace tenure
