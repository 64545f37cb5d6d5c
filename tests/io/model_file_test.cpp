#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "io/files.h"
#include "tenure/nn/core_layers.h"
#include "tenure/nn/files.h"
#include "tenure/nn/image_layers.h"
#include "tenure/nn/preprocessing_layers.h"
#include "tenure/nn/recurrent_layers.h"
#include "tenure/nn/regularization_layers.h"

namespace tenure::nn {
namespace {

using testing::floats;
using testing::Floats;
using testing::message_of;

class ModelFile : public testing::Folder {
 protected:
  // A file with this architecture and 12 bytes of weights, without the care of our writers.
  std::string with_architecture(const std::string& model) {
    const nlohmann::json header = {
        {"__metadata__", {{"tenure.format", "1"}, {"tenure.model", model}}},
        {"a/kernel", {{"dtype", "F32"}, {"shape", {3, 1}}, {"data_offsets", {0, 12}}}}};
    const std::string text = header.dump();
    std::string bytes(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(text.size() >> 8 * i);
    return file(bytes + text + std::string(12, '\0'), "changed");
  }
  // The file with its metadata changed, or tensors left out.
  std::string changed(const std::string& path, const io::Metadata& metadata,
                      const std::string& without = "") {
    io::Archive archive = io::load_safetensors(path);
    for (const auto& [key, value] : metadata) archive.metadata[key] = value;
    std::erase_if(archive.tensors, [&](const auto& each) { return each.first == without; });
    io::save_safetensors(at("changed"), archive.tensors, archive.metadata);
    return at("changed");
  }
};

Tensor batch_x() {
  return tensor({0.1f, -0.2f, 0.3f, 0.9f, 0.5f, -0.6f, -0.7f, 0.8f, 0.2f, 0.4f, -0.1f, 0.6f},
                {4, 3});
}
Tensor batch_y() { return tensor({1.f, 0.f, -1.f, 0.5f}, {4, 1}); }

Sequential small(const std::string& name = "small") {
  return Sequential({Dense({.units = 5, .activation = "tanh", .input_shape = {3}}),
                     Dense({.units = 1, .kernel_regularizer = L2(0.01)})},
                    {.name = name});
}

std::vector<Floats> all_weights(const Model& model) {
  std::vector<Floats> values;
  for (const Tensor& weight : model.get_weights()) values.push_back(floats(weight));
  return values;
}

TEST_F(ModelFile, gives_back_the_model_with_its_weights) {
  const Sequential model = small();
  model.save(at("m"));
  const Model again = load_model(at("m"));
  EXPECT_EQ(again.class_name(), "Sequential");
  EXPECT_EQ(again.name(), "small");
  EXPECT_EQ(again.config(), model.config());
  EXPECT_EQ(again.summary(), model.summary());
  EXPECT_EQ(again.layers().size(), model.layers().size());
  EXPECT_EQ(all_weights(again), all_weights(model));
  EXPECT_EQ(floats(again.predict(batch_x())), floats(model.predict(batch_x())));
}

TEST_F(ModelFile, names_weights_by_layer_and_keeps_the_architecture_in_keras_schema) {
  Sequential model({Dense({.units = 2, .name = "first", .input_shape = {3}}), Dense({.units = 1})});
  model.save(at("m"));
  const io::SafetensorsReader file(at("m"));
  EXPECT_TRUE(file.contains("first/kernel"));
  EXPECT_TRUE(file.contains("dense/bias"));  // whatever number its name has in this program
  const auto json = nlohmann::json::parse(file.metadata().at("tenure.model"));
  EXPECT_EQ(json["class_name"], "Sequential");
  EXPECT_EQ(json["config"]["layers"][0]["class_name"], "InputLayer");
  EXPECT_EQ(json["config"]["layers"][1]["config"]["units"], 2);
  EXPECT_EQ(file.metadata().at("tenure.format"), "2");
  EXPECT_FALSE(file.metadata().contains("tenure.compile"));
}

TEST_F(ModelFile, names_do_not_depend_on_what_else_the_program_made) {
  for (int i = 0; i < 2; ++i) {
    const Sequential model({Bidirectional(LSTM({.units = 1}), {.input_shape = {2, 1}}),
                            Dense({.units = 1}), Dense({.units = 1, .name = "dense_1"}),
                            Dense({.units = 1, .name = "mine"})});
    model.save_weights(at("w"));
    std::vector<std::string> found;
    const io::SafetensorsReader file(at("w"));
    for (const io::TensorInfo& each : file.tensors()) {
      if (each.name.ends_with("/kernel")) found.push_back(each.name);
    }
    EXPECT_EQ(found, (std::vector<std::string>{"bidirectional/forward_lstm/lstm_cell/kernel",
                                               "bidirectional/backward_lstm/lstm_cell/kernel",
                                               "dense/kernel", "dense_1/kernel", "mine/kernel"}));
  }
}

class GoesOn : public ModelFile, public ::testing::WithParamInterface<Optimizer (*)()> {};

TEST_P(GoesOn, training_after_a_file_is_what_it_would_have_been) {
  const Sequential model = small();
  model.compile({.optimizer = GetParam()(), .loss = {"mse"}, .metrics = {"mae"}});
  for (int i = 0; i < 3; ++i) model.train_on_batch(batch_x(), batch_y());
  model.save(at("m"));
  const Model again = load_model(at("m"));
  EXPECT_EQ(again.optimizer().iterations(), 3);
  EXPECT_EQ(again.optimizer().class_name(), model.optimizer().class_name());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(again.train_on_batch(batch_x(), batch_y()),
              model.train_on_batch(batch_x(), batch_y()));
  }
  EXPECT_EQ(all_weights(again), all_weights(model));
}

INSTANTIATE_TEST_SUITE_P(
    Optimizers, GoesOn,
    ::testing::Values(
        +[]() -> Optimizer { return SGD({.learning_rate = 0.1, .momentum = 0.9}); },
        +[]() -> Optimizer { return Adam({.learning_rate = 0.05}); },
        +[]() -> Optimizer { return Nadam(); }, +[]() -> Optimizer { return Lamb(); },
        +[]() -> Optimizer { return Lion(); },
        +[]() -> Optimizer { return Ftrl({.learning_rate = 0.1}); },
        +[]() -> Optimizer { return Adafactor({.learning_rate = 0.1}); },
        +[]() -> Optimizer { return RMSprop({.momentum = 0.5, .centered = true}); },
        +[]() -> Optimizer { return Adagrad(); }, +[]() -> Optimizer { return SGD(); },
        +[]() -> Optimizer {
          return Adam({.learning_rate = ExponentialDecay(
                           {.initial_learning_rate = 0.1, .decay_steps = 2, .decay_rate = 0.5})});
        }));

TEST_F(ModelFile, the_optimizer_keeps_what_it_knows_of_weights_that_were_frozen_later) {
  const Sequential model = small();
  const Adam adam({.learning_rate = 0.1});
  model.compile({.optimizer = adam, .loss = {"mse"}});
  model.train_on_batch(batch_x(), batch_y());
  model.layers()[0].set_trainable(false);
  model.compile({.optimizer = adam, .loss = {"mse"}});
  model.train_on_batch(batch_x(), batch_y());
  model.save(at("m"));
  const Model again = load_model(at("m"));
  EXPECT_EQ(again.trainable_weights().size(), 2u);
  for (const Model& each : {Model(model), again}) {
    each.train_on_batch(batch_x(), batch_y());
    each.layers()[0].set_trainable(true);
    each.compile({.optimizer = each.optimizer(), .loss = {"mse"}});
    each.train_on_batch(batch_x(), batch_y());
  }
  EXPECT_EQ(all_weights(again), all_weights(model));
}

TEST_F(ModelFile, fit_goes_on_with_the_epochs_that_are_left) {
  const FitOptions all{.batch_size = 2, .epochs = 4, .verbose = Verbose::silent, .shuffle = false};
  const Sequential whole = small();
  whole.save_weights(at("w"));
  whole.compile({.optimizer = "adam", .loss = {"mse"}});
  const History expected = whole.fit(batch_x(), batch_y(), all);
  const Sequential half = small();
  half.load_weights(at("w"));
  half.compile({.optimizer = "adam", .loss = {"mse"}});
  FitOptions first = all;
  first.epochs = 2;
  first.callbacks = {ModelCheckpoint({.filepath = at("epoch{epoch}"), .monitor = "loss"})};
  half.fit(batch_x(), batch_y(), first);
  EXPECT_EQ(names().size(), 3u);
  const Model again = load_model(at("epoch2"));
  FitOptions rest = all;
  rest.initial_epoch = 2;
  const History found = again.fit(batch_x(), batch_y(), rest);
  const std::vector<double>& losses = expected["loss"];
  EXPECT_EQ(found["loss"], (std::vector<double>{losses[2], losses[3]}));
}

TEST_F(ModelFile, a_tidy_leaves_a_model_that_was_read_in_it_alive) {
  const Sequential model = small();
  model.save(at("m"));
  std::optional<Model> again;
  tidy([&] { again = load_model(at("m")); });
  EXPECT_EQ(floats(again->predict(batch_x())), floats(model.predict(batch_x())));
}

TEST_F(ModelFile, a_learning_rate_that_was_set_later_comes_back) {
  const Sequential model = small();
  model.compile({.optimizer = "sgd", .loss = {"mse"}});
  model.train_on_batch(batch_x(), batch_y());
  model.optimizer().set_learning_rate(0.25);
  model.save(at("m"));
  EXPECT_EQ(load_model(at("m")).optimizer().learning_rate(), 0.25);
}

TEST_F(ModelFile, gradients_that_wait_for_more_batches_are_kept) {
  const Sequential model = small();
  model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = {"mse"}, .accumulate = 3});
  for (int i = 0; i < 2; ++i) model.train_on_batch(batch_x() * float(i + 1), batch_y());
  model.save(at("m"));
  const Model again = load_model(at("m"));
  model.train_on_batch(batch_x(), batch_y());
  again.train_on_batch(batch_x(), batch_y());
  EXPECT_EQ(all_weights(again), all_weights(model));
  EXPECT_EQ(again.optimizer().iterations(), 1);
}

