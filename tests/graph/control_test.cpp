// Control flow: eager and traced give the same, with gradients.
#include <gtest/gtest.h>

#include "support/expect.h"

namespace tenure::testing {
namespace {

// Runs a function of one tensor eagerly and traced, twice, and compares.
template <class F>
void expect_same(F fn, const Tensor& x) {
  Function f = function("same", fn);
  const Floats eager = floats(fn(x));
  EXPECT_EQ(floats(f(x)), eager);
  EXPECT_EQ(floats(f(x)), eager);
}

// Equal but for the order in which a gradient is added up.
::testing::AssertionResult near(const Floats& a, const Floats& b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << a.size() << " of " << b.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) > 1e-5f * std::max(1.f, std::abs(b[i]))) {
      return ::testing::AssertionFailure() << a[i] << " for " << b[i] << " at " << i;
    }
  }
  return ::testing::AssertionSuccess();
}

// The gradient of sum(fn(x)) by a tape, eagerly; the same in a traced function; by a tape around
// the traced function; and by differences.
template <class F>
void expect_same_gradient(F fn, const Tensor& x, float tolerance = 2e-2f) {
  const auto gradient = [&](Tensor at) {
    GradientTape tape;
    tape.watch(at);
    return tape.gradient(sum(fn(at)), at);
  };
  const Floats eager = floats(gradient(x));
  Function inside = function("inside", gradient);
  EXPECT_TRUE(near(floats(inside(x)), eager));
  EXPECT_TRUE(near(floats(inside(x)), eager));
  Function inner = function("inner", [&](Tensor at) { return fn(at); });
  GradientTape tape;
  tape.watch(x);
  EXPECT_TRUE(near(floats(tape.gradient(sum(inner(x)), x)), eager));
  const Floats at = floats(x);
  for (std::size_t i = 0; i < at.size(); ++i) {
    const float h = 1e-2f;
    Floats up = at, down = at;
    up[i] += h;
    down[i] -= h;
    const float rise = sum(fn(tensor(up, x.shape()))).template item<float>() -
                       sum(fn(tensor(down, x.shape()))).template item<float>();
    EXPECT_NEAR(eager[i], rise / (2 * h), tolerance * std::max(1.f, std::abs(eager[i])));
  }
}

Tensor absolute(const Tensor& x) {
  return cond(sum(x) > 0.f, [&] { return x * 2.f; }, [&] { return -x; });
}

TEST(Cond, takes_one_branch) {
  for (const float sign : {1.f, -1.f}) {
    const Tensor x = tensor({sign, 2 * sign});
    expect_same([](Tensor y) { return absolute(y); }, x);
    expect_same_gradient([](Tensor y) { return absolute(y) * y; }, x);
  }
}

TEST(Cond, one_trace_serves_both_branches) {
  int traced = 0;
  Function f = function("both", [&](Tensor x) {
    ++traced;
    return absolute(x);
  });
  EXPECT_EQ(floats(f(tensor({1.f}))), Floats{2});
  EXPECT_EQ(floats(f(tensor({-1.f}))), Floats{1});
  EXPECT_EQ(traced, 1);
}

TEST(Cond, gives_containers_and_may_give_nothing) {
  Variable v(tensor({1.f}), {.name = "v"});
  const auto fn = [&](Tensor x) {
    cond(sum(x) > 0.f, [&] { v.assign(v + x); }, [] {});
    const auto [a, b] = cond(
        sum(x) > 0.f, [&] { return std::pair(x, x + 1.f); }, [&] { return std::pair(x - 1.f, x); });
    return a * b + v;
  };
  Function f = function("containers", fn);
  EXPECT_EQ(floats(f(tensor({2.f}))), Floats{9});
  EXPECT_EQ(floats(v.read()), Floats{3});
  EXPECT_EQ(floats(f(tensor({-2.f}))), Floats{9});
  EXPECT_EQ(floats(v.read()), Floats{3});
  EXPECT_EQ(floats(fn(tensor({2.f}))), Floats{11});
}

TEST(Cond, nests) {
  const auto fn = [](Tensor x) {
    const Tensor total = sum(x);
    return cond(
        total > 0.f,
        [&] { return cond(total > 10.f, [&] { return x * 3.f; }, [&] { return x * 2.f; }); },
        [&] { return x * total; });
  };
  for (const float value : {20.f, 2.f, -3.f}) {
    expect_same(fn, tensor({value}));
    expect_same_gradient(fn, tensor({value}));
  }
}

