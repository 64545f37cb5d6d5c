// Fusion: each pass alone on small graphs, and random programs against eager code, bit for bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "backend/cpu/parallel.h"
#include "graph/passes/passes.h"
#include "graph/program.h"
#include "graph/trace.h"
#include "ops/adam.h"
#include "ops/fused.h"
#include "support/expect.h"

namespace tenure::testing {
namespace {

using Tensors = std::vector<Tensor>;
using Body = std::function<Tensors(const Tensors&)>;

// The graph of a function of tensors like `in`, with its numbers folded.
graph::Graph traced(const Tensors& in, const Body& body) {
  graph::Trace trace(detail::LabelRef::make("function", "f", here()));
  Tensors symbols;
  for (const Tensor& x : in) symbols.push_back(trace.add_input(x.shape(), x.dtype(), here()));
  Tensors results = body(symbols);
  symbols.clear();
  return fold_constants(remove_dead(trace.finish(results, here())));
}

graph::Graph epilogues_of(graph::Graph graph) {
  return fuse_epilogues(fuse_elementwise(std::move(graph)));
}

std::size_t count_of(const graph::Graph& graph, const std::string& op) {
  std::size_t count = 0;
  for (const graph::Node& node : graph.nodes) count += node.op->name == op ? 1 : 0;
  return count;
}

std::size_t count_followed_by(const graph::Graph& graph, const ops::OpDef& op) {
  return static_cast<std::size_t>(std::ranges::count_if(graph.nodes, [&](const graph::Node& node) {
    return node.op == &ops::kFinished && node.attrs.ref().as<ops::FinishedAttrs>().follower == &op;
  }));
}

// The bytes of a tensor, row-major.
std::vector<std::byte> bits(const Tensor& x) {
  const Tensor whole = contiguous(x);
  const detail::Header& header = *detail::Access::header(whole);
  const std::byte* data =
      header.storage->data +
      header.layout.offset * static_cast<std::int64_t>(size_of(header.layout.dtype));
  return {data, data + header.layout.nbytes()};
}

void expect_same_bits(const Tensors& in, const Body& body, const std::string& what) {
  const Tensors expected = body(in);
  Function f = function("f", [&](Tensors x) { return body(x); });
  for (int call = 0; call < 2; ++call) {
    const Tensors got = f(in);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].shape(), expected[i].shape()) << what;
      ASSERT_EQ(got[i].dtype(), expected[i].dtype()) << what;
      ASSERT_TRUE(bits(got[i]) == bits(expected[i])) << what << "\nresult " << i << "\n"
                                                     << dump(optimise(traced(in, body)));
    }
  }
}

// tanh(x) * sigmoid(x) + relu(x), in this order with every compiler.
Tensor chain(const Tensor& x) {
  const Tensor t = tanh(x), s = sigmoid(x), r = relu(x);
  return t * s + r;
}

TEST(WidenHalves, a_chain_of_halves_becomes_one_node_and_follows_its_product) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const Tensors in{cast(random::normal({40, 24}), dtype), cast(random::normal({24, 32}), dtype)};
    const Body body = [](const Tensors& x) { return Tensors{chain(matmul(x[0], x[1]))}; };
    expect_same_bits(in, body, "halves");
    if (dtype == DType::bfloat16) continue;  // a machine may have a kernel for its products
    const graph::Graph graph = optimise(traced(in, body));
    // A cast of each operand, and the product with all that follows.
    EXPECT_EQ(graph.nodes.size(), 3u) << dump(graph);
    EXPECT_EQ(count_followed_by(graph, ops::kFused), 1u) << dump(graph);
  }
}

TEST(FuseElementwise, a_chain_becomes_one_node) {
  const Tensors in{zeros({4, 5})};
  const graph::Graph graph =
      fuse_elementwise(traced(in, [](const Tensors& x) { return Tensors{chain(x[0])}; }));
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_HAS(dump(graph),
             "= fused(%0) {t0 = tanh(%0); t1 = sigmoid(%0); t2 = relu(%0); t1 = mul(t0, t1); "
             "r0 = add(t1, t2)}");
}

