#include "autodiff/tape.h"

#include <cmath>

#include "memory/pool.h"
#include "support/expect.h"

namespace tenure {
namespace {

using testing::bytes_of;
using testing::Floats;
using testing::floats;
using testing::here;
using testing::message_of;

TEST(Tape, gradients_of_a_small_network) {
  const Variable w(tensor({1.f, 2.f, 3.f, 4.f}, {2, 2}), {.name = "w"});
  const Tensor a = tensor({1.f, 2.f}, {1, 2});
  GradientTape tape;
  const Tensor loss = mean(square(matmul(a, w)));
  const std::vector<Tensor> g = tape.gradient(loss, {w});
  // a w = [7, 10]; d/dw = a^T [7, 10].
  ASSERT_EQ(g.size(), 1u);
  EXPECT_EQ(floats(g[0]), (Floats{7, 10, 14, 20}));
}

TEST(Contract, L14_inputs_and_outputs_may_be_disposed_before_gradient) {
  Tensor x = tensor({0.5f, -1.f, 2.f});
  GradientTape tape;
  tape.watch(x);
  Tensor h = tanh(x);
  Tensor p = h * x;
  Tensor loss = sum(p);
  h.dispose();
  p.dispose();
  const Tensor handle = x;
  x.dispose();
  loss.dispose();
  const Tensor g = tape.gradient(loss, handle);
  for (int i = 0; i < 3; ++i) {
    const double v = std::vector{0.5, -1.0, 2.0}[static_cast<std::size_t>(i)];
    const double t = std::tanh(v);
    EXPECT_NEAR(g[i].item<float>(), t + v * (1 - t * t), 1e-6);
  }
}

TEST(Contract, L14_second_order_is_right_after_dispose) {
  Tensor x = tensor(1.5f);
  const Tensor handle = x;
  GradientTape outer;
  outer.watch(x);
  Tensor first;
  {
    GradientTape inner;
    inner.watch(x);
    Tensor y = x * x * x;
    x.dispose();
    y.dispose();
    first = inner.gradient(y, handle);
  }
  EXPECT_NEAR(first.item<float>(), 3 * 1.5 * 1.5, 1e-5);
  first.dispose();
  EXPECT_NEAR(outer.gradient(first, handle).item<float>(), 6 * 1.5, 1e-5);
}

TEST(Contract, L14_the_tape_saves_only_what_backward_needs) {
  const Tensor x = zeros({1000});
  const Tensor y = ones({1000});
  {
    GradientTape tape;
    tape.watch(x);
    Tensor z = x + y;
    z = z + 1.0;
    EXPECT_EQ(tape.saved_bytes(), 0u) << "add keeps nothing";
  }
  {
    GradientTape tape;
    tape.watch(x);
    const Tensor z = x * y;
    EXPECT_EQ(tape.saved_bytes(), 4000u) << "only y, for x's gradient";
  }
  {
    GradientTape tape;
    const Tensor z = x * y;
    EXPECT_EQ(tape.saved_bytes(), 0u) << "nothing is watched";
  }
}

TEST(Contract, L14_a_moved_input_is_saved_before_its_bytes_are_reused) {
  GradientTape tape;
  const Tensor x = tensor({1.f, 2.f});
  tape.watch(x);
  Tensor h = x * 3.0;
  const Tensor y = square(std::move(h));
  EXPECT_EQ(floats(y), (Floats{9, 36}));
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{18, 36}));
}

TEST(Contract, L15_saved_values_are_released_as_backward_passes_them) {
  const std::size_t before = memory().live_bytes;
  const Tensor x = full({1 << 16}, 0.5f);  // 256 KiB
  const std::size_t one = x.nbytes();
  Tensor g;
  {
    GradientTape tape;
    tape.watch(x);
    Tensor h = x;
    for (int i = 0; i < 16; ++i) h = tanh(std::move(h));
    EXPECT_GE(tape.saved_bytes(), 16 * one);
    const Tensor loss = sum(std::move(h));
    reset_peak();
    g = tape.gradient(loss, x);
    // Sixteen outputs, the gradient and the few buffers of one step; never sixteen more.
    EXPECT_LE(memory().peak_bytes - before, (17 + 4) * one);
  }
  EXPECT_EQ(memory().live_bytes - before, 2 * one) << "x and g";
}