TEST(Cond, branches_that_differ_are_named) {
  Function shapes = function("shapes", [](Tensor x) {
    return cond(sum(x) > 0.f, [&] { return x; }, [&] { return sum(x); });
  });
  EXPECT_HAS(message_of<ShapeError>([&] { shapes(tensor({1.f, 2.f})); }),
             "cond: result 0 is float32 [] in branch 0 and float32 [2] in branch 1");
  Function predicate =
      function("predicate", [](Tensor x) { return cond(x, [&] { return x; }, [&] { return x; }); });
  EXPECT_HAS(message_of<DtypeError>([&] { predicate(tensor({1.f})); }),
             "cond: the predicate is float32 [1]: it must be one bool");
}

TEST(Cond, what_a_branch_made_stays_in_it) {
  Function f = function("stolen", [](Tensor x) {
    Tensor stolen;
    cond(
        sum(x) > 0.f,
        [&] {
          stolen = x * 2.f;
          return x;
        },
        [&] { return -x; });
    return stolen + 1.f;
  });
  const std::string text = message_of<InaccessibleTensorError>([&] { f(tensor({1.f})); });
  EXPECT_HAS(text, "made in a branch or a loop that has ended");
  EXPECT_HAS(text, "return it from the branch");
}

TEST(SwitchCase, takes_the_branch_with_that_number) {
  const auto fn = [](Tensor x, Tensor i) {
    return switch_case<Tensor>(
        i, {[&] { return x + 1.f; }, [&] { return x * 2.f; }, [&] { return x - 1.f; }});
  };
  Function f = function("switch", fn);
  const Tensor x = tensor({5.f});
  for (int i = 0; i < 3; ++i) {
    const Tensor index = tensor({i}, Shape{});
    EXPECT_EQ(floats(f(x, index)), floats(fn(x, index)));
  }
  const Tensor bad = tensor({3}, Shape{});
  EXPECT_HAS(message_of<ValueError>([&] { f(x, bad); }), "switch_case: index 3 for 3 branches");
  EXPECT_HAS(message_of<ValueError>([&] { fn(x, bad); }), "switch_case: index 3 for 3 branches");
}

Tensor collatz_like(const Tensor& x) {
  return while_loop([](Tensor y) { return sum(y) < 100.f; }, [&](Tensor y) { return y * y + x; },
                    x);
}

TEST(WhileLoop, goes_on_until_it_is_told_to_stop) {
  for (const float start : {2.f, 3.f, 200.f}) {
    expect_same([](Tensor x) { return collatz_like(x); }, tensor({start}));
  }
}

TEST(WhileLoop, has_a_gradient) {
  expect_same_gradient([](Tensor x) { return collatz_like(x); }, tensor({1.25f, 1.5f}), 0.1f);
  expect_same_gradient([](Tensor x) { return collatz_like(x); }, tensor({200.f}));
}

TEST(WhileLoop, what_its_gradient_keeps_is_reported_and_given_back) {
  const auto fn = [](Tensor x) {
    GradientTape tape;
    tape.watch(x);
    const auto [i, y] = while_loop([](Tensor n, Tensor) { return n < 10; },
                                   [&](Tensor n, Tensor z) { return std::tuple(n + 1, z * x); },
                                   std::tuple(zeros({}, DType::int32), ones({1000})));
    return tape.gradient(sum(y), x);
  };
  Function f = function("stack", fn);
  const Tensor x = ones({1000});
  const Tensor g = f(x);
  EXPECT_EQ(floats(g)[7], 10.f);
  EXPECT_EQ(floats(fn(x)), floats(g));
  const std::size_t bytes = f.traces()[0].stack_bytes;
  EXPECT_GE(bytes, 10 * 4000u);
  EXPECT_LE(bytes, 12 * 4200u);
  const MemoryInfo before = memory();
  f(x);
  EXPECT_EQ(memory().live_bytes, before.live_bytes);
}

TEST(WhileLoop, a_stack_inside_a_branch_is_reported_too) {
  Function f = function("inner", [](Tensor x) {
    return cond(
        sum(x) > 0.f,
        [&] {
          GradientTape tape;
          tape.watch(x);
          return tape.gradient(sum(collatz_like(x)), x);
        },
        [&] { return x; });
  });
  f(tensor({-1.f}));
  EXPECT_EQ(f.traces()[0].stack_bytes, 0u);
  f(tensor({2.f}));
  EXPECT_GT(f.traces()[0].stack_bytes, 0u);
}

