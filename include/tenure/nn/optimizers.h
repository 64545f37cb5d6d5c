// Optimizers: how gradients become steps. Formulas, names and defaults are those of Keras 3.
//
//   model.compile({.optimizer = nn::Adam({.learning_rate = 1e-3, .clipnorm = 1}), .loss = "mse"});
//   nn::SGD({.learning_rate = nn::ExponentialDecay({.initial_learning_rate = 0.1,
//                                                   .decay_steps = 100, .decay_rate = 0.9})});
//
// Or in a step of your own, eager or traced:
//
//   nn::Adam adam;
//   GradientTape tape;
//   Tensor loss = mean(square(matmul(x, w) - y));
//   adam.apply(tape.gradient(loss, {w}), {w});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "tenure/export.h"
#include "tenure/handle.h"
#include "tenure/nn/layer.h"
#include "tenure/nn/schedules.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"
#include "tenure/variable.h"

// The settings that every optimizer has. They come last, so that they can follow its own. At most
// one of the three ways to clip gradients may be set. With use_ema it keeps an exponential moving
// average of each variable, which the variable becomes every ema_overwrite_frequency steps, and at
// the end of a fit. Variables whose names contain one of exclude_from_weight_decay (which files do
// not keep, as in Keras) are not decayed.
#define TENURE_OPTIMIZER_FIELDS            \
  std::optional<double> weight_decay = {}; \
  TENURE_OPTIMIZER_FIELDS_WITHOUT_DECAY
#define TENURE_OPTIMIZER_FIELDS_WITHOUT_DECAY               \
  std::optional<double> clipnorm = {};                      \
  std::optional<double> clipvalue = {};                     \
  std::optional<double> global_clipnorm = {};               \
  bool use_ema = false;                                     \
  double ema_momentum = 0.99;                               \
  std::optional<std::int64_t> ema_overwrite_frequency = {}; \
  std::vector<std::string> exclude_from_weight_decay = {};  \
  std::string name = {}

namespace tenure::nn {

class OptimizerBase;
namespace detail {
struct LossScale;
struct OptimizerState;
struct OptimizerAccess;
}  // namespace detail

// A copyable handle; by name ("adam") or as an object. Dropping the last one frees its state.
class TENURE_API Optimizer {
 public:
  Optimizer(const char* name, std::source_location site = std::source_location::current());
  Optimizer(const std::string& name, std::source_location site = std::source_location::current());
  explicit Optimizer(std::shared_ptr<OptimizerBase> base,
                     std::source_location site = std::source_location::current());

  // Makes the state for these variables (once); apply does it too, outside of any trace.
  void build(const std::vector<Variable>& variables,
             std::source_location site = std::source_location::current()) const;
  // One step. Eager or in a trace; an empty gradient leaves its variable alone. All that a step
  // needs is computed before it changes anything: one that fails has changed nothing.
  void apply(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables,
             std::source_location site = std::source_location::current()) const;

  // Makes the variables the averages that use_ema keeps of them, as fit does at its end; without
  // use_ema, nothing.
  void finalize_variable_values(const std::vector<Variable>& variables,
                                std::source_location site = std::source_location::current()) const;
  // A loss as the gradients that apply is given are to be of: times the scale of a
  // LossScaleOptimizer, and of any other as it is.
  Tensor scale_loss(Tensor loss, std::source_location site = std::source_location::current()) const;

  // Of the next step.
  double learning_rate(std::source_location site = std::source_location::current()) const;
  // ValueError where a schedule sets it.
  void set_learning_rate(double rate,
                         std::source_location site = std::source_location::current()) const;
  // Steps so far.
  std::int64_t iterations(std::source_location site = std::source_location::current()) const;
  // Its state, for files: iterations, learning_rate (unless a schedule sets it), then per variable.
  std::vector<Variable> variables() const;
  std::string name() const;
  std::string class_name() const;
  std::string config() const;
  Disposal dispose(std::source_location site = std::source_location::current()) const;
  bool is_disposed() const;
  bool operator==(const Optimizer& other) const { return base_ == other.base_; }

 protected:
  friend struct detail::OptimizerAccess;
  tenure::detail::Held<std::shared_ptr<OptimizerBase>, "Optimizer"> base_;
  std::shared_ptr<detail::LossScale> scale_;  // of a LossScaleOptimizer
};

// ---- The optimizers

struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  TENURE_OPTIMIZER_FIELDS;
};
struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  TENURE_OPTIMIZER_FIELDS;
};
struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  std::optional<double> weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  TENURE_OPTIMIZER_FIELDS_WITHOUT_DECAY;
};
struct AdamaxOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  TENURE_OPTIMIZER_FIELDS;
};
using NadamOptions = AdamaxOptions;
struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
  bool centered = false;
  TENURE_OPTIMIZER_FIELDS;
};
struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
  TENURE_OPTIMIZER_FIELDS;
};
struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95;
  double epsilon = 1e-7;
  TENURE_OPTIMIZER_FIELDS;
};
struct FtrlOptions {
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5;
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0;
  double l2_regularization_strength = 0;
  double l2_shrinkage_regularization_strength = 0;
  double beta = 0;
  TENURE_OPTIMIZER_FIELDS;
};
struct AdafactorOptions {
  LearningRate learning_rate = 0.001;
  double beta_2_decay = -0.8;
  double epsilon_1 = 1e-30;
  double epsilon_2 = 1e-3;
  double clip_threshold = 1;
  bool relative_step = true;  // the rate is at most 1 / sqrt(step)
  TENURE_OPTIMIZER_FIELDS;
};
struct LambOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  TENURE_OPTIMIZER_FIELDS;
};
struct LionOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.99;
  TENURE_OPTIMIZER_FIELDS;
};

