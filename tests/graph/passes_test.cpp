// Each pass alone: what is left of a traced function, and that it still computes the same bits.
#include "graph/passes/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "graph/program.h"
#include "graph/trace.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/reseed.h"
#include "support/expect.h"
#include "support/plans.h"
#include "tensor/variable_state.h"

namespace tenure::testing {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using Tensors = std::vector<Tensor>;
using Fn = std::function<Tensors(const Tensors&)>;
using Pass = Graph (*)(Graph);

Graph traced(const Fn& fn, const Tensors& in) {
  graph::Trace trace(detail::LabelRef::make("function", "test", here()));
  Tensors symbols;
  for (const Tensor& x : in) symbols.push_back(trace.add_input(x.shape(), x.dtype(), here()));
  Tensors results = fn(symbols);
  symbols.clear();
  return trace.finish(results, here());
}

// The graph's nodes one by one, in order, each an eager op.
Tensors run(const Graph& graph, const Tensors& in) {
  std::vector<Tensor> values(graph.values.size());
  for (std::size_t i = 0; i < in.size(); ++i) values[graph.inputs[i]] = in[i];
  for (const graph::Capture& capture : graph.captures) {
    values[capture.value] = materialise(capture.header(), "capture", here());
  }
  for (const graph::Constant& constant : graph.constants) {
    values[constant.value] = materialise(*constant.saved->get(), "constant", here());
  }
  for (const graph::VariableUse& use : graph.variables) {
    if (use.read) values[*use.read] = detail::Access::variable(use.variable).read();
  }
  const detail::Context& context = detail::context();
  const std::uint64_t seed = context.random->seed, first = context.random->next;
  for (const Node& node : graph.nodes) {
    Tensors operands, made(node.out.size());
    for (const ValueId value : node.in) {
      EXPECT_TRUE(values[value].defined()) << "%" << value << " is used before it is made";
      operands.push_back(values[value]);
    }
    ops::AttrsBox attrs = node.attrs;
    if (node.op->reseed != nullptr) {
      node.op->reseed(attrs.data(), node.attrs.ref().data(), seed, {&first, 1});
    }
    apply_into(*node.op, operands, attrs.ref(), here(), made);
    for (std::size_t i = 0; i < made.size(); ++i) values[node.out[i]] = made[i];
  }
  Tensors results;
  for (const ValueId value : graph.results) results.push_back(values[value]);
  return results;
}

std::vector<std::uint32_t> bits_of(const Tensor& x) {
  std::vector<std::uint32_t> bits;
  for (const float value : floats(cast(x, DType::float32))) {
    bits.push_back(std::bit_cast<std::uint32_t>(value));
  }
  return bits;
}

void expect_same_bits(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].shape(), b[i].shape());
    EXPECT_EQ(a[i].dtype(), b[i].dtype());
    EXPECT_EQ(bits_of(a[i]), bits_of(b[i])) << "result " << i;
  }
}

// What a pass makes of a function, which must still give what it gives eagerly.
Graph after(Pass pass, const Fn& fn, const Tensors& in) {
  Graph graph = pass(traced(fn, in));
  set_seed(5);
  const Tensors expected = fn(in);
  set_seed(5);
  expect_same_bits(run(graph, in), expected);
  return graph;
}

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> names;
  names.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) names.emplace_back(node.op->name);
  return names;
}

using Names = std::vector<std::string>;

// Numbers of every kind.
Tensor odd_numbers() {
  constexpr float inf = std::numeric_limits<float>::infinity();
  return tensor({0.f, -0.f, 1.f, -1.5f, inf, -inf, std::nanf(""), 1e-45f, -3e38f, 0.1f}, {2, 5});
}

// remove_dead

TEST(RemoveDead, leaves_out_what_leads_nowhere) {
  const Graph graph = after(graph::remove_dead,
                            [](const Tensors& x) {
                              const Tensor unused = tanh(exp(x[0]));
                              return Tensors{sigmoid(x[0])};
                            },
                            {odd_numbers()});
  EXPECT_EQ(ops_of(graph), Names{"sigmoid"});
}

TEST(RemoveDead, keeps_what_is_assigned_and_what_draws_random_numbers) {
  Variable w(zeros({3}));
  const Graph graph = graph::remove_dead(traced(
      [&](const Tensors& x) {
        w.assign(exp(x[0]));
        const Tensor unused = random::normal({3}), dead = tanh(x[0]);
        return Tensors{};
      },
      {ones({3})}));
  EXPECT_EQ(ops_of(graph), (Names{"exp", "random_normal"}));
}

