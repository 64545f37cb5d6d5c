// Traced functions: the same results as eager code, nothing retained, and clear errors (L23-L28).
#include <gtest/gtest.h>

#include <thread>

#include "support/expect.h"

namespace tenure::testing {
namespace {

Tensor activation_chain(const Tensor& x) { return tanh(x) * sigmoid(x) + relu(x); }

TEST(Function, gives_what_eager_code_gives) {
  Function f = function("chain", [](Tensor x) { return activation_chain(x); });
  const Tensor x = linspace(-3, 3, 100);
  EXPECT_EQ(floats(f(x)), floats(activation_chain(x)));
  EXPECT_EQ(floats(f(x)), floats(activation_chain(x)));
  ASSERT_EQ(f.traces().size(), 1u);
  EXPECT_EQ(f.traces()[0].hits, 1u);
  EXPECT_EQ(f.traces()[0].signature, "float32 [100]");
}

TEST(Function, is_traced_once_per_signature) {
  int traced = 0;
  Function f = function("count", [&](Tensor x, int power) {
    ++traced;
    for (int i = 1; i < power; ++i) x = x * x;
    return x;
  });
  const Tensor a = tensor({1.f, 2.f}), b = tensor({1.f, 2.f, 3.f});
  EXPECT_EQ(floats(f(a, 2)), (Floats{1, 4}));
  EXPECT_EQ(floats(f(a, 3)), (Floats{1, 16}));
  EXPECT_EQ(floats(f(b, 2)), (Floats{1, 4, 9}));
  EXPECT_EQ(floats(f(a, 2)), (Floats{1, 4}));
  EXPECT_EQ(traced, 3);
}

TEST(Function, takes_and_gives_containers) {
  Function f = function("sums", [](std::vector<Tensor> x) {
    std::map<std::string, Tensor> result;
    result["sum"] = x[0] + x[1];
    result["difference"] = x[0] - x[1];
    return result;
  });
  const auto result = f({tensor({3.f}), tensor({1.f})});
  EXPECT_EQ(floats(result.at("sum")), Floats{4});
  EXPECT_EQ(floats(result.at("difference")), Floats{2});
}

TEST(Function, may_return_an_argument_a_view_a_capture_and_one_value_twice) {
  const Tensor held = tensor({7.f, 8.f});
  Function f = function("identity", [&](Tensor x) {
    const Tensor y = x * 2.f;
    return std::vector<Tensor>{x, reshape(x, {2, 1}), held, y, y, transpose(reshape(y, {1, 2}))};
  });
  const Tensor x = tensor({1.f, 2.f});
  const std::vector<Tensor> y = f(x);
  EXPECT_EQ(floats(y[0]), (Floats{1, 2}));
  EXPECT_EQ(y[1].shape(), (Shape{2, 1}));
  EXPECT_EQ(floats(y[2]), (Floats{7, 8}));
  EXPECT_EQ(floats(y[3]), (Floats{2, 4}));
  EXPECT_EQ(floats(y[4]), (Floats{2, 4}));
  EXPECT_EQ(floats(y[5]), (Floats{2, 4}));
}

TEST(Function, takes_arguments_that_are_views) {
  Function f = function("double", [](Tensor x) { return x * 2.f; });
  const Tensor x = reshape(arange(6), {2, 3});
  EXPECT_EQ(floats(f(cast(transpose(x), DType::float32))), (Floats{0, 6, 2, 8, 4, 10}));
  const Tensor y = cast(x, DType::float32);
  EXPECT_EQ(floats(f(y[1])), (Floats{6, 8, 10}));
  EXPECT_EQ(floats(f(transpose(y))), (Floats{0, 6, 2, 8, 4, 10}));
}

TEST(Function, reads_and_assigns_variables) {
  Variable w(tensor({1.f, 2.f}), {.name = "w"});
  Function step = function("step", [&](Tensor x) {
    w.assign(w + x);
    return w * 10.f;
  });
  EXPECT_EQ(floats(step(tensor({1.f, 1.f}))), (Floats{20, 30}));
  EXPECT_EQ(floats(w.read()), (Floats{2, 3}));
  EXPECT_EQ(floats(step(tensor({1.f, 1.f}))), (Floats{30, 40}));
  EXPECT_EQ(floats(w.read()), (Floats{3, 4}));
}

TEST(Function, a_read_before_a_call_keeps_its_value) {
  Variable w(tensor({1.f}), {.name = "w"});
  Function step = function("step", [&] { w.assign(w * 2.f); });
  const Tensor before = w.read();
  step();
  step();
  EXPECT_EQ(floats(before), Floats{1});
  EXPECT_EQ(floats(w.read()), Floats{4});
}

TEST(Function, a_tape_inside_trains) {
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f}, {4, 1});
  const Tensor y = tensor({2.f, 4.f, 6.f, 8.f}, {4, 1});
  const auto train = [&](Variable& w) {
    GradientTape tape;
    const Tensor loss = mean(square(matmul(x, w) - y));
    w.assign(w - tape.gradient(loss, w) * 0.02f);
    return loss;
  };
  Variable eager(zeros({1, 1})), traced(zeros({1, 1}));
  Function step = function("train", [&] { return train(traced); });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(floats(step()), floats(train(eager)));
  EXPECT_EQ(floats(traced.read()), floats(eager.read()));
  EXPECT_NEAR(traced.read().item<float>(), 2, 0.1);
  EXPECT_EQ(step.captures().size(), 2u);
}

