// Lives in a traced function: dispose, tidy and keep mean what they mean in eager code.
#include <gtest/gtest.h>

#include "support/expect.h"

namespace tenure::testing {
namespace {

// Calls a function of one tensor eagerly and traced; both must refuse it alike.
template <class F>
void expect_disposed(F fn, const char* part) {
  Function f = function("f", fn);
  const Tensor x = ones({2});
  const std::string eager = message_of<DisposedError>([&] { fn(x); });
  const std::string traced = message_of<DisposedError>([&] { f(x); });
  EXPECT_HAS(eager, part);
  EXPECT_HAS(traced, part);
}

TEST(SymbolicLives, L4_a_disposed_tensor_cannot_be_used_in_a_trace_either) {
  expect_disposed(
      [](Tensor x) {
        Tensor y = x * 2.f;
        y.dispose();
        EXPECT_TRUE(y.is_disposed());
        EXPECT_EQ(y.shape(), Shape({2}));
        return y + 1.f;
      },
      "add: input 0 was disposed");
}

TEST(SymbolicLives, L9_what_a_tidy_in_a_trace_ended_cannot_be_used) {
  expect_disposed(
      [](Tensor x) {
        Tensor out;
        tidy("inside", [&] { out = x * 2.f; });
        return out + 1.f;
      },
      "scope_exit");
}

TEST(SymbolicLives, L10_keep_takes_a_tensor_out_of_a_tidy_in_a_trace) {
  Function f = function("f", [](Tensor x) {
    Tensor kept;
    const Tensor returned = tidy([&] {
      kept = keep(x * 2.f);
      return x * 3.f;
    });
    return kept + returned;
  });
  EXPECT_EQ(floats(f(ones({1}))), Floats{5.f});
}

TEST(SymbolicLives, L5_disposing_one_harms_no_other_in_a_trace) {
  Variable v(tensor({2.f}));
  const auto fn = [&](Tensor x) {
    GradientTape tape;
    Tensor first = v.read();
    Tensor y = x * first;
    Tensor z = y * v;
    first.dispose();
    y.dispose();
    const Tensor result = tidy([&] { return z * v; });
    return tape.gradient(sum(result), v) + v;
  };
  Function f = function("f", fn);
  const Tensor x = tensor({3.f});
  EXPECT_EQ(floats(fn(x)), Floats{3 * 3 * 4.f + 2.f});
  EXPECT_EQ(floats(f(x)), Floats{3 * 3 * 4.f + 2.f});
}

TEST(SymbolicLives, L18_reads_of_a_variable_that_were_disposed_do_not_end_it) {
  Variable v(tensor({2.f}));
  Function f = function("f", [&](Tensor x) {
    v.read().dispose();
    tidy([&] { (void)(v * 2.f); });
    const Tensor y = for_loop(
        2,
        [&](Tensor, Tensor s) {
          v.read().dispose();
          v.assign(v + 1.f);
          return s + v;
        },
        x);
    return y + v;
  });
  EXPECT_EQ(floats(f(zeros({1}))), Floats{3.f + 4.f + 4.f});
}

TEST(SymbolicLives, L4_a_disposed_argument_is_refused_in_a_trace) {
  expect_disposed(
      [](Tensor x) {
        Tensor y = x.clone();
        y.dispose();
        return y * 2.f;
      },
      "mul: input 0 was disposed");
}

TEST(SymbolicLives, L12_a_tidy_of_a_task_in_a_trace_ends_what_was_made_in_it) {
  expect_disposed(
      [](Tensor x) {
        return run([](Tensor in) -> Task<Tensor> {
          Tensor out;
          tidy("of the task", [&] { out = in * 2.f; });
          co_return out + 1.f;
        }(x));
      },
      "scope_exit");
}

TEST(Gradient, L14_a_read_from_before_the_tape_is_the_variable_whatever_the_op) {
  Variable v(tensor({2.f}));
  const Tensor x = tensor({3.f});
  const Tensor before = v.read();
  const auto by_variable = [&](auto op) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(op(before, x), {x, v}, {.zero_if_unconnected = true})[1];
  };
  EXPECT_EQ(floats(by_variable([](Tensor a, Tensor b) { return a * b; })), Floats{3.f});
  EXPECT_EQ(floats(by_variable([](Tensor a, Tensor b) { return a + b; })), Floats{1.f});
}

TEST(Checkpoint, L30_its_gradient_leaves_out_what_the_call_left_out) {
  Function f = checkpoint([](Tensor x) {
    const Tensor unused = gather(x, tensor({0, 5}));  // out of range
    return x * 2.f;
  });
  const Tensor x = tensor({1.f, 2.f});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  EXPECT_EQ(floats(tape.gradient(y, x)), Floats(2, 2.f));
}

// Whoever watches, and whether or not anybody does.
TEST(SymbolicLives, a_result_is_no_argument_and_no_other_result) {
  Function twice = function("twice", [](Tensor x) { return std::pair(x, x); });
  const auto uses = [&](Tensor x) {
    auto [first, second] = twice(x);
    first.dispose();
    const Tensor sum = second + x;
    second.dispose();
    return sum + x;
  };
  const Tensor x = full({2}, 3.f);
  EXPECT_EQ(floats(uses(x)), Floats(2, 9.f));
  EXPECT_EQ(floats(function("uses", uses)(x)), Floats(2, 9.f));
  GradientTape tape;
  tape.watch(x);
  const Tensor y = uses(x);
  EXPECT_EQ(floats(y), Floats(2, 9.f));
  EXPECT_EQ(floats(tape.gradient(y, x)), Floats(2, 3.f));
  Function same = function("same", [](Tensor a) { return a; });
  const auto gives = [&](Tensor a) { return same(donate(a + 1)) * 2; };
  EXPECT_EQ(floats(gives(x)), Floats(2, 8.f));
  EXPECT_EQ(floats(function("gives", gives)(x)), Floats(2, 8.f));
}

}  // namespace
}  // namespace tenure::testing
