#include <cmath>
#include <nlohmann/json.hpp>

#include "io/files.h"
#include "io/tfjs_manifest.h"
#include "tenure/nn/activation_layers.h"
#include "tenure/nn/conv_layers.h"
#include "tenure/nn/core_layers.h"
#include "tenure/nn/files.h"
#include "tenure/nn/merge_layers.h"
#include "tenure/nn/normalization_layers.h"
#include "tenure/nn/recurrent_layers.h"
#include "tenure/nn/reshaping_layers.h"

namespace tenure::nn {
namespace {

using nlohmann::json;
using testing::floats;
using testing::Floats;
using testing::message_of;
using testing::read_bytes;

std::string folder_of(const std::string& name) {
  return std::string(TENURE_SOURCE_DIR) + "/tests/io/fixtures/tfjs/" + name;
}

std::vector<Tensor> tensors_in(const json& list) {
  std::vector<Tensor> tensors;
  for (const json& each : list) {
    tensors.push_back(tensor(each["values"].get<std::vector<float>>(),
                             Shape(each["shape"].get<std::vector<std::int64_t>>())));
  }
  return tensors;
}

// The outputs for the inputs of expected.json are those that it has.
void expect_outputs(const Model& model, const json& expected) {
  const std::vector<Tensor> wanted = tensors_in(expected["outputs"]);
  const std::vector<Tensor> found = model.predict(tensors_in(expected["inputs"]));
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(found[i].shape(), wanted[i].shape());
    const Floats a = floats(found[i]), b = floats(wanted[i]);
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 2e-6) << i << " " << k;
  }
}