TEST(FuseElementwise, what_others_read_is_a_result_too) {
  const Tensors in{zeros({4, 4})};
  const graph::Graph graph = fuse_elementwise(traced(in, [](const Tensors& x) {
    const Tensor y = exp(x[0]);
    const Tensor z = y * 2.f;
    return Tensors{z, sum(y)};
  }));
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].op, &ops::kFused);
  EXPECT_EQ(graph.nodes[0].out.size(), 2u);
}

TEST(FuseElementwise, a_path_through_other_nodes_is_not_closed) {
  const Tensors in{random::normal({4, 4})};
  const Body body = [](const Tensors& x) {
    const Tensor e = exp(x[0]);
    return Tensors{e / sum(e, {1}, {.keep_dims = true})};
  };
  const graph::Graph graph = fuse_elementwise(traced(in, body));
  EXPECT_EQ(count_of(graph, "fused"), 0u);
  EXPECT_EQ(graph.nodes.size(), 3u);
  expect_same_bits(in, body, "softmax");
}

// A gradient reads what the forward pass made: its value is read again, not what follows from it.
TEST(FuseElementwise, nothing_is_computed_early_for_later) {
  const Tensors in{zeros({8, 8}), zeros({8, 8})};
  const graph::Graph graph = fuse_elementwise(traced(in, [](const Tensors& x) {
    const Tensor y = tanh(x[0]);
    const Tensor dy = matmul(matmul(y, x[1]), x[1]);
    return Tensors{dy * (1.f - square(y))};
  }));
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.nodes[0].op->name, std::string("tanh"));
  EXPECT_EQ(graph.nodes[3].op, &ops::kFused);
  EXPECT_EQ(graph.nodes[3].out.size(), 1u);
}

TEST(FuseElementwise, shapes_that_differ_stay_apart) {
  const Tensors in{zeros({4, 5}), zeros({5})};
  const graph::Graph graph = fuse_elementwise(
      traced(in, [](const Tensors& x) { return Tensors{x[0] * exp(neg(x[1])) + 1.f}; }));
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(count_of(graph, "fused"), 2u);
}

TEST(FuseElementwise, a_broadcast_costs_no_step) {
  Function f = function("f", [](Tensor x, Tensor y) {
    return exp(x) * broadcast_to(reshape(y, {4, 1}), {4, 5}) + broadcast_to(sum(y), {4, 5});
  });
  f(zeros({4, 5}), zeros({4}));
  EXPECT_EQ(f.traces()[0].steps, 2u);  // the sum and the rest
}

TEST(FuseElementwise, random_numbers_stay_in_order) {
  const Body body = [](const Tensors& x) {
    const Tensor a = exp(x[0]) * random::uniform({6});
    const Tensor b = random::normal({6}) + a;
    return Tensors{a, b, b * random::uniform({6})};
  };
  const Tensors in{linspace(-1, 1, 6)};
  Function f = function("f", [&](Tensors x) { return body(x); });
  set_seed(5);
  const Tensors expected = body(in);
  set_seed(5);
  const Tensors got = f(in);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(bits(got[i]), bits(expected[i]));
}

TEST(FuseElementwise, dying_inputs_lend_their_bytes) {
  Function f = function("f", [](Tensor x) {
    const Tensor a = matmul(x, x), b = matmul(a, x);
    const Tensor m = a * 0.9f + b * 0.1f, v = b * b + a;
    const Tensor p = m * m, q = v / (m + 2.f);
    return sum(p, {0}) + sum(q, {0});
  });
  const Tensor x = random::normal({64, 64});
  const Tensor y = f(x);
  // p and q take the places of a and b.
  EXPECT_LE(f.traces()[0].arena_bytes, 2 * 64 * 64 * 4u + 1024u);
}

TEST(FuseEpilogues, a_dense_layer_is_one_node) {
  const Tensors in{zeros({8, 4}), zeros({4, 6}), zeros({6})};
  const graph::Graph graph = epilogues_of(
      traced(in, [](const Tensors& x) { return Tensors{relu(matmul(x[0], x[1]) + x[2])}; }));
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_HAS(dump(graph),
             "= finished(%0, %1, %2) {%0 = matmul(transpose_a=false, transpose_b=false); "
             "t0 = add(%0, %1); r0 = relu(t0)}");
}

