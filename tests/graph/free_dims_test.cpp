// Free dimensions: one trace for many sizes, results as of eager code, and clear errors.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "support/expect.h"

namespace tenure::testing {
namespace {

constexpr std::int64_t kSizes[] = {7, 2, 64, 1, 0, 7, 3, 1000};

template <class T>
bool same_elements(const Tensor& a, const Tensor& b) {
  const TensorSpan<T> x = a.view<T>(), y = b.view<T>();
  return x.size() == y.size() &&
         (x.size() == 0 || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

void expect_same(const Tensor& traced, const Tensor& eager) {
  EXPECT_EQ(traced.shape(), eager.shape());
  ASSERT_EQ(traced.dtype(), eager.dtype());
  const bool same = eager.dtype() == DType::int32     ? same_elements<std::int32_t>(traced, eager)
                    : eager.dtype() == DType::int64   ? same_elements<std::int64_t>(traced, eager)
                    : eager.dtype() == DType::boolean ? same_elements<bool>(traced, eager)
                                                      : same_elements<float>(traced, eager);
  EXPECT_TRUE(same) << traced << "\n" << eager;
}

// Calls fn eagerly and traced on [n, 6] for many n. It is traced at three sizes that stand for all
// (four if a number goes with the square of the size), and at 0 and 1.
void expect_as_eager(const char* name, const std::function<Tensor(Tensor)>& fn,
                     int most_calls = 3 + 2) {
  SCOPED_TRACE(name);
  int calls = 0;
  Function f = function(name, [&](Tensor x) {
    ++calls;
    return fn(x);
  });
  f.input({dyn, 6});
  for (const std::int64_t n : kSizes) {
    SCOPED_TRACE(n);
    const Tensor x = random::normal({n, 6});
    set_seed(5);
    const Tensor eager = fn(x);
    set_seed(5);
    expect_same(f(x), eager);
    set_seed(5);
    expect_same(f(x), eager);
  }
  EXPECT_LE(calls, most_calls);
}

TEST(FreeDims, one_trace_serves_many_sizes) {
  int calls = 0;
  const Tensor w = random::normal({32, 4});
  const auto layer = [&](const Tensor& x) { return tanh(matmul(x, w)); };
  Function f = function("layer", [&](Tensor x) {
    ++calls;
    return layer(x);
  });
  f.input({dyn, 32});
  for (const int n : {2, 7, 64, 100, 7}) {
    const Tensor x = random::normal({n, 32});
    expect_same(f(x), layer(x));
  }
  EXPECT_EQ(calls, 3);
  const std::vector<TraceInfo> traces = f.traces();
  ASSERT_EQ(traces.size(), 4u);
  EXPECT_EQ(traces[0].signature, "float32 [7, 32]");
  EXPECT_EQ(traces[0].hits, 1u);
  EXPECT_EQ(traces[1].signature, "float32 [100, 32]");
  EXPECT_EQ(traces[2].signature, "float32 [64, 32]");
  EXPECT_EQ(traces[3].signature, "float32 [2, 32]");
  for (const TraceInfo& trace : traces) EXPECT_TRUE(trace.shared);
  EXPECT_EQ(f.captures().size(), 1u);
}

TEST(FreeDims, operations_give_what_eager_code_gives) {
  const Tensor w = random::normal({6, 6}), b = random::normal({6});
  const Tensor table = random::normal({5, 3});
  expect_as_eager("chain", [](const Tensor& x) { return tanh(x) * sigmoid(x) + relu(x); });
  expect_as_eager("dense", [&](const Tensor& x) { return matmul(x, w) + b; });
  expect_as_eager("mean", [](const Tensor& x) { return mean(x); });
  expect_as_eager("mean of rows", [](const Tensor& x) { return mean(x, {0}); });
  expect_as_eager("mean of columns", [](const Tensor& x) { return mean(x, {1}); });
  expect_as_eager("softmax", [](const Tensor& x) { return softmax(x); });
  expect_as_eager("softmax of rows", [](const Tensor& x) { return softmax(x, 0); });
  expect_as_eager("layer_norm", [](const Tensor& x) { return layer_norm(x); });
  expect_as_eager("variance", [](const Tensor& x) { return variance(x, {0}); });
  expect_as_eager("reshape", [](const Tensor& x) { return reshape(x, {-1, 3}); });
  expect_as_eager("flatten", [](const Tensor& x) { return reshape(x, {-1}); });
  expect_as_eager("parts", [](const Tensor& x) { return reshape(x, {-1, 2, 3}) * 2.f; });
  expect_as_eager("transpose", [](const Tensor& x) { return transpose(x); });
  expect_as_eager("gram", [](const Tensor& x) { return matmul(x, transpose(x)); });
  expect_as_eager("concat", [](const Tensor& x) { return concat({x, x * 2.f, ones({3, 6})}, 0); });
  expect_as_eager("stack", [](const Tensor& x) { return stack({x, -x}, 0); });
  expect_as_eager("broadcast", [](const Tensor& x) {
    return expand_dims(sum(x, {1}), 1) * ones({1, 4}) +
           zeros_like(sum(x, {1}, {.keep_dims = true}));
  });
  expect_as_eager("one_hot", [](const Tensor& x) { return one_hot(arg_max(x, 1), 6); });
  expect_as_eager("gather", [&](const Tensor& x) {
    return gather(table, cast(greater(x, 0.f), DType::int32));
  });
  expect_as_eager("like", [](const Tensor& x) { return zeros_like(x) + ones_like(x) * x; });
  expect_as_eager("cumsum", [](const Tensor& x) { return cumsum(x, 0); });
  expect_as_eager("squeeze", [](const Tensor& x) { return squeeze(expand_dims(x, 1)); });
  expect_as_eager("reverse", [](const Tensor& x) { return reverse(x, {0}); });
  expect_as_eager("literals", [](const Tensor& x) {
    return x * tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}) + 1.5f;
  });
  expect_as_eager("dropout", [](const Tensor& x) { return dropout(dropout(x, 0.5), 0.25) + 1.f; });
  const auto noise = [](const Tensor& x) {
    return dropout(matmul(x, transpose(x)), 0.5) + random::normal({1}) + dropout(sum(x, {1}), 0.5);
  };
  expect_as_eager("noise", noise, 4 + 2);
}

TEST(FreeDims, convolutions_of_a_batch) {
  const Tensor filter = random::normal({3, 3, 2, 4});
  const auto net = [&](const Tensor& x) {
    const Tensor y = relu(conv2d(x, filter, {.strides = {2, 2}, .padding = Padding::same}));
    return mean(max_pool(y, {2, 2}), {1, 2});
  };
  int calls = 0;
  Function f = function("net", [&](Tensor x) {
    ++calls;
    return net(x);
  });
  f.input({dyn, 8, 8, 2});
  for (const int n : {3, 1, 5, 8}) {
    const Tensor x = random::normal({n, 8, 8, 2});
    expect_same(f(x), net(x));
  }
  EXPECT_LE(calls, 4);
}

// A size along which a window strides: the sizes at which its count is whole have one trace.
TEST(FreeDims, convolutions_along_a_free_dimension) {
  const Tensor filter = random::normal({3, 2, 4});
  const auto net = [&](const Tensor& x) {
    return conv1d(x, filter, {.strides = {2}, .padding = Padding::same});
  };
  Function f = function("net", [&](Tensor x) { return net(x); });
  f.input({2, dyn, 2});
  for (const int n : {8, 3, 10, 7, 2, 33, 64}) {
    const Tensor x = random::normal({2, n, 2});
    expect_same(f(x), net(x));
  }
}

TEST(FreeDims, slices_that_small_sizes_cut_short) {
  const auto slices = [](const Tensor& x) {
    const Tensor first = strided_slice(x, {0}, {10}, {1});
    const Tensor last = strided_slice(x, {-4}, {0}, {1}, {.end_mask = 1});
    const Tensor every = strided_slice(x, {0}, {0}, {3}, {.end_mask = 1});
    return concat({first, last, every, strided_slice(x, {0}, {0}, {2}, {.end_mask = 1})}, 0);
  };
  Function f = function("slices", [&](Tensor x) { return slices(x); });
  f.input({dyn, 2});
  for (const int n : {100, 12, 10, 9, 6, 5, 4, 3, 2, 1, 0, 11, 13}) {
    SCOPED_TRACE(n);
    const Tensor x = random::normal({n, 2});
    expect_same(f(x), slices(x));
  }
}

TEST(FreeDims, an_index_out_of_range_is_found_at_each_size) {
  Function f = function("third", [](Tensor x) { return x[3] + x[-2]; });
  f.input({dyn, 2});
  const Tensor x = random::normal({5, 2});
  expect_same(f(x), x[3] + x[3]);
  EXPECT_HAS(message_of<ShapeError>([&] { f(zeros({3, 2})); }), "index: 3 out of range for [3, 2]");
  EXPECT_HAS(message_of<ShapeError>([&] { f(zeros({0, 2})); }), "out of range");
  expect_same(f(x), x[3] + x[3]);
}

TEST(FreeDims, two_of_them) {
  const Tensor w = random::normal({4, 4});
  const auto attend = [&](const Tensor& x) {  // batch, time, 4
    const Tensor q = matmul(x, w);
    const Tensor weights = dropout(softmax(matmul(q, transpose(x, {0, 2, 1}))), 0.25);
    const Tensor y = layer_norm(matmul(weights, x) + x);
    return concat({reshape(dropout(y, 0.5), {-1, 4}), reshape(mean(y, {1}), {-1, 4})}, 0);
  };
  int calls = 0;
  Function f = function("attend", [&](Tensor x) {
    ++calls;
    return attend(x);
  });
  f.input({dyn("batch"), dyn("time"), 4});
  const auto check = [&](int batch, int time) {
    SCOPED_TRACE(std::to_string(batch) + ", " + std::to_string(time));
    const Tensor x = random::normal({batch, time, 4});
    set_seed(9);
    const Tensor eager = attend(x);
    set_seed(9);
    expect_same(f(x), eager);
  };
  check(2, 3);
  EXPECT_EQ(calls, 10) << "a grid of degree 2, and one more";
  check(3, 2);
  check(7, 7);
  check(64, 5);
  EXPECT_EQ(calls, 10);
  check(1, 5);
  EXPECT_EQ(calls, 14) << "time alone is free where the batch is 1";
  check(1, 9);
  check(1, 17);
  EXPECT_EQ(calls, 14);
  check(0, 4);
  check(3, 1);
  check(1, 1);
}

TEST(FreeDims, three_of_them) {
  const auto sums = [](const Tensor& a, const Tensor& b) {
    const Tensor joined = concat({a, transpose(b)}, 0);
    return std::vector<Tensor>{joined, matmul(a, b), mean(joined), reshape(a, {-1}) * 2.f};
  };
  Function f = function("sums", [&](Tensor a, Tensor b) { return sums(a, b); });
  f.input({dyn("a"), dyn("b")}).input({dyn("b"), dyn("c")});
  for (const auto& [a, b, c] : {std::tuple{2, 3, 4}, {5, 5, 5}, {1, 3, 2}, {2, 1, 1}, {9, 2, 6}}) {
    const Tensor x = random::normal({a, b}), y = random::normal({b, c});
    const std::vector<Tensor> traced = f(x, y), eager = sums(x, y);
    for (std::size_t i = 0; i < eager.size(); ++i) expect_same(traced[i], eager[i]);
  }
}

TEST(FreeDims, a_training_step) {
  struct Mlp {
    Variable w1{random::normal({4, 16}) * 0.3f, {.name = "w1"}}, b1{zeros({16}), {.name = "b1"}};
    Variable w2{random::normal({16, 3}) * 0.3f, {.name = "w2"}}, b2{zeros({3}), {.name = "b2"}};
    Tensor step(const Tensor& x, const Tensor& labels) {
      GradientTape tape;
      const Tensor hidden = dropout(relu(matmul(x, w1) + b1), 0.25);
      const Tensor logits = matmul(hidden, w2) + b2;
      const Tensor loss = -mean(sum(log_softmax(logits) * one_hot(labels, 3), {1}));
      const std::vector<Tensor> g = tape.gradient(loss, {w1, b1, w2, b2});
      w1.assign(w1 - g[0] * 0.1f);
      b1.assign(b1 - g[1] * 0.1f);
      w2.assign(w2 - g[2] * 0.1f);
      b2.assign(b2 - g[3] * 0.1f);
      return loss;
    }
  };
  set_seed(1);
  Mlp eager;
  set_seed(1);
  Mlp traced;
  int calls = 0;
  Function step = function("train", [&](Tensor x, Tensor labels) {
    ++calls;
    return traced.step(x, labels);
  });
  step.input({dyn, 4}).input({dyn});
  for (const int n : {8, 3, 8, 1, 5, 64, 2}) {
    SCOPED_TRACE(n);
    const Tensor x = random::normal({n, 4});
    const Tensor labels = cast(random::uniform({n}, {.low = 0, .high = 3}), DType::int32);
    set_seed(static_cast<std::uint64_t>(n));
    const Tensor expected = eager.step(x, labels);
    set_seed(static_cast<std::uint64_t>(n));
    expect_same(step(x, labels), expected);
    expect_same(traced.w1.read(), eager.w1.read());
    expect_same(traced.b1.read(), eager.b1.read());
    expect_same(traced.w2.read(), eager.w2.read());
    expect_same(traced.b2.read(), eager.b2.read());
  }
  EXPECT_EQ(calls, 3 + 1);
}

TEST(FreeDims, a_tape_around_and_functions_inside) {
  Function inner = function("inner", [](Tensor x) { return x * x; });
  Function outer = function("outer", [&](Tensor x) { return sum(inner(x), {0}); });
  outer.input({dyn, 2});
  for (const int n : {2, 3, 5}) {
    const Tensor x = random::normal({n, 2});
    expect_same(outer(x), sum(x * x, {0}));
    GradientTape tape;
    tape.watch(x);
    expect_same(tape.gradient(sum(outer(x)), x), x * 2.f);
  }
  EXPECT_TRUE(inner.traces().empty()) << "sizes that stand for others are not kept";
}

TEST(FreeDims, functions_inside_have_free_dimensions_too) {
  Function inner = function("inner", [](Tensor x, Tensor y) { return matmul(x, y) + mean(x); });
  inner.input({dyn("a"), dyn("b")}).input({dyn("b"), 3});
  Function outer = function("outer", [&](Tensor x, Tensor y) {
    return sum(inner(concat({x, x}, 0), y), {0}) * inner(y, ones({3, 3}))[1];
  });
  outer.input({dyn, 4}).input({4, 3});
  for (const int n : {2, 5, 1, 3}) {
    const Tensor x = random::normal({n, 4}), y = random::normal({4, 3});
    const Tensor twice = concat({x, x}, 0);
    expect_same(outer(x, y),
                sum(matmul(twice, y) + mean(twice), {0}) * (matmul(y, ones({3, 3})) + mean(y))[1]);
  }
}

TEST(FreeDims, calls_retain_nothing_but_their_results) {
  const Tensor w = random::normal({4, 4});
  Function f = function("step", [&](Tensor x) { return sum(tanh(matmul(x, w)), {0}); });
  f.input({dyn, 4});
  const Tensor x = random::normal({8, 4}), y = random::normal({9, 4}), z = random::normal({1, 4});
  const auto call_all = [&] {
    f(x);
    f(y);
    f(z);
  };
  call_all();
  const MemoryInfo before = memory();
  for (int i = 0; i < 20; ++i) call_all();
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().storages, before.storages);
  EXPECT_EQ(memory().live_bytes, before.live_bytes);
}

TEST(FreeDims, other_arguments_and_plain_values_have_templates_of_their_own) {
  int calls = 0;
  Function f = function("power", [&](Tensor x, Tensor y, int power) {
    ++calls;
    for (int i = 1; i < power; ++i) x = x * x;
    return sum(x) + y;
  });
  f.input(0, {dyn});
  for (const int n : {2, 3, 4}) f(ones({n}), ones({2}), 2);
  EXPECT_EQ(calls, 3);
  for (const int n : {2, 3, 4}) f(ones({n}), ones({2}), 3);
  EXPECT_EQ(calls, 6);
  f(ones({9}), ones({3}), 3);
  EXPECT_EQ(calls, 9);
}

TEST(FreeDims, plans_are_dropped_without_a_word_and_made_again) {
  std::vector<std::string> warnings;
  set_warning_sink([&](std::string_view text) { warnings.emplace_back(text); });
  int calls = 0;
  Function f = function("many",
                        [&](Tensor x) {
                          ++calls;
                          return x + 1.f;
                        },
                        {.most_traces = 3});
  f.input({dyn});
  for (int n = 2; n <= 9; ++n) EXPECT_EQ(f(zeros({n})).shape(), Shape{n});
  EXPECT_EQ(f(zeros({2})).shape(), Shape{2});
  EXPECT_EQ(calls, 3);
  ASSERT_EQ(f.traces().size(), 3u);
  EXPECT_EQ(f.traces()[0].signature, "float32 [2]");
  EXPECT_EQ(f.traces()[1].signature, "float32 [9]");
  EXPECT_TRUE(warnings.empty());
  set_warning_sink({});
}

TEST(FreeDims, several_threads_call_at_several_sizes) {
  Function f = function("shared", [](Tensor x) { return sum(tanh(x), {0}); });
  f.input({dyn, 3});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&f, t] {
      for (int n = 2; n < 20; ++n) {
        const Tensor x = full({n + t, 3}, 0.5f);
        EXPECT_EQ(floats(f(x)), floats(sum(tanh(x), {0})));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Errors.

TEST(FreeDims, reading_a_free_size_is_an_error_that_names_the_line) {
  int line = 0;
  Function f = function("reads", [&](Tensor x) {
    const Tensor y = (x + 1.f).set_name("y");
    line = here().line();
    return y * static_cast<float>(y.dim(0));
  });
  f.input({dyn, 2});
  const std::string text = message_of<InaccessibleTensorError>([&] { f(zeros({4, 2})); });
  EXPECT_HAS(text,
             "dim: dimension 0 of the tensor is free, and has no size while function \"reads\" is "
             "traced: float32 [?, 2] \"y\"");
  EXPECT_HAS(text, "used      free_dims_test.cpp:" + std::to_string(line + 1));
  EXPECT_HAS(text, "reshape(x, {-1, 32})");
  EXPECT_TRUE(f.traces().empty());
  message_of<InaccessibleTensorError>([&] { f(zeros({1, 2})); });
}

TEST(FreeDims, every_way_to_read_one_is_refused) {
  const auto refused = [](const std::function<void(const Tensor&)>& read) {
    Function f = function("reads", [&](Tensor x) {
      read(x * 2.f);
      return x;
    });
    f.input({dyn, 2});
    return message_of<InaccessibleTensorError>([&] { f(zeros({4, 2})); });
  };
  EXPECT_HAS(refused([](const Tensor& x) { (void)x.dim(0); }), "dim: dimension 0");
  EXPECT_HAS(refused([](const Tensor& x) { (void)x.dim(-2); }), "dim: dimension 0");
  EXPECT_HAS(refused([](const Tensor& x) { (void)x.numel(); }), "numel: dimension 0");
  EXPECT_HAS(refused([](const Tensor& x) { (void)x.nbytes(); }), "nbytes: dimension 0");
  EXPECT_HAS(refused([](const Tensor& x) { (void)x.shape(); }), "shape: dimension 0");
  EXPECT_HAS(refused([](const Tensor& x) { (void)x.shape(); }), "rank() and dim() of the other");
  // Sizes that come from it, which only the comparison of two traces tells.
  EXPECT_HAS(refused([](const Tensor& x) { (void)concat({x, ones({3, 2})}, 0).dim(0); }), "dim: ");
  EXPECT_HAS(refused([](const Tensor& x) { (void)reshape(x, {-1, 8}).dim(0); }), "dim: ");
  EXPECT_HAS(refused([](const Tensor& x) { (void)transpose(x).dim(1); }), "dim: dimension 1");
  EXPECT_HAS(refused([](const Tensor& x) { (void)x.to_vector<float>(); }), "is symbolic");
}

TEST(FreeDims, fixed_sizes_can_be_read) {
  Function f = function("reads", [](Tensor x) {
    EXPECT_EQ(x.rank(), 2);
    EXPECT_EQ(x.dim(1), 6);
    EXPECT_EQ(x.dim(-1), 6);
    EXPECT_EQ(sum(x, {0}).shape(), Shape{6});
    EXPECT_EQ(sum(x).numel(), 1);
    return x * (1.f / static_cast<float>(x.dim(1)));
  });
  f.input({dyn, 6});
  f(zeros({4, 6}));
}

TEST(FreeDims, a_function_called_inside_cannot_read_it_either) {
  Function inner = function("inner", [](Tensor x) { return x * static_cast<float>(x.dim(0)); });
  Function outer = function("outer", [&](Tensor x) { return inner(x); });
  outer.input({dyn, 2});
  EXPECT_HAS(message_of<InaccessibleTensorError>([&] { outer(zeros({4, 2})); }),
             "dim: dimension 0 of the tensor is free");
  expect_same(inner(ones({3, 2})), full({3, 2}, 3.f));
}

TEST(FreeDims, work_that_depends_on_the_size_is_an_error) {
  int line = 0;
  Function f = function("unstacks", [&](Tensor x) {
    line = here().line();
    return unstack(x)[0];
  });
  f.input({dyn, 2});
  const std::string text = message_of<UnsupportedError>([&] { f(zeros({4, 2})); });
  EXPECT_HAS(text,
             "function \"unstacks\": what it does depends on the size of dimension 0 of argument "
             "0, which is free");
  EXPECT_HAS(text, "free_dims_test.cpp:" + std::to_string(line + 1));
  EXPECT_HAS(text, "or leave the dimension fixed");

  int calls = 0;
  Function g = function("counts", [&](Tensor x) { return x * static_cast<float>(++calls); });
  g.input({dyn("rows")});
  EXPECT_HAS(message_of<UnsupportedError>([&] { g(zeros({4})); }),
             "depends on the size of \"rows\", dimension 0 of argument 0");
}

TEST(FreeDims, an_error_at_every_size_shows_no_stand_ins) {
  Function f = function("adds", [](Tensor x, Tensor y) { return x + y; });
  f.input({dyn("rows"), 3});
  const std::string text = message_of<ShapeError>([&] { f(zeros({4, 3}), zeros({4, 3})); });
  EXPECT_HAS(text, "add: shapes do not broadcast: [rows, 3] and [4, 3]");
  EXPECT_HAS(text,
             "while function \"adds\" was traced for any size of \"rows\", dimension 0 of argument "
             "0. If other arguments have that dimension too, declare it there as well.");
  Function g = function("fills", [](Tensor x) { return reshape(x, {4, 3}); });
  g.input({dyn, 3});
  EXPECT_HAS(message_of<ShapeError>([&] { g(zeros({4, 3})); }), "do not fill [4, 3]: [?, 3]");
}

TEST(FreeDims, arguments_are_held_against_what_was_declared) {
  Function f = function("adds", [](Tensor x, Tensor y) { return x + y; });
  f.input({dyn, 3}).input({dyn, 3});
  f(zeros({4, 3}), zeros({4, 3}));
  EXPECT_HAS(message_of<ShapeError>([&] { f(zeros({4, 3}), zeros({5, 3})); }),
             "function \"adds\": argument 1 is [5, 3], declared [dyn, 3]: dimension 0 is 5, but "
             "dimension 0 of argument 0 is 4. All plain dyn of a function are of one size: give "
             "them different names");
  EXPECT_HAS(message_of<ShapeError>([&] { f(zeros({4, 2}), zeros({4, 3})); }),
             "argument 0 is [4, 2], declared [dyn, 3]: dimension 1 is 2, not 3");
  EXPECT_HAS(message_of<ShapeError>([&] { f(zeros({4}), zeros({4, 3})); }),
             "argument 0 is [4], declared [dyn, 3]: rank 1 is not 2");
  EXPECT_HAS(message_of<ValueError>([&] { f.input({dyn}); }), "was called before");
  Function g = function("one", [](Tensor x) { return x; });
  g.input({dyn("a"), 2}).input({dyn("b")});
  EXPECT_HAS(message_of<ValueError>([&] { g(zeros({3, 2})); }),
             "2 tensor arguments were declared, a call has 1");
  EXPECT_HAS(message_of<ValueError>([&] { g.input(0, {dyn}); }), "was declared before");
  EXPECT_HAS(message_of<ValueError>([&] { g.input({-1}); }), "dyn is a free one");
  Function h = function("fixed", [](Tensor x) { return x; });
  h.input({2, 3});
  h(zeros({2, 3}));
  EXPECT_HAS(message_of<ShapeError>([&] { h(zeros({2, 4})); }), "dimension 1 is 4, not 3");
}

TEST(FreeDims, a_function_that_throws_leaves_no_trace) {
  bool fail = true;
  Function f = function("throwing", [&](Tensor x) {
    if (fail) throw std::runtime_error("mine");
    return x * 2.f;
  });
  f.input({dyn});
  EXPECT_THROW(f(ones({3})), std::runtime_error);
  fail = false;
  EXPECT_EQ(floats(f(ones({2}))), (Floats{2, 2}));
  EXPECT_EQ(f.traces().size(), 1u);
}

}  // namespace
}  // namespace tenure::testing
