// What every model holds, and the library's way into it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "memory/fork.h"
#include "nn/compile.h"
#include "nn/layer_state.h"
#include "nn/turns.h"
#include "tenure/function.h"
#include "tenure/nn/model.h"

namespace tenure::nn::detail {

using TensorVector = std::vector<Tensor>;

// A metric of an output, and what it is called in logs.
struct Measure {
  Metric metric;
  std::size_t output;
  bool weighted;  // by the weights of the examples
  std::string name;
};

// What compile made: the step, as functions that are traced once per shape of a batch. Each gives
// its numbers, whose names the first trace tells: of the built-in ones the total loss, and where
// there are several outputs the loss of each.
struct Compiled {
  CompileOptions options;
  std::source_location site;
  std::vector<Measure> metrics;
  std::vector<Spec> outputs;
  std::vector<JudgedOutput> judged;     // these outputs
  std::vector<std::string> loss_names;  // "loss", then those of the outputs where several have one
  bool ready = false;                   // what needs the outputs' shapes
  struct Told {
    std::vector<std::string> names;  // of what the steps give
    bool measures = false;           // they update the metrics
  };
  Told training, testing;
  std::vector<Variable> trainable;
  std::vector<Variable> accumulated;  // gradients of the batches before the last of a step
  int held_back = 0;                  // those batches
  std::uint64_t steps = 0;            // so far, for recordings
  using Step = Function<TensorVector(TensorVector x, TensorVector y, TensorVector weight)>;
  std::optional<Step> train, accumulate, test;
};

struct ModelState {
  Turns turns;                  // a step's, and of those who read the weights
  tenure::detail::Mutex mutex;  // guards what follows
  struct Training {
    std::source_location since;
    tenure::detail::Worker by;
  };
  std::optional<Training> training;
  std::optional<std::source_location> ending;  // since a dispose has begun
  std::shared_ptr<Compiled> compiled;
  using Predict = Function<TensorVector(TensorVector)>;
  std::optional<Predict> predict;
  std::uint64_t changes_seen = 0;  // of Sequentials anywhere, when both were last known to be right
};

struct ModelAccess {
  static ModelBase& base(const Model& model) { return static_cast<ModelBase&>(*model.base_); }
  static ModelState& state(const Model& model) { return *base(model).model_; }
  static ModelState& state(const ModelBase& base) { return *base.model_; }
};

// With the state's mutex held: whoever comes after a dispose has begun finds the model disposed.
void check_not_ending(const char* what, const ModelBase& base, std::source_location site);

// A model is being trained: from here until it is released, no other fit and no dispose.
class TrainingLock {
 public:
  TrainingLock(const Model& model, const char* what, std::source_location site,
               tenure::detail::Worker worker = tenure::detail::this_thread());
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

// With the model's lock: refused while it is being trained.
void check_idle(const char* what, const ModelBase& base, std::source_location site);
// Without it: refused while a model is being trained that this is a part of.
void check_untrained(const char* what, const LayerBase& part, std::source_location site);
void check_untrained(const char* what, const OptimizerBase& optimizer, std::source_location site);
std::shared_ptr<Compiled> compiled_of(const Model& model, const char* what,
                                      std::source_location site);
// Refuses what does not fit the inputs that the model was declared with, if it was.
void check_inputs(const ModelBase& base, const TensorVector& x);
// Metrics and names, and the optimizer's state, before the first step on such a batch.
void prepare(ModelBase& base, Compiled& compiled, const std::vector<Spec>& inputs,
             std::source_location site);
// One step: `batch` is not empty. Gives its numbers.
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
const Structure* structure_of(const LayerBase& base);  // null: no model, one of the user's own, or
                                                       // one that does not know its inputs yet

}  // namespace tenure::nn::detail