TEST(FuseEpilogues, a_value_with_another_use_is_a_result_too) {
  const Tensors in{zeros({8, 4}), zeros({4, 6}), zeros({6})};
  const graph::Graph graph = epilogues_of(traced(in, [](const Tensors& x) {
    const Tensor z = matmul(x[0], x[1]) + x[2];
    return Tensors{relu(z), z};
  }));
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op, &ops::kFinished);
  EXPECT_EQ(graph.nodes[0].out.size(), 2u);
  const graph::Graph none = epilogues_of(traced(in, [](const Tensors& x) {
    const Tensor z = matmul(x[0], x[1]);
    return Tensors{relu(z), z};
  }));
  EXPECT_EQ(none.nodes.size(), 2u);
  EXPECT_EQ(count_of(none, "finished"), 0u);
}

TEST(FuseEpilogues, another_shape_is_not_taken_in) {
  const Tensors in{zeros({8, 4}), zeros({4, 6}), zeros({3, 8, 6})};
  const graph::Graph graph =
      epilogues_of(traced(in, [](const Tensors& x) { return Tensors{matmul(x[0], x[1]) + x[2]}; }));
  EXPECT_EQ(count_of(graph, "finished"), 0u);
  EXPECT_EQ(count_of(graph, "matmul"), 1u);
}

TEST(FuseEpilogues, a_product_that_no_result_can_hold_is_nowhere_whole) {
  for (const bool turned : {false, true}) {
    const Tensors in{random::normal({300, 40}),
                     random::normal(turned ? Shape{60, 40} : Shape{40, 60})};
    const Body body = [&](const Tensors& x) {
      return Tensors{greater(matmul(x[0], x[1], {.transpose_b = turned}), 0)};
    };
    const graph::Graph graph = optimise(traced(in, body));
    ASSERT_EQ(count_of(graph, "finished"), 1u);
    EXPECT_FALSE(graph.nodes[0].attrs.ref().as<ops::FinishedAttrs>().host);
    expect_same_bits(in, body, "signs");
  }
  // A stack of matrices, each times its own.
  const Tensors stack{random::normal({5, 30, 7}), random::normal({5, 7, 9})};
  expect_same_bits(
      stack, [](const Tensors& x) { return Tensors{matmul(x[0], x[1]) > 0}; }, "a stack");
}

TEST(FuseEpilogues, what_is_computed_for_the_chain_alone_is_taken_in) {
  const Tensors in{random::normal({40, 33}), random::normal({33, 70}), random::normal({40, 70})};
  const Body masked = [](const Tensors& x) {
    return Tensors{matmul(x[0], x[1]) * cast(greater(x[2], 0), DType::float32)};
  };
  const graph::Graph graph = epilogues_of(traced(in, masked));
  EXPECT_EQ(count_of(graph, "finished"), 1u);
  EXPECT_EQ(count_of(graph, "greater") + count_of(graph, "cast"), 0u) << dump(graph);
  expect_same_bits(in, masked, "a mask");

  // Written before the product, which is in between: it reads no more than it makes.
  const Body before = [](const Tensors& x) {
    const Tensor gate = sigmoid(x[2] + 1.f);
    return Tensors{relu(matmul(x[0], x[1])) * gate};
  };
  EXPECT_EQ(epilogues_of(traced(in, before)).nodes.size(), 1u);
  expect_same_bits(in, before, "a gate");
}