TEST(Function, a_tape_around_sees_through_it) {
  Variable w(tensor({3.f}), {.name = "w"});
  Function f = function("square", [&](Tensor x) { return x * x * w; });
  const Tensor x = tensor({2.f});
  GradientTape tape;
  tape.watch(x);
  const std::vector<Tensor> g = tape.gradient(f(x), {x, w});
  EXPECT_EQ(floats(g[0]), Floats{12});
  EXPECT_EQ(floats(g[1]), Floats{4});
}

TEST(Function, functions_call_functions) {
  Function inner = function("inner", [](Tensor x) { return x + 1.f; });
  Function outer = function("outer", [&](Tensor x) { return inner(inner(x)) * 2.f; });
  EXPECT_EQ(floats(outer(tensor({1.f}))), Floats{6});
  EXPECT_EQ(floats(outer(tensor({2.f}))), Floats{8});
}

TEST(Function, randomness_advances_as_in_eager_code) {
  const auto noise = [] { return random::normal({5}) + random::uniform({5}); };
  Function f = function("noise", noise);
  set_seed(7);
  const Floats a = floats(noise()), b = floats(noise()), c = floats(noise());
  set_seed(7);
  EXPECT_EQ(floats(f()), a);
  EXPECT_EQ(floats(f()), b);
  EXPECT_EQ(floats(noise()), c);
}

TEST(Function, what_nobody_needs_is_not_computed) {
  Function f = function("dead", [](Tensor x) {
    const Tensor unused = exp(x);
    return x + 1.f;
  });
  f(tensor({1.f}));
  EXPECT_EQ(f.traces()[0].nodes, 3u);  // exp, the number, the sum
  EXPECT_EQ(f.traces()[0].steps, 1u);
}

TEST(Function, dying_values_lend_their_bytes) {
  Function f = function("chain", [](Tensor x) { return softmax(softmax(softmax(softmax(x)))); });
  f(zeros({1000}));
  EXPECT_EQ(f.traces()[0].steps, 4u);
  EXPECT_EQ(f.traces()[0].arena_bytes, 4032u);  // one buffer of 4000 bytes, in units of 64
}

TEST(Function, what_is_returned_only_as_a_copy_lies_in_the_arena) {
  Function f = function("columns", [](Tensor x) { return reshape(transpose(softmax(x)), {1000}); });
  f(zeros({10, 100}));
  EXPECT_EQ(f.traces()[0].arena_bytes, 4032u);
}

