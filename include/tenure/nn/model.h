// Models: layers put together, compiled, trained, asked.
//
//   nn::Sequential model({nn::SimpleRNN({.units = 10, .stateful = true,
//                                        .batch_input_shape = {1, 16, 4}}),
//                         nn::Dense({.units = 1})});
//   model.compile({.optimizer = nn::Adam(), .loss = "mse"});
//   nn::History history = model.fit(x, y, {.batch_size = 1, .epochs = 20});
//   Tensor forecast = model.predict(x);
//   model.dispose();
//
// Several inputs and outputs, shared layers, nested models:
//
//   nn::Node a = nn::Input({.shape = {4}}), b = nn::Input({.shape = {4}});
//   nn::Dense shared({.units = 8});
//   nn::Model twin({a, b}, {nn::Dot({.axes = {-1}})({shared(a), shared(b)})});
//
// The layers in between, for features and for a look inside:
//
//   nn::Model features({model.inputs()}, {model.get_layer("block3").output()});
//
// A model of your own derives from ModelBase, tracks its layers, and overrides call:
//
//   struct Net : nn::ModelBase {
//     Tensor call(const Tensor& x, const nn::Call& c) override { return out(hidden(x, c), c); }
//     nn::Layer hidden = track(nn::Dense({.units = 16, .activation = "tanh"}));
//     nn::Layer out = track(nn::Dense({.units = 1}));
//   };
//   nn::Model net = nn::make_model<Net>();
//
// One that is trained in its own way overrides train_step, too:
//
//   nn::StepLogs train_step(const nn::Batch& batch) override {
//     GradientTape tape;
//     Tensor loss = compute_loss(batch, {(*this)(batch.x[0], {.training = true})});
//     optimizer().apply(tape.gradient(loss, trainable_weights()), trainable_weights());
//     return {{"loss", loss}};
//   }
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "tenure/dataset.h"
#include "tenure/export.h"
#include "tenure/job.h"
#include "tenure/nn/callbacks.h"
#include "tenure/nn/compile.h"
#include "tenure/nn/layer.h"

namespace tenure::nn {

// Fields are in the order of Keras's arguments. An option that cannot apply to what is given is a
// ValueError.
struct FitOptions {
  std::optional<std::int64_t> batch_size = {};  // of tensors; default: 32
  int epochs = 1;
  Verbose verbose = Verbose::automatic;
  std::vector<Callback> callbacks = {};
  double validation_split = 0;  // of the examples, the last ones
  // Dataset::from_tensors(x, y), which is batched as the training is, or one of batches.
  std::optional<Dataset> validation = {};
  std::optional<bool> shuffle = {};  // default: tensors, but for stateful models
  std::map<int, double> class_weight = {};
  Tensor sample_weight = {};
  int initial_epoch = 0;
  std::int64_t steps_per_epoch = 0;                        // 0: all batches
  std::int64_t validation_steps = 0;                       // 0: all batches
  std::optional<std::int64_t> validation_batch_size = {};  // default: that of the training
  int validation_freq = 1;                                 // epochs from one to the next
};

struct EvaluateOptions {
  std::optional<std::int64_t> batch_size = {};  // of tensors; default: 32
  Verbose verbose = Verbose::silent;
  Tensor sample_weight = {};
  std::int64_t steps = 0;  // batches; 0: all
  std::vector<Callback> callbacks = {};
};

struct PredictOptions {
  std::optional<std::int64_t> batch_size = {};  // of tensors; default: 32
  Verbose verbose = Verbose::silent;
  std::int64_t steps = 0;  // batches; 0: all
  std::vector<Callback> callbacks = {};
};

namespace detail {
struct ModelState;
struct ModelAccess;
}  // namespace detail

// The numbers that a step gives, by name; they are read when it is done.
using StepLogs = std::vector<std::pair<std::string, Tensor>>;

class TENURE_API ModelBase : public LayerBase {
 public:
  explicit ModelBase(LayerOptions options = {});
  ~ModelBase() override;
  const char* class_name() const override { return "Model"; }
  void before_dispose(std::source_location site) override;

