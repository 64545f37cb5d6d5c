#include "tenure/nn/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "support/expect.h"
#include "tenure/nn/core_layers.h"
#include "tenure/tenure.h"

namespace tenure {
namespace {

using testing::floats;
using testing::here;
using testing::message_of;

// y = 2 a - 3 b + 1, on a grid.
struct Line {
  Line() {
    std::vector<float> in, out;
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 8; ++j) {
        const float a = static_cast<float>(i) / 4 - 1, b = static_cast<float>(j) / 4 - 1;
        in.insert(in.end(), {a, b});
        out.push_back(2 * a - 3 * b + 1);
      }
    }
    x = tensor(in, {64, 2});
    y = tensor(out, {64, 1});
  }
  Tensor x, y;
};

nn::Sequential small_model() {
  return nn::Sequential(
      {nn::Dense({.units = 8,
                  .activation = "tanh",
                  .kernel_initializer = nn::GlorotUniform({.seed = 1}),
                  .input_shape = {2}}),
       nn::Dense({.units = 1, .kernel_initializer = nn::GlorotUniform({.seed = 2})})});
}

// A layer with a state: gives the sum of everything it was ever given.
struct Total : nn::LayerBase {
  void build(const Shape& input) override { sum = add_state("sum", input); }
  Tensor call(const Tensor& x, const nn::Call&) override {
    Tensor next = sum + x;
    sum.assign(next);
    return next;
  }
  const char* class_name() const override { return "Total"; }
  Variable sum;
};

TEST(Model, a_line_is_learnt) {
  const Line line;
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})});
  model.compile({.optimizer = nn::SGD({.learning_rate = 0.1}), .loss = "mse"});
  const nn::History history =
      model.fit(line.x, line.y, {.batch_size = 16, .epochs = 60, .verbose = nn::Verbose::silent});
  EXPECT_EQ(history["loss"].size(), 60u);
  EXPECT_LT(history["loss"].back(), 1e-6);
  const std::vector<Tensor> weights = model.get_weights();
  EXPECT_NEAR(floats(weights[0])[0], 2, 1e-3);
  EXPECT_NEAR(floats(weights[0])[1], -3, 1e-3);
  EXPECT_NEAR(floats(weights[1])[0], 1, 1e-3);
}

TEST(Model, eager_and_traced_steps_give_the_same_numbers) {
  const Line line;
  std::vector<std::vector<float>> found;
  for (const bool eager : {false, true}) {
    const nn::Sequential model = small_model();
    model.compile({.optimizer = nn::Adam(), .loss = "mse", .eager = eager});
    model.fit(line.x, line.y,
              {.batch_size = 24, .epochs = 3, .verbose = nn::Verbose::silent, .shuffle = false});
    std::vector<float> all;
    for (const Tensor& weight : model.get_weights()) {
      for (const float value : floats(weight)) all.push_back(value);
    }
    found.push_back(all);
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(Model, gradients_of_several_batches_make_one_step) {
  const Line line;
  const nn::Sequential whole = small_model(), parts = small_model();
  whole.compile({.optimizer = nn::SGD({.learning_rate = 0.1}), .loss = "mse"});
  parts.compile({.optimizer = nn::SGD({.learning_rate = 0.1}), .loss = "mse", .accumulate = 4});
  const nn::FitOptions in_order{
      .batch_size = 64, .epochs = 5, .verbose = nn::Verbose::silent, .shuffle = false};
  whole.fit(line.x, line.y, in_order);
  nn::FitOptions quarters = in_order;
  quarters.batch_size = 16;
  parts.fit(line.x, line.y, quarters);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::vector<float> a = floats(whole.get_weights()[i]), b = floats(parts.get_weights()[i]);
    for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], 1e-5);
  }
  EXPECT_EQ(parts.optimizer().iterations(), 5);
}

TEST(Model, recomputing_a_layer_changes_no_number) {
  const Line line;
  const nn::Sequential plain = small_model(), again = small_model();
  again.layers()[0].set_recompute(true);
  for (const nn::Sequential& model : {plain, again}) {
    model.compile({.optimizer = nn::SGD({.learning_rate = 0.1}), .loss = "mse"});
    model.train_on_batch(line.x, line.y);
  }
  EXPECT_EQ(floats(plain.get_weights()[0]), floats(again.get_weights()[0]));
}