TEST_F(ModelFile, a_model_of_halves_trains_on_where_it_stopped) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const Sequential model({Dense({.units = 1, .input_shape = {3}, .dtype = dtype})});
    model.compile({.optimizer = Nadam(), .loss = "mse", .accumulate = 2});
    for (int i = 0; i < 3; ++i) model.train_on_batch(batch_x(), batch_y());  // a gradient waits
    model.save(at("m"));
    const Model again = load_model(at("m"));
    again.train_on_batch(batch_x(), batch_y());
    model.train_on_batch(batch_x(), batch_y());
    EXPECT_EQ(floats(cast(again.get_weights()[0], DType::float32)),
              floats(cast(model.get_weights()[0], DType::float32)));
  }
}

TEST_F(ModelFile, settings_of_compile_come_back) {
  const Node in = Input({.shape = {3}});
  const Model model({in},
                    {Dense({.units = 1, .name = "a"})(in), Dense({.units = 2, .name = "b"})(in)});
  model.compile({.optimizer = "adam",
                 .loss = {"mse", "mae"},
                 .loss_weights = {0.5, 2},
                 .metrics = {{"mse"}, {"mse"}}});
  model.save(at("m"));
  const Model again = load_model(at("m"));
  const Batch batch{{batch_x()}, {batch_y(), ones({4, 2})}, {}};
  EXPECT_EQ(again.train_on_batch(batch), model.train_on_batch(batch));
}

