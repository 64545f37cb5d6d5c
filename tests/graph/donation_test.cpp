// L27: donate() gives a tensor's bytes away.
#include <gtest/gtest.h>

#include "support/expect.h"

namespace tenure::testing {
namespace {

const float* bytes_of(const Tensor& x) { return x.view<float>().data(); }

TEST(L27, a_result_takes_the_bytes) {
  Function f = function("double", [](Tensor x) { return x * 2.f; });
  Tensor x = tensor({1.f, 2.f, 3.f});
  const float* bytes = bytes_of(x);
  const Tensor y = f(donate(x));
  EXPECT_EQ(floats(y), (Floats{2, 4, 6}));
  EXPECT_EQ(bytes_of(y), bytes);
  EXPECT_TRUE(x.is_disposed());
}

TEST(L27, a_result_takes_the_bytes_that_its_step_reads_through_a_view) {
  Function f = function("rows", [](Tensor x) { return softmax(reshape(x, {2, 2})); });
  const Tensor x = tensor({1.f, 1.f, 2.f, 2.f});
  const float* bytes = bytes_of(x);
  const Tensor y = f(donate(x));
  EXPECT_EQ(floats(y), (Floats{0.5, 0.5, 0.5, 0.5}));
  EXPECT_EQ(bytes_of(y), bytes);
}

TEST(L27, reading_it_afterwards_names_the_call_that_took_it) {
  Function f = function("step", [](Tensor x) { return x + 1.f; });
  const Tensor x = tensor({1.f}).set_name("x");
  const int line = here().line() + 1;
  f(donate(x));
  const std::string text = message_of<DisposedError>([&] { x + 1.f; });
  EXPECT_HAS(text, "donation_test.cpp:" + std::to_string(line));
  EXPECT_HAS(text, "donated");
  EXPECT_HAS(text, "function \"step\"");
  EXPECT_EQ(x.story().death->cause, Cause::donated);
}

TEST(L27, shared_bytes_are_refused_and_nothing_is_harmed) {
  Function f = function("step", [](Tensor x) { return x + 1.f; });
  const Tensor x = tensor({1.f, 2.f});
  {
    const Tensor view = reshape(x, {2, 1}).set_name("view");
    const std::string text = message_of<ValueError>([&] { f(donate(x)); });
    EXPECT_HAS(text, "donate: argument 0, float32 [2], does not own its bytes alone");
    EXPECT_HAS(text, "\"view\"");
  }
  const Variable v(x);
  message_of<ValueError>([&] { f(donate(x)); });
  EXPECT_EQ(floats(x), (Floats{1, 2}));
  Function two = function("two", [](Tensor a, Tensor b) { return std::pair(a + b, b); });
  const Tensor y = tensor({1.f});
  EXPECT_HAS(message_of<ValueError>([&] { two(donate(y), y); }),
             "donate: argument 0 is also argument 1");
  EXPECT_EQ(floats(y), Floats{1});
}

TEST(L27, a_tensor_is_given_once_in_a_call) {
  Function sum_of = function("sum", [](Tensor a, Tensor b) { return a + b; });
  const Tensor x = tensor({1.f, 2.f});
  EXPECT_HAS(message_of<ValueError>([&] { sum_of(donate(x), donate(x)); }),
             "donate: argument 0 is also argument 1, given twice");
  Function around = function("around", [&](Tensor a) { return sum_of(donate(a), donate(a)); });
  EXPECT_HAS(message_of<ValueError>([&] { around(x); }), "given twice");
  EXPECT_EQ(floats(x), (Floats{1, 2}));
}

TEST(L27, a_refused_donation_ends_none_of_them) {
  Function both = function("both", [](Tensor a, Tensor b) { return std::pair(a + b, a * b); });
  const Tensor x = tensor({1.f, 2.f}), y = tensor({3.f, 4.f});
  {
    const auto span = y.view<float>();
    EXPECT_HAS(message_of<ValueError>([&] { both(donate(x), donate(y)); }), "for span");
  }
  EXPECT_EQ(floats(x + y), (Floats{4, 6}));
  both(donate(x), donate(y));
  EXPECT_TRUE(x.is_disposed() && y.is_disposed());
}

TEST(L27, without_a_result_of_its_size_it_is_refused) {
  Function f = function("total", [](Tensor x) { return sum(x); });
  const Tensor x = tensor({1.f, 2.f});
  const std::string text = message_of<ValueError>([&] { f(donate(x)); });
  EXPECT_HAS(text, "donate: argument 0 is float32 [2], and no result of function \"total\"");
  EXPECT_HAS(text, "it gives float32 []");
  EXPECT_EQ(floats(x), (Floats{1, 2}));
  EXPECT_EQ(floats(f(x)), Floats{3});
  Function two = function("two", [](Tensor a, Tensor b) { return a + b; });
  const Tensor y = tensor({3.f, 4.f});
  EXPECT_HAS(message_of<ValueError>([&] { two(donate(x), donate(y)); }), "argument 1");
}

TEST(L27, it_is_judged_on_the_graph_as_written) {
  // The result is a constant once it is optimised; as written it has x's size.
  Function f = function("constant", [](Tensor x) {
    const Tensor unused = x * 2.f;
    return zeros({2});
  });
  const Tensor x = tensor({1.f, 2.f});
  EXPECT_EQ(floats(f(donate(x))), (Floats{0, 0}));
  EXPECT_TRUE(x.is_disposed());
}

TEST(L27, bytes_that_are_still_needed_are_not_overwritten) {
  Function f = function("late", [](Tensor x, Tensor y) {
    const Tensor product = matmul(x, y);
    return product + matmul(x, product);
  });
  const Tensor y = tensor({1.f, 2.f, 3.f, 4.f}, {2, 2});
  const auto make = [] { return tensor({1.f, 1.f, 0.f, 1.f}, {2, 2}); };
  const Floats expected = floats(f(make(), y));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(floats(f(donate(make()), y)), expected);
}

TEST(L27, containers_are_donated_whole) {
  Function f = function("both", [](std::vector<Tensor> x, Tensor y) {
    return std::vector<Tensor>{x[0] + y, x[1] * y};
  });
  const std::vector<Tensor> x{tensor({1.f}), tensor({2.f})};
  const std::vector<Tensor> y = f(donate(x), tensor({3.f}));
  EXPECT_EQ(floats(y[0]), Floats{4});
  EXPECT_EQ(floats(y[1]), Floats{6});
  EXPECT_TRUE(x[0].is_disposed());
  EXPECT_TRUE(x[1].is_disposed());
}

TEST(L27, a_call_that_fails_has_taken_nothing) {
  Function f = function("rows", [](Tensor x, Tensor i) {
    const Tensor doubled = x * 2.f;
    return gather(doubled, i) + 1.f;
  });
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f});
  const float* bytes = bytes_of(x);
  EXPECT_HAS(message_of<ValueError>([&] { f(donate(x), tensor({0, 1, 2, 9})); }), "9");
  EXPECT_EQ(floats(x), (Floats{1, 2, 3, 4}));
  const Tensor y = f(donate(x), tensor({0, 1, 2, 3}));
  EXPECT_EQ(floats(y), (Floats{3, 5, 7, 9}));
  EXPECT_EQ(bytes_of(y), bytes);
  EXPECT_TRUE(x.is_disposed());
  // The last step is the one that fails.
  Function last = function("last", [](Tensor a, Tensor i) { return gather(a * 2.f, i); });
  const Tensor z = tensor({1.f, 2.f});
  message_of<ValueError>([&] { last(donate(z), tensor({0, 5})); });
  EXPECT_EQ(floats(z), (Floats{1, 2}));
  EXPECT_EQ(floats(last(donate(z), tensor({0, 1}))), (Floats{2, 4}));
  EXPECT_TRUE(z.is_disposed());
}

TEST(L27, what_is_given_away_in_a_trace_is_gone_there) {
  Function twice = function("twice", [](Tensor x) { return x * 2.f; });
  int line = 0;
  Function around = function("around", [&](Tensor x) {
    const Tensor y = x + 1.f;
    line = here().line() + 1;
    const Tensor z = twice(donate(y));
    return z + y;
  });
  const std::string text = message_of<DisposedError>([&] { around(ones({4})); });
  EXPECT_HAS(text, "died      donation_test.cpp:" + std::to_string(line));
  EXPECT_HAS(text, "function \"twice\" took it");
  EXPECT_HAS(text, "donate a copy (x + 0)");
  EXPECT_TRUE(text.find("storage") == text.npos) << text;
}

TEST(L27, a_tape_keeps_what_it_needs_of_a_donated_tensor) {
  Function f = function("square", [](Tensor x) { return x * x; });
  const Tensor x = tensor({3.f});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(donate(x));
  EXPECT_TRUE(x.is_disposed());
  EXPECT_EQ(floats(tape.gradient(y, x)), Floats{6});
}

}  // namespace
}  // namespace tenure::testing