TEST(Model, predict_in_batches_gives_what_one_batch_gives) {
  const Line line;
  const nn::Sequential model = small_model();
  const std::vector<float> parts = floats(model.predict(line.x, {.batch_size = 7}));
  const std::vector<float> whole = floats(model.predict(line.x, {.batch_size = 64}));
  ASSERT_EQ(parts.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(parts[i], whole[i], 1e-6);
}

TEST(Model, several_inputs_share_a_layer) {
  const nn::Node a = nn::Input({.shape = {2}, .name = "a"});
  const nn::Node b = nn::Input({.shape = {2}, .name = "b"});
  const nn::Dense shared({.units = 3, .name = "shared"});
  const nn::Model model({a, b}, {shared(a), shared(b)}, {.name = "twin"});
  const Tensor x = ones({1, 2}), z = zeros({1, 2});
  const std::vector<Tensor> y = model.predict(std::vector<Tensor>{x, z});
  EXPECT_EQ(floats(y[1]), std::vector<float>(3, 0.f));
  EXPECT_EQ(model.count_params(), 9);
  EXPECT_HAS(model.summary(), "(shared)");
  EXPECT_HAS(model.dot(), "digraph \"twin\"");
  EXPECT_HAS(message_of<ValueError>([&] { model.predict(x); }), "takes 2 inputs, was given 1");
}

TEST(Model, an_input_that_is_not_the_models_is_named) {
  const nn::Node a = nn::Input({.shape = {2}, .name = "left"});
  const nn::Node b = nn::Input({.shape = {2}, .name = "right"});
  const nn::Node y = nn::Dense({.units = 1})(b);
  EXPECT_HAS(message_of<ValueError>([&] { nn::Model({a}, {y}); }), "\"right\"");
}

TEST(Model, a_model_of_ones_own_is_trained) {
  struct Net : nn::ModelBase {
    Tensor call(const Tensor& x, const nn::Call& c) override { return out(hidden(x, c), c); }
    nn::Layer hidden = track(nn::Dense({.units = 8, .activation = "tanh"}));
    nn::Layer out = track(nn::Dense({.units = 1}));
  };
  const Line line;
  const nn::Model net = nn::make_model<Net>();
  net.compile({.optimizer = nn::Adam({.learning_rate = 0.05}), .loss = "mse"});
  const nn::History history =
      net.fit(line.x, line.y, {.epochs = 40, .verbose = nn::Verbose::silent});
  EXPECT_LT(history["loss"].back(), 0.1 * history["loss"].front());
}

TEST(Model, validation_stops_a_fit_early) {
  const Line line;
  const nn::Sequential model = small_model();
  model.compile({.optimizer = nn::SGD({.learning_rate = 0.0}), .loss = "mse", .metrics = {"mae"}});
  const nn::History history =
      model.fit(line.x, line.y,
                {.epochs = 50,
                 .verbose = nn::Verbose::silent,
                 .callbacks = {nn::EarlyStopping({.patience = 2, .restore_best_weights = true})},
                 .validation_split = 0.25});
  EXPECT_EQ(history.epochs.size(), 3u);
  EXPECT_HAS(history.stopped, "val_loss did not improve for 2 epochs");
  EXPECT_EQ(history["val_mae"].size(), 3u);
  EXPECT_HAS(history.plot(), "val_loss");
}

TEST(Model, class_weights_weigh) {
  const Tensor x = tensor({1.f, 1.f}, {2, 1}), y = tensor({0.f, 1.f}, {2, 1});
  const nn::Sequential model({nn::Dense(
      {.units = 1, .use_bias = false, .kernel_initializer = "zeros", .input_shape = {1}})});
  model.compile({.optimizer = nn::SGD({.learning_rate = 1}), .loss = "mse"});
  model.fit(x, y, {.verbose = nn::Verbose::silent, .class_weight = {{0, 0.0}, {1, 3.0}}});
  // loss = (0 * w^2 + 3 (w - 1)^2) / 2 at w = 0: gradient -3
  EXPECT_FLOAT_EQ(floats(model.get_weights()[0])[0], 3);
}

TEST(Model, L20_a_shared_layer_lives_until_both_models_are_disposed) {
  const nn::Dense shared({.units = 2, .name = "shared"});
  const nn::Node a = nn::Input({.shape = {3}}), b = nn::Input({.shape = {3}});
  const nn::Model first({a}, {shared(a)}), second({b}, {shared(b)});
  EXPECT_EQ(shared.dispose().ref_count, 2);
  EXPECT_FALSE(shared.is_disposed());
  const nn::Disposal one = first.dispose();
  EXPECT_EQ(one.variables, 0);
  EXPECT_FALSE(shared.is_disposed());
  EXPECT_EQ(floats(second.predict(zeros({1, 3}))), (std::vector<float>{0, 0}));
  EXPECT_EQ(second.dispose().variables, 2);
  EXPECT_TRUE(shared.is_disposed());
  EXPECT_EQ(second.dispose().variables, 0);  // twice is no error
}

TEST(Model, L20_using_a_disposed_model_tells_where_it_was_disposed) {
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})}, {.name = "m"});
  const int line = here().line() + 1;
  model.dispose();
  const std::string text = message_of<DisposedError>([&] { model.predict(zeros({1, 2})); });
  EXPECT_HAS(text, "Sequential \"m\" was disposed");
  EXPECT_HAS(text, "model_test.cpp:" + std::to_string(line));
}