TEST(FuseEpilogues, what_others_read_or_would_keep_more_alive_is_not_taken_in) {
  const Tensors in{random::normal({8, 4}), random::normal({4, 6}), random::normal({8, 6})};
  const Body twice = [](const Tensors& x) {
    const Tensor gate = sigmoid(x[2]);
    return Tensors{matmul(x[0], x[1]) * gate, gate};
  };
  EXPECT_EQ(count_of(epilogues_of(traced(in, twice)), "sigmoid"), 1u);
  expect_same_bits(in, twice, "a gate that is a result");

  // The mask takes a quarter of what it is made of, which nothing else needs.
  const Body small = [](const Tensors& x) {
    const Tensor mask = greater(sum(stack({x[2], x[2]}, 0), {0}), 0);
    const Tensor product = matmul(x[0], x[1]);
    return Tensors{product * cast(mask, DType::float32)};
  };
  const graph::Graph graph = epilogues_of(traced(in, small));
  EXPECT_EQ(count_of(graph, "greater"), 1u) << dump(graph);
  EXPECT_EQ(count_of(graph, "cast"), 0u) << dump(graph);
  expect_same_bits(in, small, "a small mask");

  // One product's epilogue stays with it.
  const Body two = [](const Tensors& x) {
    const Tensor gate = sigmoid(matmul(x[0], x[1]));
    return Tensors{matmul(x[0], x[1] * 2.f) * gate};
  };
  EXPECT_EQ(count_of(epilogues_of(traced(in, two)), "finished"), 2u);
  expect_same_bits(in, two, "two products");
}

TEST(FuseEpilogues, products_give_the_same_bits) {
  const auto dense = [](MatmulOptions options) {
    return [options](const Tensors& x) {
      return Tensors{tanh(matmul(x[0], x[1], options) + x[2]) * 0.5f};
    };
  };
  for (const std::int64_t m : {1, 3, 64, 517}) {
    for (const std::int64_t n : {1, 7, 64, 300}) {
      const std::int64_t k = 33;
      const std::string what = std::to_string(m) + " x " + std::to_string(n);
      const Tensor bias = random::normal({n});
      const Tensor a = random::normal({m, k}), b = random::normal({k, n});
      expect_same_bits({a, b, bias}, dense({}), what);
      expect_same_bits({a, contiguous(transpose(b)), bias}, dense({.transpose_b = true}),
                       what + " b");
      expect_same_bits({a, b, random::normal({m, 1})}, dense({}), what + " column");
      expect_same_bits({a, b, random::normal({m, n})}, dense({}), what + " whole");
    }
  }
  expect_same_bits({random::normal({5, 6, 7}), random::normal({5, 7, 9}), random::normal({9})},
                   dense({}), "stack");
  expect_same_bits({random::normal({4, 0}), random::normal({0, 9}), random::normal({9})}, dense({}),
                   "empty sums");
  expect_same_bits({random::normal({0, 4}), random::normal({4, 9}), random::normal({9})}, dense({}),
                   "nothing");
}

TEST(FuseEpilogues, convolutions_give_the_same_bits) {
  for (const std::int64_t channels : {3, 64, 300}) {
    const Tensors in{random::normal({2, 15, 15, 4}), random::normal({3, 3, 4, channels}),
                     random::normal({channels})};
    const Body body = [](const Tensors& x) {
      return Tensors{leaky_relu(conv2d(x[0], x[1], {.padding = Padding::same}) + x[2], 0.1)};
    };
    EXPECT_EQ(count_of(epilogues_of(traced(in, body)), "finished"), 1u);
    expect_same_bits(in, body, std::to_string(channels) + " channels");

    const Tensors with_mask{in[0], in[1], random::normal({2, 15, 15, channels})};
    const Body masked = [](const Tensors& x) {
      const Tensor mask = cast(greater(x[2], 0), DType::float32);
      return Tensors{conv2d(x[0], x[1], {.padding = Padding::same}) * mask};
    };
    EXPECT_EQ(epilogues_of(traced(with_mask, masked)).nodes.size(), 1u);
    expect_same_bits(with_mask, masked, std::to_string(channels) + " channels, a mask");
  }
  const Tensors in{random::normal({2, 9, 9, 6}), random::normal({3, 3, 6, 2}),
                   random::normal({12})};
  expect_same_bits(
      in, [](const Tensors& x) { return Tensors{relu(depthwise_conv2d(x[0], x[1]) + x[2])}; },
      "depthwise");
}

TEST(FuseReductions, what_is_reduced_is_never_in_memory) {
  const Tensors in{random::normal({300, 401}), random::normal({401})};
  const Body body = [](const Tensors& x) { return Tensors{sum(square(x[0] - x[1]) * 0.5f, {1})}; };
  const graph::Graph graph = optimise(traced(in, body));
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(count_of(graph, "reduced"), 1u);
  EXPECT_HAS(dump(graph), "sum(r0) axes=[1]");
  Function f = function("f", [&](Tensor a, Tensor b) { return body({a, b})[0]; });
  f(in[0], in[1]);
  EXPECT_EQ(f.traces()[0].arena_bytes, 0u);
}

