// What every optimizer holds.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "memory/fork.h"
#include "memory/label.h"
#include "nn/fields.h"
#include "tenure/nn/optimizers.h"

namespace tenure::nn::detail {

struct OptimizerState {
  OptimizerOptions options;
  tenure::detail::LabelRef label;                // class, name, and where it was made
  mutable tenure::detail::RecursiveMutex mutex;  // guards the rest
  double rate = 0;                               // before the variable is made
  Variable iterations, learning_rate;            // made by the first build
  std::vector<Variable> shared;
  std::map<std::uint64_t, std::size_t> slot_index;  // by variable's id: which of `slots`
  std::vector<std::vector<Variable>> slots;         // in the order in which variables came
  std::atomic<bool> disposed{false};
  std::source_location disposed_at;
};

// What a LossScaleOptimizer adds; the optimizer's mutex guards it.
struct LossScale {
  LossScaleOptimizerOptions options;
  Variable scale, good_steps;  // made by the first build

  std::vector<Variable> variables() const;  // none before they are made
  void build(const OptimizerState& state, std::source_location site);
  // Gradients without the scale. True where all of them are finite.
  Tensor take_out(std::vector<Tensor>& gradients) const;
  // What becomes of the scale after a step, good or not.
  void adapt(const Tensor& good,
             const std::function<void(const Variable& variable, Tensor value)>& change) const;
  std::string config(const OptimizerBase& inner) const;
};

struct OptimizerAccess {
  static OptimizerBase& base(const Optimizer& optimizer) { return *optimizer.base_; }
  static LossScale* scale(const Optimizer& optimizer) { return optimizer.scale_.get(); }
  static OptimizerState& state(const OptimizerBase& base) { return *base.state_; }
};

// What is kept for each variable: what the formula asks for, and last its average.
std::vector<OptimizerBase::Slot> slots_of(const OptimizerBase& base);
// A scalar of an optimizer's state.
Variable scalar_state(Tensor value, const OptimizerState& state, const char* name,
                      std::source_location site);

// The settings that every optimizer has, and this one's.
template <class O>
void optimizer_fields(Fields& visit, O& o) {
  TENURE_FIELDS(visit, o, name, weight_decay, clipnorm, global_clipnorm, clipvalue, use_ema,
                ema_momentum, ema_overwrite_frequency);
  fields(visit, o);
  TENURE_FIELDS(visit, o, learning_rate);
}
inline void fields(Fields&, OptimizerOptions&) {}

template <class O>
OptimizerOptions common_optimizer_options(const O& o) {
  return {o.learning_rate,
          o.weight_decay,
          o.clipnorm,
          o.clipvalue,
          o.global_clipnorm,
          o.use_ema,
          o.ema_momentum,
          o.ema_overwrite_frequency,
          o.exclude_from_weight_decay,
          o.name};
}

LearningRate current_rate(const OptimizerBase& base);

template <class O>
std::string optimizer_config(const OptimizerBase& base, O options) {
  options.learning_rate = current_rate(base);
  if (options.name.empty()) options.name = base.class_name();
  return written([&](Fields& visit) { optimizer_fields(visit, options); });
}

// A built-in optimizer: its options, written and read through fields(visit, options).
template <class O>
class ConfiguredOptimizer : public OptimizerBase {
 public:
  explicit ConfiguredOptimizer(O options)
      : OptimizerBase(common_optimizer_options(options)), options_(std::move(options)) {}
  std::string config() const override { return optimizer_config(*this, options_); }

 protected:
  const O options_;
};

}  // namespace tenure::nn::detail