class TENURE_API SGD : public Optimizer {
 public:
  explicit SGD(SGDOptions options = {},
               std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(SGD, SGDOptions)
};
class TENURE_API Adam : public Optimizer {
 public:
  explicit Adam(AdamOptions options = {},
                std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(Adam, AdamOptions)
};
class TENURE_API AdamW : public Optimizer {
 public:
  explicit AdamW(AdamWOptions options = {},
                 std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(AdamW, AdamWOptions)
};
class TENURE_API Adamax : public Optimizer {
 public:
  explicit Adamax(AdamaxOptions options = {},
                  std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(Adamax, AdamaxOptions)
};
class TENURE_API Nadam : public Optimizer {
 public:
  explicit Nadam(NadamOptions options = {},
                 std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(Nadam, NadamOptions)
};
class TENURE_API RMSprop : public Optimizer {
 public:
  explicit RMSprop(RMSpropOptions options = {},
                   std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(RMSprop, RMSpropOptions)
};
class TENURE_API Adagrad : public Optimizer {
 public:
  explicit Adagrad(AdagradOptions options = {},
                   std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(Adagrad, AdagradOptions)
};
class TENURE_API Adadelta : public Optimizer {
 public:
  explicit Adadelta(AdadeltaOptions options = {},
                    std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(Adadelta, AdadeltaOptions)
};
// Follow the regularized leader (McMahan et al., 2013): weights that l1 holds at 0.
class TENURE_API Ftrl : public Optimizer {
 public:
  explicit Ftrl(FtrlOptions options = {},
                std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(Ftrl, FtrlOptions)
};
// Of a matrix it remembers rows and columns, not elements (Shazeer and Stern, 2018).
class TENURE_API Adafactor : public Optimizer {
 public:
  explicit Adafactor(AdafactorOptions options = {},
                     std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(Adafactor, AdafactorOptions)
};
// Adam whose step is as long as the weight, times the rate, for large batches (You et al., 2020).
class TENURE_API Lamb : public Optimizer {
 public:
  explicit Lamb(LambOptions options = {},
                std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(Lamb, LambOptions)
};
class TENURE_API Lion : public Optimizer {
 public:
  explicit Lion(LionOptions options = {},
                std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(Lion, LionOptions)
};

struct LossScaleOptimizerOptions {
  double initial_scale = 32768;
  std::int64_t dynamic_growth_steps = 2000;
  std::string name = {};
};
// The same optimizer, given gradients of scale_loss(loss), so that small ones are not 0 in float16.
// It takes the scale out of them. Where one of them is not finite, the step is left out and the
// scale halved; after dynamic_growth_steps good steps it is doubled. compile makes one for
// "mixed_float16".
class TENURE_API LossScaleOptimizer : public Optimizer {
 public:
  explicit LossScaleOptimizer(Optimizer inner, LossScaleOptimizerOptions options = {},
                              std::source_location site = std::source_location::current());
  double scale(std::source_location site = std::source_location::current()) const;
};

// ---- One of your own

struct OptimizerOptions {
  LearningRate learning_rate = 0.001;
  TENURE_OPTIMIZER_FIELDS;
};

// What optimizers are made of: state per variable, and a function from old values to new ones.
// Clipping, weight decay, schedules and counting are done for it.
class TENURE_API OptimizerBase {
 public:
  explicit OptimizerBase(OptimizerOptions options = {});
  virtual ~OptimizerBase();
  OptimizerBase(const OptimizerBase&) = delete;
  OptimizerBase& operator=(const OptimizerBase&) = delete;

  struct Slot {
    std::string name;
    double initial = 0;
    std::function<Shape(const Shape& variable)> shape = {};  // default: the variable's
  };
  virtual std::vector<Slot> slots() const { return {}; }         // of each variable
  virtual std::vector<Slot> shared_slots() const { return {}; }  // float64 scalars

  // All float64 scalars.
  struct Step {
    Tensor number;  // of this step, from 1
    Tensor rate;
    std::vector<Tensor> shared;  // slots
  };
  struct Prepared {
    std::vector<Tensor> numbers;  // for update, which gets them in the dtype it computes in
    std::vector<Tensor> shared;   // new values of the shared slots
  };
  virtual Prepared prepare(const Step& step) const;  // default: the rate

  // All in the variable's dtype; for float16 and bfloat16 in float32, as the slots are, and the new
  // value is rounded into the variable.
  struct Update {
    Tensor value;
    std::vector<Tensor> slots;
  };
  virtual Update update(const Tensor& value, const Tensor& gradient,
                        const std::vector<Tensor>& slots,
                        const std::vector<Tensor>& numbers) const = 0;

  virtual const char* class_name() const { return "Optimizer"; }
  virtual std::string config() const;  // its settings as a JSON object

 private:
  friend struct detail::OptimizerAccess;
  std::unique_ptr<detail::OptimizerState> state_;
};

// A handle to an optimizer of your own.
template <class T, class... A>
Optimizer make_optimizer(A&&... args) {
  return Optimizer(std::make_shared<T>(std::forward<A>(args)...));
}

}  // namespace tenure::nn