TEST(Contract, L15_a_destroyed_tape_releases_everything) {
  const Tensor x = ones({1000});
  const std::size_t before = memory().live_bytes;
  {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = exp(square(x));
  }
  EXPECT_EQ(memory().live_bytes, before);
  try {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = exp(square(x));
    throw std::runtime_error("unwound");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(memory().live_bytes, before);
}

TEST(Contract, L15_a_failing_gradient_releases_everything) {
  const Tensor x = ones({1000});
  const std::size_t before = memory().live_bytes;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = custom_gradient(
      [](const std::vector<Tensor>& in) {
        return CustomResult{square(in[0]), [](const Tensor&) -> std::vector<Tensor> {
                              throw std::runtime_error("no gradient today");
                            }};
      },
      {exp(x)});
  EXPECT_THROW(tape.gradient(sum(y), x), std::runtime_error);
  EXPECT_EQ(tape.saved_bytes(), 0u);
  EXPECT_EQ(memory().live_bytes, before + 4000) << "only y";
}

TEST(Contract, L16_a_second_gradient_says_where_the_first_was) {
  const Tensor x = ones({1});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x);
  const int line = here().line() + 1;
  tape.gradient(y, x);
  try {
    tape.gradient(y, x);
    FAIL() << "nothing was thrown";
  } catch (const TapeError& e) {
    EXPECT_EQ(e.first_use().line(), line);
    EXPECT_HAS(e.what(), "tape_test.cpp:" + std::to_string(line));
    EXPECT_HAS(e.what(), "GradientTape tape({.persistent = true})");
  }
}

TEST(Contract, L16_a_persistent_tape_gives_it_again) {
  const Tensor x = tensor(3.f);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = square(x);
  const Tensor z = y * x;
  EXPECT_EQ(tape.gradient(y, x).item<float>(), 6.f);
  EXPECT_EQ(tape.gradient(z, x).item<float>(), 27.f);
  EXPECT_EQ(tape.gradient(y, x).item<float>(), 6.f);
}

TEST(Tape, a_persistent_tape_refuses_a_gradient_through_one_it_gave) {
  const Variable w(tensor(3.f));
  GradientTape tape({.persistent = true});
  const Tensor y = w * w * w;
  const int gave = here().line() + 1;
  const Tensor g = tape.gradient(y, w);
  EXPECT_EQ(g.item<float>(), 27.f);
  const int through = here().line() + 1;
  const Tensor product = g * w;
  const Tensor steps = exp(reshape(g.clone(), {1}));
  const std::string text = message_of<TapeError>([&] { tape.gradient(product * 2, w); });
  EXPECT_HAS(text, "gradient: it flows through a gradient that the tape gave");
  EXPECT_HAS(text, "gave      tape_test.cpp:" + std::to_string(gave));
  EXPECT_HAS(text, "through   tape_test.cpp:" + std::to_string(through));
  EXPECT_HAS(text, "GradientTape outer");
  EXPECT_THROW(tape.gradient(g, w), TapeError);
  EXPECT_THROW(tape.gradient(g, w, {.zero_if_unconnected = true}), TapeError);
  EXPECT_THROW(tape.gradient(steps, w), TapeError);
  EXPECT_THROW(tape.gradient(sum(steps + w), w), TapeError);
  EXPECT_THROW(tape.gradients({y, steps}, {Tensor(), Tensor()}, {w}), TapeError);
  EXPECT_EQ(tape.gradient(y, w).item<float>(), 27.f) << "it goes on";
}

