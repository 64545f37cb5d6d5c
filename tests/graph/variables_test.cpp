// Variables in traced functions: whoever asks for a gradient, from wherever, gets what eager code
// gives, and a call that fails leaves them as they were.
#include <gtest/gtest.h>

#include "support/expect.h"
#include "tenure/nn.h"

namespace tenure::testing {
namespace {

// A program over one variable that gives a scalar, differentiated by the variable: eagerly, by a
// tape inside a traced function, by a tape around one, and by a tape around a checkpoint. The
// variable starts at `begin` each time and must end the same.
template <class F>
void expect_same_everywhere(F program, float begin, float wanted_gradient) {
  const auto gradient_in = [&](Variable& v, auto&& run) {
    v.assign(tensor({begin}));
    GradientTape tape;
    const Tensor y = run(v);
    return floats(tape.gradient(y, {v}, {.zero_if_unconnected = true})[0])[0];
  };
  Variable v(tensor({begin}), {.name = "v"});
  EXPECT_EQ(gradient_in(v, program), wanted_gradient) << "eager";
  const Floats end = floats(v.read());

  Function inside = function("inside", [&](Tensor x) {
    GradientTape tape;
    const Tensor y = program(v) + sum(x) * 0.f;
    return tape.gradient(y, {v}, {.zero_if_unconnected = true})[0];
  });
  Function forward = function("forward", [&](Tensor x) { return program(v) + sum(x) * 0.f; });
  Function again = checkpoint([&](Tensor x) { return program(v) + sum(x) * 0.f; });
  const Tensor x = ones({2});
  for (int call = 0; call < 2; ++call) {
    v.assign(tensor({begin}));
    EXPECT_EQ(floats(inside(x))[0], wanted_gradient) << "tape inside, call " << call;
    EXPECT_EQ(floats(v.read()), end) << "tape inside, call " << call;
    EXPECT_EQ(gradient_in(v, [&](Variable&) { return forward(x); }), wanted_gradient)
        << "tape around, call " << call;
    EXPECT_EQ(floats(v.read()), end) << "tape around, call " << call;
    EXPECT_EQ(gradient_in(v, [&](Variable&) { return again(x); }), wanted_gradient)
        << "checkpoint, call " << call;
    EXPECT_EQ(floats(v.read()), end) << "checkpoint, call " << call;
  }
}

TEST(Variables, L14_a_variable_read_only_in_a_branch_has_its_gradient) {
  expect_same_everywhere(
      [](Variable& v) {
        return cond(sum(v) > 0.f, [&] { return sum(v * 5.f); }, [&] { return sum(v); });
      },
      2.f, 5.f);
}

// To gradients a read of a variable is the variable, whenever it was read.
TEST(Variables, L14_a_read_from_before_the_tape_is_the_variable) {
  const auto stays = [](Tensor s) {  // a loop without a step gives what it was given
    return while_loop([](Tensor x) { return sum(x) < 0.f; }, [](Tensor) { return tensor({7.f}); },
                      std::move(s));
  };
  const std::vector<std::function<Tensor(Tensor)>> programs{
      [](Tensor read) { return read * 1.f; }, stays, [&](Tensor read) { return stays(read) * 1.f; },
      [](Tensor read) {
        return cond(sum(read) > 0.f, [&] { return read; }, [&] { return -read; });
      }};
  Variable v(tensor({2.f}), {.name = "v"}), fixed(tensor({2.f}), {.trainable = false});
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const auto run = [&](const Variable& variable, bool watches) {
      const Tensor read = variable.read();
      GradientTape tape({.watch_variables = watches});
      const Tensor y = programs[i](read) * 3.f;
      return tape.gradient(y, {variable}, {.zero_if_unconnected = true})[0];
    };
    Function traced = function("traced", [&](Tensor x) { return run(v, true) + sum(x) * 0.f; });
    EXPECT_EQ(floats(run(v, true)), Floats{3.f}) << "program " << i;
    EXPECT_EQ(floats(traced(ones({1}))), Floats{3.f}) << "program " << i;
    EXPECT_EQ(floats(run(v, false)), Floats{0.f}) << "program " << i;
    EXPECT_EQ(floats(run(fixed, true)), Floats{0.f}) << "program " << i;
  }
}

TEST(Variables, L14_a_variable_read_only_in_a_for_loop_has_its_gradient) {
  expect_same_everywhere(  // v^4 * 1.25 at 3
      [](Variable& v) {
        return for_loop(4, [&](Tensor, Tensor s) { return s * sum(v); }, tensor(1.25f));
      },
      3.f, 135.f);
}

TEST(Variables, L14_a_variable_read_only_in_a_while_loop_has_its_gradient) {
  expect_same_everywhere(  // 5 * v^5 / ... at 3: s = 5 * v until it passes 500
      [](Variable& v) {
        return while_loop([](Tensor s) { return s < 500.f; }, [&](Tensor s) { return s * sum(v); },
                          tensor(5.f));
      },
      3.f, 2025.f);
}

TEST(Variables, L14_a_variable_read_only_in_a_scan_has_its_gradient) {
  expect_same_everywhere(
      [](Variable& v) {
        auto [last, all] =
            scan([&](Tensor s, Tensor x) { return std::pair(s + sum(v) * x, sum(v) * x); },
                 tensor(0.f), tensor({1.f, 2.f, 3.f}));
        return last + sum(all);
      },
      3.f, 12.f);
}

TEST(Variables, L14_a_variable_read_only_in_a_body_within_a_body_has_its_gradient) {
  expect_same_everywhere(
      [](Variable& v) {
        return for_loop(
            3,
            [&](Tensor i, Tensor s) {
              return cond(
                  i > 0,
                  [&] { return for_loop(2, [&](Tensor, Tensor t) { return t + sum(v); }, s); },
                  [&] { return s; });
            },
            tensor(0.f));
      },
      3.f, 4.f);
}

TEST(Variables, a_read_after_an_assignment_is_the_variable_itself) {
  expect_same_everywhere(
      [](Variable& v) {
        v.assign(v * 2.f);
        return sum(v * 3.f);
      },
      5.f, 3.f);
}

TEST(Variables, reads_before_and_after_an_assignment_add_up) {
  expect_same_everywhere(
      [](Variable& v) {
        const Tensor before = sum(v * 7.f);
        v.assign(v * v);
        const Tensor between = sum(v * 2.f);
        v.assign(v + 1.f);
        return before + between + sum(square(v));
      },
      2.f, 7.f + 2.f + 10.f);
}

TEST(Variables, an_assignment_in_a_for_loop_ends_the_gradient_of_what_was_assigned) {
  expect_same_everywhere(
      [](Variable& v) {
        return for_loop(
            3,
            [&](Tensor, Tensor s) {
              v.assign(v * 2.f);
              return s + sum(v * 3.f);
            },
            tensor(0.f));
      },
      1.f, 9.f);
}

TEST(Variables, an_assignment_in_a_while_loop_ends_the_gradient_of_what_was_assigned) {
  expect_same_everywhere(
      [](Variable& v) {
        const Tensor first = sum(v);
        const Tensor s = while_loop([](Tensor at) { return at < 50.f; },
                                    [&](Tensor at) {
                                      const Tensor next = at + sum(v * v);
                                      v.assign(v + 1.f);
                                      return next;
                                    },
                                    tensor(0.f));
        return first + s + sum(v);
      },
      2.f, 1.f + 2 * (2.f + 3.f + 4.f + 5.f) + 1.f);
}

TEST(Variables, an_assignment_in_a_branch_ends_the_gradient_of_what_was_assigned) {
  expect_same_everywhere(
      [](Variable& v) {
        const Tensor in = cond(
            sum(v) > 0.f,
            [&] {
              v.assign(v * v);
              return sum(v * 3.f);
            },
            [&] { return sum(v); });
        return in + sum(v * 2.f);
      },
      3.f, 5.f);
}

TEST(Variables, an_assignment_in_the_condition_of_a_while_loop_counts) {
  const auto program = [](Variable& v) {
    return while_loop(
        [&](Tensor) {
          v.assign(v + 1.f);
          return sum(v) < 6.f;
        },
        [&](Tensor s) { return s + sum(v); }, tensor(0.f));
  };
  expect_same_everywhere(program, 2.f, 3.f);  // adds 3, 4 and 5
}

TEST(Variables, a_condition_that_assigns_is_asked_as_often_as_in_eager_code) {
  for (const std::int64_t most : {0, 1, 3, 100}) {
    SCOPED_TRACE(most);
    Variable v(tensor({0.f}));
    const auto program = [&](Tensor s) {
      return while_loop(
          [&](Tensor at) {
            v.assign(v + 1.f);
            return sum(at) < 5.f;
          },
          [](Tensor at) { return at + 1.f; }, s, {.most_steps = most});
    };
    const Floats eager = floats(program(zeros({1})));
    const Floats asked = floats(v.read());
    Function f = function("asks", program);
    for (int call = 0; call < 2; ++call) {
      v.assign(tensor({0.f}));
      EXPECT_EQ(floats(f(zeros({1}))), eager);
      EXPECT_EQ(floats(v.read()), asked);
    }
  }
}

TEST(Variables, a_function_that_is_called_by_another_reads_what_that_one_assigned) {
  Variable v(tensor({2.f}));
  Function inner = function("inner", [&](Tensor x) {
    v.assign(v * 3.f);
    return x * sum(v);
  });
  Function outer = function("outer", [&](Tensor x) {
    v.assign(v + 1.f);
    const Tensor y = inner(x);
    return y + sum(v * 5.f);
  });
  const Tensor x = tensor({4.f});
  GradientTape tape;
  const Tensor y = outer(x);
  EXPECT_EQ(floats(y), Floats{4.f * 9 + 45});
  EXPECT_EQ(floats(tape.gradient(y, v)), Floats{4.f + 5.f});
  EXPECT_EQ(floats(v.read()), Floats{9.f});
}

TEST(Variables, L30_a_call_that_fails_leaves_the_variable_it_assigns_as_it_was) {
  const Floats old{1.f, 2.f, 3.f, 4.f};
  Variable v(tensor(old, {2, 2}));
  const auto expect_unharmed = [&](auto& f, const auto&... args) {
    for (int call = 0; call < 2; ++call) {
      EXPECT_THROW(f(args...), ValueError);
      EXPECT_EQ(floats(v.read()), old);
    }
  };
  Function gathers = function("gathers", [&](Tensor rows) {
    v.assign(gather(ones({2, 2}) * 7.f, rows));
    return sum(rows);
  });
  expect_unharmed(gathers, tensor({0, 9}));
  Function factors = function("factors", [&](Tensor a) {
    v.assign(cholesky(a));
    return sum(a);
  });
  expect_unharmed(factors, tensor({4.f, 0.f, 0.f, -1.f}, {2, 2}));
  Function scatters = function("scatters", [&](Tensor at) {
    v.assign(tensor_scatter_update(v, at, ones({1, 2})));
    return sum(at);
  });
  expect_unharmed(scatters, tensor({5}, {1, 1}));
  Function loops = function("loops", [&](Tensor at) {
    return for_loop(
        3,
        [&](Tensor i, Tensor s) {
          v.assign(v + gather(ones({2, 2}), at + i));
          return s + sum(v);
        },
        tensor(0.f));
  });
  expect_unharmed(loops, tensor({0, -1}));
}

// y = x^3, and a gradient that uses the input, the value and something in between.
Tensor cube(const Tensor& x) {
  return custom_gradient(
      [](const std::vector<Tensor>& in) {
        const Tensor squared = square(in[0]);
        const Tensor value = squared * in[0];
        return CustomResult{value, [squared, value, x = in[0]](Tensor dy) {
                              return std::vector<Tensor>{dy * (squared * 4.f - value / x)};
                            }};
      },
      {x});
}

TEST(CustomGradient, that_uses_its_inputs_works_whoever_asks_in_traced_code) {
  expect_same_everywhere([](Variable& v) { return sum(cube(v.read())); }, 2.f, 12.f);
  expect_same_everywhere(
      [](Variable& v) {
        return for_loop(2, [&](Tensor, Tensor s) { return s + sum(cube(v.read())); }, tensor(0.f));
      },
      2.f, 24.f);
  expect_same_everywhere(
      [](Variable& v) {
        return while_loop([](Tensor s) { return s < 10.f; },
                          [&](Tensor s) { return s + sum(cube(v.read())); }, tensor(0.f));
      },
      2.f, 24.f);
  expect_same_everywhere(
      [](Variable& v) {
        return cond(sum(v) > 0.f, [&] { return sum(cube(v.read())); }, [&] { return sum(v); });
      },
      2.f, 12.f);
}

TEST(CustomGradient, L14_outlives_the_scope_and_the_inputs_it_was_made_in) {
  const Tensor x = tensor({2.f});
  for (const bool by_hand : {false, true}) {
    GradientTape tape;
    tape.watch(x);
    Tensor t;
    const Tensor y = tidy([&] {
      t = x * 3.f;
      return cube(t);
    });
    if (by_hand) t.dispose();
    EXPECT_EQ(floats(tape.gradient(y, x)), Floats{3 * 3 * 36.f});
  }
}

TEST(SwitchCase, takes_an_index_that_is_known_in_a_trace) {
  const Tensor captured = tensor({std::int64_t{1}}, Shape{});
  Function f = function("f", [&](Tensor x) {
    const std::vector<std::function<Tensor()>> branches{[&] { return x; }, [&] { return -x; }};
    return switch_case(tensor({1}, Shape{}), branches) + switch_case(captured, branches);
  });
  EXPECT_EQ(floats(f(tensor({1.f}))), Floats{-2.f});
}

TEST(CustomGradient, has_a_second_derivative_in_traced_code) {
  const auto second = [](Tensor x) {
    GradientTape outer;
    outer.watch(x);
    Tensor first;
    {
      GradientTape inner;
      inner.watch(x);
      first = inner.gradient(sum(cube(x)), x);
    }
    return outer.gradient(sum(first), x);
  };
  const Tensor x = tensor({2.f, -3.f});
  const Floats eager = floats(second(x));
  Function f = function("second", second);
  EXPECT_EQ(floats(f(x)), eager);
  Function inner = function("cube", [](Tensor at) { return cube(at); });
  GradientTape outer;
  outer.watch(x);
  Tensor first;
  {
    GradientTape tape;
    tape.watch(x);
    first = tape.gradient(sum(inner(x)), x);
  }
  EXPECT_EQ(floats(outer.gradient(sum(first), x)), eager);
}

TEST(CustomGradient, that_fails_in_a_trace_fails_only_who_asks_for_it) {
  Function f = function("f", [](Tensor x) {
    return custom_gradient(
        [](const std::vector<Tensor>& in) {
          return CustomResult{in[0] * 2.f, [](Tensor) -> std::vector<Tensor> {
                                throw std::runtime_error("there is none");
                              }};
        },
        {x});
  });
  const Tensor x = tensor({2.f});
  EXPECT_EQ(floats(f(x)), Floats{4.f});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  EXPECT_THROW(tape.gradient(y, x), std::runtime_error);
}

TEST(CustomGradient, of_another_dtype_than_its_input_is_refused) {
  const auto wrong = [](Tensor x) {
    return custom_gradient(
        [](const std::vector<Tensor>& in) {
          return CustomResult{
              in[0] * 2.f, [](Tensor dy) { return std::vector<Tensor>{cast(dy, DType::float64)}; }};
        },
        {x});
  };
  const Tensor x = tensor({2.f});
  for (const bool traced : {false, true}) {
    Function f = function("wrong", wrong);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = traced ? f(x) : wrong(x);
    EXPECT_EQ(message_of<DtypeError>([&] { tape.gradient(y, x); }).substr(0, 59),
              "custom_gradient: gradient 0 is float64, its input float32");
  }
}

TEST(Gradient, L14_an_output_gradient_has_the_dtype_of_its_target) {
  Variable v(tensor({2.f}));
  GradientTape tape;
  const Tensor y = v * 3.f;
  const std::string text = message_of<DtypeError>(
      [&] { tape.gradient(y, v, {.output_gradient = ones({1}, DType::float64)}); });
  EXPECT_HAS(text, "gradient: output_gradient is float64, the target float32");
}

TEST(Gradient, of_what_a_body_computes_by_a_tape_around_it_is_refused) {
  Variable v(tensor({2.f}));
  Function in_branch = function("f", [&](Tensor x) {
    GradientTape tape({.persistent = true, .name = "outside"});
    const Tensor y = sum(v * x);
    return cond(
        y > 0.f, [&] { return tape.gradient(sum(v * 3.f), v); },
        [&] { return tape.gradient(y, v); });
  });
  EXPECT_HAS(message_of<TapeError>([&] { in_branch(ones({1})); }),
             "gradient: the target is computed where tape \"outside\" does not look");
  Function of_outside = function("g", [&](Tensor x) {
    GradientTape tape({.persistent = true});
    const Tensor y = sum(v * x);
    return cond(y > 0.f, [&] { return tape.gradient(y, v); }, [&] { return zeros({1}); });
  });
  EXPECT_EQ(floats(of_outside(full({1}, 5.f))), Floats{5.f});
}

// A layer that applies its weight three times, in a loop.
class Repeated : public nn::LayerBase {
 public:
  void build(const Shape&) override {
    weight_ = add_weight("weight", {1}, {.initializer = nn::Constant({.value = 0.5})});
  }
  Tensor call(const Tensor& x, const nn::Call&) override {
    return for_loop(3, [&](Tensor, Tensor s) { return s * weight_; }, x);
  }

 private:
  Variable weight_;
};

TEST(Variables, a_layer_that_uses_its_weight_only_in_a_loop_trains) {
  nn::Sequential model({nn::make_layer<Repeated>()});
  model.compile({.optimizer = nn::SGD({.learning_rate = 0.1}), .loss = "mse"});
  const Tensor x = ones({4, 1});
  model.fit(x, x * 0.f + 1.f, {.batch_size = 4, .epochs = 200, .verbose = nn::Verbose::silent});
  EXPECT_NEAR(floats(model.trainable_weights()[0].read())[0], 1.f, 1e-3f);
  model.dispose();
}

}  // namespace
}  // namespace tenure::testing