  // What is done with a batch by fit and train_on_batch, by evaluate and test_on_batch, and by
  // predict: traced, unless the model was compiled with `eager`. Override them for steps of your
  // own. What a step gives are numbers; an epoch's are the means of those of its batches. Metrics
  // that compute_metrics updated come to them by themselves, and weights with a constraint meet it.
  virtual StepLogs train_step(const Batch& batch);
  virtual StepLogs test_step(const Batch& batch);
  virtual std::vector<Tensor> predict_step(const std::vector<Tensor>& x);

 protected:
  // For steps: what the model gives. What layers add to the loss waits for compute_loss.
  Tensor operator()(const Tensor& x, Call call = {},
                    std::source_location site = std::source_location::current());
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, Call call = {},
                                 std::source_location site = std::source_location::current());
  // The compiled loss of these outputs, with penalties and what layers added since the last one.
  Tensor compute_loss(const Batch& batch, const std::vector<Tensor>& y_pred,
                      std::source_location site = std::source_location::current());
  // Updates the compiled metrics.
  void compute_metrics(const Batch& batch, const std::vector<Tensor>& y_pred,
                       std::source_location site = std::source_location::current());
  // That the model was compiled with.
  Optimizer optimizer(std::source_location site = std::source_location::current()) const;
  std::vector<Variable> trainable_weights();  // of its layers; those that are built

 private:
  friend struct detail::ModelAccess;
  std::unique_ptr<detail::ModelState> model_;
};

struct ModelOptions {
  std::string name = {};
  bool trainable = true;  // and all that is in it
};

class Model;

// A model that may be gone.
class TENURE_API WeakModel {
 public:
  std::optional<Model> lock() const;
  bool expired() const;

 private:
  friend class Model;
  std::weak_ptr<LayerBase> base_;
};

// A copyable handle; copies stand for the same model. A model is a layer.
class TENURE_API Model : public Layer {
 public:
  Model(std::vector<Node> inputs, std::vector<Node> outputs, ModelOptions options = {},
        std::source_location site = std::source_location::current());
  explicit Model(std::shared_ptr<ModelBase> base);
  // A layer that is a model: Model base = whole.get_layer("base"). Another one is a ValueError.
  Model(const Layer& layer, std::source_location site = std::source_location::current());

  void compile(CompileOptions options,
               std::source_location site = std::source_location::current()) const;