TEST_F(ModelFile, states_of_recurrent_layers_go_on_where_they_were) {
  const Sequential model(
      {GRU({.units = 3, .stateful = true, .batch_input_shape = {2, 4, 3}}), Dense({.units = 1})});
  const Tensor x = random::normal({2, 4, 3});
  model.predict(x, {.batch_size = 2});
  model.save(at("m"));
  const Model again = load_model(at("m"));
  EXPECT_EQ(floats(again.get_states().front()), floats(model.get_states().front()));
  EXPECT_EQ(floats(again.predict(x, {.batch_size = 2})),
            floats(model.predict(x, {.batch_size = 2})));
}

TEST_F(ModelFile, shared_layers_nested_models_and_frozen_ones_come_back) {
  const Node a = Input({.shape = {3}}), b = Input({.shape = {3}});
  const Dense twin({.units = 2, .activation = "relu"});
  const Sequential inner({Dense({.units = 4, .input_shape = {2}}), Dense({.units = 2})});
  inner.set_trainable(false);
  const Model model({a, b}, {inner(twin(a)), inner(twin(b))});
  model.save(at("m"));
  const Model again = load_model(at("m"));
  EXPECT_EQ(again.count_params(), model.count_params());
  EXPECT_EQ(again.trainable_weights().size(), 2u);
  const std::vector<Tensor> x{batch_x(), batch_x() * 2.f};
  const std::vector<Tensor> y = model.predict(x), z = again.predict(x);
  EXPECT_EQ(floats(y[0]), floats(z[0]));
  EXPECT_EQ(floats(y[1]), floats(z[1]));
}

