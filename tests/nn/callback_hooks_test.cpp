// When callbacks are called, and what it costs not to listen.
#include <fmt/format.h>

#include "support/expect.h"

namespace tenure::nn {
namespace {

using testing::floats;
using testing::message_of;

Sequential twice_model() {
  return Sequential({Dense(
      {.units = 1, .use_bias = false, .kernel_initializer = Constant({2}), .input_shape = {1}})});
}

// Writes down what it is told.
struct Notes : CallbackBase {
  void note(const char* what, const Pass& pass) {
    texts.push_back(fmt::format("{} {}/{}", what, pass.batch(), pass.batches()));
  }
  void on_train_begin(Training& t) override { note("train", t); }
  void on_train_end(Training& t) override { note("train end", t); }
  void on_epoch_begin(Training& t) override { note("epoch", t); }
  void on_epoch_end(Training& t, const Logs& logs) override {
    note("epoch end", t);
    (void)value_of(logs, "added");
  }
  void add_logs(Training& t, Logs& logs) override {
    note("logs", t);
    logs.emplace_back("added", 7);
  }
  void on_train_batch_begin(Training& t) override { note("batch", t); }
  void on_train_batch_end(Training& t, const Logs& logs) override {
    note("batch end", t);
    (void)value_of(logs, "loss");
  }
  void on_test_begin(Pass& p) override { note("test", p); }
  void on_test_end(Pass& p, const Logs& logs) override {
    note("test end", p);
    tested = value_of(logs, "loss");
  }
  void on_test_batch_begin(Pass& p) override { note("test batch", p); }
  void on_test_batch_end(Pass& p, const Logs& logs) override {
    note("test batch end", p);
    so_far.push_back(value_of(logs, "loss"));
  }
  void on_predict_begin(Pass& p) override { note("predict", p); }
  void on_predict_end(Pass& p) override { note("predict end", p); }
  void on_predict_batch_begin(Pass& p) override { note("predict batch", p); }
  void on_predict_batch_end(Pass& p, const std::vector<Tensor>& outputs) override {
    note("predict batch end", p);
    for (const float each : floats(outputs.at(0))) predicted.push_back(each);
  }
  std::vector<std::string> take() { return std::exchange(texts, {}); }
  std::vector<std::string> texts;
  double tested = 0;
  std::vector<double> so_far;
  testing::Floats predicted;
};

using Texts = std::vector<std::string>;

TEST(Hooks, of_a_fit_come_in_their_order) {
  const Sequential model = twice_model();
  model.compile({.optimizer = SGD({.learning_rate = 0}), .loss = "mse"});
  const auto notes = std::make_shared<Notes>();
  const History history =
      model.fit(ones({4, 1}), ones({4, 1}),
                {.batch_size = 2,
                 .verbose = Verbose::silent,
                 .callbacks = {Callback(notes)},
                 .validation = Dataset::from_tensors(ones({1, 1}), ones({1, 1}))});
  EXPECT_EQ(notes->take(),
            (Texts{"train 0/2", "epoch 0/2", "batch 0/2", "batch end 0/2", "batch 1/2",
                   "batch end 1/2", "test 0/1", "test batch 0/1", "test batch end 0/1",
                   "test end 1/1", "logs 2/2", "epoch end 2/2", "train end 2/2"}));
  EXPECT_EQ(notes->tested, 1);
  EXPECT_EQ(history["added"], (std::vector<double>{7}));
}

TEST(Hooks, of_evaluate_see_its_batches) {
  const Sequential model = twice_model();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto notes = std::make_shared<Notes>();
  const Tensor x = tensor({1.f, 2.f, 3.f}, {3, 1});
  const Logs logs =
      model.evaluate(x, zeros({3, 1}), {.batch_size = 2, .callbacks = {Callback(notes)}});
  EXPECT_EQ(notes->take(), (Texts{"test 0/2", "test batch 0/2", "test batch end 0/2",
                                  "test batch 1/2", "test batch end 1/2", "test end 2/2"}));
  // 4, 16 and 36.
  EXPECT_EQ(notes->so_far, (std::vector<double>{10, 56 / 3.0}));
  EXPECT_EQ(notes->tested, value_of(logs, "loss"));
}

TEST(Hooks, of_predict_see_its_outputs) {
  const Sequential model = twice_model();
  const auto notes = std::make_shared<Notes>();
  const Tensor x = tensor({1.f, 2.f, 3.f}, {3, 1});
  const testing::Floats expected{2, 4, 6};
  EXPECT_EQ(floats(model.predict(x, {.batch_size = 2, .callbacks = {Callback(notes)}})), expected);
  EXPECT_EQ(notes->take(),
            (Texts{"predict 0/2", "predict batch 0/2", "predict batch end 0/2", "predict batch 1/2",
                   "predict batch end 1/2", "predict end 2/2"}));
  EXPECT_EQ(std::exchange(notes->predicted, {}), expected);
  EXPECT_EQ(floats(model.predict_async(x, {.callbacks = {Callback(notes)}}).get()), expected);
  EXPECT_EQ(notes->take(), (Texts{"predict 0/1", "predict batch 0/1", "predict batch end 0/1",
                                  "predict end 1/1"}));
  EXPECT_EQ(notes->predicted, expected);
}

TEST(Hooks, may_stop_an_evaluate_and_a_predict) {
  const Sequential model = twice_model();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = tensor({1.f, 2.f, 3.f}, {3, 1});
  const auto stop = [](Pass& pass, const auto&) {
    if (pass.batch() == 1) pass.stop("enough");
  };
  const Logs logs =
      model.evaluate(x, zeros({3, 1}),
                     {.batch_size = 1, .callbacks = {LambdaCallback({.on_test_batch_end = stop})}});
  EXPECT_EQ(value_of(logs, "loss"), 10);
  const Tensor part = model.predict(
      x, {.batch_size = 1, .callbacks = {LambdaCallback({.on_predict_batch_end = stop})}});
  EXPECT_EQ(floats(part), (testing::Floats{2, 4}));
}

TEST(Hooks, that_throw_leave_the_model_free) {
  const Sequential model = twice_model();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto fail = [](Pass&) { throw std::runtime_error("mine"); };
  EXPECT_THROW(model.evaluate(ones({2, 1}), ones({2, 1}),
                              {.callbacks = {LambdaCallback({.on_test_begin = fail})}}),
               std::runtime_error);
  EXPECT_THROW(
      model.predict(ones({2, 1}), {.callbacks = {LambdaCallback({.on_predict_begin = fail})}}),
      std::runtime_error);
  model.fit(ones({2, 1}), ones({2, 1}), {.verbose = Verbose::silent});
}

// Counts how often its result is asked for.
class Asked final : public MetricBase {
 public:
  explicit Asked(std::shared_ptr<int> counter)
      : MetricBase("asked"), counter_(std::move(counter)) {}
  void update(const Tensor& y_true, const Tensor&, const Tensor&) override {
    accumulate({{"sum", sum(y_true)}});
  }
  std::vector<double> results() const override {
    ++*counter_;
    return numbers(0);
  }
  std::shared_ptr<MetricBase> fresh() const override { return std::make_shared<Asked>(counter_); }

