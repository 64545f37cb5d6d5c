// Operations on places in a model.
#include "tenure/nn/node_ops.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "nn/config.h"
#include "nn/layers/checks.h"
#include "tenure/nn/core_layers.h"
#include "tenure/nn/files.h"
#include "tenure/nn/model.h"

namespace tenure::testing {
namespace {

using nn::Node;

// The same of Nodes and of tensors.
struct Case {
  const char* name;
  std::function<Node(Node, Node)> node;
  std::function<Tensor(Tensor, Tensor)> tensor;
};
#define BOTH(name, expression)                                                                    \
  Case {                                                                                          \
    name, []([[maybe_unused]] Node x, [[maybe_unused]] Node y) -> Node { return expression; },    \
        []([[maybe_unused]] Tensor x, [[maybe_unused]] Tensor y) -> Tensor { return expression; } \
  }

std::vector<Case> cases() {
  return {
      BOTH("add", x + y),
      BOTH("add_number", x + 2),
      BOTH("number_add", 2.5 + x),
      BOTH("sub", x - y),
      BOTH("number_sub", 1 - x),
      BOTH("mul", x * y),
      BOTH("mul_number", x * 2),
      BOTH("div", x / (y + 3)),
      BOTH("number_div", 1 / (x + 3)),
      BOTH("neg", -x),
      BOTH("maximum", maximum(x, 0.25)),
      BOTH("minimum", minimum(x, y)),
      BOTH("pow", pow(x + 3, 2)),
      BOTH("mod", mod(x, 0.5)),
      BOTH("squared_difference", squared_difference(x, y)),
      BOTH("less", cast(x < y, DType::float32)),
      BOTH("greater", cast(x > 0, DType::float32)),
      BOTH("number_less", cast(0.5 < x, DType::float32)),
      BOTH("logic", cast((x >= 0) <= (y >= 0), DType::float32)),
      BOTH("not", cast(!(x > 0), DType::float32)),
      BOTH("where", where(x > y, x, y)),
      BOTH("where_number", where(x > 0, x, 0.125)),
      BOTH("exp", exp(x)),
      BOTH("tanh", tanh(x)),
      BOTH("sqrt", sqrt(abs(x))),
      BOTH("sigmoid", sigmoid(x)),
      BOTH("relu", relu(x)),
      BOTH("silu", silu(x)),
      BOTH("gelu", gelu(x, {.approximate = true})),
      BOTH("leaky_relu", leaky_relu(x, 0.3)),
      BOTH("clip", clip(x, -0.5, 0.25)),
      BOTH("softmax", softmax(x)),
      BOTH("log_softmax", log_softmax(x, 1)),
      BOTH("sum", sum(x, {1})),
      BOTH("mean", mean(x, {1, 2}, {.keep_dims = true})),
      BOTH("max", max(x, {-1})),
      BOTH("logsumexp", logsumexp(x, {2})),
      BOTH("variance", variance(x, {1})),
      BOTH("mean_of_all", mean(x)),
      BOTH("arg_max", cast(arg_max(x, 2), DType::float32)),
      BOTH("cumsum", cumsum(x, 1)),
      BOTH("matmul", matmul(x, y, {.transpose_b = true})),
      BOTH("einsum", einsum("bij,bkj->bik", x, y)),
      BOTH("einsum_of_one", einsum("bij->bji", x)),
      BOTH("one_hot", one_hot(arg_max(x, 2), 4)),
      BOTH("reshape", reshape(x, {-1, 12})),
      BOTH("transpose", transpose(x, {0, 2, 1})),
      BOTH("slice", slice(x, {0, 1, 0}, {-1, 2, 3})),
      BOTH("slice_steps", slice(x, {0, 0, 0}, {-1, 3, 2}, {1, 1, 2})),
      BOTH("expand_dims", expand_dims(x, 1)),
      BOTH("squeeze", squeeze(expand_dims(x, 2), {2})),
      BOTH("reverse", reverse(x, {1})),
      BOTH("tile", tile(x, {1, 2, 1})),
      BOTH("split", split(x, 2, 2)[1]),
      BOTH("concat", concat({x, y}, 1)),
      BOTH("stack", stack({x, y}, 1)),
      BOTH("stop_gradient", stop_gradient(x) * x),
      BOTH("several", tanh(x * 2 + y) - mean(x, {1}, {.keep_dims = true})),
  };
}

class NodeOps : public ::testing::TestWithParam<Case> {};

TEST_P(NodeOps, give_in_a_model_what_they_give_of_tensors) {
  const Node a = nn::Input({.shape = {3, 4}, .name = "a"}),
             b = nn::Input({.shape = {3, 4}, .name = "b"});
  const Node given = GetParam().node(a, b);
  const nn::Model model({a, b}, {given});
  const Tensor x = numbers({2, 3, 4}).tensor(DType::float32),
               y = numbers({2, 3, 4}, 9).tensor(DType::float32);
  const Tensor want = GetParam().tensor(x, y);
  EXPECT_EQ(floats(model({x, y})), floats(want));
  EXPECT_EQ(model({x, y}).shape(), want.shape());
  ASSERT_EQ(given.shape().rank(), want.rank());
  for (int axis = 0; axis < want.rank(); ++axis) {
    if (given.shape()[axis] != nn::kAny) {
      EXPECT_EQ(given.shape()[axis], want.dim(axis));
    }
  }
  EXPECT_EQ(given.dtype(), want.dtype());
  const nn::Layer again =
      nn::detail::layer_from_json("Functional", nn::detail::Json::parse(model.config()));
  EXPECT_EQ(again.config(), model.config());
  EXPECT_EQ(floats(again({x, y})), floats(want));
}

INSTANTIATE_TEST_SUITE_P(All, NodeOps, ::testing::ValuesIn(cases()),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(NodeOps, whole_numbers_stay_whole) {
  const Node x = nn::Input({.shape = {2}, .dtype = DType::int32});
  EXPECT_EQ((x * 2).dtype(), DType::int32);
  EXPECT_HAS(message_of<Error>([&] { x * 2.5; }), "2.5 is not exactly a value of int32");
  const nn::Model model({x}, {7 - x * 2});
  EXPECT_EQ(model(tensor({1, 2}, {1, 2})).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{5, 3}));
}

TEST(NodeOps, the_dtype_is_that_of_the_inputs) {
  for (const DType dtype : {DType::float64, DType::bfloat16}) {
    const Node x = nn::Input({.shape = {2}, .dtype = dtype});
    const Node y = tanh(x * 2.0);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(nn::Model({x}, {y})(ones({1, 2}, dtype)).dtype(), dtype);
  }
}

TEST(NodeOps, a_layer_has_the_name_of_its_operation) {
  const Node x = nn::Input({.shape = {2}});
  const Node y = tenure::tanh(x), z = nn::tanh(x);
  EXPECT_EQ(y.layer().name().substr(0, 4), "tanh");
  EXPECT_NE(y.layer().name(), z.layer().name());
  EXPECT_EQ(y.layer().class_name(), "Operation");
}

TEST(NodeOps, are_trained_through_and_saved) {
  const Node x = nn::Input({.shape = {2}});
  const nn::Initializer seeded = nn::GlorotUniform({.seed = 3});
  const nn::Dense gate({.units = 2, .activation = "sigmoid", .kernel_initializer = seeded}),
      dense({.units = 2, .kernel_initializer = seeded});
  const Node open = gate(x);
  const nn::Model highway({x}, {open * dense(x) + (1 - open) * x});
  highway.compile({.optimizer = nn::SGD({.learning_rate = 0.5}), .loss = "mse"});
  const Tensor in = numbers({8, 2}).tensor(DType::float32), out = in * 2;
  const double first = nn::value_of(highway.train_on_batch(in, out), "loss");
  for (int i = 0; i < 400; ++i) highway.train_on_batch(in, out);
  EXPECT_LT(nn::value_of(highway.train_on_batch(in, out), "loss"), first / 4);
  const std::string path = ::testing::TempDir() + "node_ops.safetensors";
  highway.save(path);
  const nn::Model again = nn::load_model(path);
  EXPECT_EQ(floats(again.predict(in)), floats(highway.predict(in)));
}

TEST(NodeOps, an_elementwise_one_passes_a_mask_on) {
  const Node x = nn::Input({.shape = {3, 1}});
  const nn::Model model({x}, {nn::Masking()(x) * 2});
  nn::Layer layer = (nn::Masking()(x) * 2).layer();
  const Tensor mask = tensor({true, false}, {1, 2});
  EXPECT_FALSE(layer.compute_mask({ones({1, 2, 1})}, {Tensor()}).defined());
  const nn::Layer tanh_layer = tanh(x).layer();
  EXPECT_EQ(tanh_layer.compute_mask({ones({1, 2, 1})}, {mask}).shape(), mask.shape());
}

TEST(NodeOps, what_does_not_fit_names_the_operation_and_the_line) {
  const Node x = nn::Input({.shape = {3}}), y = nn::Input({.shape = {4}});
  const int line = here().line() + 1;
  const std::string text = whole_message_of<ShapeError>([&] { x + y; });
  EXPECT_HAS(text, "Operation \"add");
  EXPECT_HAS(text, "node_ops_test.cpp:" + std::to_string(line));
  EXPECT_THROW(reshape(x, {-1, 5}), ShapeError);
  EXPECT_THROW(concat(std::vector<Node>{}), Error);
}

TEST(NodeOps, settings_from_files_are_checked) {
  const auto read = [](const char* config) {
    return message_of<ValueError>(
        [&] { nn::detail::layer_from_json("Operation", nn::detail::Json::parse(config)); });
  };
  EXPECT_HAS(read(R"({"operation": "launch"})"), "there is none called \"launch\" for Nodes");
  EXPECT_HAS(read(R"({"operation": "clip", "numbers": [1]})"),
             "clip: its settings lack two numbers");
  EXPECT_HAS(read(R"({"operation": "softmax"})"), "softmax: its settings lack one axis");
  EXPECT_HAS(read(R"({"operation": "split", "axes": [1]})"), "a count and an axis");
  EXPECT_HAS(read(R"({"operation": "einsum"})"), "an equation");
  const nn::Layer add =
      nn::detail::layer_from_json("Operation", nn::detail::Json::parse(R"({"operation": "add"})"));
  EXPECT_HAS(message_of<ValueError>([&] { add(ones({2})); }), "add: takes 2 operands, was given 1");
}

}  // namespace
}  // namespace tenure::testing