struct Scale : LayerBase {
  using LayerBase::LayerBase;
  void build(const Shape& input) override {
    gain = add_weight("gain", {input[-1]}, {.initializer = "ones"});
  }
  Tensor call(const Tensor& x, const Call& c) override { return inner(x * gain, c); }
  const char* class_name() const override { return "OwnScale"; }
  Variable gain;
  Layer inner = track(Dense({.units = 2}));
};

TEST_F(ModelFile, layers_of_ones_own_are_made_by_what_was_registered) {
  const Layer scale = make_layer<Scale>();
  const Sequential model({Dense({.units = 3, .input_shape = {3}}), scale});
  scale.as<Scale>()->gain.assign(tensor({1.f, 2.f, 3.f}));
  model.save(at("m"));
  EXPECT_HAS(message_of<UnsupportedError>([&] { load_model(at("m")); }), "OwnScale");
  register_layer("OwnScale", [](const std::string& config) {
    const auto json = nlohmann::json::parse(config);
    return make_layer<Scale>(LayerOptions{.name = json.value("name", "")});
  });
  const Model again = load_model(at("m"));
  EXPECT_EQ(floats(again.predict(batch_x())), floats(model.predict(batch_x())));
}

struct Net : ModelBase {
  Tensor call(const Tensor& x, const Call& c) override { return out(hidden(x, c), c); }
  const char* class_name() const override { return "Net"; }
  Layer hidden = track(Dense({.units = 4, .activation = "tanh"}));
  Layer out = track(Dense({.units = 1}));
};

TEST_F(ModelFile, of_a_model_of_ones_own_only_the_weights_are_saved) {
  const Model net = make_model<Net>(), other = make_model<Net>();
  EXPECT_HAS(message_of<ValueError>([&] { net.save_weights(at("w")); }), "has no weights yet");
  const Floats y = floats(net(batch_x()));
  EXPECT_HAS(message_of<UnsupportedError>([&] { net.save(at("m")); }), "a model of your own");
  net.save_weights(at("w"));
  other(batch_x());
  other.load_weights(at("w"));  // whatever numbers the names of its layers have
  EXPECT_EQ(floats(other(batch_x())), y);
}

struct OwnOptimizer : OptimizerBase {
  const char* class_name() const override { return "OwnOptimizer"; }
  Update update(const Tensor& value, const Tensor& gradient, const std::vector<Tensor>&,
                const std::vector<Tensor>& numbers) const override {
    return {value - gradient * numbers[0], {}};
  }
};

