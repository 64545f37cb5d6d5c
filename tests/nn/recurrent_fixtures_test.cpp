// Recurrent layers and wrappers against what TensorFlow.js computes (tools/fixtures/recurrent.mjs).
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/tfjs_dialect.h"
#include "nn/config.h"
#include "recurrent_values.h"

namespace {

namespace nn = tenure::nn;
using nn::detail::Json;
using tenure::Shape;
using tenure::Tensor;
using namespace tenure::testing;

Json fixtures() {
  std::ifstream file(TENURE_SOURCE_DIR "/tests/nn/fixtures/recurrent.json");
  Json tests = Json::parse(file);
  tenure::io::from_keras_2(tests);
  return tests;
}

Shape shape_of(const Json& json) {
  Shape shape;
  for (const Json& size : json) shape.push_back(size.get<std::int64_t>());
  return shape;
}

std::vector<Tensor> inputs_of(const Json& test) {
  std::vector<Tensor> inputs{wave_tensor(shape_of(test["x"]), 0.3, 0.9)};
  double seed = 20;
  if (test.contains("states")) {
    for (const Json& shape : test["states"]) {
      inputs.push_back(wave_tensor(shape_of(shape), seed++, 0.5));
    }
  }
  return inputs;
}

nn::Call call_of(const Json& test) {
  nn::Call call;
  if (!test.contains("mask")) return call;
  std::vector<bool> flat;
  for (const Json& row : test["mask"]) {
    for (const Json& each : row) flat.push_back(each.get<int>() != 0);
  }
  call.masks.push_back(tenure::tensor(flat, {2, static_cast<std::int64_t>(flat.size()) / 2}));
  return call;
}

nn::Layer layer_of(const Json& test) {
  const nn::Layer layer =
      nn::detail::layer_from_json(test["class_name"].get<std::string>(), test["config"]);
  layer.build(shape_of(test["x"]));
  set_waves(layer);
  return layer;
}

void expect_run(const LayerRun& run, const Json& test, const std::string& what) {
  ASSERT_EQ(run.outputs.size(), test["outputs"].size()) << what;
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    EXPECT_EQ(run.outputs[i].shape(), shape_of(test["outputs"][i]["shape"])) << what;
    expect_near(run.outputs[i], test["outputs"][i]["values"].get<std::vector<double>>(), 2e-6,
                what + ", output " + std::to_string(i));
  }
  std::size_t next = 0;
  for (const char* kind : {"input_gradients", "weight_gradients"}) {
    for (const Json& wanted : test[kind]) {
      expect_near(run.gradients.at(next), wanted.get<std::vector<double>>(), 1e-5,
                  what + ", " + kind + " " + std::to_string(next));
      ++next;
    }
  }
  EXPECT_EQ(next, run.gradients.size()) << what;
}

std::string text_of(const Json& test) {
  return test["class_name"].get<std::string>() + ": " + test["name"].get<std::string>();
}

TEST(RecurrentFixtures, values_and_gradients_are_those_of_tensorflow_js) {
  for (const Json& test : fixtures()) {
    expect_run(run_layer(layer_of(test), inputs_of(test), call_of(test)), test, text_of(test));
  }
}

TEST(RecurrentFixtures, a_traced_function_gives_the_same) {
  for (const Json& test : fixtures()) {
    expect_run(run_traced(layer_of(test), inputs_of(test), call_of(test)), test, text_of(test));
  }
}

TEST(RecurrentFixtures, a_layer_made_of_its_own_config_gives_the_same) {
  for (const Json& test : fixtures()) {
    const nn::Layer first = layer_of(test);
    const Json config = Json::parse(first.config());
    const nn::Layer again = nn::detail::layer_from_json(first.class_name(), config);
    EXPECT_EQ(Json::parse(again.config()), config) << text_of(test);
    again.build(shape_of(test["x"]));
    set_waves(again);
    expect_run(run_layer(again, inputs_of(test), call_of(test)), test, text_of(test));
  }
}

}  // namespace