class TfjsModel : public testing::Folder {
 protected:
  // A folder with a copy of a fixture whose model.json `change` has changed.
  std::string changed(const std::string& name, const std::function<void(json&)>& change) {
    std::filesystem::copy(folder_of(name), at(name),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
    json model = json::parse(read_bytes(at(name) + "/model.json"));
    change(model);
    testing::write_bytes(at(name) + "/model.json", model.dump());
    return at(name) + "/model.json";
  }
  std::string complaint(const std::string& name, const std::function<void(json&)>& change) {
    const std::string path = changed(name, change);
    return message_of<IoError>([&] { load_tfjs_model(path); });
  }
};

class FromJavaScript : public TfjsModel, public ::testing::WithParamInterface<const char*> {};

TEST_P(FromJavaScript, computes_what_it_computed_there) {
  const std::string folder = folder_of(GetParam());
  expect_outputs(load_tfjs_model(folder + "/model.json"),
                 json::parse(read_bytes(folder + "/expected.json")));
}

TEST_P(FromJavaScript, survives_a_way_back_and_a_file_of_ours) {
  const std::string folder = folder_of(GetParam());
  const json expected = json::parse(read_bytes(folder + "/expected.json"));
  const Model model = load_tfjs_model(folder + "/model.json");
  save_tfjs_model(model, at("again"));
  expect_outputs(load_tfjs_model(at("again/model.json")), expected);
  model.save(at("ours"));
  expect_outputs(load_model(at("ours")), expected);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, FromJavaScript,
                         ::testing::Values("dense", "conv", "simple_rnn", "gru", "lstm",
                                           "bidirectional", "embedding", "shared", "nested",
                                           "nested_graph", "stacked", "shared_uint8",
                                           "shared_uint16", "shared_float16"));

TEST_F(TfjsModel, topology_may_stand_under_model_config) {
  const std::string path = changed("dense", [](json& model) {
    const json topology = model["modelTopology"];
    model["modelTopology"] = {{"keras_version", "2.4.0"}, {"model_config", topology}};
  });
  expect_outputs(load_tfjs_model(path),
                 json::parse(read_bytes(folder_of("dense") + "/expected.json")));
}

TEST_F(TfjsModel, weights_may_lie_in_several_groups_and_have_longer_names) {
  const std::string path = changed("dense", [&](json& model) {
    const std::string bytes = read_bytes(folder_of("dense") + "/group1-shard1of1.bin");
    const json all = model["weightsManifest"][0]["weights"];
    json first = json::array(), second = json::array();
    for (std::size_t i = 0; i < all.size(); ++i) (i == 0 ? first : second).push_back(all[i]);
    for (json& each : second) {
      if (each["name"] == "dense_Dense1/bias") each["name"] = "dense_Dense1/inside/bias";
    }
    testing::write_bytes(at("dense/a.bin"), bytes.substr(0, 48));
    testing::write_bytes(at("dense/b.bin"), bytes.substr(48));
    model["weightsManifest"] = {{{"paths", {"a.bin"}}, {"weights", first}},
                                {{"paths", {"b.bin"}}, {"weights", second}}};
  });
  expect_outputs(load_tfjs_model(path),
                 json::parse(read_bytes(folder_of("dense") + "/expected.json")));
}

TEST_F(TfjsModel, is_compiled_as_it_was) {
  const Model model = load_tfjs_model(folder_of("dense") + "/model.json");
  EXPECT_EQ(model.optimizer().class_name(), "Adam");
  EXPECT_EQ(model.optimizer().learning_rate(), 0.01);
  const Logs logs = model.train_on_batch(ones({2, 3}), ones({2, 2}));
  EXPECT_EQ(logs.size(), 2u);
  EXPECT_EQ(logs[1].first, "accuracy");
}

TEST_F(TfjsModel, that_cannot_be_compiled_here_can_still_be_asked) {
  const std::string path =
      changed("dense", [](json& m) { m["trainingConfig"]["loss"] = "mysterious"; });
  ::testing::internal::CaptureStderr();
  const Model model = load_tfjs_model(path);
  EXPECT_HAS(::testing::internal::GetCapturedStderr(), "mysterious");
  EXPECT_THROW(model.optimizer(), ValueError);
  expect_outputs(model, json::parse(read_bytes(folder_of("dense") + "/expected.json")));
}

TEST_F(TfjsModel, packed_weights_are_what_they_stand_for) {
  // stored * 0.5 - 3.
  const std::string path = changed("embedding", [&](json& model) {
    json& weight = model["weightsManifest"][0]["weights"][0];
    weight["quantization"] = {{"dtype", "uint8"}, {"scale", 0.5}, {"min", -3}};
    const std::string rest =
        read_bytes(folder_of("embedding") + "/group1-shard1of1.bin").substr(120);
    std::string packed;
    for (int i = 0; i < 30; ++i) packed += static_cast<char>(i);
    testing::write_bytes(at("embedding/group1-shard1of1.bin"), packed + rest);
  });
  const Floats found = floats(load_tfjs_model(path).get_weights().front());
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(found[i], static_cast<float>(i) * 0.5f - 3);
}

TEST_F(TfjsModel, ints_and_bools_are_read_across_files) {
  const std::string bytes("\x01\0\0\0\xfe\xff\xff\xff\x01\0\x05\xff", 12);
  testing::write_bytes(at("a.bin"), bytes.substr(0, 6));
  testing::write_bytes(at("b.bin"), bytes.substr(6));
  json list = {{{"name", "i"}, {"shape", {2}}, {"dtype", "int32"}},
               {{"name", "b"}, {"shape", {2}}, {"dtype", "bool"}},
               {{"name", "q"},
                {"shape", {2}},
                {"dtype", "int32"},
                {"quantization", {{"dtype", "uint8"}, {"scale", 0.3}, {"min", -2}}}}};
  const io::Origin origin{"test", at("model.json")};
  const auto manifest = [&] {
    const json text = {{{"paths", {"a.bin", "b.bin"}}, {"weights", list}}};
    return io::TfjsManifest(origin, at(""), io::Json::parse(text.dump()));
  };
  const auto value = [&](std::size_t i) {
    return manifest().read(manifest().weights()[i], std::source_location::current());
  };
  EXPECT_EQ(value(0).to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, -2}));
  EXPECT_EQ(value(1).to_vector<bool>(), (std::vector<bool>{true, false}));
  // Rounded: 5 * 0.3 - 2 and 255 * 0.3 - 2.
  EXPECT_EQ(value(2).to_vector<std::int32_t>(), (std::vector<std::int32_t>{-1, 75}));
  testing::write_bytes(at("b.bin"), "\xff\xff\x02" + bytes.substr(9));
  EXPECT_HAS(message_of<IoError>([&] { value(1); }), "a bool is 0 or 1");
}