TEST(RemoveDead, drops_constants_nobody_uses) {
  Graph graph = graph::fold_constants(traced(
      [](const Tensors& x) {
        const Tensor unused = zeros({4}) + 1.f;
        return Tensors{x[0] + 2.f};
      },
      {ones({3})}));
  EXPECT_EQ(graph.constants.size(), 4u);
  EXPECT_EQ(graph::remove_dead(std::move(graph)).constants.size(), 1u);
}

// share_common

TEST(ShareCommon, computes_once_what_is_written_twice) {
  const Graph graph = after(graph::share_common,
                            [](const Tensors& x) {
                              return Tensors{sum(exp(x[0]), {1}) + 1.f, sum(exp(x[0]), {1}) * 1.f};
                            },
                            {odd_numbers()});
  EXPECT_EQ(ops_of(graph), (Names{"exp", "sum", "fill", "add", "mul"}));
}

TEST(ShareCommon, shares_views_and_what_stands_on_them) {
  const Graph graph =
      after(graph::share_common,
            [](const Tensors& x) {
              return Tensors{exp(transpose(x[0])), exp(transpose(x[0])), reshape(x[0], {5, 2})};
            },
            {odd_numbers()});
  EXPECT_EQ(ops_of(graph), (Names{"transpose", "exp", "reshape"}));
  EXPECT_EQ(graph.results[0], graph.results[1]);
}

TEST(ShareCommon, tells_attributes_apart) {
  const Graph graph =
      after(graph::share_common,
            [](const Tensors& x) {
              return Tensors{sum(x[0], {0}), sum(x[0], {1}), sum(x[0], {1}, {.keep_dims = true}),
                             x[0] * 0.f, x[0] * -0.f};
            },
            {odd_numbers()});
  EXPECT_EQ(ops_of(graph), (Names{"sum", "sum", "sum", "fill", "mul", "fill", "mul"}));
}

TEST(ShareCommon, does_not_swap_operands) {
  const Graph graph =
      after(graph::share_common, [](const Tensors& x) { return Tensors{x[0] - x[1], x[1] - x[0]}; },
            {odd_numbers(), ones({2, 5})});
  EXPECT_EQ(ops_of(graph), (Names{"sub", "sub"}));
}

TEST(ShareCommon, draws_random_numbers_as_often_as_written) {
  const Graph graph =
      after(graph::share_common,
            [](const Tensors&) {
              return Tensors{random::normal({3}), random::normal({3}), random::uniform({3})};
            },
            {});
  EXPECT_EQ(graph.nodes.size(), 3u);
}

TEST(ShareCommon, shares_every_result_of_a_node) {
  const Graph graph = after(graph::share_common,
                            [](const Tensors& x) {
                              const auto a = top_k(x[0], 2), b = top_k(x[0], 2);
                              return Tensors{a.values, a.indices, b.values, b.indices};
                            },
                            {tensor({3.f, 1.f, 2.f})});
  EXPECT_EQ(graph.nodes.size(), 1u);
}

// fold_constants

TEST(FoldConstants, computes_what_needs_no_argument) {
  const Graph graph = graph::remove_dead(after(graph::fold_constants,
                                               [](const Tensors& x) {
                                                 const Tensor scale = exp(sum(linspace(0, 1, 7))) /
                                                                      sqrt(full({}, 3.f));
                                                 return Tensors{x[0] * scale};
                                               },
                                               {odd_numbers()}));
  EXPECT_EQ(ops_of(graph), Names{"mul"});
  EXPECT_EQ(graph.constants.size(), 1u);
}

TEST(FoldConstants, leaves_a_view_of_a_constant_a_view) {
  const Graph graph = graph::remove_dead(after(graph::fold_constants,
                                               [](const Tensors& x) {
                                                 const Tensor rows = broadcast_to(
                                                     reshape(exp(ones({5})), {1, 5}), {2, 5});
                                                 return Tensors{x[0] + rows, transpose(rows)};
                                               },
                                               {odd_numbers()}));
  EXPECT_EQ(ops_of(graph), (Names{"reshape", "broadcast_to", "add", "transpose"}));
  ASSERT_EQ(graph.constants.size(), 1u);
  EXPECT_EQ(graph.constants[0].storage().nbytes, 20u);
}