TEST_F(ModelFile, what_no_file_can_say_is_refused) {
  const Sequential activation(
      {Dense({.units = 1, .activation = [](Tensor x) { return x * x; }, .input_shape = {3}})});
  EXPECT_HAS(message_of<UnsupportedError>([&] { activation.save(at("m")); }), "activation");
  const Sequential loss = small();
  loss.compile({.optimizer = "sgd", .loss = {Loss([](Tensor a, Tensor b) { return a - b; })}});
  EXPECT_HAS(message_of<UnsupportedError>([&] { loss.save(at("m")); }), "function of your own");
  const Sequential optimizer = small();
  optimizer.compile({.optimizer = make_optimizer<OwnOptimizer>(), .loss = {"mse"}});
  EXPECT_HAS(message_of<UnsupportedError>([&] { optimizer.save(at("m")); }), "OwnOptimizer");
  const Sequential unknown({Dense({.units = 1})});
  EXPECT_HAS(message_of<ValueError>([&] { unknown.save(at("m")); }), "input_shape");
  EXPECT_TRUE(names().empty());
}

TEST_F(ModelFile, weights_fit_a_model_made_in_the_same_way) {
  const Sequential a = small(), b = small();
  a.save_weights(at("w"));
  b.load_weights(at("w"));
  EXPECT_EQ(all_weights(a), all_weights(b));
  const Sequential c = small();
  a.compile({.optimizer = "adam", .loss = {"mse"}});
  a.train_on_batch(batch_x(), batch_y());
  a.save(at("m"));
  c.load_weights(at("m"));  // of a whole model, the weights
  EXPECT_EQ(all_weights(a), all_weights(c));
}

TEST_F(ModelFile, every_weight_that_does_not_fit_is_named_and_nothing_changes) {
  const Sequential from(
      {Dense({.units = 4, .name = "a", .input_shape = {3}}), Dense({.units = 2, .name = "b"})});
  const Sequential to({Dense({.units = 4, .name = "a", .input_shape = {3}}),
                       Dense({.units = 3, .name = "b"}), Dense({.units = 1, .name = "c"})});
  from.save_weights(at("w"));
  io::Archive archive = io::load_safetensors(at("w"));
  archive.tensors.emplace_back("d/kernel", zeros({1}));
  io::save_safetensors(at("w"), archive.tensors, archive.metadata);
  const std::vector<Floats> before = all_weights(to);
  const std::string text = message_of<IoError>([&] { to.load_weights(at("w")); });
  EXPECT_HAS(text, "not in the file: c/kernel, c/bias");
  EXPECT_HAS(text, "not in the model: d/kernel");
  EXPECT_HAS(text, "\"b/kernel\" is [4, 2] in the file, [4, 3] in the model");
  EXPECT_EQ(all_weights(to), before);

  EXPECT_HAS(message_of<IoError>([&] { load_weights(to, at("w"), {.by_name = true}); }),
             "b/kernel");
  EXPECT_EQ(all_weights(to), before);
  const LoadedWeights done = load_weights(to, at("w"), {.by_name = true, .skip_mismatched = true});
  EXPECT_EQ(done.loaded, (std::vector<std::string>{"a/kernel", "a/bias"}));
  EXPECT_EQ(done.missing, (std::vector<std::string>{"c/kernel", "c/bias"}));
  EXPECT_EQ(done.unexpected, std::vector<std::string>{"d/kernel"});
  EXPECT_EQ(done.mismatched, (std::vector<std::string>{"b/kernel", "b/bias"}));
  EXPECT_EQ(floats(to.get_weights()[0]), floats(from.get_weights()[0]));
  EXPECT_EQ(floats(to.get_weights()[2]), before[2]);
}