 private:
  std::shared_ptr<int> counter_;
};

struct AtTheEnd : CallbackBase {
  void on_epoch_end(Training&, const Logs&) override {}
};
struct InBatches : CallbackBase {
  void on_train_batch_end(Training&, const Logs&) override {}
};
struct InBatchesToo final : InBatches {};

TEST(Hooks, cost_nothing_per_batch_where_nobody_listens) {
  const auto asked = std::make_shared<int>(0);
  const Sequential model = twice_model();
  model.compile(
      {.optimizer = "sgd", .loss = "mse", .metrics = {Metric(std::make_shared<Asked>(asked))}});
  const auto in_fit = [&](const Callback& callback) {
    *asked = 0;
    model.fit(ones({5, 1}), ones({5, 1}),
              {.batch_size = 1, .verbose = Verbose::silent, .callbacks = {callback}});
    return *asked;
  };
  EXPECT_EQ(in_fit(make_callback<AtTheEnd>()), 1) << "the epoch's";
  EXPECT_EQ(in_fit(EarlyStopping({.monitor = "loss"})), 1);
  EXPECT_EQ(in_fit(ReduceLROnPlateau({.monitor = "loss"})), 1);
  EXPECT_EQ(in_fit(LambdaCallback({.on_epoch_end = [](Training&, const Logs&) {}})), 1);
  EXPECT_EQ(in_fit(make_callback<InBatches>()), 6);
  EXPECT_EQ(in_fit(make_callback<InBatchesToo>()), 6) << "by its base";
  EXPECT_EQ(in_fit(Callback(std::make_shared<AtTheEnd>())), 6) << "what it is, is not known";
  EXPECT_EQ(in_fit(LambdaCallback({.on_train_batch_end = [](Training&, const Logs&) {}})), 6);
  const auto in_evaluate = [&](const Callback& callback) {
    *asked = 0;
    model.evaluate(ones({5, 1}), ones({5, 1}), {.batch_size = 1, .callbacks = {callback}});
    return *asked;
  };
  EXPECT_EQ(in_evaluate(make_callback<InBatches>()), 1) << "it listens to others";
  EXPECT_EQ(in_evaluate(LambdaCallback({.on_test_batch_end = [](Pass&, const Logs&) {}})), 6);
}

TEST(Frequencies, are_epochs_or_numbers_of_batches) {
  EXPECT_EQ(Frequency("epoch").batches(), 0);
  EXPECT_EQ(Frequency("batch").batches(), 1);
  EXPECT_EQ(Frequency(100).batches(), 100);
  EXPECT_HAS(message_of<ValueError>([] { Frequency often("epochs"); }),
             "\"epoch\", \"batch\" or a number of batches, not \"epochs\"");
  EXPECT_HAS(message_of<ValueError>([] { Frequency often(0); }), "must be at least 1: 0");
}

}  // namespace
}  // namespace tenure::nn
