#include "tenure/session.h"

#include <ucontext.h>

#include <functional>
#include <memory>
#include <optional>

#include "support/expect.h"

namespace tenure {
namespace {

using testing::bytes_of;
using testing::Floats;
using testing::floats;
using testing::here;
using testing::message_of;

TEST(Contract, L36_tensors_belong_to_the_session_they_were_born_in) {
  Session a({.name = "a"});
  const Tensor outside = ones({2});
  const Tensor inside = a.run([] { return ones({2}) + 1.0; });
  EXPECT_EQ(a.memory().tensors, 1u);
  EXPECT_EQ(a.memory().live_bytes, 8u);
  const std::string text = message_of<InaccessibleTensorError>([&] { add(outside, inside); });
  EXPECT_HAS(text, "input 1 belongs to session \"a\" and was used in the default session");
  EXPECT_HAS(text, "born      session_test.cpp:");
  EXPECT_HAS(text, "transfer it to the default session, or run the op in session \"a\".");
  EXPECT_THROW(inside.to_vector<float>(), InaccessibleTensorError);
  EXPECT_THROW(a.run([&] { return outside + 1.0; }), InaccessibleTensorError);
}

TEST(Contract, L36_transfer_moves_a_tensor_without_a_copy) {
  Session a({.name = "a"}), b({.name = "b"});
  const Tensor x = a.run([] { return ones({2}); });
  const std::byte* bytes = bytes_of(x);
  transfer(x, b);
  EXPECT_EQ(a.memory().live_bytes, 0u);
  EXPECT_EQ(b.memory().live_bytes, 8u);
  EXPECT_EQ(b.run([&] { return floats(x * 3.0); }), (Floats{3, 3}));
  transfer(x, Session::process());
  EXPECT_EQ(floats(x), (Floats{1, 1}));
  EXPECT_EQ(bytes_of(x), bytes);
  a.close();
  b.close();
  EXPECT_FALSE(x.is_disposed());
}

TEST(Contract, L36_shared_bytes_do_not_move) {
  Session a({.name = "a"});
  const Tensor x = ones({2});
  const Tensor view = slice(x, {0}, {1});
  const std::string text = message_of<ValueError>([&] { transfer(x, a); });
  EXPECT_HAS(text, "shares its bytes");
  EXPECT_HAS(text, "view float32 [1]");
}

TEST(Contract, L36_closing_a_session_disposes_what_it_owns_and_reports_it) {
  Session a({.name = "a"});
  std::optional<Variable> w;
  const Tensor x = a.run([&] {
    w.emplace(ones({3}), VariableOptions{.name = "w"});
    return ones({2}).set_name("x");
  });
  const SessionReport report = a.close();
  ASSERT_EQ(report.disposed.size(), 1u);
  EXPECT_EQ(report.disposed[0].name, "x");
  EXPECT_EQ(report.disposed[0].handles, 1u);
  EXPECT_TRUE(report.passed_on.empty()) << report;
  EXPECT_HAS(report.text(), "disposed   float32 [2] \"x\"");
  EXPECT_TRUE(x.is_disposed());
  EXPECT_TRUE(w->is_disposed());
  EXPECT_EQ(a.memory().live_bytes, 0u);
  EXPECT_TRUE(a.close().empty());
  EXPECT_HAS(message_of<DisposedError>([&] { a.run([] {}); }), "session \"a\" was closed");
}

TEST(Contract, L36_a_session_has_its_own_budget) {
  Session a({.name = "a", .budget = 4096});
  const Tensor x = a.run([] { return zeros({512}); });
  const std::string text = message_of<OutOfMemoryError>([&] { a.run([] { zeros({1024}); }); });
  EXPECT_HAS(text, "the budget of session \"a\" is 4096 bytes");
  EXPECT_EQ(zeros({1024}).numel(), 1024) << "the default session has none";
  transfer(x, Session::process());
  EXPECT_EQ(a.run([] { return zeros({1024}).numel(); }), 1024);
  const Tensor too_big = zeros({2048});
  EXPECT_THROW(transfer(too_big, a), OutOfMemoryError);
  EXPECT_EQ(too_big.numel(), 2048);
  EXPECT_FALSE(too_big.is_disposed());
}

TEST(Contract, L36_a_variable_of_a_closed_session_is_refused_everywhere) {
  Session a({.name = "a"});
  Variable w;
  std::optional<Function<Tensor(Tensor)>> reads, assigns;
  a.run([&] {
    w = Variable(ones({2}), {.name = "w"});
    reads.emplace(function("reads", [&](Tensor x) { return x * w; }));
    assigns.emplace(function("assigns", [&](Tensor x) {
      w.assign(x);
      return x + 1.f;
    }));
    const Tensor x = ones({2});
    (*reads)(x);
    (*assigns)(x);
  });
  a.close();
  const Tensor x = ones({2});
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { w.read(); }, [&] { w.assign(x); }, [&] { (*reads)(x); }, [&] { (*assigns)(x); },
           [&] {
             GradientTape tape;
             (*reads)(x);
           }}) {
    const std::string text = message_of<DisposedError>(use);
    EXPECT_HAS(text, "variable \"w\" was disposed");
    EXPECT_HAS(text, "session \"a\" closed");
  }
}