TEST_F(ModelFile, half_floats_become_what_the_model_has) {
  const Sequential model({Dense({.units = 1, .name = "d", .input_shape = {2}})});
  io::save_safetensors(at("w"), {{"d/kernel", cast(tensor({0.5f, -2.f}, {2, 1}), DType::float16)},
                                 {"d/bias", tensor(std::vector<double>{0.25})}});
  model.load_weights(at("w"));
  EXPECT_EQ(all_weights(model), (std::vector<Floats>{{0.5f, -2.f}, {0.25f}}));
  io::save_safetensors(at("w"),
                       {{"d/kernel", zeros({2, 1}, DType::int32)}, {"d/bias", zeros({1})}});
  EXPECT_HAS(message_of<IoError>([&] { model.load_weights(at("w")); }), "d/kernel");
}

TEST_F(ModelFile, absurd_and_broken_architectures_are_refused_before_they_cost_anything) {
  const auto complaint = [&](const std::string& model) {
    return message_of<IoError>([&] { load_model(with_architecture(model)); });
  };
  const auto sequential = [](const std::string& layers) {
    return R"({"class_name":"Sequential","config":{"name":"m","layers":[)" + layers + "]}}";
  };
  const std::size_t before = memory().peak_bytes;
  EXPECT_HAS(
      complaint(sequential(
          R"({"class_name":"Dense","config":{"units":1099511627776,"batch_input_shape":[null,3]}})")),
      "the file has");
  EXPECT_HAS(
      complaint(sequential(
          R"({"class_name":"Dense","config":{"units":9223372036854775807,"batch_input_shape":[null,9223372036854775807]}})")),
      "more elements than a tensor can have");
  EXPECT_HAS(
      complaint(sequential(
          R"({"class_name":"Dense","config":{"units":18446744073709551615,"batch_input_shape":[null,3]}})")),
      "whole number");
  EXPECT_HAS(
      complaint(sequential(
          R"({"class_name":"LSTM","config":{"units":1,"stateful":true,"batch_input_shape":[1000000000,1,1]}})")),
      "state");
  EXPECT_LT(memory().peak_bytes, before + (std::size_t{1} << 20));
  EXPECT_HAS(complaint(sequential(R"({"class_name":"Dense","config":{"units":"many"}})")), "units");
  EXPECT_HAS(complaint(sequential(R"({"class_name":"Dense","config":{"name":7,"units":1}})")), "");
  EXPECT_HAS(complaint(R"({"class_name":"Dense","config":{"units":1}})"), "not a model");
  EXPECT_HAS(complaint(R"({"class_name":"Sequential"})"), "config");
  EXPECT_HAS(complaint("[]"), "no object");
  EXPECT_HAS(complaint(sequential(
                 R"({"class_name":"Dense","config":{"units":1,"activation":"\u001b[31m"}})")),
             "\\x1b[31m");  // cannot drive a terminal
  EXPECT_HAS(complaint("{"), "not JSON");
  EXPECT_HAS(complaint(std::string(100'000, '[')), "deep");
  std::string wide = "{";
  for (int i = 0; i < 20'000; ++i) wide += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_HAS(complaint(wide + "\"end\":0}"), "members");
}

TEST_F(ModelFile, absurd_sizes_cost_nothing_in_any_layer) {
  struct Case {
    const char* layer;
    const char* config;  // N: the size
    const char* input;
  };
  const Case cases[] = {
      {"Dense", R"("units":N)", "null,3"},
      {"RepeatVector", R"("n":N)", "null,3"},
      {"Reshape", R"("target_shape":[N,N])", "null,3"},
      {"Flatten", "", "null,N,N"},
      {"Embedding", R"("input_dim":N,"output_dim":1)", "null,2"},
      {"Conv2D", R"("filters":1,"kernel_size":[N,N])", "null,8,8,1"},
      {"Conv2D", R"("filters":N,"kernel_size":[1,1])", "null,8,8,1"},
      {"Conv2D", R"("filters":1,"kernel_size":[2,2],"dilation_rate":[N,N])", "null,8,8,1"},
      {"Conv2DTranspose", R"("filters":1,"kernel_size":[1,1],"strides":[N,N])", "null,8,8,1"},
      {"ZeroPadding2D", R"("padding":[[N,N],[N,N]])", "null,8,8,1"},
      {"UpSampling2D", R"("size":[N,N])", "null,8,8,1"},
      {"MaxPooling2D", R"("pool_size":[N,N],"padding":"same")", "null,8,8,1"},
      {"BatchNormalization", R"("axis":N)", "null,3"},
      {"LSTM", R"("units":N)", "null,8,1"},
      {"GRU", R"("units":1,"stateful":true)", "N,8,1"},
      {"Bidirectional", R"("layer":{"class_name":"GRU","config":{"units":N}})", "null,8,1"},
      {"TimeDistributed", R"("layer":{"class_name":"Dense","config":{"units":N}})", "null,8,1"},
  };
  reset_peak();
  const std::size_t before = memory().peak_bytes;
  for (const Case& each : cases) {
    for (const std::string size : {"2147483648", "1099511627776", "9223372036854775807", "-1", "0",
                                   "-4611686018427387904"}) {
      std::string layer = fmt::format(
          R"({{"class_name":"{}","config":{{"name":"a","batch_input_shape":[{}]{}{}}}}})",
          each.layer, each.input, *each.config == '\0' ? "" : ",", each.config);
      for (std::size_t at = layer.find('N'); at != layer.npos; at = layer.find('N', at + 1)) {
        const bool is_size = !std::isalpha(static_cast<unsigned char>(layer[at + 1]));
        if (is_size) layer.replace(at, 1, size);
      }
      EXPECT_THROW(
          load_model(changed(
              at("m"), {{"tenure.model",
                         R"({"class_name":"Sequential","config":{"layers":[)" + layer + "]}}"}})),
          IoError)
          << layer;
    }
  }
  EXPECT_LT(memory().peak_bytes, before + (std::size_t{1} << 20));
}

TEST_F(ModelFile, graphs_that_cannot_be_are_refused) {
  const auto complaint = [&](const std::string& layers, const std::string& out) {
    const std::string json =
        R"({"class_name":"Functional","config":{"name":"m","layers":[)"
        R"({"class_name":"InputLayer","name":"in","config":{"name":"in","batch_input_shape":[null,3]},"inbound_nodes":[]},)" +
        layers + R"(],"input_layers":[["in",0,0]],"output_layers":[)" + out + "]}}";
    return message_of<IoError>([&] { load_model(with_architecture(json)); });
  };
  const auto flat = [](const std::string& name, const std::string& from) {
    return R"({"class_name":"Activation","name":")" + name + R"(","config":{"name":")" + name +
           R"(","activation":"relu"},"inbound_nodes":[[[")" + from + R"(",0,0,{}]]]})";
  };
  EXPECT_HAS(complaint(flat("a", "b") + "," + flat("b", "a"), R"(["a",0,0])"), "depends on itself");
  EXPECT_HAS(complaint(flat("a", "a"), R"(["a",0,0])"), "depends on itself");
  EXPECT_HAS(complaint(flat("a", "none"), R"(["a",0,0])"), "no layer of it");
  EXPECT_HAS(complaint(flat("a", "in"), R"(["a",7,0])"), "has 1 calls");
  EXPECT_HAS(complaint(flat("a", "in"), R"(["a",0,7])"), "has 1 outputs");
  EXPECT_HAS(complaint(flat("a", "in") + "," + flat("a", "in"), R"(["a",0,0])"), "two layers");
}

TEST_F(ModelFile, a_long_chain_of_layers_is_no_matter_for_the_stack) {
  std::string layers;
  constexpr int kLayers = 20'000;
  for (int i = kLayers; i > 0; --i) {
    const std::string name = "l" + std::to_string(i);
    const std::string from = i == 1 ? "in" : "l" + std::to_string(i - 1);
    layers += R"(,{"class_name":"Activation","name":")" + name + R"(","config":{"name":")" + name +
              R"(","activation":"linear"},"inbound_nodes":[[[")" + from + R"(",0,0,{}]]]})";
  }
  const std::string json =
      R"({"class_name":"Functional","config":{"name":"m","layers":[)"
      R"({"class_name":"InputLayer","name":"in","config":{"name":"in","batch_input_shape":[null,3]},"inbound_nodes":[]})" +
      layers + R"(],"input_layers":[["in",0,0]],"output_layers":[["l20000",0,0]]}})";
  io::save_safetensors(at("m"), io::NamedTensors{},
                       {{"tenure.format", "1"}, {"tenure.model", json}});
  EXPECT_EQ(load_model(at("m")).layers().size(), static_cast<std::size_t>(kLayers) + 1);
}

