// What every optimizer holds.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "memory/fork.h"
#include "memory/label.h"
#include "nn/config.h"
#include "tenure/nn/optimizers.h"

namespace tenure::nn::detail {

struct OptimizerState {
  OptimizerOptions options;
  tenure::detail::LabelRef label;                // class, name, and where it was made
  mutable tenure::detail::RecursiveMutex mutex;  // guards the rest
  double rate = 0;                               // before the variable is made
  Variable iterations, learning_rate;            // made by the first build
  std::vector<Variable> shared;
  std::map<std::uint64_t, std::size_t> found;  // by variable's id: which of `slots`
  std::vector<std::vector<Variable>> slots;    // in the order in which variables came
  std::atomic<bool> disposed{false};
  std::source_location disposed_at;
};

struct OptimizerAccess {
  static OptimizerBase& base(const Optimizer& optimizer) { return *optimizer.base_; }
  static OptimizerState& state(const OptimizerBase& base) { return *base.state_; }
};

// The settings that every optimizer has, but for the learning rate.
template <class V, class O>
void common_optimizer_fields(V& visit, O& o) {
  visit("name", o.name);
  visit("weight_decay", o.weight_decay);
  visit("clipnorm", o.clipnorm);
  visit("global_clipnorm", o.global_clipnorm);
  visit("clipvalue", o.clipvalue);
}

template <class O>
OptimizerOptions common_optimizer_options(const O& o) {
  return {o.learning_rate, o.weight_decay,    o.clipnorm,
          o.clipvalue,     o.global_clipnorm, o.exclude_from_weight_decay,
          o.name};
}

Json learning_rate_json(const OptimizerBase& base);

// A built-in optimizer: its options, written and read through fields(visit, options).
template <class O>
class ConfiguredOptimizer : public OptimizerBase {
 public:
  explicit ConfiguredOptimizer(O options)
      : OptimizerBase(common_optimizer_options(options)), options_(std::move(options)) {}
  std::string config() const override {
    O options = options_;
    if (options.name.empty()) options.name = class_name();
    ConfigWriter writer;
    common_optimizer_fields(writer, options);
    fields(writer, options);
    Json json = writer.take();
    json["learning_rate"] = learning_rate_json(*this);
    return json.dump();
  }

 protected:
  const O options_;
};

}  // namespace tenure::nn::detail