TEST(Function, plan_shows_where_values_lie) {
  Function f = function("plan", [](Tensor x) { return softmax(matmul(softmax(x), x)); });
  EXPECT_TRUE(f.plan().buffers.empty());
  f(ones({16, 16}));
  const PlanInfo plan = f.plan();
  EXPECT_EQ(plan.arena_bytes, f.traces()[0].arena_bytes);
  ASSERT_FALSE(plan.buffers.empty());
  EXPECT_EQ(plan.buffers[0].op, "softmax");
  EXPECT_EQ(plan.buffers[0].nbytes, 1024u);
  EXPECT_EQ(plan.buffers[0].first_step, 0u);
  EXPECT_EQ(plan.buffers[0].last_step, 1u);
}

TEST(Function, dump_and_dot_show_the_graph) {
  Variable w(tensor({3.f}), {.name = "w"});
  Function f = function("line", [&](Tensor x) { return sum(x * w, {0}); });
  f(tensor({2.f}));
  const std::string text = f.dump();
  EXPECT_HAS(text, "function \"line\"");
  EXPECT_HAS(text, "%0 float32 [1] = argument");
  EXPECT_HAS(text, "%1 float32 [1] = read \"w\"");
  EXPECT_HAS(text, "%2 float32 [1] = mul(%0, %1)  # function_test.cpp:");
  EXPECT_HAS(text, "%3 float32 [] = sum(%2) {axes=[0], keep_dims=false}");
  EXPECT_HAS(text, "return %3");
  EXPECT_HAS(f.dot(), "digraph \"line\"");
}

// L23: a symbolic tensor.

TEST(L23, reading_a_symbolic_tensor_names_it_and_says_what_to_do) {
  int line = 0;
  Function f = function("bad", [&](Tensor x) {
    const Tensor y = (x + 1.f).set_name("y");
    line = here().line();
    y.item<float>();
    return y;
  });
  const std::string text = message_of<InaccessibleTensorError>([&] { f(tensor({1.f})); });
  EXPECT_HAS(text,
             "InaccessibleTensorError: item: the tensor is symbolic, a value of function "
             "\"bad\", which is being traced: float32 [1] \"y\"");
  EXPECT_HAS(text, "born      function_test.cpp:" + std::to_string(line - 1));
  EXPECT_HAS(text, "traced    function_test.cpp:");
  EXPECT_HAS(text, "used      function_test.cpp:" + std::to_string(line + 1));
  EXPECT_HAS(text, "holders   1 handle (yours)");
  EXPECT_HAS(text, "use cond");
  EXPECT_TRUE(f.traces().empty());
}

TEST(L23, a_symbolic_tensor_outside_its_trace_is_refused) {
  Tensor stolen;
  Function f = function("leaky", [&](Tensor x) {
    stolen = x * 2.f;
    return stolen;
  });
  EXPECT_EQ(floats(f(tensor({1.f}))), Floats{2});
  const std::string eager = message_of<InaccessibleTensorError>([&] { stolen + 1.f; });
  EXPECT_HAS(eager,
             "add: input 0 is symbolic, a value of function \"leaky\", used outside its trace");
  EXPECT_HAS(eager, "return it from the function");
  message_of<InaccessibleTensorError>([&] { stolen.to_vector<float>(); });
  message_of<InaccessibleTensorError>([&] { keep(stolen); });
  Function other = function("other", [&](Tensor x) { return x + stolen; });
  const std::string traced = message_of<InaccessibleTensorError>([&] { other(tensor({1.f})); });
  EXPECT_HAS(traced, "add: input 1 is symbolic, a value of function \"leaky\"");
  EXPECT_FALSE(stolen.is_disposed());
  EXPECT_EQ(stolen.shape(), Shape{1});
  stolen.dispose();
}

TEST(L23, a_symbolic_tensor_whose_trace_is_over_tells_neither_of_a_life_nor_of_an_end) {
  Tensor stolen;
  Function f = function("leaky", [&](Tensor x) {
    stolen = x * 2.f;
    return stolen;
  });
  f(tensor({1.f}));
  for (const std::string& text : {stolen.story().text(), to_string(stolen)}) {
    EXPECT_EQ(text.find("alive"), text.npos) << text;
    EXPECT_EQ(text.find("disposed"), text.npos) << text;
    EXPECT_HAS(text, "symbolic");
  }
  EXPECT_HAS(stolen.story().text(), "a value of function \"leaky\", which only its calls have");
}