TEST_F(ModelFile, tensors_that_are_not_the_models_are_named) {
  const Sequential model({Dense({.units = 2, .name = "only", .input_shape = {3}})});
  model.compile({.optimizer = "adam", .loss = {"mse"}});
  model.train_on_batch(batch_x(), ones({4, 2}));
  model.save(at("m"));
  EXPECT_HAS(message_of<IoError>([&] { load_model(changed(at("m"), {}, "only/bias")); }),
             "not in the file: only/bias");
  EXPECT_HAS(message_of<IoError>([&] { load_model(changed(at("m"), {}, "optimizer/iterations")); }),
             "not in the model: optimizer/");
  EXPECT_HAS(message_of<IoError>([&] { load_model(changed(at("m"), {{"tenure.format", "3"}})); }),
             "of format 3, and this library reads 1 and 2");
  EXPECT_HAS(message_of<IoError>([&] {
               load_model(changed(at("m"),
                                  {{"tenure.compile", R"({"optimizer":{"class_name":"none"}})"}}));
             }),
             "none");
  io::save_safetensors(at("w"), {{"x", zeros({1})}});
  EXPECT_HAS(message_of<IoError>([&] { load_model(at("w")); }), "no model");
}

TEST_F(ModelFile, goes_on_with_the_noise_of_a_seed) {
  const Sequential model({Dropout({.rate = 0.5, .seed = 4, .input_shape = {8}})});
  const Call training{.training = true};
  model(ones({2, 8}), training);
  model.save(at("m"));
  const Model again = load_model(at("m"));
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(floats(again(ones({2, 8}), training)), floats(model(ones({2, 8}), training)));
  }
  // Of before layers counted.
  const Model old = load_model(changed(at("m"), {{"tenure.format", "1"}}, "state/dropout/draws"));
  EXPECT_NE(floats(old(ones({2, 8}), training)), floats(model(ones({2, 8}), training)));
  EXPECT_HAS(message_of<IoError>([&] { load_model(changed(at("m"), {}, "state/dropout/draws")); }),
             "not in the file: state/dropout/draws");
}