TEST(FoldConstants, computes_on_views_and_on_copies_of_them) {
  const Graph graph = graph::remove_dead(
      after(graph::fold_constants,
            [](const Tensors&) {
              const Tensor x = reshape(cast(arange(6), DType::float32), {2, 3});
              return Tensors{exp(transpose(x)), reshape(transpose(x), {6}), sum(transpose(x), {0}),
                             slice(x, {1, 2}, {1, 1}) * 2.f, matmul(x, transpose(x))};
            },
            {}));
  EXPECT_EQ(ops_of(graph), Names{});
}

TEST(FoldConstants, does_not_blow_small_constants_up) {
  const Graph graph = graph::fold_constants(traced(
      [](const Tensors&) {
        const Tensor wide = broadcast_to(full({}, 2.f), {1000, 1000});
        return Tensors{exp(wide), sum(wide), zeros({300, 300})};
      },
      {}));
  EXPECT_EQ(ops_of(graph), (Names{"broadcast_to", "exp", "sum", "fill"}));
}

TEST(FoldConstants, holds_a_bounded_number_of_bytes) {
  const Graph graph = graph::fold_constants(traced(
      [](const Tensors&) {
        Tensors all;
        for (int i = 0; i < 40; ++i) all.push_back(full({100, 100}, static_cast<float>(i)));
        return all;
      },
      {}));
  EXPECT_EQ(graph.constants.size(), 26u);  // of 40,000 bytes each
  EXPECT_EQ(graph.nodes.size(), 14u);
}

TEST(FoldConstants, books_scratch) {
  const Graph graph = after(
      graph::fold_constants,
      [](const Tensors&) {
        const Tensor a = reshape(linspace(1, 2, 64 * 64), {64, 64}) + eye(64) * 9.f;
        return Tensors{matmul(a, a), sort(reshape(a, {-1})), cholesky(matmul(a, transpose(a)))};
      },
      {});
  EXPECT_EQ(graph::remove_dead(graph).nodes.size(), 0u);
}

TEST(FoldConstants, leaves_complaints_to_the_call) {
  const Fn fn = [](const Tensors& x) { return Tensors{x[0], gather(ones({3}), full({1}, 7))}; };
  const Graph graph = graph::fold_constants(traced(fn, {ones({1})}));
  EXPECT_EQ(ops_of(graph), Names{"gather"});
  Function f = function("gathering", [&](Tensor x) { return fn({x}); });
  EXPECT_HAS(message_of<ValueError>([&] { f(ones({1})); }), "gather");
}

TEST(FoldConstants, draws_random_numbers_at_each_call) {
  const Graph graph = after(graph::fold_constants,
                            [](const Tensors&) { return Tensors{random::normal({3}) * 2.f}; }, {});
  EXPECT_EQ(ops_of(graph), (Names{"random_normal", "mul"}));
}

// simplify

TEST(Simplify, drops_views_that_show_what_is_there) {
  const Graph graph = after(graph::simplify,
                            [](const Tensors& x) {
                              return Tensors{exp(x[0].clone()),
                                             exp(reshape(x[0], {2, 5})),
                                             exp(transpose(transpose(x[0]))),
                                             exp(reshape(reshape(x[0], {10}), {2, 5})),
                                             exp(slice(x[0], {0, 0}, {2, 5})),
                                             exp(broadcast_to(x[0], {2, 5})),
                                             exp(stop_gradient(x[0]))};
                            },
                            {odd_numbers()});
  // The way there and back is dead once the way back is known.
  EXPECT_EQ(ops_of(graph),
            (Names{"exp", "exp", "transpose", "exp", "reshape", "exp", "exp", "exp", "exp"}));
  for (const Node& node : graph.nodes) EXPECT_EQ(node.in[0], graph.inputs[0]);
}

TEST(Simplify, keeps_views_that_show_something_else) {
  const Graph graph = after(graph::simplify,
                            [](const Tensors& x) {
                              return Tensors{transpose(x[0]),
                                             reshape(x[0], {5, 2}),
                                             slice(x[0], {0, 1}, {2, 4}),
                                             slice(x[0], {1, 4}, {2, 5}, {-1, -1}),
                                             broadcast_to(x[0], {3, 2, 5}),
                                             transpose(reshape(x[0], {5, 2}))};
                            },
                            {odd_numbers()});
  EXPECT_EQ(graph.nodes.size(), 6u);  // one reshape is written twice
}