TEST(L23, another_thread_cannot_use_it_while_it_is_traced) {
  Function f = function("threads", [&](Tensor x) {
    std::string text, branch;
    std::thread([&] {
      text = message_of<InaccessibleTensorError>([&] { x + 1.f; });
      branch = message_of<InaccessibleTensorError>([&] { cond(x > 0.f, [] {}, [] {}); });
    }).join();
    EXPECT_HAS(text, "add: input 0 is symbolic");
    EXPECT_HAS(branch, "greater: input 0 is symbolic");
    return x;
  });
  f(tensor({1.f}));
}

TEST(L23, branching_on_one_outside_its_trace_is_refused) {
  Tensor predicate, index;
  const Tensor x = ones({4});
  Function f = function("leaky", [&](Tensor a) {
    predicate = a[0] > 0.f;
    index = cast(a[0], DType::int32);
    std::thread([&] {
      EXPECT_HAS(message_of<InaccessibleTensorError>(
                     [&] { cond(predicate, [&] { return x; }, [&] { return -x; }); }),
                 "cond: the tensor is symbolic, a value of function \"leaky\"");
    }).join();
    return a + 1.f;
  });
  f(x);
  EXPECT_HAS(message_of<InaccessibleTensorError>(
                 [&] { cond(predicate, [&] { return x; }, [&] { return -x; }); }),
             "cond: the tensor is symbolic, a value of function \"leaky\", used outside");
  message_of<InaccessibleTensorError>([&] { cond(predicate, [] {}, [] {}); });
  EXPECT_HAS(
      message_of<InaccessibleTensorError>([&] { switch_case<int>(index, {[] { return 1; }}); }),
      "switch_case: the tensor is symbolic");
  Function other = function(
      "other", [&](Tensor a) { return cond(predicate, [&] { return a; }, [&] { return -a; }); });
  message_of<InaccessibleTensorError>([&] { other(x); });
}

TEST(L23, a_gradient_of_one_outside_its_trace_is_refused) {
  Tensor square;
  const Tensor x = full({3}, 2.f);
  Function f = function("f", [&](Tensor a) {
    square = a * a;
    return square + 1.f;
  });
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f(x);
  const GradientOptions zeros_for_none{.zero_if_unconnected = true};
  EXPECT_HAS(message_of<InaccessibleTensorError>([&] { tape.gradient(square, x); }),
             "gradient: the tensor is symbolic, a value of function \"f\", used outside");
  message_of<InaccessibleTensorError>([&] { tape.gradient(square, x, zeros_for_none); });
  message_of<InaccessibleTensorError>([&] { tape.gradient(y, square, zeros_for_none); });
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{4, 4, 4}));
}

TEST(L23, it_prints_as_what_it_is) {
  std::string text;
  int line = 0;
  Function f = function("f", [&](Tensor x) {
    line = here().line() + 1;
    const Tensor y = x + 1.f;
    text = to_string(y);
    return y;
  });
  f(ones({4}));
  EXPECT_EQ(text, "tensor(symbolic, shape=[4], dtype=float32, born function_test.cpp:" +
                      std::to_string(line) + " add)");
}

TEST(L23, a_variable_is_not_made_of_one) {
  Function f = function("f", [&](Tensor x) {
    Variable v(zeros({4}), {.name = "v"});
    v.assign(v + x);
    return v.read();
  });
  EXPECT_HAS(message_of<InaccessibleTensorError>([&] { f(ones({4})); }),
             "make the variable before the function is called, and assign to it inside.");
}

TEST(Function, of_nothing_is_refused_when_it_is_made) {
  const int line = here().line() + 1;
  const auto make = [] { Function<Tensor(Tensor)> none("none", std::function<Tensor(Tensor)>()); };
  const std::string text = whole_message_of<ValueError>(make);
  EXPECT_HAS(text, "function \"none\": the std::function it was made of is empty");
  EXPECT_HAS(text, "function_test.cpp:" + std::to_string(line));
}