TEST_F(TfjsModel, files_of_weights_lie_in_the_folder) {
  for (const std::string name :
       {"../dense/group1-shard1of1.bin", "/etc/passwd", "a/../../b", "", ".", "a\\..\\b"}) {
    EXPECT_HAS(complaint("dense", [&](json& m) { m["weightsManifest"][0]["paths"] = {name}; }),
               "does not lie in the folder")
        << name;
  }
  EXPECT_HAS(complaint("dense", [](json& m) { m["weightsManifest"][0]["paths"] = {"none.bin"}; }),
             "none.bin");
}

TEST_F(TfjsModel, sizes_are_held_against_the_files) {
  const auto weight = [](json& m) -> json& { return m["weightsManifest"][0]["weights"][0]; };
  EXPECT_HAS(complaint("dense", [&](json& m) { weight(m)["shape"] = {3, 1ll << 40}; }),
             "cut short or broken");
  EXPECT_HAS(complaint("dense", [&](json& m) { weight(m)["shape"] = {1ll << 40, 1ll << 40}; }),
             "can be counted");
  EXPECT_HAS(complaint("dense", [&](json& m) { weight(m)["shape"] = {3, 3}; }), "bytes follow");
  EXPECT_HAS(complaint("dense", [&](json& m) { weight(m)["shape"] = {-3, 4}; }), "list of sizes");
  EXPECT_HAS(complaint("dense", [&](json& m) { weight(m)["shape"] = {4, 3}; }),
             "is [4, 3] in the file, [3, 4] in the model");
  EXPECT_HAS(complaint("dense", [&](json& m) { weight(m)["dtype"] = "string"; }), "\"string\"");
  EXPECT_HAS(complaint("dense", [&](json& m) { weight(m)["name"] = "other/kernel"; }),
             "not in the file: dense_Dense1/kernel");
  EXPECT_HAS(complaint("dense", [&](json& m) { weight(m)["name"] = "dense_Dense1/bias"; }),
             "two weights");
  EXPECT_HAS(
      complaint("shared_uint8", [&](json& m) { weight(m)["quantization"]["dtype"] = "uint4"; }),
      "\"uint4\"");
  EXPECT_HAS(complaint("shared_uint8", [&](json& m) { weight(m)["quantization"]["scale"] = "x"; }),
             "no number");
  EXPECT_HAS(complaint("dense",
                       [](json& m) {
                         m["modelTopology"]["config"]["layers"][0]["config"]["units"] = 1ll << 40;
                       }),
             "the file has");
}

TEST_F(TfjsModel, what_is_no_layers_model_is_told) {
  EXPECT_HAS(complaint("dense", [](json& m) { m.erase("weightsManifest"); }), "weightsManifest");
  EXPECT_HAS(complaint("dense", [](json& m) { m.erase("modelTopology"); }), "modelTopology");
  EXPECT_HAS(complaint("dense", [](json& m) { m["format"] = "graph-model"; }), "graph model");
  EXPECT_HAS(complaint("dense", [](json& m) { m = json::array(); }), "no object");
  EXPECT_HAS(message_of<IoError>([&] { load_tfjs_model(at("none/model.json")); }), "none");
  const std::string path = changed("dense", [](json& m) {
    m["modelTopology"]["config"]["layers"][0]["class_name"] = "Mystery";
  });
  EXPECT_HAS(message_of<UnsupportedError>([&] { load_tfjs_model(path); }), "Mystery");
}