TEST_F(ModelFile, has_what_layers_learned_of_their_data) {
  const Discretization bins({.num_bins = 3, .input_shape = {2}});
  const Normalization normal;
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {3, 2});
  bins.adapt(x);
  const Sequential model({bins, Rescaling({.scale = 1}), normal});
  normal.adapt(cast(bins(x), DType::float32));
  const Floats want = floats(model.predict(x));
  model.save(at("m"));
  EXPECT_EQ(floats(load_model(at("m")).predict(x)), want);
}

// Until format 2, hard_sigmoid was that of Keras 2: 0.9 at 2, in place of 5 / 6.
TEST_F(ModelFile, of_format_1_keeps_its_hard_sigmoid) {
  const Sequential model({Activation({.activation = "hard_sigmoid", .input_shape = {1}})});
  model.save(at("m"));
  const Tensor x = full({1, 1}, 2.f);
  EXPECT_NEAR(load_model(at("m")).predict(x).item<float>(), 5.0 / 6, 1e-6);
  const Model old = load_model(changed(at("m"), {{"tenure.format", "1"}}));
  EXPECT_NEAR(old.predict(x).item<float>(), 0.9, 1e-6);
  old.save(at("again"));
  EXPECT_NEAR(load_model(at("again")).predict(x).item<float>(), 0.9, 1e-6);
}

}  // namespace
}  // namespace tenure::nn