TEST(L24, escapes_are_reported_when_asked_for) {
  std::vector<std::string> warnings;
  set_warning_sink([&](std::string_view text) { warnings.emplace_back(text); });
  std::vector<Tensor> stolen;
  const auto leaky = [&](Tensor x) {
    stolen.push_back((x * 2.f).set_name("escaped"));
    return x + 1.f;
  };
  Function quiet = function("quiet", leaky);
  quiet(tensor({1.f}));
  EXPECT_TRUE(warnings.empty());
  Function strict = function("strict", leaky, {.check_escapes = true});
  strict(tensor({1.f}));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_HAS(warnings[0], "a symbolic tensor escaped the trace of function \"strict\"");
  EXPECT_HAS(warnings[0], "\"escaped\"");
  Function clean =
      function("clean", [](Tensor x) { return activation_chain(x); }, {.check_escapes = true});
  clean(tensor({1.f}));
  EXPECT_EQ(warnings.size(), 1u);
  set_warning_sink({});
}

TEST(L25, a_captured_tensor_is_held_listed_and_safe_from_dispose) {
  Tensor held = tensor({5.f}).set_name("held");
  Function f = function("capturing", [&](Tensor x) { return x + held; });
  f(tensor({1.f}));
  ASSERT_EQ(f.captures().size(), 1u);
  EXPECT_EQ(f.captures()[0].name, "held");
  EXPECT_EQ(f.captures()[0].nbytes, 4u);
  bool named = false;
  for (const Holder& holder : why_alive(held))
    named |= holder.text.find("capturing") != std::string::npos;
  EXPECT_TRUE(named);
  held.dispose();
  EXPECT_EQ(floats(f(tensor({1.f}))), Floats{6});
}

TEST(L26, calls_retain_nothing_but_their_results) {
  Variable w(random::normal({16, 16}));
  Function f = function("step", [&](Tensor x) { return sum(activation_chain(matmul(x, w))); });
  const Tensor x = random::normal({8, 16});
  f(x);
  const MemoryInfo before = memory();
  for (int i = 0; i < 100; ++i) f(x);
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().storages, before.storages);
  EXPECT_EQ(memory().live_bytes, before.live_bytes);
  const Tensor y = f(x);
  EXPECT_EQ(memory().tensors, before.tensors + 1);
  EXPECT_EQ(memory().live_bytes, before.live_bytes + 4);
}

TEST(L26, the_cache_is_bounded_and_says_so_once) {
  std::vector<std::string> warnings;
  set_warning_sink([&](std::string_view text) { warnings.emplace_back(text); });
  Function f = function("many", [](Tensor x) { return x + 1.f; }, {.most_traces = 3});
  for (int n = 1; n <= 6; ++n) f(zeros({n}));
  EXPECT_EQ(f.traces().size(), 3u);
  EXPECT_EQ(f.traces()[0].signature, "float32 [6]");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_HAS(warnings[0], "function \"many\"");
  set_warning_sink({});
}

TEST(L26, the_cache_is_bounded_in_bytes) {
  std::vector<std::string> warnings;
  set_warning_sink([&](std::string_view text) { warnings.emplace_back(text); });
  const Tensor held = zeros({1000});
  Function f = function("heavy", [&](Tensor x) { return x + sum(held); }, {.most_bytes = 9000});
  for (int n = 1; n <= 5; ++n) f(zeros({3, n}));
  EXPECT_EQ(f.traces().size(), 2u);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_HAS(warnings[0], "more than 9000");
  EXPECT_HAS(warnings[0], "dimension 1 of argument 0 kept changing (it was 1 to 3)");
  set_warning_sink({});
}