TEST(FuseReductions, give_the_same_bits) {
  for (const Shape& shape : {Shape{7}, Shape{64, 10}, Shape{300, 401}, Shape{3, 70'000},
                             Shape{1 << 19}, Shape{70, 5000}, Shape{2, 3, 4, 5}, Shape{5, 0}}) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Tensors in{cast(random::normal(shape), dtype)};
      const auto last = [&](auto reduce) {
        expect_same_bits(
            in, [&](const Tensors& x) { return Tensors{reduce(chain(x[0]), Axes{-1})}; }, "last");
      };
      last([](Tensor x, Axes axes) { return sum(x, axes); });
      last([](Tensor x, Axes axes) { return mean(x, axes); });
      expect_same_bits(
          in, [](const Tensors& x) { return Tensors{sum(chain(x[0])), sum(x[0] * 2)}; }, "all");
      if (shape.numel() == 0) continue;
      last([](Tensor x, Axes axes) { return max(x, axes); });
      last([](Tensor x, Axes axes) { return min(x, axes); });
      expect_same_bits(
          in, [](const Tensors& x) { return Tensors{sum(chain(x[0]), {0})}; }, "first");
    }
  }
}

TEST(FuseReductions, inputs_may_lie_in_any_order) {
  const Tensors in{random::normal({30, 40}), random::normal({40, 30}), random::normal({1, 30})};
  expect_same_bits(
      in,
      [](const Tensors& x) {
        const Tensor turned = transpose(x[0]), wide = broadcast_to(x[2], {40, 30});
        return Tensors{sum(turned * x[1] + wide, {-1}), sum(exp(turned)), sum(wide * 2.f)};
      },
      "strided");
}

TEST(FuseReductions, what_others_read_stays) {
  const Tensors in{random::normal({30, 40})};
  const Body body = [](const Tensors& x) {
    const Tensor y = chain(x[0]);
    return Tensors{sum(y), y};
  };
  EXPECT_EQ(count_of(optimise(traced(in, body)), "reduced"), 0u);
  expect_same_bits(in, body, "read");
}

// A step of Adam: of a value, its mean and square, and a gradient.
Tensors adam(const Tensors& x) {
  const auto number = [&](double value) { return full({}, value, x[0].dtype()); };
  const auto [value, mean, square] =
      ops::adam({x[0], x[1], x[2], x[3], number(0.01), number(1e-7)}, {});
  return {value, mean, square};
}

// A step whose gradient is the product of x[3] and x[4].
Tensors adam_of_product(const Tensors& x) {
  return adam({x[0], x[1], x[2], matmul(x[3], x[4], {.transpose_a = true})});
}

TEST(FuseUpdates, the_product_that_makes_a_gradient_is_part_of_the_step) {
  struct Sizes {
    std::int64_t rows, columns, batch;
  };
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const auto& [m, n, k] : {Sizes{37, 50, 8},
                                  {1, 40, 3},
                                  {300, 1, 5},
                                  {700, 130, 64},
                                  {13, 9, 600},
                                  {20, 30, 0},
                                  {0, 30, 4},
                                  {1, 1, 9}}) {
      Tensors in;
      for (int i = 0; i < 3; ++i) in.push_back(cast(square(random::normal({m, n})), dtype));
      in.push_back(cast(random::normal({k, m}), dtype));
      in.push_back(cast(random::normal({k, n}), dtype));
      const std::string what = fmt::format("{} {} {}", m, n, k);
      EXPECT_EQ(count_followed_by(optimise(traced(in, adam_of_product)), ops::kAdam), 1u) << what;
      expect_same_bits(in, adam_of_product, what);
    }
  }
}