TEST(Model, L20_every_use_of_a_disposed_model_is_refused_but_of_its_name) {
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})}, {.name = "m"});
  const nn::Dense unbuilt({.units = 1, .name = "d"});
  const int line = here().line() + 1;
  model.dispose(), unbuilt.dispose();
  const auto refused = [&](const char* what, auto&& use) {
    for (const nn::Layer& layer :
         {static_cast<const nn::Layer&>(model), static_cast<const nn::Layer&>(unbuilt)}) {
      const std::string text = message_of<DisposedError>([&] { use(layer); });
      EXPECT_EQ(text.find(std::string("DisposedError: ") + what), 0u) << text;
      EXPECT_HAS(text, "\"" + layer.name() + "\" was disposed");
      EXPECT_HAS(text, "model_test.cpp:" + std::to_string(line));
    }
  };
  refused("set_trainable: ", [](const nn::Layer& l) { l.set_trainable(false); });
  refused("set_recompute: ", [](const nn::Layer& l) { l.set_recompute(true); });
  refused("weights: ", [](const nn::Layer& l) { l.weights(); });
  refused("trainable_weights: ", [](const nn::Layer& l) { l.trainable_weights(); });
  refused("non_trainable_weights: ", [](const nn::Layer& l) { l.non_trainable_weights(); });
  refused("layers: ", [](const nn::Layer& l) { l.layers(); });
  refused("count_params: ", [](const nn::Layer& l) { l.count_params(); });
  refused("build: ", [](const nn::Layer& l) { l.build({1, 2}); });
  refused("compute_mask: ", [](const nn::Layer& l) { l.compute_mask({}, {}); });
  EXPECT_HAS(message_of<DisposedError>([&] { model.summary(); }), "summary: ");
  EXPECT_HAS(message_of<DisposedError>([&] { model.dot(); }), "dot: ");
  EXPECT_EQ(model.name(), "m");
  EXPECT_EQ(model.class_name(), std::string("Sequential"));
}

TEST(Model, L20_disposing_frees_every_byte_the_model_brought) {
  const Line line;
  const std::size_t before = memory().live_bytes;
  const nn::Sequential model = small_model();
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  model.fit(line.x, line.y, {.epochs = 2, .verbose = nn::Verbose::silent});
  EXPECT_GT(memory().optimizer_bytes, 0u);
  EXPECT_EQ(model.dispose().variables, 4);
  EXPECT_EQ(memory().live_bytes, before);
}

TEST(Model, L19_the_state_is_untouched_by_scopes_and_disposals) {
  const nn::Layer total = nn::make_layer<Total>();
  const nn::Sequential model({total});
  tidy([&] { model.predict(ones({1, 2})).dispose(); });
  EXPECT_EQ(memory().layer_state_bytes, 2 * sizeof(float));
  EXPECT_EQ(floats(model.predict(ones({1, 2}))), (std::vector<float>{2, 2}));
  model.reset_states();
  EXPECT_EQ(floats(model.get_states()[0]), (std::vector<float>{0, 0}));
  model.reset_states({tensor({5.f, 6.f}, {1, 2})});
  EXPECT_EQ(floats(model(ones({1, 2}))), (std::vector<float>{6, 7}));
  EXPECT_HAS(message_of<ShapeError>([&] { model.reset_states({ones({3})}); }), "[1, 2]");
}

TEST(Model, L19_ten_thousand_predictions_hold_nothing) {
  const nn::Sequential model({nn::make_layer<Total>()});
  const Tensor x = ones({1, 2});
  model.predict(x);
  model.predict(x);
  const MemoryInfo before = memory();
  for (int i = 0; i < 10000; ++i) model.predict(x);
  const MemoryInfo after = memory();
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);
  EXPECT_EQ(after.tensors, before.tensors);
}