TEST(Contract, L36_assign_refuses_a_variable_of_another_session) {
  Session a({.name = "a"}), b({.name = "b"});
  Variable w;
  a.run([&] { w = Variable(ones({2}), {.name = "w"}); });
  const Tensor held = a.run([&] { return w.read(); });  // so that assign needs bytes of its own
  const std::string text =
      message_of<InaccessibleTensorError>([&] { b.run([&] { w.assign(full({2}, 5.f)); }); });
  EXPECT_HAS(text, "assign: variable \"w\" belongs to session \"a\" and was used in session \"b\"");
  EXPECT_THROW(w.assign(full({2}, 5.f)), InaccessibleTensorError);
  Function assigns = function("assigns", [&](Tensor x) {
    w.assign(x);
    return x + 1.f;
  });
  EXPECT_HAS(message_of<InaccessibleTensorError>([&] { assigns(full({2}, 5.f)); }),
             "variable \"w\" belongs to session \"a\"");
  EXPECT_EQ(a.run([&] { return floats(w.read()); }), (Floats{1, 1}));
  EXPECT_EQ(b.memory().live_bytes, 0u);
}

TEST(Contract, L36_nothing_is_transferred_to_a_closed_session) {
  Session a({.name = "a"});
  const int line = here().line() + 1;
  a.close();
  const Tensor x = ones({2});
  const std::string text = message_of<DisposedError>([&] { transfer(x, a); });
  EXPECT_HAS(text, "transfer: session \"a\" was closed");
  EXPECT_HAS(text, "died      session_test.cpp:" + std::to_string(line));
  EXPECT_EQ(floats(x), (Floats{1, 1}));
}

TEST(Sessions, a_transfer_that_finds_no_room_names_the_line) {
  Session a({.name = "a", .budget = 64});
  const Tensor x = zeros({1024});
  const int line = here().line() + 2;
  try {
    transfer(x, a);
    FAIL() << "there was room";
  } catch (const OutOfMemoryError& error) {
    EXPECT_HAS(error.what(), "session_test.cpp:" + std::to_string(line) + "    transfer");
  }
  EXPECT_EQ(floats(x + 1.0)[0], 1.f);
}

TEST(Sessions, what_a_destroyed_one_ended_names_where_it_began) {
  Tensor x;
  int line = 0;
  {
    line = here().line() + 1;
    Session a({.name = "a"});
    x = a.run([] { return ones({2}); });
  }
  EXPECT_HAS(message_of<DisposedError>([&] { x + 1.0; }),
             "died      session_test.cpp:" + std::to_string(line));
}

TEST(Sessions, one_that_is_destroyed_while_it_runs_ends_when_the_run_does) {
  auto session = std::make_unique<Session>(SessionOptions{.name = "a"});
  Tensor x;
  std::optional<TensorSpan<float>> span;
  session->run([&] {
    x = ones({2});
    span.emplace(x.view<float>());
    session.reset();
    EXPECT_EQ(floats(x + 1.0), (Floats{2, 2}));
  });
  EXPECT_TRUE(x.is_disposed());
  EXPECT_EQ(x.story().death->by, "session \"a\" closed");
  EXPECT_EQ((*span)[1], 1.f);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// A coroutine that is no Task: it waits inside its first run.
class Fiber {
 public:
  explicit Fiber(std::function<void(Fiber&)> body) : body_(std::move(body)) {
    getcontext(&inside_);
    inside_.uc_stack.ss_sp = stack_.data();
    inside_.uc_stack.ss_size = stack_.size();
    inside_.uc_link = &outside_;
    s_started = this;
    makecontext(&inside_, [] { s_started->body_(*s_started); }, 0);
  }
  void resume() { swapcontext(&outside_, &inside_); }
  void wait() { swapcontext(&inside_, &outside_); }

 private:
  static inline Fiber* s_started = nullptr;
  std::function<void(Fiber&)> body_;
  std::vector<char> stack_ = std::vector<char>(1 << 18);
  ucontext_t inside_{}, outside_{};
};

TEST(Contract, L12_a_run_that_ends_before_an_inner_one_is_an_error_and_leaves_no_session) {
  Session a({.name = "a"}), b({.name = "b"});
  std::string told;
  Fiber fiber(
      [&](Fiber& self) { told = message_of<ScopeError>([&] { a.run([&] { self.wait(); }); }); });
  fiber.resume();
  Tensor in_b;
  b.run([&] {
    fiber.resume();
    in_b = ones({2});
  });
  EXPECT_HAS(told, "run: closed out of order: the run of session \"a\" ended while an inner one");
  EXPECT_HAS(told, "session_test.cpp:");
  const Tensor outside = ones({4});
  EXPECT_EQ(a.memory().tensors, 0u);
  EXPECT_EQ(b.memory().tensors, 1u);
  a.close();
  EXPECT_FALSE(outside.is_disposed());
}
#endif

TEST(Sessions, closing_one_that_runs_is_refused) {
  Session a({.name = "a"});
  a.run([&] { EXPECT_THROW(a.close(), BusyError); });
  EXPECT_THROW(Session::process().close(), ValueError);
}

TEST(Sessions, figures_sum_for_each_session) {
  Session a({.name = "a"});
  const Tensor x = a.run([] { return zeros({100}); });
  const MemoryInfo m = a.memory();
  EXPECT_EQ(m.live_bytes, 400u);
  EXPECT_EQ(m.live_bytes + m.slack_bytes + m.pooled_bytes, m.reserved_bytes);
  EXPECT_EQ(m.peak_bytes, 400u);
}

}  // namespace
}  // namespace tenure