TEST(FuseUpdates, matrices_may_be_turned_in_any_way) {
  const Tensor state = square(random::normal({40, 60}));
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      const Tensors in{state, state, state, random::normal(a ? Shape{7, 40} : Shape{40, 7}),
                       random::normal(b ? Shape{60, 7} : Shape{7, 60})};
      const Body body = [&](const Tensors& x) {
        return adam({x[0], x[1], x[2], matmul(x[3], x[4], {.transpose_a = a, .transpose_b = b})});
      };
      EXPECT_EQ(count_followed_by(optimise(traced(in, body)), ops::kAdam), 1u);
      expect_same_bits(in, body, "turned");
    }
  }
}

TEST(FuseUpdates, a_gradient_that_others_read_stays) {
  Tensors in;
  for (int i = 0; i < 3; ++i) in.push_back(square(random::normal({30, 20})));
  in.push_back(random::normal({8, 30}));
  in.push_back(random::normal({8, 20}));
  const Body norm = [](const Tensors& x) {
    const Tensor gradient = matmul(x[3], x[4], {.transpose_a = true});
    Tensors made = adam({x[0], x[1], x[2], gradient});
    made.push_back(sum(square(gradient)));
    return made;
  };
  const Body result = [](const Tensors& x) {
    const Tensor gradient = matmul(x[3], x[4], {.transpose_a = true});
    Tensors made = adam({x[0], x[1], x[2], gradient});
    made.push_back(gradient);
    return made;
  };
  for (const Body& body : {norm, result}) {
    EXPECT_EQ(count_followed_by(optimise(traced(in, body)), ops::kAdam), 0u);
    expect_same_bits(in, body, "read");
  }
}

TEST(FuseUpdates, a_parameter_may_be_a_factor_of_its_own_gradient) {
  Variable w(random::normal({24, 24})), m(zeros({24, 24})), v(zeros({24, 24}));
  const auto step = [&](const Tensor& x) {
    const Tensors made = adam({w.read(), m.read(), v.read(), matmul(x, w)});
    w.assign(made[0]);
    m.assign(made[1]);
    v.assign(made[2]);
  };
  const Tensor x = random::normal({24, 24}), start = w.read();
  const auto run = [&](const auto& call) {
    w.assign(start);
    m.assign(zeros({24, 24}));
    v.assign(zeros({24, 24}));
    for (int i = 0; i < 3; ++i) call();
    return floats(w.read());
  };
  const Function traced_step = function("step", step);
  EXPECT_EQ(run([&] { traced_step(x); }), run([&] { step(x); }));
}

