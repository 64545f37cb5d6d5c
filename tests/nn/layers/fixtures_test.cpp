// Layers against TensorFlow.js: tools/fixtures/layers.js made the cases.
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/tfjs_dialect.h"
#include "nn/config.h"
#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

using nn::detail::Json;

Tensor tensor_in(const Json& json, DType dtype) {
  Grid grid{Shape(json["shape"].get<std::vector<std::int64_t>>())};
  grid.values = json["values"].get<std::vector<double>>();
  return grid.tensor(dtype);
}

std::vector<Tensor> tensors_in(const Json& json, DType dtype) {
  std::vector<Tensor> tensors;
  for (const Json& each : json) tensors.push_back(tensor_in(each, dtype));
  return tensors;
}

void expect_all_near(const std::vector<Tensor>& got, const Json& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE("number " + std::to_string(i));
    ASSERT_TRUE(got[i].defined());
    expect_near(got[i], grid_of(tensor_in(want[i], DType::float64)), tolerance);
  }
}

void check_gradients(const nn::Layer& layer, const std::vector<Tensor>& inputs,
                     const nn::Call& call, const Json& each) {
  const bool of_inputs = each.contains("input_gradients");
  if (!of_inputs && !each.contains("weight_gradients")) return;
  std::vector<Source> sources;
  GradientTape tape;
  for (const Tensor& input : inputs) {
    if (!of_inputs) break;
    tape.watch(input);
    sources.emplace_back(input);
  }
  for (const Variable& weight : layer.trainable_weights()) sources.emplace_back(weight);
  const Tensor loss = patterned_sum(layer(inputs, call));
  std::vector<Tensor> gradients = tape.gradient(loss, sources);
  const auto split = gradients.begin() + static_cast<std::ptrdiff_t>(of_inputs ? inputs.size() : 0);
  if (of_inputs) {
    SCOPED_TRACE("gradients of inputs");
    expect_all_near({gradients.begin(), split}, each["input_gradients"], 2e-5);
  }
  if (each.contains("weight_gradients")) {
    SCOPED_TRACE("gradients of weights");
    expect_all_near({split, gradients.end()}, each["weight_gradients"], 2e-5);
  }
}

void check_case(const Json& each) {
  const std::string class_name = each["class_name"].get<std::string>();
  SCOPED_TRACE(class_name + " " + each["config"].dump());
  const DType dtype = each["dtype"] == "int32" ? DType::int32 : DType::float32;
  const nn::Layer layer = nn::detail::layer_from_json(class_name, each["config"]);
  const std::vector<Tensor> inputs = tensors_in(each["inputs"], dtype);
  const nn::Call call{.training = each["training"].get<bool>(), .masks = {}};
  layer.apply(inputs);
  const std::vector<Tensor> weights = tensors_in(each["weights"], DType::float32);
  layer.set_weights(weights);

  expect_near(layer(inputs, call), grid_of(tensor_in(each["output"], DType::float64)), 1e-5);
  if (each.contains("weights_after")) {
    expect_all_near(layer.get_weights(), each["weights_after"], 1e-5);
    layer.set_weights(weights);
  }
  check_gradients(layer, inputs, call, each);
  layer.set_weights(weights);
  check_config(layer, inputs, call);
  layer.set_weights(weights);
  if (!call.training) check_trace(layer, inputs, call);
  check_spec(layer, inputs);
}

TEST(LayerFixtures, outputs_and_gradients_are_those_of_tensorflow_js) {
  std::ifstream file(TENURE_SOURCE_DIR "/tests/nn/fixtures/layers.json");
  ASSERT_TRUE(file.good());
  Json cases = Json::parse(file);
  io::from_keras_2(cases);
  ASSERT_GT(cases.size(), 90u);
  for (const Json& each : cases) {
    check_case(each);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tenure::testing
