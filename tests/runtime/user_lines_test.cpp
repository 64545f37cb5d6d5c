// The site of an event inside the library is the user's outermost call: every line that a story, an
// error or a recording names is one of the program's.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "nn/config.h"
#include "nn/loss_spec.h"
#include "nn/metric.h"
#include "nn/parts.h"
#include "runtime/user_lines.h"
#include "tenure/tenure.h"

namespace tenure::testing {
namespace {

constexpr nn::Verbose kSilent = nn::Verbose::silent;

class UserLines : public UserLinesOf {
 protected:
  UserLines() : UserLinesOf(std::source_location::current()) {}
};

Tensor ramp(const Shape& shape, std::source_location site = std::source_location::current()) {
  std::vector<float> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.01f * static_cast<float>(i % 97);
  return from_buffer(values.data(), shape, DType::float32, nullptr, site) + Arg(0, site);
}

// Each layer with the shape of an input it takes.
struct LayerCase {
  nn::Layer layer;
  std::vector<Shape> inputs;
};

std::vector<LayerCase> all_layers() {
  const Shape line{2, 8, 3}, plane{2, 8, 8, 3}, space{2, 4, 4, 4, 2};
  std::vector<LayerCase> cases;
  const auto add = [&](nn::Layer layer, std::vector<Shape> inputs) {
    cases.push_back({std::move(layer), std::move(inputs)});
  };
  add(nn::Dense({.units = 4,
                 .activation = "relu",
                 .kernel_regularizer = nn::L2(0.01),
                 .kernel_constraint = nn::MaxNorm(1)}),
      {{2, 3}});
  add(nn::Activation("tanh"), {{2, 3}});
  add(nn::Masking(), {line});
  add(nn::Embedding({.input_dim = 10, .output_dim = 4, .mask_zero = true}), {{2, 8}});
  add(nn::Lambda({.function = [](Tensor x) { return x * 2.0; }}), {{2, 3}});
  add(nn::ReLU(), {{2, 3}});
  add(nn::LeakyReLU(), {{2, 3}});
  add(nn::PReLU(), {{2, 3}});
  add(nn::ELU(), {{2, 3}});
  add(nn::ThresholdedReLU(), {{2, 3}});
  add(nn::Softmax(), {{2, 3}});
  add(nn::Add(), {{2, 3}, {2, 3}});
  add(nn::Subtract(), {{2, 3}, {2, 3}});
  add(nn::Multiply(), {{2, 3}, {2, 3}});
  add(nn::Average(), {{2, 3}, {2, 3}});
  add(nn::Maximum(), {{2, 3}, {2, 3}});
  add(nn::Minimum(), {{2, 3}, {2, 3}});
  add(nn::Concatenate(), {{2, 3}, {2, 3}});
  add(nn::Dot({.axes = {1}}), {{2, 3}, {2, 3}});
  add(nn::Conv1D({.filters = 4, .kernel_size = {3}}), {line});
  add(nn::Conv2D({.filters = 4, .kernel_size = {3}}), {plane});
  add(nn::Conv3D({.filters = 2, .kernel_size = {2}}), {space});
  add(nn::Conv1DTranspose({.filters = 4, .kernel_size = {3}}), {line});
  add(nn::Conv2DTranspose({.filters = 4, .kernel_size = {3}}), {plane});
  add(nn::Conv3DTranspose({.filters = 2, .kernel_size = {2}}), {space});
  add(nn::DepthwiseConv1D({.kernel_size = {3}}), {line});
  add(nn::DepthwiseConv2D({.kernel_size = {3}}), {plane});
  add(nn::SeparableConv1D({.filters = 4, .kernel_size = {3}}), {line});
  add(nn::SeparableConv2D({.filters = 4, .kernel_size = {3}}), {plane});
  add(nn::Flatten(), {plane});
  add(nn::Reshape({.target_shape = {3, 8}}), {line});
  add(nn::Permute({.dims = {2, 1}}), {line});
  add(nn::RepeatVector({.n = 2}), {{2, 3}});
  add(nn::Cropping1D(), {line});
  add(nn::Cropping2D({.cropping = {{{1, 1}, {1, 1}}}}), {plane});
  add(nn::ZeroPadding1D(), {line});
  add(nn::ZeroPadding2D(), {plane});
  add(nn::ZeroPadding3D(), {space});
  add(nn::UpSampling1D(), {line});
  add(nn::UpSampling2D(), {plane});
  add(nn::UpSampling3D(), {space});
  add(nn::MaxPooling1D(), {line});
  add(nn::MaxPooling2D(), {plane});
  add(nn::MaxPooling3D(), {space});
  add(nn::AveragePooling1D(), {line});
  add(nn::AveragePooling2D(), {plane});
  add(nn::AveragePooling3D(), {space});
  add(nn::GlobalMaxPooling1D(), {line});
  add(nn::GlobalMaxPooling2D(), {plane});
  add(nn::GlobalAveragePooling1D(), {line});
  add(nn::GlobalAveragePooling2D(), {plane});
  add(nn::Dropout({.rate = 0.5}), {{2, 3}});
  add(nn::Dropout({.rate = 0.5, .seed = 1}), {{2, 3}});
  add(nn::AlphaDropout({.rate = 0.5}), {{2, 3}});
  add(nn::SpatialDropout1D({.rate = 0.5}), {line});
  add(nn::SpatialDropout2D({.rate = 0.5}), {plane});
  add(nn::GaussianDropout({.rate = 0.5}), {{2, 3}});
  add(nn::GaussianNoise({.stddev = 0.5}), {{2, 3}});
  add(nn::ActivityRegularization({.l2 = 0.1}), {{2, 3}});
  add(nn::BatchNormalization(), {plane});
  add(nn::LayerNormalization(), {{2, 3}});
  add(nn::GroupNormalization({.groups = 3}), {plane});
  add(nn::RMSNormalization(), {{2, 3}});
  add(nn::UnitNormalization(), {{2, 3}});
  add(nn::SpectralNormalization(nn::Dense({.units = 4})), {{2, 3}});
  add(nn::Normalization(), {{2, 3}});
  add(nn::Identity(), {{2, 3}});
  add(nn::EinsumDense({.equation = "...x,xy->...y", .output_shape = {4}, .bias_axes = "y"}),
      {line});
  add(nn::RandomFlip({.seed = 1}), {plane});
  add(nn::RandomRotation({.factor = 0.1}), {plane});
  add(nn::RandomZoom({.height_factor = 0.1}), {plane});
  add(nn::RandomTranslation({.height_factor = 0.1, .width_factor = 0.1}), {plane});
  add(nn::RandomCrop({.height = 4, .width = 4}), {plane});
  add(nn::RandomContrast({.factor = 0.5}), {plane});
  add(nn::RandomBrightness({.factor = 0.5}), {plane});
  add(nn::Rescaling({.scale = 0.5}), {plane});
  add(nn::Resizing({.height = 4, .width = 4}), {plane});
  add(nn::CenterCrop({.height = 4, .width = 4}), {plane});
  add(nn::MultiHeadAttention({.num_heads = 2, .key_dim = 4}), {line, line});
  add(nn::GroupedQueryAttention({.head_dim = 4, .num_query_heads = 2, .num_key_value_heads = 1}),
      {line, line});
  add(nn::Attention(), {line, line});
  add(nn::AdditiveAttention(), {line, line});
  add(nn::SimpleRNN({.units = 4, .return_sequences = true}), {line});
  add(nn::GRU({.units = 4, .stateful = true}), {line});
  add(nn::LSTM({.units = 4, .dropout = 0.2, .recurrent_dropout = 0.2}), {line});
  add(nn::RNN(nn::StackedRNNCells({nn::LSTMCell({.units = 3}), nn::GRUCell({.units = 4})})),
      {line});
  add(nn::Bidirectional(nn::LSTM({.units = 3})), {line});
  add(nn::TimeDistributed(nn::Dense({.units = 4})), {line});
  add(nn::ConvLSTM2D({.filters = 2, .kernel_size = {3}}), {{2, 3, 6, 6, 2}});
  add(nn::RNN(nn::ConvLSTM2DCell({.filters = 2, .kernel_size = {3}})), {{2, 3, 6, 6, 2}});
  add(nn::RNN(nn::SimpleRNNCell({.units = 3})), {line});
  add(nn::Cropping3D(), {space});
  add(nn::SpatialDropout3D({.rate = 0.5}), {space});
  add(nn::GlobalMaxPooling3D(), {space});
  add(nn::GlobalAveragePooling3D(), {space});
  add(nn::Discretization({.bin_boundaries = {0.1, 0.2}}), {{2, 3}});
  add(nn::CategoryEncoding({.num_tokens = 4}), {{2, 3}});
  return cases;
}

std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> list;
  std::istringstream text(names);
  for (std::string name; text >> name;) {
    if (name.ends_with(',')) name.pop_back();
    list.push_back(name);
  }
  return list;
}

void add_names(const nn::Layer& layer, std::set<std::string>& names) {
  names.insert(layer.class_name());
  for (const nn::Layer& inner : layer.layers()) add_names(inner, names);
}

TEST(UserLinesOfLayers, are_of_all_that_there_are) {
  std::set<std::string> names{"Operation"};  // of functional models, below
  for (const LayerCase& each : all_layers()) add_names(each.layer, names);
  for (const std::string& name : nn::detail::layer_names()) {
    EXPECT_TRUE(names.contains(name)) << name << " is missing in all_layers()";
  }
}

TEST_F(UserLines, of_every_layer_called_trained_and_disposed) {
  recorded([&] {
    for (const LayerCase& each : all_layers()) {
      SCOPED_TRACE(each.layer.class_name());
      const std::string class_name = each.layer.class_name();
      const char* name = class_name.c_str();
      std::vector<Tensor> inputs;
      for (const Shape& shape : each.inputs) inputs.push_back(ramp(shape));
      Tensor first;
      {
        GradientTape tape;
        for (const Tensor& input : inputs) tape.watch(input);
        const std::vector<Tensor> outputs = each.layer.apply(inputs, {.training = true});
        tells(name, outputs);
        first = outputs.front();
        const Tensor loss = mean(first);
        const std::vector<Variable> weights = each.layer.trainable_weights();
        tells(name, tape.gradient(loss, weights));
      }
      tells(name, each.layer.apply(inputs));
      tells(name, each.layer.get_weights());
      tells(name, each.layer.get_states());
      each.layer.reset_states();
      each.layer.set_weights(each.layer.get_weights());
      inputs.front().dispose();
      fails(name, [&] { each.layer.apply(inputs); });
      failed(name, [&] { each.layer.apply({ramp({1, 1, 1, 1, 1, 1, 1, 1})}); });
      if (!each.layer.weights().empty()) {
        fails(name, [&] { each.layer.set_weights({ramp({7})}); });
        const Variable weight = each.layer.weights().front();
        fails(name, [&] { weight.read() + ramp({5, 7}); });
        each.layer.dispose();
        fails(name, [&] { weight.read(); });
      } else {
        each.layer.dispose();
      }
      fails(name, [&] { each.layer.apply({ramp(each.inputs.front())}); });
      first.dispose();
      fails(name, [&] { first + 1; });
    }
  });
}

struct Scale : nn::LayerBase {
  const char* class_name() const override { return "Scale"; }
  void build(const Shape& input) override { rate = add_weight("rate", {input[-1]}); }
  Tensor call(const Tensor& x, const nn::Call&) override { return x * rate; }
  Variable rate;
};

TEST_F(UserLines, of_layers_of_the_users_own) {
  recorded([&] {
    const nn::Layer layer = nn::make_layer<Scale>();
    tells("Scale", layer(ramp({2, 3})));
    fails("Scale", [&] { layer(ramp({2, 4})); });
    const nn::Sequential model({layer, nn::Dense({.units = 2})});
    model.compile({.loss = "mse"});
    model.fit(ramp({8, 3}), ramp({8, 2}), {.verbose = kSilent});
    const nn::Optimizer optimizer = model.optimizer();
    model.dispose();
    fails("Scale", [&] { layer(ramp({2, 3})); });
    fails("optimizer", [&] { optimizer.apply({ramp({3})}, {Variable(ramp({3}))}); });
    fails("bidirectional", [&] {
      const nn::Layer both = nn::Bidirectional(nn::GRU({.units = 2}));
      both(ramp({1, 2, 3}));
      both.layers().front().dispose();
      both.dispose();
      both.layers().front()(ramp({1, 2, 3}));
    });
  });
}

TEST_F(UserLines, of_parts_that_are_called_by_themselves) {
  recorded([&] {
    for (const char* name : {"glorot_uniform", "he_normal", "orthogonal", "ones", "zeros",
                             "random_normal", "truncated_normal", "lecun_uniform"}) {
      tells(name, nn::Initializer(name)({4, 4}));
    }
    tells("l2", nn::L2(0.1)(ramp({4, 4})));
    tells("l1", nn::L1L2(0.1)(ramp({4, 4})));
    for (const char* name : {"max_norm", "min_max_norm", "non_neg", "unit_norm"}) {
      tells(name, nn::Constraint(name)(ramp({4, 4})));
    }
    for (const char* name : {"relu6", "gelu", "mish", "hard_sigmoid", "softmax", "elu"}) {
      tells(name, nn::ActivationFn(name)(ramp({4, 4})));
    }
    const nn::Schedule decay = nn::PolynomialDecay({.initial_learning_rate = 0.1});
    tells("schedule", decay(ones({})));
    (void)decay.at(3);
    Tensor gone = ramp({4, 4});
    gone.dispose();
    fails("l2", [&] { nn::L2(0.1)(gone); });
    fails("max_norm", [&] { nn::MaxNorm()(gone); });
    fails("mish", [&] { nn::ActivationFn("mish")(gone); });
    fails("schedule", [&] { decay(gone); });
    fails("orthogonal", [&] { nn::Orthogonal()({4}); });
  });
}

TEST_F(UserLines, of_every_optimizer) {
  recorded([&] {
    const nn::Schedule decay = nn::ExponentialDecay({.initial_learning_rate = 0.1});
    std::vector<nn::Optimizer> optimizers{
        nn::SGD({.learning_rate = decay, .momentum = 0.9, .nesterov = true}),
        nn::Adam({.learning_rate = 0.1, .amsgrad = true}),
        nn::RMSprop({.momentum = 0.5, .centered = true}),
        nn::SGD({.learning_rate = nn::CosineDecayRestarts(
                     {.initial_learning_rate = 0.1, .first_decay_steps = 2}),
                 .clipnorm = 1.0}),
        nn::SGD({.global_clipnorm = 1.0}),
        nn::SGD({.clipvalue = 1.0})};
    for (const std::string& name : split(nn::detail::optimizer_names())) {
      optimizers.push_back(nn::Optimizer(name));
    }
    for (const nn::Optimizer& optimizer : optimizers) {
      SCOPED_TRACE(optimizer.class_name());
      const std::string class_name = optimizer.class_name();
      const char* name = class_name.c_str();
      const Variable w(ramp({3, 2}), {.name = "w"});
      for (int step = 0; step < 3; ++step) {
        GradientTape tape;
        const Tensor loss = mean(square(w));
        optimizer.apply({tape.gradient(loss, w)}, {w});
      }
      (void)optimizer.learning_rate();
      (void)optimizer.iterations();
      for (const Variable& slot : optimizer.variables()) tells(name, slot.read());
      tells(name, w.read());
      fails(name, [&] { optimizer.apply({ramp({7})}, {w}); });
      fails(name, [&] { optimizer.apply({ramp({3, 2}), ramp({3, 2})}, {w}); });
      Tensor gone = ramp({3, 2});
      gone.dispose();
      fails(name, [&] { optimizer.apply({gone}, {w}); });
      const Variable state = optimizer.variables().front();
      optimizer.dispose();
      fails(name, [&] { optimizer.apply({ramp({3, 2})}, {w}); });
      fails(name, [&] { optimizer.iterations(); });
      fails(name, [&] { state.read(); });
    }
  });
}

TEST_F(UserLines, of_every_loss_and_metric) {
  recorded([&] {
    const Tensor labels = ramp({4, 3}), guesses = softmax(ramp({4, 3}));
    const Tensor classes = cast(ramp({4}) * 50, DType::int32);
    const std::set<std::string> of_other_inputs{
        "sparse_categorical_crossentropy",      "ctc", "circle", "dice", "tversky",
        "categorical_generalized_cross_entropy"};
    for (const std::string& each : split(nn::detail::loss_names())) {
      if (of_other_inputs.contains(each)) continue;
      const char* name = each.c_str();
      SCOPED_TRACE(name);
      const nn::Loss loss(name);
      tells(name, loss(labels, guesses));
      tells(name, loss(labels, guesses, ramp({4})));
      tells(name, loss.per_example(labels, guesses));
      fails(name, [&] { loss(ramp({5, 3}), guesses); });
      fails(name, [&] { loss(labels, guesses, ramp({9})); });
      Tensor gone = ramp({4, 3});
      gone.dispose();
      fails(name, [&] { loss(labels, gone); });
      fails(name, [&] { loss(gone, guesses); });
    }
    tells("sparse", nn::Loss("sparse_categorical_crossentropy")(classes, guesses));
    tells("generalized", nn::CategoricalGeneralizedCrossEntropy()(classes, guesses));
    tells("ctc", nn::CTC()(expand_dims(classes, 1) * 0 + 1, ramp({4, 5, 3})));
    fails("ctc", [&] { nn::CTC()(classes, ramp({4, 5, 3})); });
    tells("circle", nn::Circle()(classes, guesses));
    tells("dice", nn::Dice()(labels, guesses));
    fails("dice", [&] { nn::Dice()(labels, guesses, ramp({4})); });
    tells("tversky", nn::Tversky({.axis = {1}})(labels, guesses));
    const std::set<std::string> of_classes{"sparse_categorical_accuracy",
                                           "sparse_top_k_categorical_accuracy"};
    const std::map<std::string, nn::Metric> with_settings{
        {"io_u", nn::IoU({.num_classes = 3, .target_class_ids = {0}})},
        {"mean_io_u", nn::MeanIoU({.num_classes = 3})},
        {"one_hot_io_u", nn::OneHotIoU({.num_classes = 3, .target_class_ids = {0}})},
        {"one_hot_mean_io_u", nn::OneHotMeanIoU({.num_classes = 3})},
        {"sensitivity_at_specificity", nn::SensitivityAtSpecificity({.specificity = 0.5})},
        {"specificity_at_sensitivity", nn::SpecificityAtSensitivity({.sensitivity = 0.5})},
        {"precision_at_recall", nn::PrecisionAtRecall({.recall = 0.5})},
        {"recall_at_precision", nn::RecallAtPrecision({.precision = 0.5})}};
    const std::string all = "accuracy, " + nn::detail::mean_metric_names() + ", " +
                            nn::detail::confusion_metric_names() + ", " +
                            nn::detail::class_metric_names() + ", " +
                            nn::detail::regression_metric_names() + ", " + nn::detail::loss_names();
    for (const std::string& each : split(all)) {
      if (each == "mean" || each == "sum") continue;  // of values, below
      if (of_other_inputs.contains(each)) continue;
      const char* name = each.c_str();
      SCOPED_TRACE(name);
      const auto settings = with_settings.find(each);
      nn::Metric metric = settings != with_settings.end() ? settings->second : nn::Metric(name);
      if (each == "accuracy") metric = metric.resolved(nn::Loss("binary_crossentropy"), {4, 3});
      const Tensor& y_true = of_classes.contains(each) ? classes : labels;
      metric.update(y_true, guesses);
      metric.update(y_true, guesses, ramp({4}));
      (void)metric.result();
      (void)metric.results();
      for (const Variable& part : metric.variables()) tells(name, part.read());
      metric.reset();
      fails(name, [&] { metric.update(ramp({5, 3}), guesses); });
      Tensor gone = ramp({4, 3});
      gone.dispose();
      fails(name, [&] { metric.update(labels, gone); });
      const std::vector<Variable> parts = metric.variables();
      metric.dispose();
      if (!parts.empty()) fails(name, [&] { parts.front().read(); });
    }
    const nn::Metric mean_of = nn::Mean();
    mean_of.add(ramp({4}));
    (void)mean_of.result();
  });
}

TEST_F(UserLines, of_every_dataset) {
  recorded([&] {
    const Tensor x = ramp({12, 3}), y = ramp({12, 1});
    const nn::Dataset examples = nn::Dataset::from_tensors(transpose(ramp({3, 12})), y, ramp({12}));
    const auto go_through = [&](const char* name, const nn::Dataset& dataset) {
      SCOPED_TRACE(name);
      for (nn::Batch& batch : dataset) {
        tells(name, batch.x);
        tells(name, batch.y);
        tells(name, batch.weight);
      }
    };
    go_through("examples", examples);
    go_through("batch", examples.batch(5));
    go_through("shuffle", examples.shuffle().batch(5));
    go_through("buffer", examples.batch(2).shuffle(3));
    go_through("map", examples.batch(4).map([](nn::Batch batch) {
      batch.x.front() = batch.x.front() * 2;
      return batch;
    }));
    go_through("filter", examples.batch(4).filter([](const nn::Batch& batch) {
      return sum(batch.x.front()).item<float>() > 0;
    }));
    go_through("unbatch", examples.batch(4).unbatch());
    go_through("rebatch", examples.batch(4).unbatch().batch(3));
    go_through("repeat", examples.batch(4).repeat(2));
    go_through("take", examples.batch(4).skip(1).take(1));
    go_through("concatenate", examples.batch(4).concatenate(examples.batch(3)));
    go_through("prefetch", examples.batch(4).prefetch(2));
    go_through("parallel map", examples.batch(4).map([](nn::Batch batch) { return batch; },
                                                     {.num_parallel_calls = 2}));
    go_through("window", examples.window(4, {.shift = 2}));
    go_through("padded batch", examples.padded_batch(5));
    go_through("zip", nn::Dataset::zip(nn::Dataset::from_tensors(x), nn::Dataset::from_tensors(y)));
    go_through("enumerate", examples.enumerate());
    go_through("flat map", examples.batch(4).flat_map([&](const nn::Batch&) { return examples; }));
    const nn::Dataset kept = examples.batch(4).cache();
    go_through("filling a cache", kept);
    go_through("cache", kept);
    go_through("timeseries", nn::Dataset::from_timeseries(x, y, {.sequence_length = 3}).batch(2));
    go_through("range", nn::Dataset::from_range(std::vector<std::pair<Tensor, Tensor>>{
                            {ramp({2, 3}), ramp({2, 1})}, {ramp({2, 3}), ramp({2, 1})}}));
    go_through("generator", nn::Dataset::from_generator([] {
                              return [left = 2]() mutable -> std::optional<nn::Batch> {
                                if (left-- == 0) return std::nullopt;
                                return nn::Batch{{ones({2, 3})}, {ones({2, 1})}, {}};
                              };
                            })
                                .unbatch()
                                .batch(3)
                                .prefetch(1));
    fails("from_tensors", [&] { nn::Dataset::from_tensors(ramp({3, 2}), ramp({4, 2})); });
    Tensor gone = ramp({12, 3});
    gone.dispose();
    fails("from_tensors", [&] { nn::Dataset::from_tensors(gone); });
    fails("from_tensors", [&] { nn::Dataset::from_tensors(x, gone); });
    fails("from_range", [&] { nn::Dataset::from_range(std::vector<Tensor>{gone}); });
    fails("next", [&] {
      const nn::Dataset uneven = nn::Dataset::from_range(std::vector<Tensor>{ramp({2}), ramp({3})});
      for (nn::Batch& batch : uneven.batch(2)) (void)batch;
    });
    fails("map", [&] {
      for (nn::Batch& batch : examples.batch(2).map([](nn::Batch batch) {
             batch.x.front().dispose();
             batch.x.front() = batch.x.front() * 2;
             return batch;
           })) {
        (void)batch;
      }
    });
    fails("prefetch", [&] {
      for (nn::Batch& batch : examples.batch(2)
                                  .map([](nn::Batch batch) {
                                    batch.x.front() = batch.x.front() + ones({9, 9});
                                    return batch;
                                  })
                                  .prefetch(2)) {
        (void)batch;
      }
    });
  });
}

struct Watches : nn::CallbackBase {
  void on_epoch_end(nn::Training& training, const nn::Logs&) override {
    (void)training.model().get_weights();
    (void)ones({3});
  }
};

nn::Sequential classifier() {
  const nn::Sequential model(
      {nn::Dense({.units = 8, .activation = "relu", .input_shape = {3}}), nn::BatchNormalization(),
       nn::Dropout({.rate = 0.1}), nn::Dense({.units = 2, .activation = "softmax"})},
      {.name = "scorer"});
  return model;
}

TEST_F(UserLines, of_training_and_prediction) {
  const std::string folder = ::testing::TempDir() + "tenure_user_lines";
  std::filesystem::create_directories(folder);
  recorded([&] {
    const Tensor x = ramp({24, 3}), y = softmax(ramp({24, 2}));
    for (const bool eager : {false, true}) {
      const nn::Sequential model = classifier();
      model.compile({.optimizer = nn::Adam(),
                     .loss = "categorical_crossentropy",
                     .metrics = {"accuracy", "mse"},
                     .accumulate = eager ? 1 : 2,
                     .eager = eager});
      model.fit(x, y,
                {.batch_size = 8,
                 .epochs = 2,
                 .verbose = kSilent,
                 .callbacks = {nn::make_callback<Watches>(),
                               nn::EarlyStopping({.restore_best_weights = true}),
                               nn::ReduceLROnPlateau({.patience = 1, .min_delta = 100}),
                               nn::LearningRateScheduler([](int, double rate) { return rate / 2; }),
                               nn::ModelCheckpoint({.filepath = folder + "/{epoch}"}),
                               nn::CSVLogger({folder + "/log.csv"}), nn::LambdaCallback({}),
                               nn::BackupAndRestore({.backup_dir = folder + "/backup"}),
                               nn::TensorBoard({.log_dir = folder, .histogram_freq = 1}),
                               nn::TerminateOnNaN()},
                 .validation_split = 0.25,
                 .class_weight = {{0, 1.0}, {1, 2.0}},
                 .sample_weight = ones({24})});
      model.fit(nn::Dataset::from_tensors(x, y).shuffle().batch(7).prefetch(2),
                {.verbose = kSilent});
      model.fit_async(x, y, {.verbose = kSilent}).get();
      model.train_on_batch(x, y);
      model.test_on_batch(x, y);
      model.evaluate(x, y);
      model.evaluate(nn::Dataset::from_tensors(x, y).batch(5));
      tells("predict", model.predict(x));
      tells("predict", model.predict(x, {.batch_size = 7}));
      tells("predict_async", model.predict_async(x).get());
      for (const Variable& weight : model.weights()) tells("weight", weight.read());
      for (const Variable& slot : model.optimizer().variables()) tells("slot", slot.read());
      Tensor gone = ramp({24, 3});
      gone.dispose();
      fails("fit", [&] { model.fit(gone, y, {.verbose = kSilent}); });
      fails("fit", [&] { model.fit(x, ramp({24, 7}), {.verbose = kSilent}); });
      fails("fit", [&] { model.fit(x, ramp({5, 2}), {.verbose = kSilent}); });
      fails("fit", [&] { model.fit(ramp({24, 9}), y, {.verbose = kSilent}); });
      fails("fit_async", [&] { model.fit_async(ramp({24, 9}), y, {.verbose = kSilent}).get(); });
      fails("predict", [&] { model.predict(gone); });
      fails("predict", [&] { model.predict(ramp({2, 9})); });
      fails("predict_async", [&] { model.predict_async(ramp({2, 9})).get(); });
      fails("evaluate", [&] { model.evaluate(gone, y); });
      fails("train_on_batch", [&] { model.train_on_batch(x, gone); });
      const Variable kernel = model.weights().front();
      model.dispose();
      fails("predict", [&] { model.predict(x); });
      fails("fit", [&] { model.fit(x, y); });
      fails("weight", [&] { kernel.read(); });
    }
  });
  std::filesystem::remove_all(folder);
}

// A callback is a function: those that the header declares are in the test above.
TEST(UserLinesOfCallbacks, are_of_all_that_there_are) {
  const auto text_of = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string header =
      text_of(std::string(TENURE_SOURCE_DIR) + "/include/tenure/nn/callbacks.h");
  const std::string test =
      text_of(std::string(TENURE_SOURCE_DIR) + "/tests/runtime/user_lines_test.cpp");
  const std::regex declared(R"(TENURE_API Callback\s+(\w+)\()");
  int count = 0;
  for (std::sregex_iterator at(header.begin(), header.end(), declared), end; at != end; ++at) {
    EXPECT_NE(test.find("nn::" + (*at)[1].str() + "("), test.npos) << (*at)[1];
    ++count;
  }
  EXPECT_GE(count, 9);
}

TEST_F(UserLines, of_functional_models) {
  recorded([&] {
    const nn::Node input = nn::Input({.shape = {3}});
    const nn::Node hidden = nn::Dense({.units = 4})(input);
    const nn::Node joined = nn::Concatenate()(std::vector<nn::Node>{hidden, input});
    const nn::Model model({input}, {nn::Dense({.units = 2})(joined)});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    model.fit(ramp({8, 3}), ramp({8, 2}), {.verbose = kSilent});
    tells("predict", model.predict(ramp({8, 3})));
    tells("call", model(ramp({8, 3})));
    (void)model.summary();
    fails("node", [&] { nn::Conv2D({.filters = 2, .kernel_size = {3}})(input); });
    fails("node", [&] { nn::Add()(std::vector<nn::Node>{hidden, input}); });
    fails("call", [&] { model(ramp({8, 4})); });
  });
}

TEST_F(UserLines, of_files) {
  const std::string npy = at("x.npy"), npz = at("x.npz"), safe = at("x.safetensors"),
                    saved = at("model.safetensors"), web = at("web"), csv = at("x.csv");
  recorded([&] {
    const Tensor x = ramp({6, 3});
    Tensor gone = ramp({6, 3});
    gone.dispose();
    io::save_npy(npy, transpose(ramp({3, 6})));
    tells("load_npy", io::load_npy(npy));
    tells("map_npy", io::map_npy(npy));
    io::save_npz(npz, {{"x", x}});
    for (const auto& [name, tensor] : io::load_npz(npz).tensors) tells("load_npz", tensor);
    tells("npz", io::NpzReader(npz).read("x"));
    io::save_safetensors(safe, {{"x", transpose(x)}});
    for (const auto& [name, tensor] : io::load_safetensors(safe).tensors) {
      tells("load_safetensors", tensor);
    }
    tells("safetensors", io::SafetensorsReader(safe).read("x"));
    tells("safetensors", io::SafetensorsReader(safe).map("x"));
    std::ofstream(csv) << "a,b,c\n1,2,3\n4,5,6\n7,8,9\n";
    const io::CsvTable table = io::read_csv(csv);
    const nn::Dataset rows = nn::Dataset::from_csv(csv, {.features = {"a", "b"}, .targets = {"c"}});
    for (nn::Batch& batch : rows.shuffle().batch(2)) tells("csv", batch.x);
    for (nn::Batch& batch : nn::Dataset::from_npy(npy).batch(2)) tells("npy", batch.x);
    const nn::Sequential model = classifier();
    model.compile({.optimizer = "adam", .loss = "mse"});
    model.fit(ramp({8, 3}), ramp({8, 2}), {.verbose = kSilent});
    model.save(saved);
    const nn::Model again = nn::load_model(saved);
    tells("loaded", again.predict(ramp({8, 3})));
    tells("loaded", again.get_weights());
    again.fit(ramp({8, 3}), ramp({8, 2}), {.verbose = kSilent});
    model.save_weights(safe);
    model.load_weights(safe);
    nn::save_tfjs_model(model, web);
    const nn::Model from_web = nn::load_tfjs_model(web + "/model.json");
    tells("tfjs", from_web.get_weights());
    tells("tfjs", from_web.predict(ramp({8, 3})));
    fails("save_npy", [&] { io::save_npy(npy, gone); });
    fails("save_npz", [&] { io::save_npz(npz, {{"x", gone}}); });
    fails("save_safetensors", [&] { io::save_safetensors(safe, {{"x", gone}}); });
    Tensor loaded = io::load_npy(npy);
    loaded.dispose();
    fails("loaded", [&] { loaded + 1; });
    const nn::Model lost = nn::load_model(saved);
    lost.dispose();
    fails("loaded", [&] { lost.predict(ramp({8, 3})); });
  });
}

TEST_F(UserLines, of_functions_tapes_and_control) {
  recorded([&] {
    Variable w(ramp({3, 3}), {.name = "w"});
    const Tensor captured = ramp({3});
    auto step = function("step", [&](Tensor x) { return tanh(matmul(x, w)) + captured; });
    step.input({dyn, 3});
    tells("function", step(ramp({2, 3})));
    tells("function", step(ramp({5, 3})));
    auto again = checkpoint([&](Tensor x) { return tanh(matmul(x, w)); });
    {
      GradientTape tape;
      const Tensor loss = mean(again(ramp({2, 3})) + step(ramp({2, 3})));
      tells("gradient", tape.gradient(loss, w));
    }
    tells("grad", grad([](const Tensor& x) { return sum(square(x)); })(ramp({3})));
    tells("cond", cond(ones({}) > 0, [] { return ones({2}); }, [] { return zeros({2}); }));
    auto loop = function("loop", [](Tensor x) {
      return while_loop([](const Tensor& v) { return sum(v) < 100; },
                        [](const Tensor& v) { return v * 2; }, x);
    });
    tells("while", loop(ones({2})));
    tells("custom", custom_gradient(
                        [](const std::vector<Tensor>& in) {
                          return CustomResult{
                              in[0] * 2, [](Tensor dy) { return std::vector<Tensor>{dy * 2}; }};
                        },
                        {ramp({3})}));
    w.assign(ramp({3, 3}));
    fails("function", [&] { step(ramp({2, 4})); });
    fails("assign", [&] { w.assign(ramp({4})); });
    Tensor gone = ramp({2, 3});
    gone.dispose();
    fails("function", [&] { step(gone); });
    fails("escape", [&] {
      Tensor leaked;
      auto leaks = function("leaks", [&](Tensor x) {
        leaked = x * 2;
        return x;
      });
      leaks(ones({2}));
      leaked + 1;
    });
    fails("read in a trace",
          [&] { function("reads", [](Tensor x) { return x * x.item<float>(); })(ones({})); });
    fails("free size", [&] {
      auto asks = function("asks", [](Tensor x) { return x * static_cast<float>(x.dim(0)); });
      asks.input({dyn});
      asks(ones({3}));
    });
    fails("await", [&] {
      run([]() -> Task<> {
        Job<std::vector<float>> job = ones({2}).read_async<float>();
        (void)co_await job;
        (void)co_await job;
      });
    });
    tells("read_async", ramp({3}));
    (void)ramp({3}).read_async<float>().get();
    (void)tidy("step", [] { return ones({3}) * 2; });
  });
}

TEST_F(UserLines, of_image_and_linear_algebra) {
  recorded([&] {
    const Tensor a = ramp({4, 4}) + eye(4) * 5;
    tells("linalg", cholesky(matmul(a, transpose(a))));
    tells("linalg", solve(a, ramp({4, 2})));
    tells("linalg", inverse(a));
    const auto [q, r] = qr(a);
    tells("linalg", q);
    tells("einsum", einsum("ij,jk->ik", {a, a}));
    fails("cholesky", [&] { cholesky(-eye(3)); });
    fails("einsum", [&] { einsum("ij,jk->ik", {a, ramp({3})}); });
    fails("reshape", [&] { reshape(a, {3}); });
    fails("gather", [&] { gather(a, tensor({9})); });
    fails("index", [&] { a[9]; });
    fails("concat", [&] { concat({a, ramp({3})}); });
    fails("item", [&] { a.item<float>(); });
    fails("vector", [&] { a.to_vector<int>(); });
    fails("dim", [&] { (void)a.dim(7); });
    fails("memory", [&] { zeros({1'000'000'000, 1'000'000}); });
  });
}

TEST_F(UserLines, of_empty_handles_and_unknown_names) {
  recorded([&] {
    const Tensor x = ramp({2}), none;
    GradientTape tape({.persistent = true});
    fails("watch", [&] { tape.watch(none); });
    fails("target", [&] { tape.gradient(none, x); });
    fails("source", [&] { tape.gradient(x, none); });
    fails("targets", [&] { tape.gradients({x}, {}, {x}); });
    Variable v(x);
    fails("assign", [&] { v.assign(none); });
    auto returns_none = function("returns none", [](Tensor) { return Tensor(); });
    fails("return", [&] { returns_none(x); });
    fails("activation", [&] { nn::Dense({.units = 1, .activation = "nope"}); });
    fails("initializer", [&] { nn::Dense({.units = 1, .kernel_initializer = "nope"}); });
    fails("regularizer", [&] { nn::Dense({.units = 1, .kernel_regularizer = "nope"}); });
    fails("constraint", [&] { nn::Dense({.units = 1, .kernel_constraint = "nope"}); });
    fails("lambda", [&] { nn::Lambda({.function = "nope"}); });
    const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})});
    fails("loss", [&] { model.compile({.loss = "nope"}); });
    fails("losses", [&] { model.compile({.loss = {"mse", "nope"}}); });
    fails("metric", [&] { model.compile({.loss = "mse", .metrics = {"nope"}}); });
    fails("mode", [&] { nn::EarlyStopping({.mode = "nope"}); });
  });
}

}  // namespace
}  // namespace tenure::testing