TEST(L26, a_warning_names_what_kept_changing) {
  const auto warning_of = [](auto&& calls) {
    std::string warning;
    set_warning_sink([&](std::string_view text) { warning = text; });
    Function f =
        function("many", [](Tensor, Tensor b, int) { return b + 1.f; }, {.most_traces = 2});
    calls(f);
    set_warning_sink({});
    return warning;
  };
  const Tensor a = zeros({2});
  EXPECT_HAS(warning_of([&](auto& f) {
               for (int n = 1; n < 4; ++n) f(a, zeros({3, n}), 1);
             }),
             "dimension 1 of argument 1 kept changing (it was 1 to 3)");
  EXPECT_HAS(warning_of([&](auto& f) {
               f(a, zeros({3}), 1);
               f(a, zeros({3}, DType::float64), 1);
               f(a, zeros({3, 3}), 1);
             }),
             "the dtype of argument 1 kept changing");
  EXPECT_HAS(warning_of([&](auto& f) {
               for (int n = 1; n < 4; ++n) f(a, a, n);
             }),
             "an argument that is no tensor kept changing");
}

struct Colour {
  int red = 0, green = 0;
  bool operator==(const Colour&) const = default;
};

}  // namespace
}  // namespace tenure::testing

template <>
struct std::hash<tenure::testing::Colour> {
  // All of one hash: equality must decide.
  std::size_t operator()(const tenure::testing::Colour&) const { return 7; }
};