TEST(Tape, a_persistent_tape_gives_what_its_gradients_are_only_numbers_for) {
  const Variable w(tensor(3.f)), theta(tensor(2.f));
  const Tensor x = tensor(5.f);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = w * w;
  const Tensor g = tape.gradient(y, w);
  EXPECT_EQ(tape.gradient(stop_gradient(g) * w, w).item<float>(), 6.f);
  // y hangs on w alone, so its gradient does.
  EXPECT_EQ(tape.gradient(g * theta + square(g) * theta, theta).item<float>(), 6.f + 36.f);
  EXPECT_FALSE(tape.gradient(g * theta, x).defined());
  const Tensor nothing = tape.gradient(y, theta, {.zero_if_unconnected = true});
  EXPECT_EQ(tape.gradient((nothing + 1) * w, w).item<float>(), 1.f);
  tape.watch(g);
  EXPECT_EQ(tape.gradient(square(g), g).item<float>(), 12.f);
  EXPECT_THROW(tape.gradient(square(g), w), TapeError);
  // What a gradient is one of its seeds, is known as that.
  const Tensor seed = square(x);
  const Tensor same = tape.gradient(w + 1, w, {.output_gradient = seed});
  EXPECT_EQ(tape.gradient(same, x).item<float>(), 10.f);
  EXPECT_EQ(tape.gradient(seed * w, w).item<float>(), 25.f);
}

TEST(Tape, an_outer_tape_records_the_gradients_of_a_persistent_one) {
  const Variable w(tensor(3.f));
  GradientTape outer({.persistent = true});
  GradientTape inner({.persistent = true});
  const Tensor y = w * w * w;
  const Tensor g = inner.gradient(y, w);
  EXPECT_EQ(outer.gradient(g, w).item<float>(), 18.f);
  EXPECT_EQ(outer.gradient(g * w, w).item<float>(), 81.f);
  EXPECT_EQ(outer.gradient(stop_gradient(g) * w, w).item<float>(), 27.f);
}

TEST(Tape, a_persistent_tape_in_a_traced_function_refuses_what_flows_through_its_gradients) {
  const Variable w(tensor(3.f));
  const auto second = function("second", [&](Tensor x) {
    GradientTape tape({.persistent = true, .name = "inner"});
    const Tensor g = tape.gradient(w * w * w * x, w);
    return tape.gradient(g * w, w);
  });
  EXPECT_HAS(message_of<TapeError>([&] { second(tensor(1.f)); }),
             "flows through a gradient that tape \"inner\" gave");
  const auto nested = function("nested", [&](Tensor x) {
    GradientTape outer;
    GradientTape tape({.persistent = true});
    const Tensor g = tape.gradient(w * w * w * x, w);
    return outer.gradient(g * w, w);
  });
  EXPECT_EQ(nested(tensor(1.f)).item<float>(), 81.f);
  // Around a call: by plan, and op by op.
  const auto twice = function("twice", [](Tensor x) { return x * 2; });
  twice(tensor(1.f));
  GradientTape tape({.persistent = true});
  const Tensor g = tape.gradient(w * w * w, w);
  EXPECT_THROW(tape.gradient(twice(g), w), TapeError);
  EXPECT_THROW(tape.gradient(twice(g) * w, w), TapeError);
}

TEST(Contract, L14_gradients_of_a_persistent_tape_save_nothing_more) {
  const Tensor x = ones({1000});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = sum(exp(x));
  const std::size_t saved = tape.saved_bytes(), live = memory().live_bytes;
  Tensor total = tape.gradient(y, x);
  for (int i = 0; i < 10; ++i) total = total + square(tape.gradient(y, x));
  EXPECT_EQ(tape.saved_bytes(), saved);
  EXPECT_EQ(memory().live_bytes, live + x.nbytes());
}