// Models made here. Where TENURE_TFJS_OUT names a folder they are kept there, with inputs and
// outputs, for TensorFlow.js to read: see tools/fixtures/tfjs_models.mjs.
std::vector<std::pair<std::string, Model>> made_here() {
  std::vector<std::pair<std::string, Model>> models;
  models.emplace_back(
      "dense",
      Sequential({Dense({.units = 4, .activation = "silu", .input_shape = {3}}),
                  Dense({.units = 2, .activation = "softmax", .kernel_regularizer = L2()})}));
  models.emplace_back("conv", Sequential({Conv2D({.filters = 3,
                                                  .kernel_size = {3},
                                                  .padding = "same",
                                                  .activation = "relu",
                                                  .input_shape = {5, 5, 2}}),
                                          BatchNormalization(), Flatten(), Dense({.units = 2})}));
  models.emplace_back("recurrent",
                      Sequential({Bidirectional(LSTM({.units = 2, .return_sequences = true}),
                                                {.input_shape = {4, 3}}),
                                  GRU({.units = 3, .reset_after = false}), Dense({.units = 1})}));
  models.emplace_back(
      "simple_rnn",
      Sequential({SimpleRNN({.units = 3, .return_sequences = true, .input_shape = {4, 2}}),
                  TimeDistributed(Dense({.units = 2}))}));
  const std::vector<Layer> cells{LSTMCell({.units = 2}), SimpleRNNCell({.units = 3})};
  models.emplace_back("stacked",
                      Sequential({RNN(StackedRNNCells(cells), {.input_shape = {4, 2}})}));
  const Node a = Input({.shape = {3}, .name = "a"}), b = Input({.shape = {3}, .name = "b"});
  const Dense twin({.units = 2, .activation = "tanh", .name = "twin"});
  const Sequential inner({Dense({.units = 3, .name = "inside", .input_shape = {4}})},
                         {.name = "inner"});
  models.emplace_back("graph", Model({a, b}, {inner(Concatenate()({twin(a), twin(b)}))}));
  return models;
}

TEST_F(TfjsModel, saved_models_are_read_again_and_kept_for_javascript) {
  const char* keep = std::getenv("TENURE_TFJS_OUT");
  for (const auto& [name, model] : made_here()) {
    SCOPED_TRACE(name);
    std::vector<Tensor> weights, inputs;
    for (const Tensor& weight : model.get_weights()) {
      weights.push_back(random::uniform(weight.shape(), {.low = 0.1, .high = 0.6}));
    }
    model.set_weights(weights);
    for (const Spec input : model.inputs()) {
      Shape shape = input.shape;
      shape[0] = 2;
      inputs.push_back(random::normal(shape));
    }
    const std::string folder = (keep != nullptr ? std::string(keep) : at("kept")) + "/" + name;
    save_tfjs_model(model, folder);
    const std::vector<Tensor> outputs = model.predict(inputs);
    const auto listed = [](const std::vector<Tensor>& tensors) {
      json list = json::array();
      for (const Tensor& each : tensors) {
        std::vector<std::int64_t> shape(each.shape().begin(), each.shape().end());
        list.push_back({{"shape", shape}, {"values", floats(each)}});
      }
      return list;
    };
    const json expected{{"inputs", listed(inputs)}, {"outputs", listed(outputs)}};
    testing::write_bytes(folder + "/expected.json", expected.dump());
    expect_outputs(load_tfjs_model(folder + "/model.json"), expected);
    if (name == "graph") {
      const json written = json::parse(read_bytes(folder + "/model.json"));
      EXPECT_EQ(written["weightsManifest"][0]["weights"][2]["name"], "inside/kernel");
      EXPECT_EQ(written["format"], "layers-model");
    }
  }
}

