// checkpoint: a tape keeps the arguments, and the backward pass runs the function again.
#include <gtest/gtest.h>

#include "support/expect.h"

namespace tenure::testing {
namespace {

Tensor deep(Tensor x, const Variable& w) {
  for (int i = 0; i < 6; ++i) x = tanh(x * w) + x;
  return x;
}

TEST(Checkpoint, gives_the_same_gradients_and_keeps_less) {
  Variable w(full({1000}, 0.5f), {.name = "w"});
  const Tensor x = linspace(-1, 1, 1000);
  Function block = checkpoint("block", [&](Tensor y) { return deep(y, w); });
  GradientTape plain, saving;
  plain.watch(x);
  saving.watch(x);
  const Tensor a = deep(x, w);
  const std::size_t kept = plain.saved_bytes();
  const Tensor b = block(x);
  EXPECT_EQ(floats(b), floats(a));
  EXPECT_LT(saving.saved_bytes() - kept, 3 * 4000u);  // x and w, beside what the first call kept
  GradientTape only;
  only.watch(x);
  const Tensor c = block(x);
  EXPECT_LE(only.saved_bytes(), 2 * 4000u);
  const std::vector<Tensor> expected = plain.gradient(a, {x, w});
  const std::vector<Tensor> found = only.gradient(c, {x, w});
  EXPECT_EQ(floats(found[0]), floats(expected[0]));
  EXPECT_EQ(floats(found[1]), floats(expected[1]));
}

TEST(Checkpoint, survives_disposed_arguments_and_assigned_variables) {
  Variable w(tensor({3.f}));
  Function block = checkpoint([&](Tensor y) { return y * y * w; });
  Tensor x = tensor({2.f});
  GradientTape tape;
  tape.watch(x);
  Tensor y = block(x);
  const Source source = x;
  w.assign(tensor({100.f}));
  x.dispose();
  const std::vector<Tensor> g = tape.gradient(y, {source, w});
  EXPECT_EQ(floats(g[0]), Floats{12});
  EXPECT_EQ(floats(g[1]), Floats{4});
}

TEST(Checkpoint, draws_the_same_random_numbers_again) {
  const auto noisy = [](Tensor x) { return dropout(x * random::normal({50}), 0.5) * x; };
  const auto gradient = [](auto& fn, Tensor x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(sum(fn(x)), x);
  };
  Function block = checkpoint("noisy", noisy);
  const Tensor x = linspace(1, 2, 50);
  set_seed(11);
  const Floats expected = floats(gradient(noisy, x)), after = floats(random::normal({3}));
  set_seed(11);
  EXPECT_EQ(floats(gradient(block, x)), expected);
  EXPECT_EQ(floats(random::normal({3})), after);
  Function traced = function("traced", [&](Tensor y) { return gradient(block, y); });
  set_seed(11);
  EXPECT_EQ(floats(traced(x)), expected);
  EXPECT_EQ(floats(random::normal({3})), after);
}

TEST(Checkpoint, the_plan_shows_what_it_saves) {
  Variable w(full({10000}, 0.5f));
  const auto step = [&](auto&& block, Tensor x) {
    GradientTape tape;
    for (int i = 0; i < 6; ++i) x = block(x);
    return tape.gradient(sum(x), w);
  };
  const auto body = [&](Tensor y) { return deep(y, w); };
  Function block = checkpoint("block", body);
  Function saving = function("saving", [&](Tensor x) { return step(block, x); });
  Function plain = function("plain", [&](Tensor x) { return step(body, x); });
  const Tensor x = linspace(-1, 1, 10000);
  const Floats expected = floats(plain(x)), found = floats(saving(x));
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4f);
  EXPECT_LT(2 * saving.traces()[0].arena_bytes, plain.traces()[0].arena_bytes);
}

TEST(Checkpoint, has_a_second_derivative) {
  const auto cube = [](Tensor x) { return x * x * x; };
  Function block = checkpoint("cube", cube);
  const auto second = [&](Tensor x) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor first = inner.gradient(sum(block(x)), x);
    return outer.gradient(sum(first), x);
  };
  const Tensor x = tensor({2.f, 3.f});
  EXPECT_EQ(floats(second(x)), (Floats{12, 18}));
  Function traced = function("second", second);
  EXPECT_EQ(floats(traced(x)), (Floats{12, 18}));
}

TEST(Checkpoint, assigns_variables_once) {
  Variable count(zeros({}));
  Function block = checkpoint([&](Tensor x) {
    count.assign(count + 1.f);
    return x * x;
  });
  const Tensor x = tensor({3.f});
  const auto gradient = [&](Tensor y) {
    GradientTape tape;
    tape.watch(y);
    return tape.gradient(block(y), y);
  };
  EXPECT_EQ(floats(gradient(x)), Floats{6});
  EXPECT_EQ(count.read().item<float>(), 1);
  Function traced = function("traced", gradient);
  EXPECT_EQ(floats(traced(x)), Floats{6});
  EXPECT_EQ(count.read().item<float>(), 2);
}

// The bytes of a donated argument may hold the result, and the gradient needs the argument.
TEST(Checkpoint, L14_keeps_what_is_donated_to_it) {
  Function block = checkpoint("block", [](Tensor x) { return tanh(x) * x; });
  const auto gradients = [&](bool gives) {
    GradientTape outer({.persistent = true});
    GradientTape tape;
    Tensor x = full({1000}, 0.7f);
    const Tensor seen = x.clone();
    outer.watch(x);
    tape.watch(x);
    const Tensor y = gives ? block(donate(gives ? Tensor(x + 0.f) : x)) : block(x + 0.f);
    const Tensor first = tape.gradient(y, x);
    return std::pair(floats(first), floats(outer.gradient(first, x)));
  };
  EXPECT_EQ(gradients(true), gradients(false));
  GradientTape tape;
  Tensor x = full({4}, 0.7f);
  tape.watch(x);
  const Tensor y = block(donate(x));
  EXPECT_TRUE(x.is_disposed());
  EXPECT_NEAR(floats(tape.gradient(y, x))[0], std::tanh(0.7) + 0.7 / std::pow(std::cosh(0.7), 2),
              1e-6);
  Tensor small = ones({4});
  Function narrows = checkpoint("narrows", [](Tensor z) { return sum(z); });
  GradientTape another;
  EXPECT_HAS(message_of<ValueError>([&] { narrows(donate(small)); }),
             "no result of function \"narrows\"");
  EXPECT_FALSE(small.is_disposed());
}

}  // namespace
}  // namespace tenure::testing