TEST(Tape, tells_who_asks_for_its_gradient_while_it_computes_it) {
  const Tensor x = ones({2});
  GradientTape tape;
  tape.watch(x);
  std::string text, of_watch;
  const Tensor y = custom_gradient(
      [&](const std::vector<Tensor>& in) {
        return CustomResult{in[0] * 2, [&](Tensor dy) {
                              text = message_of<TapeError>([&] { tape.gradient(dy, x); });
                              of_watch = message_of<TapeError>([&] { tape.watch(dy); });
                              return std::vector<Tensor>{dy * 2};
                            }};
      },
      {x});
  const std::string line = std::to_string(here().line() + 1);
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{2, 2}));
  EXPECT_HAS(text, "and the tape is computing it at tape_test.cpp:" + line);
  EXPECT_HAS(text, "asked     tape_test.cpp:" + line);
  EXPECT_EQ(text.find("failed"), text.npos) << text;
  EXPECT_EQ(of_watch.find("failed"), text.npos) << of_watch;
  EXPECT_HAS(message_of<TapeError>([&] { tape.gradient(y, x); }), "the tape gave it at");
}

TEST(Contract, L17_assign_keeps_the_old_value_for_the_tape) {
  Variable v(tensor({2.f, 3.f}));
  GradientTape tape;
  const Tensor y = square(v);
  v.assign(tensor({100.f, 100.f}));
  EXPECT_EQ(floats(tape.gradient(y, v)), (Floats{4, 6}));
  EXPECT_EQ(floats(v.read()), (Floats{100, 100}));
}

TEST(Tape, a_variable_read_twice_gathers_both_gradients) {
  Variable v(tensor(3.f));
  GradientTape tape;
  const Tensor a = square(v);
  v.assign(tensor(5.f));
  const Tensor b = square(v);
  EXPECT_EQ(tape.gradient(a + b, v).item<float>(), 6.f + 10.f);
}

TEST(Tape, only_trainable_variables_are_watched) {
  const Variable frozen(tensor(3.f), {.trainable = false});
  GradientTape tape;
  const Tensor y = square(frozen);
  EXPECT_FALSE(tape.gradient(y, frozen).defined());
}

TEST(Tape, unconnected_sources_give_empty_handles_or_zeros) {
  const Tensor x = tensor({1.f, 2.f});
  const Tensor other = tensor({1.f, 2.f, 3.f});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(other);
  const Tensor y = square(x);
  EXPECT_FALSE(tape.gradient(y, other).defined());
  EXPECT_EQ(floats(tape.gradient(y, other, {.zero_if_unconnected = true})), (Floats{0, 0, 0}));
}

TEST(Tape, each_gradient_is_a_tensor_of_its_own) {
  const Tensor a = ones({2}), b = ones({2});
  GradientTape tape;
  tape.watch(a);
  tape.watch(b);
  std::vector<Tensor> g = tape.gradient(a + b, {a, b, a});
  ASSERT_EQ(g.size(), 3u);
  EXPECT_NE(g[0].id(), g[1].id());
  g[0].dispose();
  EXPECT_EQ(floats(g[1]), (Floats{1, 1}));
  EXPECT_EQ(floats(g[2]), (Floats{1, 1}));
}

TEST(Tape, clones_carry_the_value) {
  const Tensor x = tensor(2.f);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x.clone());
  EXPECT_EQ(tape.gradient(y, x).item<float>(), 4.f);
}

TEST(Tape, stop_gradient_stops_it) {
  const Tensor x = tensor(2.f);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * stop_gradient(square(x));
  EXPECT_EQ(tape.gradient(y, x).item<float>(), 4.f);
}

TEST(Tape, output_gradient_seeds_the_pass) {
  const Tensor x = tensor({1.f, 2.f});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x);
  EXPECT_THROW(tape.gradient(y, x, {.output_gradient = ones({3})}), ShapeError);
  EXPECT_EQ(floats(tape.gradient(y, x, {.output_gradient = tensor({10.f, 100.f})})),
            (Floats{20, 400}));
}

TEST(Tape, nested_tapes_see_what_they_watch) {
  const Tensor x = tensor(2.f), y = tensor(3.f);
  GradientTape outer;
  outer.watch(x);
  Tensor z, inner_gradient;
  {
    GradientTape inner;
    inner.watch(y);
    z = x * y;
    inner_gradient = inner.gradient(z, y);
  }
  EXPECT_EQ(inner_gradient.item<float>(), 2.f);
  EXPECT_EQ(outer.gradient(z + inner_gradient, x).item<float>(), 4.f);
}