  // Trains. BusyError while another fit runs on the model.
  History fit(const Tensor& x, const Tensor& y, FitOptions options = {},
              std::source_location site = std::source_location::current()) const;
  History fit(const std::vector<Tensor>& x, const std::vector<Tensor>& y, FitOptions options = {},
              std::source_location site = std::source_location::current()) const;
  History fit(const Dataset& batches, FitOptions options = {},
              std::source_location site = std::source_location::current()) const;
  // In the background: cancel() stops after the batch in hand, with the weights of that step.
  // Model and inputs live until it is done, whoever drops them.
  Job<History> fit_async(const Tensor& x, const Tensor& y, FitOptions options = {},
                         std::source_location site = std::source_location::current()) const;
  Job<History> fit_async(const std::vector<Tensor>& x, const std::vector<Tensor>& y,
                         FitOptions options = {},
                         std::source_location site = std::source_location::current()) const;
  Job<History> fit_async(const Dataset& batches, FitOptions options = {},
                         std::source_location site = std::source_location::current()) const;
  // One step; the loss and the metrics of this batch.
  Logs train_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight = {},
                      std::source_location site = std::source_location::current()) const;
  Logs train_on_batch(const Batch& batch,
                      std::source_location site = std::source_location::current()) const;
  Logs test_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight = {},
                     std::source_location site = std::source_location::current()) const;
  Logs test_on_batch(const Batch& batch,
                     std::source_location site = std::source_location::current()) const;

  Logs evaluate(const Tensor& x, const Tensor& y, EvaluateOptions options = {},
                std::source_location site = std::source_location::current()) const;
  Logs evaluate(const std::vector<Tensor>& x, const std::vector<Tensor>& y,
                EvaluateOptions options = {},
                std::source_location site = std::source_location::current()) const;
  Logs evaluate(const Dataset& batches, EvaluateOptions options = {},
                std::source_location site = std::source_location::current()) const;

  // Safe from several threads.
  Tensor predict(const Tensor& x, PredictOptions options = {},
                 std::source_location site = std::source_location::current()) const;
  std::vector<Tensor> predict(const std::vector<Tensor>& x, PredictOptions options = {},
                              std::source_location site = std::source_location::current()) const;
  // Of a dataset's inputs; its targets are not looked at. predict is for models of one output.
  Tensor predict(const Dataset& batches, PredictOptions options = {},
                 std::source_location site = std::source_location::current()) const;
  std::vector<Tensor> predict_all(
      const Dataset& batches, PredictOptions options = {},
      std::source_location site = std::source_location::current()) const;
  // All of `x` at once.
  Tensor predict_on_batch(const Tensor& x,
                          std::source_location site = std::source_location::current()) const;
  std::vector<Tensor> predict_on_batch(
      const std::vector<Tensor>& x,
      std::source_location site = std::source_location::current()) const;
  Job<Tensor> predict_async(const Tensor& x, PredictOptions options = {},
                            std::source_location site = std::source_location::current()) const;
  Job<std::vector<Tensor>> predict_async(
      const std::vector<Tensor>& x, PredictOptions options = {},
      std::source_location site = std::source_location::current()) const;

  // One of layers() by its name, or by its place (from the end, where below 0). ValueError.
  Layer get_layer(const std::string& name,
                  std::source_location site = std::source_location::current()) const;
  Layer get_layer(int index, std::source_location site = std::source_location::current()) const;
  // That it was compiled with.
  Optimizer optimizer(std::source_location site = std::source_location::current()) const;
  // A table, and a picture for Graphviz.
  std::string summary(std::source_location site = std::source_location::current()) const;
  std::string dot(std::source_location site = std::source_location::current()) const;
  WeakModel weak() const;

  // A whole model: architecture, weights, optimizer. See tenure/nn/files.h for other formats.
  void save(const std::string& path,
            std::source_location site = std::source_location::current()) const;
  void save_weights(const std::string& path,
                    std::source_location site = std::source_location::current()) const;
  void load_weights(const std::string& path,
                    std::source_location site = std::source_location::current()) const;

 protected:
  friend struct detail::ModelAccess;
};

// Layers one after the other; the first may be an Input. Braces list layers, also a single model:
// Sequential({a}) has a in it. Sequential b = a and b(a) stand for the same model.
class TENURE_API Sequential : public Model {
 public:
  explicit Sequential(std::initializer_list<Layer> layers, ModelOptions options = {},
                      std::source_location site = std::source_location::current());
  explicit Sequential(std::vector<Layer> layers = {}, ModelOptions options = {},
                      std::source_location site = std::source_location::current());
  void add(const Layer& layer, std::source_location site = std::source_location::current()) const;
  void pop(std::source_location site = std::source_location::current()) const;
};

// Another model of the same layers, with weights of its own, not compiled. UnsupportedError where
// the model is made by a class of yours: make_model makes another one. Layers of yours are made
// anew by what register_layer was given for them.
TENURE_API Model clone_model(const Model& model,
                             std::source_location site = std::source_location::current());

// A handle to a model of your own.
template <class T, class... A>
Model make_model(A&&... args) {
  return Model(std::make_shared<T>(std::forward<A>(args)...));
}

}  // namespace tenure::nn