TEST(Simplify, drops_numbers_that_change_nothing) {
  const Graph graph = graph::remove_dead(
      after(graph::simplify,
            [](const Tensors& x) {
              const Tensor seed = broadcast_to(reshape(ones({}), {1, 1}), {2, 5});
              return Tensors{x[0] * 1.f, 1.f * x[0], x[0] / 1.f, x[0] - 0.f, seed * x[0], -(-x[0])};
            },
            {odd_numbers()}));
  EXPECT_EQ(ops_of(graph), Names{});
}

TEST(Simplify, sees_constants_too) {
  const Pass both = [](Graph graph) {
    return graph::remove_dead(graph::simplify(graph::fold_constants(std::move(graph))));
  };
  const Graph graph =
      after(both,
            [](const Tensors& x) {
              return Tensors{x[0] * (full({5}, 2.f) - 1.f),
                             x[0] / cast(ones({2, 1}, DType::int32), DType::float32)};
            },
            {odd_numbers()});
  EXPECT_EQ(ops_of(graph), Names{});
}

TEST(Simplify, keeps_what_changes_a_bit) {
  const Graph graph = after(graph::simplify,
                            [](const Tensors& x) {
                              return Tensors{x[0] + 0.f,
                                             x[0] * 0.f,
                                             x[0] - -0.f,
                                             1.f / x[0],
                                             0.f - x[0],
                                             x[0] * -1.f,
                                             sum(reshape(x[0], {2, 5, 1}), {2})};
                            },
                            {odd_numbers()});
  const auto fills = std::ranges::count(ops_of(graph), "fill");
  EXPECT_EQ(static_cast<std::ptrdiff_t>(graph.nodes.size()) - fills, 8);
}

TEST(Simplify, keeps_a_product_that_broadcasts) {
  const Graph graph =
      after(graph::simplify, [](const Tensors& x) { return Tensors{x[0] * ones({3, 2, 5})}; },
            {odd_numbers()});
  EXPECT_EQ(ops_of(graph), (Names{"fill", "mul"}));
}

TEST(Simplify, works_on_integers_and_leaves_complex_numbers) {
  const Graph integers = graph::remove_dead(
      after(graph::simplify,
            [](const Tensors& x) { return Tensors{x[0] * 1, x[0] / 1, x[0] - 0, -(-x[0])}; },
            {tensor({1, -7, 0, std::numeric_limits<int>::min()})}));
  EXPECT_EQ(ops_of(integers), Names{});
  const Graph pairs = graph::simplify(
      traced([](const Tensors& x) { return Tensors{complex(x[0], x[0]) * 1.f}; }, {ones({2})}));
  EXPECT_EQ(ops_of(pairs), (Names{"complex", "fill", "mul"}));
}

// order_for_memory

std::size_t bound_of(const Fn& fn, const Tensors& in) {
  Function f = function("bound", [&](Tensors x) { return fn(x); });
  f(in);
  return f.traces()[0].bound_bytes;
}

TEST(OrderForMemory, ends_values_before_it_begins_others) {
  const Fn fn = [](const Tensors& x) {
    Tensors wide;
    for (int i = 1; i <= 8; ++i) wide.push_back(tanh(x[0] * static_cast<float>(i)));
    Tensor total = sum(wide[0]);
    for (int i = 1; i < 8; ++i) total = total + sum(wide[static_cast<std::size_t>(i)]);
    return Tensors{total};
  };
  const Tensors in{linspace(-1, 1, 4096)};
  after(graph::order_for_memory, fn, in);
  EXPECT_LT(bound_of(fn, in), 2 * 4096 * sizeof(float));
}

TEST(OrderForMemory, keeps_random_numbers_in_order) {
  const Graph graph = after(graph::order_for_memory,
                            [](const Tensors& x) {
                              const Tensor a = random::normal({1000}), b = random::uniform({10});
                              const Tensor c = random::normal({100});
                              return Tensors{sum(c) + x[0], sum(b), sum(a)};
                            },
                            {ones({})});
  Names random;
  for (const Node& node : graph.nodes) {
    if (node.random) random.emplace_back(node.op->name);
  }
  EXPECT_EQ(random, (Names{"random_normal", "random_uniform", "random_normal"}));
}

TEST(OrderForMemory, keeps_the_written_order_where_it_is_as_good) {
  const Fn fn = [](const Tensors& x) {
    return Tensors{tanh(x[0]) + 1.f, sigmoid(x[0]), exp(transpose(x[0]))};
  };
  const Graph graph = after(graph::order_for_memory, fn, {odd_numbers()});
  Names tasks;
  for (const std::string& name : ops_of(graph)) {
    if (name != "transpose") tasks.push_back(name);
  }
  EXPECT_EQ(tasks, (Names{"tanh", "fill", "add", "sigmoid", "exp"}));
}