TEST(Tape, grad_and_value_and_grad) {
  const auto cube = [](const Tensor& x) { return x * x * x; };
  const Tensor x = tensor({1.f, 2.f});
  EXPECT_EQ(floats(grad(cube)(x)), (Floats{3, 12}));
  EXPECT_EQ(floats(grad([&](const Tensor& t) { return grad(cube)(t); })(x)), (Floats{6, 12}));
  const auto [value, gradient] = value_and_grad(cube)(x);
  EXPECT_EQ(floats(value), (Floats{1, 8}));
  EXPECT_EQ(floats(gradient), (Floats{3, 12}));
  const auto both = grad([](const Tensor& a, const Tensor& b) { return a * b; })(x, x + 1.0);
  EXPECT_EQ(floats(both[0]), (Floats{2, 3}));
  EXPECT_EQ(floats(both[1]), (Floats{1, 2}));
}

TEST(Tape, custom_gradient_replaces_the_real_one) {
  const Tensor x = tensor({1.f, -2.f});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const auto straight_through = [](const std::vector<Tensor>& in) {
    return CustomResult{cast(greater(in[0], 0), DType::float32),
                        [](Tensor dy) { return std::vector{std::move(dy) * 7.0}; }};
  };
  const Tensor y = custom_gradient(straight_through, {x});
  EXPECT_EQ(floats(y), (Floats{1, 0}));
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{7, 7}));
  const Tensor wrong = custom_gradient(
      [](const std::vector<Tensor>& in) {
        return CustomResult{square(in[0]), [](const Tensor&) { return std::vector<Tensor>{}; }};
      },
      {x});
  EXPECT_HAS(message_of<ValueError>([&] { tape.gradient(wrong, x); }),
             "custom_gradient: 0 gradients for 1 inputs");
}

TEST(Tape, custom_gradient_of_no_value_is_refused) {
  const auto no_value = [](const Tensor& x) {
    return custom_gradient(
        [](const std::vector<Tensor>&) {
          return CustomResult{{}, [](const Tensor& dy) { return std::vector{dy}; }};
        },
        {x});
  };
  const auto refused = [](auto&& call) {
    EXPECT_HAS(message_of<ValueError>(call),
               "custom_gradient: the value that was returned is an empty handle");
  };
  const Tensor x = tensor({1.f, -2.f});
  refused([&] { no_value(x); });
  refused([&] {
    GradientTape tape;
    tape.watch(x);
    no_value(x);
  });
  Function f = function("step", no_value);
  refused([&] { f(x); });
}

TEST(Tape, custom_gradient_counts_the_inputs_that_it_was_given) {
  const auto of_empty = [](const Tensor& x) {
    return custom_gradient(
        [](const std::vector<Tensor>& in) {
          return CustomResult{in[0] * 2.f, [](const Tensor& dy) { return std::vector{dy, dy}; }};
        },
        {x, Tensor()});
  };
  const Tensor x = tensor({1.f, -2.f});
  Function f = function("step", of_empty);
  EXPECT_HAS(message_of<ValueError>([&] { of_empty(x); }), "custom_gradient: input 1");
  EXPECT_HAS(message_of<ValueError>([&] { f(x); }), "custom_gradient: input 1");
}

TEST(Tape, gradients_are_born_at_the_users_line) {
  const Tensor x = tensor({1.f, 2.f});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(tanh(x));
  const int line = here().line() + 1;
  const Tensor g = tape.gradient(y, x);
  EXPECT_EQ(g.story().birth.site.line(), line);
  EXPECT_EQ(g.story().birth.op, "gradient of tanh");
}

