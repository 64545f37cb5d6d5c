// Models, optimizers, metrics, cells and callbacks of one's own.
#include "throwing.h"

namespace tenure::testing {
namespace {

// A fit with a validation, then an evaluate and a predict.
Floats all_passes(const nn::Model& model, const std::vector<nn::Callback>& callbacks = {}) {
  const nn::History history = model.fit(column(), target(),
                                        {.batch_size = 2,
                                         .epochs = 2,
                                         .verbose = nn::Verbose::silent,
                                         .callbacks = callbacks,
                                         .validation_split = 0.5,
                                         .shuffle = false});
  Floats all{static_cast<float>(history["loss"].size()),
             static_cast<float>(history["val_loss"].size())};
  const nn::Logs logs =
      model.evaluate(column(), target(), {.batch_size = 2, .callbacks = callbacks});
  all.push_back(static_cast<float>(logs.size()));
  for (const float value :
       floats(model.predict(column(), {.batch_size = 2, .callbacks = callbacks}))) {
    all.push_back(value);
  }
  return all;
}

nn::Sequential one_unit() {
  return nn::Sequential({nn::Dense({.units = 1, .kernel_initializer = "ones"})});
}
nn::CompileOptions slowly() {
  return {.optimizer = nn::SGD({.learning_rate = 0.01}), .loss = "mse"};
}

struct FusedSteps : nn::ModelBase {
  FusedSteps(Fused of, bool applies_itself) : fuse(std::move(of)), applies(applies_itself) {}
  Tensor call(const Tensor& x, const nn::Call& c) override {
    (*fuse)();
    return out(x, c);
  }
  nn::StepLogs train_step(const nn::Batch& batch) override {
    (*fuse)();
    if (!applies) {
      nn::StepLogs logs = ModelBase::train_step(batch);
      (*fuse)();
      return logs;
    }
    GradientTape tape;
    const std::vector<Tensor> y = {(*this)(batch.x[0], {.training = true})};
    const Tensor loss = compute_loss(batch, y);
    (*fuse)();
    optimizer().apply(tape.gradient(loss, trainable_weights()), trainable_weights());
    (*fuse)();
    compute_metrics(batch, y);
    (*fuse)();
    return {{"loss", loss}};
  }
  nn::StepLogs test_step(const nn::Batch& batch) override {
    (*fuse)();
    nn::StepLogs logs = ModelBase::test_step(batch);
    (*fuse)();
    return logs;
  }
  std::vector<Tensor> predict_step(const std::vector<Tensor>& x) override {
    (*fuse)();
    std::vector<Tensor> y = ModelBase::predict_step(x);
    (*fuse)();
    return y;
  }
  Fused fuse;
  bool applies;
  nn::Layer out = track(nn::Dense({.units = 1, .kernel_initializer = "ones"}));
};

Call own_steps(const Fused& fuse, bool applies, bool eager) {
  const nn::Model model = nn::make_model<FusedSteps>(fuse, applies);
  nn::CompileOptions options = slowly();
  options.metrics = {"mae"};
  options.eager = eager;
  model.compile(options);
  return [model] { return all_passes(model); };
}

struct FusedOptimizer : nn::OptimizerBase {
  explicit FusedOptimizer(Fused of) : OptimizerBase({.learning_rate = 0.01}), fuse(std::move(of)) {}
  std::vector<Slot> slots() const override {
    (*fuse)();
    return {{.name = "speed", .shape = [of = fuse](const Shape& variable) {
               (*of)();
               return variable;
             }}};
  }
  std::vector<Slot> shared_slots() const override {
    (*fuse)();
    return {{.name = "steps"}};
  }
  Prepared prepare(const Step& step) const override {
    (*fuse)();
    return {{step.rate}, {step.shared[0] + 1.0}};
  }
  Update update(const Tensor& value, const Tensor& gradient, const std::vector<Tensor>& slots,
                const std::vector<Tensor>& numbers) const override {
    const Tensor speed = slots[0] * 0.9 + gradient;
    (*fuse)();
    return {value - speed * numbers[0], {speed}};
  }
  Fused fuse;
};

struct FusedMetric : nn::MetricBase {
  explicit FusedMetric(Fused of) : MetricBase("own"), fuse(std::move(of)) {}
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor&) override {
    (*fuse)();
    accumulate({{"sum", sum(abs(y_true - y_pred))}});
    (*fuse)();
  }
  std::vector<double> results() const override {
    (*fuse)();
    return numbers(0);
  }
  std::shared_ptr<MetricBase> fresh() const override {
    (*fuse)();
    return std::make_shared<FusedMetric>(fuse);
  }
  Fused fuse;
};

struct FusedCell : nn::CellBase {
  explicit FusedCell(Fused of) : fuse(std::move(of)) {}
  void build(const Shape& shape) override {
    (*fuse)();
    w = add_weight("w", {shape[-1]}, {.initializer = "ones"});
  }
  std::vector<Shape> state_sizes() const override {
    (*fuse)();
    return {w.shape()};
  }
  nn::Drawn draw(const Shape& x, const nn::Call& call) override {
    (*fuse)();
    return CellBase::draw(x, call);
  }
  nn::CellStep step(const Tensor& x, const std::vector<Tensor>& states,
                    const nn::CellCall&) override {
    Tensor h = states[0] * w + x;
    (*fuse)();
    return {h, {h}};
  }
  Fused fuse;
  Variable w;
};

// A state that lasts, in a layer by itself: what failed is no part of it.
Call recurrent(const Fused& fuse, bool stateful) {
  const nn::RNN rnn(nn::make_layer<FusedCell>(fuse), {.stateful = stateful});
  return [rnn, stateful] {
    const Tensor x = reshape(column(), {1, 4, 1});
    GradientTape tape;
    tape.watch(x);
    const Tensor y = rnn(x);
    Floats all = floats(tape.gradient(sum(y), x));
    if (!stateful) all.push_back(y.item<float>());
    return all;
  };
}

struct FusedMask : nn::LayerBase {
  explicit FusedMask(Fused of) : fuse(std::move(of)) {}
  Tensor call(const Tensor& x, const nn::Call&) override { return x * 1.0; }
  Tensor compute_mask(const std::vector<Tensor>& inputs, const std::vector<Tensor>&) override {
    (*fuse)();
    Tensor mask = any(not_equal(inputs[0], 1.0), {-1});
    (*fuse)();
    return mask;
  }
  Fused fuse;
};

struct FusedHooks : nn::CallbackBase {
  explicit FusedHooks(Fused of) : fuse(std::move(of)) {}
  void on_train_begin(nn::Training&) override { (*fuse)(); }
  void on_train_end(nn::Training&) override { (*fuse)(); }
  void on_epoch_begin(nn::Training&) override { (*fuse)(); }
  void add_logs(nn::Training&, nn::Logs& logs) override {
    logs.emplace_back("added", 1.0);
    (*fuse)();
  }
  void on_epoch_end(nn::Training&, const nn::Logs&) override { (*fuse)(); }
  void on_train_batch_begin(nn::Training&) override { (*fuse)(); }
  void on_train_batch_end(nn::Training&, const nn::Logs&) override { (*fuse)(); }
  void on_test_begin(nn::Pass&) override { (*fuse)(); }
  void on_test_end(nn::Pass&, const nn::Logs&) override { (*fuse)(); }
  void on_test_batch_begin(nn::Pass&) override { (*fuse)(); }
  void on_test_batch_end(nn::Pass&, const nn::Logs&) override { (*fuse)(); }
  void on_predict_begin(nn::Pass&) override { (*fuse)(); }
  void on_predict_end(nn::Pass&) override { (*fuse)(); }
  void on_predict_batch_begin(nn::Pass&) override { (*fuse)(); }
  void on_predict_batch_end(nn::Pass&, const std::vector<Tensor>&) override { (*fuse)(); }
  Fused fuse;
};

const Place kModelPlaces[] = {
    {"steps_around_the_built_in_ones", [](Fused fuse) { return own_steps(fuse, false, false); },
     true, true},
    {"steps_of_ones_own", [](Fused fuse) { return own_steps(fuse, true, false); }, true, true},
    {"eager_steps_of_ones_own", [](Fused fuse) { return own_steps(fuse, true, true); }, true, true},
    {"optimizer",
     [](Fused fuse) {
       Parts parts;
       parts.compile.optimizer = nn::make_optimizer<FusedOptimizer>(fuse);
       return fitting(parts);
     },
     true, true},
    {"applied_optimizer",
     [](Fused fuse) -> Call {
       const nn::Optimizer optimizer = nn::make_optimizer<FusedOptimizer>(fuse);
       const Variable w(ones({3}));
       return [optimizer, w] {
         optimizer.apply({full({3}, 2.F)}, {w});
         return floats(w.read());
       };
     },
     true, true},
    {"metric_of_ones_own",
     [](Fused fuse) -> Call {
       const nn::Sequential model = one_unit();
       return [model, fuse] {
         nn::CompileOptions options = slowly();
         options.metrics = {nn::Metric(std::make_shared<FusedMetric>(fuse))};
         model.compile(options);
         return all_passes(model);
       };
     },
     true, true},
    {"metric_by_itself",
     [](Fused fuse) -> Call {
       return [fuse] {
         const nn::Metric metric(std::make_shared<FusedMetric>(fuse));
         metric.update(target(), column());
         return Floats{static_cast<float>(metric.result())};
       };
     }},
    {"cell", [](Fused fuse) { return recurrent(fuse, false); }, false, true},
    {"cell_with_a_state_that_lasts", [](Fused fuse) { return recurrent(fuse, true); }, false, true},
    {"cell_that_is_trained",
     [](Fused fuse) -> Call {
       const nn::Sequential model({nn::Reshape({.target_shape = {1, 1}}),
                                   nn::RNN(nn::make_layer<FusedCell>(fuse)),
                                   nn::Dense({.units = 1, .kernel_initializer = "ones"})});
       model.compile(slowly());
       return [model] { return all_passes(model); };
     },
     true, true},
    {"mask",
     [](Fused fuse) -> Call {
       const nn::Sequential model({nn::Reshape({.target_shape = {1, 1}}),
                                   nn::make_layer<FusedMask>(fuse),
                                   nn::SimpleRNN({.units = 1, .kernel_initializer = "ones"})});
       model.compile(slowly());
       return [model] { return all_passes(model); };
     },
     true, true},
    {"every_hook",
     [](Fused fuse) -> Call {
       const nn::Sequential model = one_unit();
       model.compile(slowly());
       return [model, fuse] { return all_passes(model, {nn::make_callback<FusedHooks>(fuse)}); };
     },
     true, true},
};

struct ThrowingModels : Throwing {};

TEST_P(ThrowingModels, arrives_as_it_is_and_leaves_nothing) {
  expect_arrives_and_leaves_nothing(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Places, ThrowingModels, ::testing::ValuesIn(kModelPlaces),
                         [](const auto& place) { return std::string(place.param.name); });

}  // namespace
}  // namespace tenure::testing