TEST(WhileLoop, may_be_bounded) {
  const auto fn = [](Tensor x) {
    return while_loop([](Tensor) { return tensor({true}); }, [](Tensor y) { return y * 2.f; }, x,
                      {.most_steps = 5});
  };
  expect_same(fn, tensor({1.f}));
  EXPECT_EQ(floats(fn(tensor({1.f}))), Floats{32});
  expect_same_gradient(fn, tensor({1.f}));
}

TEST(WhileLoop, reads_and_assigns_variables) {
  const auto run = [](Variable& count, Tensor x) {
    return while_loop([&](Tensor) { return sum(count.read()) < 4.f; },
                      [&](Tensor y) {
                        count.assign(count + 1.f);
                        return y * count;
                      },
                      x);
  };
  Variable eager(zeros({1})), traced(zeros({1}));
  Function f = function("count", [&](Tensor x) { return run(traced, x); });
  EXPECT_EQ(floats(f(tensor({1.f}))), floats(run(eager, tensor({1.f}))));
  EXPECT_EQ(floats(traced.read()), Floats{4});
  EXPECT_EQ(floats(f(tensor({1.f}))), Floats{1});
}

TEST(WhileLoop, a_state_that_changes_its_shape_is_named) {
  const auto fn = [](Tensor x) {
    return while_loop([](Tensor y) { return sum(y) < 10.f; },
                      [](Tensor y) { return concat({y, y}, 0); }, x);
  };
  Function f = function("grows", fn);
  const std::string text =
      "while_loop: state 0 was float32 [1] and the body makes it float32 [2]: it must stay";
  EXPECT_HAS(message_of<ShapeError>([&] { f(tensor({1.f})); }), text);
  EXPECT_HAS(message_of<ShapeError>([&] { fn(tensor({1.f})); }), text);
}

TEST(ForLoop, counts) {
  const auto fn = [](Tensor x) {
    return for_loop(
        4, [&](Tensor i, Tensor y) { return y + x * cast(i, DType::float32); }, zeros_like(x));
  };
  EXPECT_EQ(floats(fn(tensor({1.f, 2.f}))), (Floats{6, 12}));
  expect_same(fn, tensor({1.f, 2.f}));
  expect_same_gradient(fn, tensor({1.f, 2.f}));
}

TEST(ForLoop, of_no_steps_gives_its_state) {
  const auto fn = [](Tensor x) { return for_loop(0, [](Tensor, Tensor y) { return y * 2.f; }, x); };
  expect_same(fn, tensor({3.f}));
  expect_same_gradient(fn, tensor({3.f}));
}

TEST(Scan, whose_steps_give_different_numbers_of_outputs_is_refused) {
  for (const int by : {1, -1}) {
    int outputs = 2;
    const std::string text = whole_message_of<ValueError>([&] {
      scan(
          [&](Tensor s, Tensor x) {
            outputs += by;
            return std::pair(s + x, std::vector<Tensor>(static_cast<std::size_t>(outputs), x));
          },
          zeros({}), ones({3}));
    });
    EXPECT_HAS(text, "scan: step 1 gives");
    EXPECT_HAS(text, "control_test.cpp:");
  }
}

// A small recurrent network over the rows of x.
Tensor recurrent(const Tensor& x, const Tensor& w) {
  const auto [last, all] = scan(
      [&](Tensor h, Tensor row) {
        const Tensor next = tanh(matmul(h, w) + reshape(row, {1, 2}));
        return std::pair(next, next * 2.f);
      },
      zeros({1, 2}), x);
  return sum(all, {0}) + last;
}

TEST(Scan, gives_the_last_state_and_what_each_step_gave) {
  const auto fn = [](Tensor xs) {
    const auto [last, all] =
        scan([](Tensor s, Tensor x) { return std::pair(s + x, s * x); }, zeros({2}), xs);
    return concat({reshape(last, {1, 2}), all}, 0);
  };
  const Tensor xs = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {3, 2});
  EXPECT_EQ(floats(fn(xs)), (Floats{9, 12, 0, 0, 3, 8, 20, 36}));
  expect_same(fn, xs);
  expect_same_gradient(fn, xs);
  expect_same(fn, zeros({0, 2}));
}

TEST(Scan, has_a_gradient_with_respect_to_all_it_uses) {
  const Tensor x = random::normal({5, 2}), w = random::normal({2, 2});
  expect_same_gradient([&](Tensor y) { return recurrent(y, w); }, x);
  expect_same_gradient([&](Tensor y) { return recurrent(x, y); }, w);
}