TEST(Tape, bad_requests_are_errors) {
  const Tensor i = ones({2}, DType::int32);
  GradientTape tape;
  EXPECT_HAS(message_of<DtypeError>([&] { tape.watch(i); }), "watch: int32 has no gradient");
  Tensor gone = ones({1});
  gone.dispose();
  EXPECT_THROW(tape.watch(gone), DisposedError);
  EXPECT_THROW(tape.gradient(i, ones({1})), DtypeError);
  EXPECT_THROW(tape.gradient(Tensor(), ones({1})), ValueError);
}

TEST(Tape, gradients_of_overlapping_slices_add_up) {
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(slice(x, {0}, {3}) * 2) + sum(slice(x, {3}, {2}, {-2}) * 10) + sum(x);
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{3, 13, 3, 11}));
}

TEST(Tape, gradients_of_slices_add_up_where_they_lie) {
  const Tensor x = ones({64, 4096});
  GradientTape tape;
  tape.watch(x);
  Tensor loss = zeros({});
  for (int row = 0; row < 64; ++row) loss = loss + sum(square(x[row]));
  reset_peak();
  const std::size_t before = memory().live_bytes;
  const Tensor gradient = tape.gradient(loss, x);
  EXPECT_LT(memory().peak_bytes - before, x.nbytes() + x.nbytes() / 8);
  EXPECT_EQ(sum(gradient).item<float>(), 2 * 64 * 4096);
}

TEST(Tape, whose_gradient_failed_says_so) {
  const Tensor x = ones({1 << 18});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(exp(x) * sin(x));
  EXPECT_THROW(tape.gradient(y, Tensor()), ValueError);  // which uses nothing up
  trim_pool();
  set_memory_budget(memory().live_bytes + 8192);
  const int line = here().line() + 1;
  EXPECT_THROW(tape.gradient(y, x), OutOfMemoryError);
  set_memory_budget(0);
  const std::string text = message_of<TapeError>([&] { tape.gradient(y, x); });
  EXPECT_HAS(text, "and the tape failed to at tape_test.cpp:" + std::to_string(line));
  EXPECT_HAS(text, "which failed; what it had saved was freed");
}

TEST(Tape, refuses_a_disposed_gradient_of_the_users) {
  const Tensor x = ones({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = custom_gradient(
      [](const std::vector<Tensor>& in) {
        return CustomResult{in[0] * 2, [](Tensor dy) {
                              Tensor gone = dy * 2;
                              gone.dispose();
                              return std::vector<Tensor>{gone};
                            }};
      },
      {x});
  EXPECT_HAS(message_of<DisposedError>([&] { tape.gradient(y, x); }), "custom_gradient: ");
  EXPECT_THROW(custom_gradient({}, {x}), ValueError);
}

TEST(Tape, an_eager_training_loop_keeps_memory_flat) {
  set_seed(1);
  Variable w(random::normal({8, 8}), {.name = "w"});
  const Tensor x = random::normal({16, 8});
  const auto step = [&] {
    tidy("step", [&] {
      GradientTape tape;
      const Tensor loss = mean(square(tanh(matmul(x, w)) - x));
      w.assign(w - tape.gradient(loss, w) * 0.1);
    });
  };
  step();
  const MemoryInfo first = memory();
  for (int i = 0; i < 200; ++i) step();
  const MemoryInfo last = memory();
  EXPECT_EQ(last.tensors, first.tensors);
  EXPECT_EQ(last.live_bytes, first.live_bytes);
  EXPECT_EQ(last.reserved_bytes, first.reserved_bytes);
}

TEST(Tape, made_in_a_trace_is_refused_outside_of_it) {
  std::optional<GradientTape> left;
  Function f = function("f", [&](Tensor x) {
    left.emplace();
    return x * 2.f;
  });
  f(tensor(1.f));
  const Tensor x = tensor(2.f);
  left->watch(x);
  const Tensor y = x * x;
  EXPECT_HAS(message_of<TapeError>([&] { left->gradient(y, x); }),
             "was made while a function was traced, and records only there");
}

}  // namespace
}  // namespace tenure
