// What every model holds, and the library's way into it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "nn/layer_state.h"
#include "tenure/function.h"
#include "tenure/nn/model.h"

namespace tenure::nn::detail {

using TensorVector = std::vector<Tensor>;

// What compile made: the step, as functions that are traced once per shape of a batch. Each gives
// the total loss, and where there are several outputs the loss of each.
struct Compiled {
  CompileOptions options;
  std::vector<Metric> metrics;  // output by output
  std::vector<std::string> metric_names;
  std::vector<std::string> loss_names;  // "loss", then those of the outputs where there are several
  bool ready = false;                   // metrics and names, which need the outputs' shapes
  std::vector<Variable> trainable;
  std::vector<Variable> accumulated;  // gradients of the batches before the last of a step
  int held_back = 0;                  // those batches
  std::uint64_t steps = 0;            // so far, for recordings
  using Step = Function<TensorVector(TensorVector x, TensorVector y, TensorVector weight)>;
  std::optional<Step> train, accumulate, test;
};

struct ModelState {
  tenure::detail::Mutex mutex;  // guards what follows
  std::optional<std::source_location> training_since;
  std::shared_ptr<Compiled> compiled;
  std::optional<Function<TensorVector(TensorVector)>> predict;
};

struct ModelAccess {
  static ModelBase& base(const Model& model) { return static_cast<ModelBase&>(*model.base_); }
  static ModelState& state(const Model& model) { return *base(model).model_; }
  static ModelState& state(ModelBase& base) { return *base.model_; }
};

// A model is being trained: from here until it is released, no other fit and no dispose.
class TrainingLock {
 public:
  TrainingLock(const Model& model, const char* what, std::source_location site);
  ~TrainingLock() { release(); }
  TrainingLock(const TrainingLock&) = delete;
  TrainingLock& operator=(const TrainingLock&) = delete;
  void release();

 private:
  std::optional<Model> model_;
};

// Calls the layers of a container one after the other, with their masks.
struct Flow {
  Tensor value;
  Tensor mask;
};
std::vector<Flow> call_in_model(const Layer& layer, std::vector<Flow> inputs, const Call& call);

[[noreturn]] void raise_busy(const char* what, const LayerBase& base, std::source_location since,
                             std::source_location site);
std::shared_ptr<Compiled> compiled_of(const Model& model, const char* what,
                                      std::source_location site);
// Metrics and names, and the optimizer's state, before the first step on such a batch.
void prepare(const Model& model, Compiled& compiled, const TensorVector& x,
             std::source_location site);
void prepare(const Model& model, Compiled& compiled, const std::vector<Spec>& inputs,
             std::source_location site);
// One step: `batch` is not empty. Gives the losses.
std::vector<double> train_step(const Model& model, Compiled& compiled, const Batch& batch,
                               std::source_location site);
std::vector<double> test_step(const Model& model, Compiled& compiled, const Batch& batch,
                              std::source_location site);
TensorVector predict_step(const Model& model, const TensorVector& x, std::source_location site);
Logs metric_logs(const Compiled& compiled);
void reset_metrics(const Compiled& compiled);

// The structure of a model, where it has one that can be written down.
struct Structure {
  bool sequential = false;
  std::vector<std::shared_ptr<const NodeCall>> calls;  // in an order in which they can be computed
  std::vector<Node> inputs;
  std::vector<Node> outputs;
};
const Structure* structure_of(const ModelBase& base);  // null: a model of the user's own, or one
                                                       // that does not know its inputs yet

}  // namespace tenure::nn::detail