TEST(Model, L21_a_model_that_is_trained_is_busy) {
  const Line line;
  const nn::Sequential model = small_model();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  struct Meddle : nn::CallbackBase {
    explicit Meddle(nn::Sequential m) : model(std::move(m)) {}
    void on_epoch_end(nn::Training&, const nn::Logs&) override {
      dispose_text = message_of<BusyError>([&] { model.dispose(); });
      fit_text = message_of<BusyError>([&] { model.fit(zeros({1, 2}), zeros({1, 1})); });
      EXPECT_THROW(model.set_trainable(false), BusyError);
      EXPECT_THROW(model.layers()[0].set_trainable(false), BusyError);
      EXPECT_THROW(model.add(nn::Dense({.units = 1})), BusyError);
      EXPECT_THROW(model.pop(), BusyError);
      const std::string text = message_of<BusyError>([&] { model.optimizer().dispose(); });
      EXPECT_HAS(text, "end the fit first, as by training.stop(...) in a callback.");
      model = nn::Sequential();
    }
    nn::Sequential model;
    std::string dispose_text, fit_text;
  };
  const auto meddle = std::make_shared<Meddle>(model);
  const int at = here().line() + 1;
  model.fit(line.x, line.y, {.verbose = nn::Verbose::silent, .callbacks = {nn::Callback(meddle)}});
  const std::string place = "model_test.cpp:" + std::to_string(at);
  EXPECT_HAS(meddle->dispose_text, place);
  EXPECT_HAS(meddle->fit_text, place);
  model.layers()[0].set_trainable(false);  // it is idle again
  EXPECT_EQ(model.dispose().variables, 4);
}

TEST(Model, L21_disposing_the_inputs_of_a_fit_in_flight_is_harmless) {
  Line line;
  const nn::Sequential model = small_model();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  Job<nn::History> job = tidy([&] { return model.fit_async(line.x, line.y, {.epochs = 20}); });
  line.x.dispose();
  line.y.dispose();
  EXPECT_EQ(job.get()["loss"].size(), 20u);
}

TEST(Model, L13_a_cancelled_fit_leaves_the_weights_of_its_last_step) {
  const Line line;
  const nn::Sequential model = small_model();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  Job<nn::History> job = model.fit_async(line.x, line.y, {.epochs = 1000000});
  while (job.progress() == 0) std::this_thread::yield();
  job.cancel();
  EXPECT_TRUE(job.get().cancelled);
  for (const float value : floats(model.get_weights()[0])) EXPECT_TRUE(std::isfinite(value));
  model.fit(line.x, line.y, {.verbose = nn::Verbose::silent});  // no longer busy
}

TEST(Model, L22_a_weak_reference_expires_with_the_model) {
  std::optional<nn::Sequential> model(small_model());
  const nn::WeakModel weak = model->weak(), other = small_model().weak();
  EXPECT_TRUE(other.expired());
  EXPECT_TRUE(weak.lock().has_value());
  model->dispose();
  EXPECT_TRUE(weak.expired());
  model.reset();
  EXPECT_TRUE(weak.expired());
}

TEST(Model, predictions_from_several_threads_agree) {
  const Line line;
  const nn::Sequential model = small_model();
  const std::vector<float> wanted = floats(model.predict(line.x));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) wrong += floats(model.predict(line.x)) != wanted;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Model, a_regularizer_and_a_constraint_are_part_of_the_step) {
  const Tensor x = ones({1, 1}), y = zeros({1, 1});
  const nn::Sequential model({nn::Dense({.units = 1,
                                         .use_bias = false,
                                         .kernel_initializer = nn::Constant({2}),
                                         .kernel_regularizer = nn::L2(0.5),
                                         .kernel_constraint = nn::NonNeg(),
                                         .input_shape = {1}})});
  model.compile({.optimizer = nn::SGD({.learning_rate = 1}), .loss = "mse"});
  const nn::Logs logs = model.train_on_batch(x, y);
  EXPECT_FLOAT_EQ(static_cast<float>(nn::value_of(logs, "loss")), 4 + 2);
  // w = 2 - (2 * 2 + 2 * 0.5 * 2) = -4, made not negative
  EXPECT_FLOAT_EQ(floats(model.get_weights()[0])[0], 0);
}

TEST(Model, what_is_wrong_is_said) {
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})}, {.name = "m"});
  EXPECT_HAS(message_of<ValueError>([&] { model.fit(zeros({1, 2}), zeros({1, 1})); }),
             "is not compiled");
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_HAS(message_of<ShapeError>([&] { model.predict(zeros({1, 3})); }), "[1, 3]");
  EXPECT_HAS(message_of<ValueError>(
                 [&] { model.fit(zeros({4, 2}), zeros({4, 1}), {.validation_split = 1.5}); }),
             "validation_split");
}