TEST(Fusion, any_number_of_threads_gives_the_same_bits) {
  const Tensor x = linspace(-4, 4, 200'000);
  Function f = function("f", [](Tensor in) { return chain(in); });
  const int threads = cpu::num_threads();
  cpu::set_num_threads(1);
  const std::vector<std::byte> expected = bits(f(x));
  for (const int count : {2, 3, 7}) {
    cpu::set_num_threads(count);
    EXPECT_TRUE(bits(f(x)) == expected);
  }
  cpu::set_num_threads(threads);
}

TEST(Fusion, inputs_may_lie_in_any_order) {
  for (const std::int64_t n : {5, 40, 700}) {
    const Tensor whole = random::normal({n, 3 * n}), turned = transpose(random::normal({n, n}));
    const Tensor every_second = transpose(random::normal({2 * n, n}));
    const Body body = [&](const Tensors& x) {
      const Tensor part = slice(whole, {0, n}, {n, n});
      const Tensor row = slice(x[0], {0, 0}, {1, n}), column = slice(x[0], {0, 1}, {n, 1});
      return Tensors{exp(part) * turned + row * column - slice(every_second, {0, 1}, {n, n}),
                     (transpose(x[0]) + column) * row};
    };
    expect_same_bits({random::normal({n, n})}, body, std::to_string(n));
  }
}

// Random programs of elementwise ops over inputs that broadcast to one shape or to parts of it.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    const int rank = pick(4);
    for (int i = 0; i < rank; ++i) sizes_.push_back(pick(8) == 0 ? 600 + pick(900) : 1 + pick(12));
    const int inputs = 1 + pick(5);
    for (int i = 0; i < inputs; ++i) in_.push_back(make_input());
    const int ops = 1 + pick(25);
    for (int i = 0; i < ops; ++i) {
      ops_.push_back(
          {pick(kOps), static_cast<std::size_t>(pick(1000)), static_cast<std::size_t>(pick(1000))});
    }
    results_ = 1 + static_cast<std::size_t>(pick(3));
  }

  const Tensors& in() const { return in_; }

  Tensors operator()(const Tensors& in) const {
    Tensors values = in;
    for (const Op& op : ops_) values.push_back(apply(op, values));
    Tensors results;
    for (std::size_t i = 0; i < results_; ++i) {
      results.push_back(values[values.size() - 1 - std::min(i * i, ops_.size() - 1)]);
    }
    return results;
  }

 private:
  static constexpr int kOps = 22;
  struct Op {
    int kind;
    std::size_t a, b;
  };

  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  Tensor make_input() {
    const int drop = pick(static_cast<int>(sizes_.size()) + 1);
    std::vector<std::int64_t> dims;
    for (std::size_t i = pick(3) == 0 ? static_cast<std::size_t>(drop) : 0; i < sizes_.size();
         ++i) {
      dims.push_back(pick(4) == 0 ? 1 : sizes_[i]);
    }
    const Shape shape{std::span<const std::int64_t>(dims)};
    Tensor x = random::normal(shape);
    switch (pick(6)) {
      case 0:
        return cast(x * 10.f, DType::int32);
      case 1:
        return cast(x, DType::float64);
      case 2:
        return greater(x, 0);
      case 3:
        if (shape.rank() >= 2) {  // a view that is not row-major
          std::vector<std::int64_t> turned(dims.rbegin(), dims.rend());
          return transpose(random::normal(Shape{std::span<const std::int64_t>(turned)}));
        }
        return x;
      default:
        return x;
    }
  }

  static Tensor number(const Tensor& x) {
    return x.dtype() == DType::boolean ? cast(x, DType::float32) : x;
  }

  static Tensor apply(const Op& op, const Tensors& values) {
    // Late values are taken more often, so that programs are deep.
    const auto value = [&](std::size_t i) {
      return i % 3 == 0 ? values[i % values.size()]
                        : values[values.size() - 1 - i % std::min<std::size_t>(4, values.size())];
    };
    const Tensor a = number(value(op.a)), b = number(value(op.b));
    switch (op.kind) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return a * b;
      case 3:
        return a / b;
      case 4:
        return maximum(a, b);
      case 5:
        return tanh(a);
      case 6:
        return sigmoid(a);
      case 7:
        return relu(a);
      case 8:
        return exp(minimum(a, 1));
      case 9:
        return greater(a, b);
      case 10:
        return where(greater(a, 0), a, b);
      case 11:
        return cast(a, DType::float64);
      case 12:
        return cast(a, DType::float32);
      case 13:
        return leaky_relu(a, 0.2);
      case 14:
        return clip(a, -1, 2);
      case 15:
        return square(a);
      case 16:
        return -a;
      case 17:
        return add_n({a + b, a * b, a - b});
      case 18:
        return gelu(a);
      case 19:
        return a * 2 + 1;
      case 20:
        return sum(a, {}, {.keep_dims = true}) + b;
      default:
        return logical_not(less(a, b));
    }
  }

  std::mt19937 random_;
  std::vector<std::int64_t> sizes_;
  Tensors in_;
  std::vector<Op> ops_;
  std::size_t results_;
};

TEST(Fusion, random_programs_give_the_same_bits) {
  std::size_t fused = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    set_seed(seed);
    const RandomProgram program(seed);
    fused += count_of(optimise(traced(program.in(), program)), "fused");
    expect_same_bits(
        program.in(), [&](const Tensors& in) { return program(in); },
        "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(fused, 400u);
}

TEST(Fusion, ops_of_graphs_have_kernels_and_nothing_else) {
  for (const ops::OpDef* op : ops::graph_ops()) {
    EXPECT_TRUE(ops::has_index(*op)) << op->name;
    EXPECT_NE(ops::kernel_table(DeviceType::cpu).find(op->index, DType::float32).run, nullptr);
    EXPECT_NE(op->no_gradient, nullptr);
    for (const ops::OpDef* other : ops::all_ops()) EXPECT_STRNE(op->name, other->name);
  }
}

}  // namespace
}  // namespace tenure::testing
