// Models: layers put together, compiled, trained, asked.
//
//   nn::Sequential model({nn::SimpleRNN({.units = 10, .stateful = true,
//                                        .batch_input_shape = {1, 16, 4}}),
//                         nn::Dense({.units = 1})});
//   model.compile({.optimizer = nn::Adam(), .loss = "mse"});
//   nn::History history = model.fit(x, y, {.epochs = 20, .batch_size = 1});
//   Tensor forecast = model.predict(x);
//   model.dispose();
//
// Several inputs and outputs, shared layers, nested models:
//
//   nn::Node a = nn::Input({.shape = {4}}), b = nn::Input({.shape = {4}});
//   nn::Dense shared({.units = 8});
//   nn::Model twin({a, b}, {nn::Dot({.axes = {-1}})({shared(a), shared(b)})});
//
// A model of your own derives from ModelBase, tracks its layers, and overrides call:
//
//   struct Net : nn::ModelBase {
//     Tensor call(const Tensor& x, const nn::Call& c) override { return out(hidden(x, c), c); }
//     nn::Layer hidden = track(nn::Dense({.units = 16, .activation = "tanh"}));
//     nn::Layer out = track(nn::Dense({.units = 1}));
//   };
//   nn::Model net = nn::make_model<Net>();
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/dataset.h"
#include "tenure/export.h"
#include "tenure/job.h"
#include "tenure/nn/callbacks.h"
#include "tenure/nn/layer.h"
#include "tenure/nn/losses.h"
#include "tenure/nn/metrics.h"
#include "tenure/nn/optimizers.h"

namespace tenure::nn {

// One loss for every output, or one for each.
class Losses {
 public:
  Losses() = default;
  template <class L>
    requires std::is_convertible_v<L, Loss>
  Losses(L loss) : list_{Loss(std::move(loss))} {}
  Losses(std::initializer_list<Loss> several) : list_(several) {}
  Losses(std::vector<Loss> several) : list_(std::move(several)) {}
  bool empty() const { return list_.empty(); }
  std::size_t size() const { return list_.size(); }
  const std::vector<Loss>& list() const { return list_; }
  const Loss& of(std::size_t output) const { return list_[list_.size() == 1 ? 0 : output]; }

 private:
  std::vector<Loss> list_;
};

struct CompileOptions {
  Optimizer optimizer = "rmsprop";
  Losses loss = {};
  std::vector<Metric> metrics = {};       // of every output
  std::vector<double> loss_weights = {};  // per output; default: 1
  int accumulate = 1;  // batches whose gradients are averaged into one step of the optimizer
  // Steps run operation by operation, for debugging. The numbers are the same, but where a layer
  // uses cond: to a weight of the branch that was not taken, a traced step applies a gradient of
  // zeros (a momentum goes on), an eager one none.
  bool eager = false;
};

struct FitOptions {
  int epochs = 1;
  std::int64_t batch_size = 32;
  bool shuffle = true;          // not for stateful models, nor for datasets
  double validation_split = 0;  // of the examples, the last ones
  // Dataset::from_tensors(x, y), which is batched as the training is, or one of batches.
  std::optional<Dataset> validation = {};
  int validation_freq = 1;
  std::map<int, double> class_weight = {};
  Tensor sample_weight = {};
  std::vector<Callback> callbacks = {};
  int initial_epoch = 0;
  std::int64_t steps_per_epoch = 0;  // 0: all batches
  Verbose verbose = Verbose::automatic;
};

struct PredictOptions {
  std::int64_t batch_size = 32;
};

struct EvaluateOptions {
  std::int64_t batch_size = 32;
  Tensor sample_weight = {};
};

namespace detail {
struct ModelState;
struct ModelAccess;
}  // namespace detail

class TENURE_API ModelBase : public LayerBase {
 public:
  explicit ModelBase(LayerOptions options = {});
  ~ModelBase() override;
  const char* class_name() const override { return "Model"; }
  void before_dispose(std::source_location site) override;

 private:
  friend struct detail::ModelAccess;
  std::unique_ptr<detail::ModelState> model_;
};

struct ModelOptions {
  std::string name = {};
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
  Job<History> fit_async(const Dataset& batches, FitOptions options = {},
                         std::source_location site = std::source_location::current()) const;
  // One step; the loss and the metrics of this batch.
  Logs train_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight = {},
                      std::source_location site = std::source_location::current()) const;
  Logs train_on_batch(const Batch& batch,
                      std::source_location site = std::source_location::current()) const;
  Logs test_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight = {},
                     std::source_location site = std::source_location::current()) const;

  Logs evaluate(const Tensor& x, const Tensor& y, EvaluateOptions options = {},
                std::source_location site = std::source_location::current()) const;
  Logs evaluate(const Dataset& batches,
                std::source_location site = std::source_location::current()) const;

  // Safe from several threads.
  Tensor predict(const Tensor& x, PredictOptions options = {},
                 std::source_location site = std::source_location::current()) const;
  std::vector<Tensor> predict(const std::vector<Tensor>& x, PredictOptions options = {},
                              std::source_location site = std::source_location::current()) const;
  Job<Tensor> predict_async(const Tensor& x, PredictOptions options = {},
                            std::source_location site = std::source_location::current()) const;

  std::vector<Spec> inputs() const;  // empty until the model knows them
  std::vector<Spec> outputs() const;
  // That it was compiled with.
  Optimizer optimizer(std::source_location site = std::source_location::current()) const;
  std::string summary() const;  // a table
  std::string dot() const;      // a picture, for Graphviz
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

// Layers one after the other.
class TENURE_API Sequential : public Model {
 public:
  explicit Sequential(std::vector<Layer> layers = {}, ModelOptions options = {},
                      std::source_location site = std::source_location::current());
  void add(const Layer& layer, std::source_location site = std::source_location::current()) const;
  void pop(std::source_location site = std::source_location::current()) const;
};

// A handle to a model of your own.
template <class T, class... A>
Model make_model(A&&... args) {
  return Model(std::make_shared<T>(std::forward<A>(args)...));
}

}  // namespace tenure::nn