namespace tenure::testing {
namespace {

TEST(Function, any_hashable_argument_is_part_of_the_signature) {
  int traced = 0;
  Function f = function("plain", [&](Tensor x, Colour colour, std::vector<int> sizes,
                                     std::optional<std::string> name) {
    ++traced;
    return x * static_cast<float>(colour.red) + static_cast<float>(sizes.size()) +
           (name ? 100.f : 0.f);
  });
  const Tensor x = tensor({1.f});
  EXPECT_EQ(floats(f(x, {2, 0}, {1, 2}, "a")), Floats{104});
  EXPECT_EQ(floats(f(x, {3, 0}, {1, 2}, "a")), Floats{105});
  EXPECT_EQ(floats(f(x, {2, 0}, {1}, "a")), Floats{103});
  EXPECT_EQ(floats(f(x, {2, 0}, {1}, std::nullopt)), Floats{3});
  EXPECT_EQ(floats(f(x, {2, 0}, {1, 2}, "a")), Floats{104});
  EXPECT_EQ(traced, 4);
}

TEST(Function, how_tensors_are_grouped_is_part_of_the_signature) {
  Function f = function("groups", [](std::vector<Tensor> a, std::vector<Tensor> b) {
    return a[0] * 10.f + static_cast<float>(a.size()) - static_cast<float>(b.size());
  });
  const Tensor x = tensor({1.f});
  EXPECT_EQ(floats(f({x, x}, {x})), Floats{11});
  EXPECT_EQ(floats(f({x}, {x, x})), Floats{9});
}

TEST(Function, a_new_function_never_sees_the_results_of_an_old_one) {
  const Tensor x = tensor({1.f});
  for (int i = 0; i < 20; ++i) {
    auto f = std::make_unique<Function<Tensor(Tensor)>>(
        "at", [i](Tensor y) { return y + static_cast<float>(i); });
    EXPECT_EQ(floats((*f)(x)), Floats{1.f + static_cast<float>(i)});
  }
}

TEST(Function, calling_itself_without_end_is_refused) {
  std::function<Tensor(Tensor)> again;
  Function f = function("endless", [&](Tensor x) { return again(x); });
  again = [&](Tensor x) { return f(x); };
  EXPECT_HAS(message_of<UnsupportedError>([&] { f(tensor({1.f})); }), "function \"endless\"");
  std::function<Tensor(Tensor, int)> down;
  Function g = function("down", [&](Tensor x, int n) { return n == 0 ? x : down(x * 2.f, n - 1); });
  down = [&](Tensor x, int n) { return g(x, n); };
  EXPECT_EQ(floats(g(tensor({1.f}), 5)), Floats{32});
}

TEST(Function, a_variable_that_nobody_else_uses_is_written_where_it_lies) {
  Variable w(zeros({100}), {.name = "w"});
  Function step = function("step", [&](Tensor x) { w.assign(w * 0.5f + x); });
  const Tensor x = ones({100});
  step(x);
  const float* bytes = w.read().view<float>().data();
  step(x);
  EXPECT_EQ(w.read().view<float>().data(), bytes);
  const Tensor before = w.read();
  step(x);
  EXPECT_NE(w.read().view<float>().data(), bytes);
  EXPECT_EQ(floats(before)[3], 1.5f);
  EXPECT_EQ(floats(w.read())[3], 1.75f);
}

TEST(Function, a_call_that_fails_changes_no_variable) {
  Variable w(zeros({3}), {.name = "w"});
  Function step = function("step", [&](Tensor x, Tensor index) {
    w.assign(w + x);
    return gather(x, index);
  });
  const Tensor x = ones({3});
  EXPECT_THROW(step(x, tensor({7})), ValueError);
  EXPECT_EQ(floats(w.read()), (Floats{0, 0, 0}));
  step(x, tensor({2}));
  EXPECT_EQ(floats(w.read()), (Floats{1, 1, 1}));
}

TEST(L24, escapes_are_found_wherever_they_are) {
  std::vector<std::string> warnings;
  set_warning_sink([&](std::string_view text) { warnings.emplace_back(text); });
  Variable w(tensor({1.f}));
  struct {
    Tensor member;
  } object;
  std::function<Tensor()> capture;
  Tensor in_branch, after_assign;
  Function f = function("leaky",
                        [&](Tensor x) {
                          object.member = x + 1.f;
                          const Tensor local = x * 2.f;
                          capture = [local] { return local; };
                          w.assign(w + x);
                          after_assign = w.read();
                          return cond(
                              sum(x) > 0.f,
                              [&] {
                                in_branch = x - 1.f;
                                return x;
                              },
                              [&] { return -x; });
                        },
                        {.check_escapes = true});
  f(tensor({1.f}));
  EXPECT_EQ(warnings.size(), 4u);
  for (const std::string& warning : warnings) EXPECT_HAS(warning, "function_test.cpp:");
  message_of<InaccessibleTensorError>([&] { object.member + 1.f; });
  message_of<InaccessibleTensorError>([&] { capture() + 1.f; });
  message_of<InaccessibleTensorError>([&] { after_assign + 1.f; });
  message_of<InaccessibleTensorError>([&] { in_branch + 1.f; });
  set_warning_sink({});
}

TEST(L36, a_traced_function_refuses_a_tensor_of_another_session) {
  Session other({.name = "other"});
  const Tensor foreign = other.run([] { return tensor({1.f}); });
  Function argument = function("argument", [](Tensor x) { return x + 1.f; });
  EXPECT_HAS(message_of<InaccessibleTensorError>([&] { argument(foreign); }), "other");
  Function capture = function("capture", [&](Tensor x) { return x + foreign; });
  EXPECT_HAS(message_of<InaccessibleTensorError>([&] { capture(tensor({1.f})); }), "other");
}

TEST(L36, a_function_stays_with_the_variables_it_uses) {
  Session home({.name = "home"}), other({.name = "other"});
  Variable w = home.run([] { return Variable(tensor({1.f})); });
  Function with_variable = function("variable", [&](Tensor x) { return x + w; });
  home.run([&] { with_variable(tensor({1.f})); });
  other.run([&] {
    const Tensor y = tensor({1.f});
    EXPECT_HAS(message_of<InaccessibleTensorError>([&] { with_variable(y); }), "other");
  });
}

TEST(L28, several_threads_call_one_function) {
  Function f = function("shared", [](Tensor x) { return activation_chain(exp(x) - tanh(x)); });
  const Tensor x = linspace(-1, 1, 1000);
  const Floats expected = floats(f(x));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(floats(f(x)), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Function, a_function_that_throws_leaves_no_trace) {
  bool fail = true;
  Function f = function("throwing", [&](Tensor x) {
    const Tensor y = exp(x);
    if (fail) throw std::runtime_error("mine");
    return y;
  });
  const Tensor x = tensor({0.f});
  EXPECT_THROW(f(x), std::runtime_error);
  EXPECT_EQ(floats(x + 1.f), Floats{1});
  fail = false;
  EXPECT_EQ(floats(f(x)), Floats{1});
  EXPECT_EQ(f.traces().size(), 1u);
}

}  // namespace
}  // namespace tenure::testing