TEST(WhileLoop, has_a_second_derivative_in_eager_code_alone) {
  const auto slope = [](Tensor x) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor y =
        while_loop([](Tensor s) { return s < 50.f; }, [](Tensor s) { return s * s; }, x);
    return outer.gradient(inner.gradient(y, x), x);
  };
  EXPECT_EQ(slope(tensor(3.f)).item<float>(), 12 * 9.f);
  const std::string text =
      whole_message_of<UnsupportedError>([&] { function("slope", slope)(tensor(3.f)); });
  EXPECT_HAS(text, "while_loop: a second derivative");
  EXPECT_HAS(text, "control_test.cpp:");
  EXPECT_EQ(text.find("while_loop_grad"), text.npos) << text;
}

TEST(Scan, has_a_second_derivative) {
  const Tensor w = random::normal({2, 2});
  const auto first = [&](Tensor y) {
    GradientTape tape;
    tape.watch(y);
    return tape.gradient(sum(recurrent(y, w)), y);
  };
  expect_same_gradient(first, random::normal({3, 2}));
}

TEST(Scan, goes_over_containers_and_assigns_variables) {
  const auto run = [](Variable& v, Tensor a, Tensor b) {
    const auto [state, given] = scan(
        [&](std::pair<Tensor, Tensor> s, std::vector<Tensor> x) {
          v.assign(v + x[0]);
          return std::pair(std::pair(s.first + x[0], s.second * x[1]), v * x[1]);
        },
        std::pair(zeros({}), ones({})), std::vector{a, b});
    return stack({state.first, state.second, sum(given)});
  };
  Variable eager(zeros({})), traced(zeros({}));
  const Tensor a = tensor({1.f, 2.f}), b = tensor({3.f, 4.f});
  Function f = function("containers", [&](Tensor x, Tensor y) { return run(traced, x, y); });
  EXPECT_EQ(floats(f(a, b)), floats(run(eager, a, b)));
  EXPECT_EQ(floats(traced.read()), floats(eager.read()));
}

TEST(ControlFlow, nests) {
  const auto fn = [](Tensor x) {
    return for_loop(
        3,
        [&](Tensor i, Tensor y) {
          const Tensor z = while_loop([](Tensor v) { return sum(v) < 4.f; },
                                      [](Tensor v) { return v * 1.5f; }, y);
          return cond(i > 0, [&] { return z * 0.25f; }, [&] { return z + x; });
        },
        x);
  };
  const Tensor x = tensor({0.5f, 0.25f});
  expect_same(fn, x);
  expect_same_gradient(fn, x, 0.1f);
}

TEST(ControlFlow, draws_random_numbers_as_eager_code_does) {
  const auto fn = [](Tensor x) {
    Tensor y = x + random::normal({2});
    y = cond(sum(x) > 0.f, [&] { return y + random::uniform({2}); }, [&] { return y; });
    y = y + random::normal({2});
    y = while_loop([](Tensor v) { return sum(v) < 20.f; },
                   [](Tensor v) { return v + random::uniform({2}, {.low = 1, .high = 3}); }, y);
    y = for_loop(3, [](Tensor, Tensor v) { return v + random::normal({2}); }, y);
    return y + random::normal({2});
  };
  Function f = function("random", fn);
  for (const float sign : {1.f, -1.f}) {
    const Tensor x = tensor({sign, sign});
    set_seed(3);
    const Floats a = floats(fn(x)), b = floats(fn(x)), c = floats(random::normal({2}));
    set_seed(3);
    EXPECT_EQ(floats(f(x)), a);
    EXPECT_EQ(floats(f(x)), b);
    EXPECT_EQ(floats(random::normal({2})), c);
  }
}

TEST(ControlFlow, a_gradient_sees_the_random_numbers_that_were_drawn) {
  const auto gradient = [](Tensor x) {
    GradientTape tape;
    tape.watch(x);
    Tensor y = cond(sum(x) > 0.f, [&] { return x * random::normal({2}); }, [&] { return x; });
    y = while_loop([](Tensor v) { return sum(abs(v)) < 20.f; },
                   [](Tensor v) { return v * random::uniform({2}, {.low = 2, .high = 3}); }, y);
    y = for_loop(3, [](Tensor, Tensor v) { return dropout(v, 0.5f) * 2.f; }, y);
    return tape.gradient(sum(y), x);
  };
  Function f = function("random", gradient);
  const Tensor x = tensor({1.f, 2.f});
  for (int i = 0; i < 5; ++i) {
    set_seed(static_cast<std::uint64_t>(i));
    const Floats eager = floats(gradient(x)), after = floats(random::normal({2}));
    set_seed(static_cast<std::uint64_t>(i));
    EXPECT_EQ(floats(f(x)), eager);
    EXPECT_EQ(floats(random::normal({2})), after);
  }
}