TEST(OrderForMemory, a_view_keeps_its_bytes_alive) {
  after(graph::order_for_memory,
        [](const Tensors& x) {
          const Tensor a = exp(x[0]);
          const Tensor view = transpose(a);
          const Tensor b = tanh(a), c = reshape(view, {10});
          return Tensors{sum(b), c * 2.f, view + 1.f, reshape(view, {10}) + c};
        },
        {odd_numbers()});
}

// All of them

Tensors layer_norm(const Tensors& x) {
  const auto [middle, spread] = moments(x[0], {-1}, {.keep_dims = true});
  const Tensor y = (x[0] - middle) / sqrt(spread + 1e-5f);
  return {y, sum(y * 1.f), mean(y, {0})};
}

TEST(Optimise, shares_folds_and_simplifies_a_training_step) {
  Variable w(linspace(-1, 1, 5 * 3)), b(zeros({3}));
  const Graph written = traced(
      [&](const Tensors& x) {
        GradientTape tape;
        const Tensor y = matmul(x[0], reshape(w.read(), {5, 3})) + b;
        const Tensor loss = sum(square(y));
        const Tensors slopes = tape.gradient(loss, {w, b});
        w.assign(w - slopes[0] * 0.1f);
        b.assign(b - slopes[1] * 0.1f);
        return Tensors{loss};
      },
      {ones({2, 5})});
  const Graph graph = graph::optimise(written);
  const auto count = [&](const char* name) { return std::ranges::count(ops_of(graph), name); };
  EXPECT_EQ(count("fill"), 0);
  EXPECT_EQ(count("clone"), 0);
  EXPECT_EQ(count("broadcast_to"), 0);  // of the seed, which is 1
  EXPECT_EQ(count("matmul"), 1);
  EXPECT_EQ(count("finished"), 1);        // with the bias
  EXPECT_EQ(graph.constants.size(), 2u);  // 2 and 0.1
}

TEST(Optimise, gives_the_same_bits) {
  after(graph::optimise, layer_norm, {odd_numbers()});
  after(graph::optimise, layer_norm, {reshape(linspace(-3, 3, 60), {12, 5})});
  Function f = function("layer_norm", [](Tensors x) { return layer_norm(x); });
  const Tensors x{reshape(linspace(-3, 3, 60), {12, 5})};
  expect_same_bits(f(x), layer_norm(x));
}

TEST(Optimise, dump_shows_the_graph_as_written_and_as_it_runs) {
  Function f = function("dumped", [](Tensor x) { return exp(x.clone()) * (full({}, 2.f) + 1.f); });
  f(ones({3}));
  EXPECT_HAS(f.dump(), "clone(%0)");
  EXPECT_HAS(f.dump(), "fill()");
  const std::string runs = f.dump({.optimised = true});
  EXPECT_HAS(runs, "exp(%0)");
  EXPECT_HAS(runs, "= constant");
  EXPECT_EQ(runs.find("fill"), std::string::npos);
}

// The checker of plans finds what it is there for.

TEST(Plans, faults_are_found) {
  graph::PlanView plan;
  plan.arena_bytes = 256;
  plan.buffers = {{-1, 64}, {0, 64}, {64, 128}};
  plan.steps = {{"a", {0}, {1}}, {"b", {1}, {2}}, {"c", {2}, {0}}};
  EXPECT_EQ(fault_of(plan), "");
  plan.buffers[2].offset = 0;
  EXPECT_EQ(fault_of(plan), "buffers 1 and 2 overlap");
  plan.buffers[2].offset = 192;
  EXPECT_EQ(fault_of(plan), "buffer 2 of 128 bytes lies at 192 in an arena of 256");
  plan.buffers[2].offset = 64;
  std::swap(plan.steps[0], plan.steps[1]);
  EXPECT_EQ(fault_of(plan), "step 0 (b) reads buffer 1, which nobody wrote");
  plan.steps = {{"a", {0}, {1}}, {"b", {0}, {1}}};
  EXPECT_EQ(fault_of(plan), "step 1 (b) writes buffer 1 again");
  plan.steps = {{"a", {0}, {1}}, {"b", {1}, {1}}};
  EXPECT_EQ(fault_of(plan), "");
}

}  // namespace
}  // namespace tenure::testing