TEST(Model, a_batch_without_inputs_is_refused_before_and_after_a_trace) {
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto refused = [&](const nn::Batch& batch) {
    EXPECT_HAS(message_of<ValueError>([&] { model.train_on_batch(batch); }),
               "takes one input, was given 0");
  };
  refused({});
  model.train_on_batch(ones({4, 2}), ones({4, 1}));
  refused({});
  refused({{}, {ones({4, 1})}, {}});
  int given = 0;
  const nn::Dataset batches = nn::Dataset::from_generator([&] {
    return [&]() -> std::optional<nn::Batch> {
      return given++ == 1 ? nn::Batch{} : nn::Batch{{ones({4, 2})}, {ones({4, 1})}, {}};
    };
  });
  EXPECT_HAS(message_of<ValueError>([&] { model.fit(batches, {.verbose = nn::Verbose::silent}); }),
             "takes one input, was given 0");
}

TEST(Model, a_batch_without_examples_is_refused) {
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_HAS(message_of<ValueError>([&] { model.train_on_batch(ones({0, 2}), ones({0, 1})); }),
             "there are no examples in the batch: an input has shape [0, 2]");
  EXPECT_HAS(message_of<ValueError>([&] { model.test_on_batch(ones({0, 2}), ones({0, 1})); }),
             "there are no examples");
  EXPECT_EQ(model.optimizer().iterations(), 0);
}

TEST(Model, L19_a_plain_call_that_fails_in_a_later_layer_changes_no_state) {
  bool fails = false;
  const nn::Sequential model({nn::make_layer<Total>(), nn::Lambda({.function = [&](Tensor x) {
                                return fails ? gather(x, tensor({9})) : x * 1.0;
                              }})});
  model(ones({1, 2}));
  fails = true;
  EXPECT_THROW(model(ones({1, 2})), ValueError);
  EXPECT_EQ(floats(model.get_states()[0]), (std::vector<float>{1, 1}));
  fails = false;
  EXPECT_EQ(floats(model(ones({1, 2}))), (std::vector<float>{2, 2}));
}

TEST(Model, a_model_cannot_be_added_to_itself) {
  const nn::Sequential one, other;
  EXPECT_HAS(message_of<ValueError>([&] { one.add(one); }), "a model cannot contain itself");
  one.add(other);
  EXPECT_HAS(message_of<ValueError>([&] { other.add(one); }), "a model cannot contain itself");
  EXPECT_HAS(message_of<ValueError>([&] { other.add(nn::TimeDistributed(one)); }), "itself");
}

// With the line that message_of leaves out.
template <class E, class F>
std::string whole_text(F&& fn) {
  try {
    fn();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Model, an_error_without_a_line_is_given_the_users) {
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = ones({4, 2}), y = ones({4, 1}), wrong = ones({4, 3});
  const auto place = [](const char* op, int line) {
    return "used      model_test.cpp:" + std::to_string(line) + "    " + op;
  };
  int at = here().line() + 1;
  EXPECT_HAS(whole_text<ShapeError>([&] { model.fit(x, wrong); }), place("fit", at));
  at = here().line() + 1;
  EXPECT_HAS(whole_text<ShapeError>([&] { model.evaluate(x, wrong); }), place("evaluate", at));
  at = here().line() + 1;
  EXPECT_HAS(whole_text<ShapeError>([&] { model.train_on_batch(x, y, ones({3})); }),
             place("train_on_batch", at));
  at = here().line() + 1;
  EXPECT_HAS(whole_text<ShapeError>([&] { model.test_on_batch(x, wrong); }),
             place("test_on_batch", at));
  at = here().line() + 1;
  EXPECT_HAS(whole_text<ShapeError>([&] { model.fit_async(x, wrong).get(); }),
             place("fit_async", at));
  at = here().line() + 1;
  EXPECT_HAS(whole_text<DtypeError>([&] { model.predict(cast(x, DType::complex64)); }),
             place("Sequential", at));
  at = here().line() + 1;
  EXPECT_HAS(whole_text<ValueError>([&] { model(std::vector<Tensor>{x, x}); }),
             place("Sequential", at));
  EXPECT_HAS(whole_text<ShapeError>([&] { model.fit(x, ones({3, 1})); }), "model_test.cpp:");
}

}  // namespace
}  // namespace tenure