// There, and in Keras 2, it is clip(0.2 x + 0.5, 0, 1), in Keras 3 relu6(x + 3) / 6.
TEST_F(TfjsModel, hard_sigmoid_keeps_the_meaning_that_it_has_there) {
  const auto made = [](const char* name) {
    return Sequential({Dense(
        {.units = 1, .activation = name, .kernel_initializer = "ones", .input_shape = {1}})});
  };
  const Tensor two = full({1, 1}, 2.f);
  save_tfjs_model(made("hard_sigmoid_keras2"), at("m"));
  EXPECT_HAS(read_bytes(at("m") + "/model.json"), R"("activation":"hard_sigmoid")");
  EXPECT_NEAR(load_tfjs_model(at("m") + "/model.json").predict(two).item<float>(), 0.9, 1e-6);
  json model = json::parse(read_bytes(at("m") + "/model.json"));
  model["modelTopology"]["keras_version"] = "3.4.1";
  testing::write_bytes(at("m") + "/model.json", model.dump());
  EXPECT_NEAR(load_tfjs_model(at("m") + "/model.json").predict(two).item<float>(), 5.0 / 6, 1e-6);
  EXPECT_HAS(
      message_of<UnsupportedError>([&] { save_tfjs_model(made("hard_sigmoid"), at("other")); }),
      "TensorFlow.js has no activation \"hard_sigmoid\"");
}

TEST_F(TfjsModel, the_slope_of_leaky_relu_has_its_name_there) {
  const Sequential model(
      {Dense({.units = 2, .input_shape = {1}}), LeakyReLU({.negative_slope = 0.25})});
  save_tfjs_model(model, at("m"));
  const std::string text = read_bytes(at("m/model.json"));
  EXPECT_NE(text.find("\"alpha\":0.25"), text.npos);
  EXPECT_EQ(text.find("negative_slope"), text.npos);
  const Tensor x = tensor({-1.f, 1.f}, {2, 1});
  EXPECT_EQ(floats(load_tfjs_model(at("m/model.json"))(x)), floats(model(x)));
}

TEST_F(TfjsModel, gates_that_a_file_does_not_name_are_those_of_keras_2) {
  save_tfjs_model(Sequential({LSTM({.units = 1, .input_shape = {2, 1}})}), at("m"));
  json model = json::parse(read_bytes(at("m") + "/model.json"));
  for (json& layer : model["modelTopology"]["config"]["layers"]) {
    layer["config"].erase("recurrent_activation");
  }
  testing::write_bytes(at("m") + "/model.json", model.dump());
  EXPECT_HAS(load_tfjs_model(at("m") + "/model.json").layers().back().config(),
             R"("recurrent_activation":"hard_sigmoid_keras2")");
}

TEST_F(TfjsModel, save_says_what_cannot_be_run_there) {
  const Sequential wide({Dense({.units = 1, .input_shape = {2}, .dtype = DType::float64})});
  EXPECT_HAS(message_of<DtypeError>([&] { save_tfjs_model(wide, at("m")); }), "float64");
  const Sequential unknown({Dense({.units = 1})});
  EXPECT_HAS(message_of<UnsupportedError>([&] { save_tfjs_model(unknown, at("m")); }), "inputs");
  const Sequential gru({GRU({.units = 1, .input_shape = {2, 1}})});
  EXPECT_HAS(message_of<UnsupportedError>([&] { save_tfjs_model(gru, at("m")); }), "reset_after");
  const Sequential leaky({Dense({.units = 1, .activation = "leaky_relu", .input_shape = {2}})});
  EXPECT_HAS(message_of<UnsupportedError>([&] { save_tfjs_model(leaky, at("m")); }), "leaky_relu");
  EXPECT_TRUE(names().empty());
  const Sequential fine({Dense({.units = 1, .input_shape = {2}})});
  testing::write_bytes(at("file"), "");
  EXPECT_HAS(message_of<IoError>([&] { save_tfjs_model(fine, at("file")); }), "file");
}

}  // namespace
}  // namespace tenure::nn