TEST(ControlFlow, a_condition_may_draw_beside_the_body_whose_gradient_is_taken) {
  const auto gradient = [](Tensor x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y =
        while_loop([](Tensor v) { return sum(abs(v)) + sum(random::uniform({3})) < 50.f; },
                   [](Tensor v) { return v * random::uniform({2}, {.low = 2, .high = 3}); }, x);
    return tape.gradient(sum(y), x);
  };
  Function f = function("draws", gradient);
  const Tensor x = tensor({1.f, 2.f});
  for (int i = 0; i < 5; ++i) {
    set_seed(static_cast<std::uint64_t>(i));
    const Floats eager = floats(gradient(x));
    set_seed(static_cast<std::uint64_t>(i));
    EXPECT_EQ(floats(f(x)), eager);
  }
}

TEST(ControlFlow, a_body_gives_as_many_states_as_it_is_given) {
  using State = std::vector<Tensor>;
  const auto grows = [](State state) {
    state.push_back(state[0] + 1.f);
    return state;
  };
  const auto in_while = [&](Tensor x) {
    return while_loop([](State s) { return sum(s[0]) < 9.f; }, grows, State{x})[0];
  };
  const auto in_for = [&](Tensor x) {
    return for_loop(2, [&](Tensor, State s) { return grows(s); }, State{x})[0];
  };
  const auto in_scan = [&](Tensor x) {
    return scan([&](State s, Tensor y) { return std::pair(grows(s), y); }, State{x}, ones({2}))
        .second;
  };
  const Tensor x = tensor({1.f});
  for (const std::function<Tensor(Tensor)>& fn :
       std::vector<std::function<Tensor(Tensor)>>{in_while, in_for, in_scan}) {
    EXPECT_HAS(message_of<ValueError>([&] { fn(x); }), "gives 2 tensors for a state of 1");
    EXPECT_HAS(message_of<ValueError>([&] { function("grows", fn)(x); }),
               "gives 2 tensors for a state of 1");
  }
}

TEST(ControlFlow, an_error_in_a_body_tells_its_own_line) {
  int line = 0;
  const auto fails = [&](Tensor x) {
    line = here().line() + 1;
    return x + ones({3});
  };
  const Tensor x = ones({2});
  const std::function<Tensor(Tensor)> ways[] = {
      [&](Tensor v) { return cond(sum(v) > 0.f, [&] { return fails(v); }, [&] { return v; }); },
      [&](Tensor v) {
        return switch_case<Tensor>(cast(sum(v) - 2.f, DType::int32), {[&] { return fails(v); }});
      },
      [&](Tensor v) { return while_loop([](Tensor s) { return sum(s) > 0.f; }, fails, v); },
      [&](Tensor v) { return for_loop(2, [&](Tensor, Tensor s) { return fails(s); }, v); },
  };
  for (const auto& way : ways) {
    const std::string eager = whole_message_of<ShapeError>([&] { way(x); });
    EXPECT_HAS(eager, "control_test.cpp:" + std::to_string(line));
    const std::string traced = whole_message_of<ShapeError>([&] { function("fails", way)(x); });
    EXPECT_HAS(traced, "control_test.cpp:" + std::to_string(line));
  }
}

TEST(ControlFlow, an_eager_loop_lets_go_of_the_states_it_is_done_with) {
  const std::size_t before = memory().tensors;
  while_loop([](Tensor v) { return sum(v) < 100.f; },
             [&](Tensor v) {
               EXPECT_EQ(memory().tensors, before + 1);
               return v * 2.f;
             },
             ones({2}));
  for_loop(
      4,
      [&](Tensor, Tensor v) {
        EXPECT_EQ(memory().tensors, before + 2) << "the state, and the number of the step";
        return v * 2.f;
      },
      ones({2}));
}

TEST(ControlFlow, reading_a_symbolic_value_names_the_line_and_says_cond) {
  int line = 0;
  Function f = function("reads", [&](Tensor x) {
    line = here().line() + 1;
    return (sum(x) > 0.f).item<bool>() ? x : -x;
  });
  const std::string text = message_of<InaccessibleTensorError>([&] { f(tensor({1.f})); });
  EXPECT_HAS(text, "control_test.cpp:" + std::to_string(line));
  EXPECT_HAS(text, "use cond");
}

}  // namespace
}  // namespace tenure::testing
