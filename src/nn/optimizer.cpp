// What all optimizers share: state, clipping, weight decay, the order of a step.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/listed.h"
#include "core/raise.h"
#include "memory/context.h"
#include "memory/text.h"
#include "memory/user_site.h"
#include "nn/bounds.h"
#include "nn/disposal.h"
#include "nn/eager_scope.h"
#include "nn/model_state.h"
#include "nn/no_tapes.h"
#include "nn/optimizer_state.h"
#include "nn/widened.h"
#include "tensor/assign.h"
#include "tensor/variable_state.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/reduce.h"

namespace tenure::nn {

using detail::EagerScope;
using detail::OptimizerAccess;
using detail::OptimizerState;
using tenure::detail::CallScope;
using tenure::detail::LabelRef;
using tenure::detail::site_text;

namespace {

std::string text_of(const OptimizerBase& base) {
  const std::string& name = OptimizerAccess::state(base).label->text;
  return name == base.class_name() ? name : fmt::format("{} \"{}\"", base.class_name(), name);
}

void check_alive(const OptimizerBase& base, const char* op, std::source_location used) {
  const OptimizerState& state = OptimizerAccess::state(base);
  if (!state.disposed.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(state.mutex);
  detail::raise_disposed(op, text_of(base), *state.label.get(),
                         {Cause::disposed, state.disposed_at, ""}, used, "its state is gone");
}

constexpr const char* kAverage = "average";

// Where a slot begins: an average, at the variable's own value.
Tensor first_value(const OptimizerBase::Slot& slot, const Variable& variable,
                   std::source_location site) {
  if (slot.name == kAverage) return detail::widened(variable.read(site), "build");
  const Shape shape = slot.shape ? slot.shape(variable.shape()) : variable.shape();
  return full(shape, slot.initial, detail::widened(variable.dtype()), site);
}

// The state of an optimizer that is still missing, all of it or none.
void build_state(const OptimizerBase& base, const std::vector<Variable>& variables,
                 std::source_location site) {
  OptimizerState& state = OptimizerAccess::state(base);
  const std::lock_guard lock(state.mutex);
  const auto is_known = [&](const Variable& v) { return state.slot_index.contains(v.id()); };
  if (state.iterations.defined() && std::ranges::all_of(variables, is_known)) return;
  const EagerScope eager;
  const CallScope scope("build", site);
  if (!state.iterations.defined()) {
    std::vector<Variable> shared;
    for (const OptimizerBase::Slot& slot : base.shared_slots()) {
      shared.push_back(detail::scalar_state(full({}, slot.initial, DType::float64, site), state,
                                            slot.name.c_str(), site));
    }
    const Variable iterations =
        detail::scalar_state(zeros({}, DType::int64, site), state, "iterations", site);
    if (!state.options.learning_rate.schedule().given()) {
      state.learning_rate = detail::scalar_state(full({}, state.rate, DType::float64, site), state,
                                                 "learning_rate", site);
    }
    state.shared = std::move(shared);
    state.iterations = iterations;
  }
  std::map<std::uint64_t, std::size_t> slot_index = state.slot_index;
  std::vector<std::vector<Variable>> new_slots;
  for (const Variable& variable : variables) {
    if (!slot_index.emplace(variable.id(), state.slots.size() + new_slots.size()).second) continue;
    if (!is_floating(variable.dtype())) {
      throw DtypeError(
          describe("{}: variable \"{}\" is {}: only floating-point ones can be trained",
                   text_of(base), variable.name(), variable.dtype())
              .told({line_of("born", *tenure::detail::Access::state(variable)->label.get()),
                     tenure::detail::used_line(site, text_of(base))},
                    "leave it out, or make it with .trainable = false."));
    }
    const std::string owner = variable.name().empty() ? "variable" : variable.name();
    std::vector<Variable> slots;
    for (const OptimizerBase::Slot& slot : detail::slots_of(base)) {
      slots.emplace_back(first_value(slot, variable, site),
                         VariableOptions{.name = fmt::format("{}/{}", owner, slot.name),
                                         .trainable = false,
                                         .kind = Category::optimizer_state},
                         site);
    }
    new_slots.push_back(std::move(slots));
  }
  state.slots.insert(state.slots.end(), new_slots.begin(), new_slots.end());
  state.slot_index = std::move(slot_index);
}

// Which of the variables have a gradient, after a look at what was given.
std::vector<std::size_t> those_with_gradients(const OptimizerBase& base,
                                              const std::vector<Tensor>& gradients,
                                              const std::vector<Variable>& variables,
                                              std::source_location site) {
  using tenure::detail::Access, tenure::detail::used_line;
  const auto born = [&base] {
    return tenure::detail::Line{"born", site_text(OptimizerAccess::state(base).label->site),
                                text_of(base)};
  };
  if (gradients.size() != variables.size()) {
    throw ValueError(describe("{}: {} gradients for {} variables", text_of(base), gradients.size(),
                              variables.size())
                         .told({born(), used_line(site, "apply")},
                               "give one gradient for each variable, in their order."));
  }
  std::vector<std::size_t> with_gradient;
  std::set<std::uint64_t> seen;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Variable& variable = variables[i];
    if (!variable.defined()) {
      throw ValueError(describe("{}: variable {} is an empty handle (default-made or moved from)",
                                text_of(base), i)
                           .told({born(), used_line(site, "apply")},
                                 "put a variable into it first, or leave it out."));
    }
    const tenure::detail::Label& label = *Access::state(variable)->label.get();
    if (!seen.insert(variable.id()).second) {
      throw ValueError(
          describe("{}: variable \"{}\" was given twice", text_of(base), variable.name())
              .told({born(), line_of("variable", label), used_line(site, "apply")},
                    "add up its gradients, and give it once."));
    }
    if (!gradients[i].defined()) continue;
    const tenure::detail::Header& gradient = tenure::detail::checked(gradients[i], "apply");
    const std::vector<tenure::detail::Line> lines{born(), line_of("variable", label),
                                                  line_of("gradient", gradient),
                                                  used_line(site, "apply")};
    if (gradient.layout.shape != variable.shape()) {
      throw ShapeError(
          describe("{}: variable \"{}\" has shape {}, its gradient {}", text_of(base),
                   variable.name(), variable.shape(), gradient.layout.shape)
              .told(lines, "gradients come in the order of the variables they are for."));
    }
    if (gradient.layout.dtype != variable.dtype() &&
        gradient.layout.dtype != detail::widened(variable.dtype())) {
      throw DtypeError(
          describe("{}: variable \"{}\" is {}, its gradient {}", text_of(base), variable.name(),
                   variable.dtype(), gradient.layout.dtype)
              .told(lines, fmt::format("cast(gradient, DType::{}) first.", variable.dtype())));
    }
    with_gradient.push_back(i);
  }
  if (with_gradient.empty() && !variables.empty()) {
    const std::string names = tenure::detail::listed(
        variables, [](const Variable& each) { return fmt::format("\"{}\"", each.name()); });
    throw ValueError(
        describe("{}: no variable has a gradient: {}: does the loss depend on them?", text_of(base),
                 names)
            .told({born(), used_line(site, "apply")},
                  "compute the loss from them while the tape records, by read() or as operands."));
  }
  return with_gradient;
}

void clip_gradients(const OptimizerOptions& options, std::vector<Tensor>& gradients) {
  if (options.clipvalue) {
    for (Tensor& g : gradients) g = clip(g, -*options.clipvalue, *options.clipvalue);
  } else if (options.clipnorm) {
    for (Tensor& g : gradients) {
      g = g * (*options.clipnorm / maximum(sqrt(sum(square(g))), *options.clipnorm));
    }
  } else if (options.global_clipnorm) {
    Tensor total;
    for (const Tensor& g : gradients) {
      const Tensor squares = cast(sum(square(g)), DType::float64);
      total = total.defined() ? total + squares : squares;
    }
    const Tensor scale = *options.global_clipnorm / maximum(sqrt(total), *options.global_clipnorm);
    for (Tensor& g : gradients) g = g * cast(scale, g.dtype());
  }
}

bool decays(const OptimizerOptions& options, const Variable& variable) {
  return options.weight_decay.value_or(0) != 0 &&
         std::ranges::none_of(options.exclude_from_weight_decay, [&](const std::string& part) {
           return variable.name().find(part) != std::string::npos;
         });
}

// The variable after a step, and its average with it: the first step's is its value.
void average(const OptimizerOptions& options, const Tensor& taken, DType dtype,
             const Tensor& average_before, OptimizerBase::Update& update) {
  const DType wide = average_before.dtype();
  const Tensor momentum = cast(not_equal(taken, 0), wide) * options.ema_momentum;
  Tensor next = momentum * average_before + (1.0 - momentum) * cast(update.value, wide);
  if (options.ema_overwrite_frequency) {
    const Tensor due =
        equal(mod(taken + 1, static_cast<double>(*options.ema_overwrite_frequency)), 0);
    update.value = where(due, cast(next, dtype), update.value);
  }
  update.slots.push_back(std::move(next));
}

}  // namespace

std::vector<OptimizerBase::Slot> detail::slots_of(const OptimizerBase& base) {
  std::vector<OptimizerBase::Slot> slots = base.slots();
  if (OptimizerAccess::state(base).options.use_ema) slots.push_back({kAverage});
  return slots;
}

Variable detail::scalar_state(Tensor value, const OptimizerState& state, const char* name,
                              std::source_location site) {
  return Variable(std::move(value),
                  {.name = fmt::format("{}/{}", state.label->text, name),
                   .trainable = false,
                   .kind = Category::optimizer_state},
                  site);
}

// ---- OptimizerBase

OptimizerBase::OptimizerBase(OptimizerOptions options)
    : state_(std::make_unique<OptimizerState>()) {
  const auto check_clip = [](const char* option, const std::optional<double>& value) {
    if (value) detail::check_above("optimizer", option, *value, 0);
  };
  check_clip("clipnorm", options.clipnorm);
  check_clip("clipvalue", options.clipvalue);
  check_clip("global_clipnorm", options.global_clipnorm);
  detail::check_at_least("optimizer", "weight_decay", options.weight_decay.value_or(0), 0.0);
  detail::check_at_least("optimizer", "learning_rate", options.learning_rate.value(), 0.0);
  detail::check_part("optimizer", "ema_momentum", options.ema_momentum);
  detail::check_at_least<std::int64_t>("optimizer", "ema_overwrite_frequency",
                                       options.ema_overwrite_frequency.value_or(1), 1);
  const int ways = options.clipnorm.has_value() + options.clipvalue.has_value() +
                   options.global_clipnorm.has_value();
  if (ways > 1) {
    raise<ValueError>(
        "optimizer: only one of clipnorm, clipvalue and global_clipnorm may be set: {} are", ways);
  }
  state_->rate = options.learning_rate.value();
  state_->options = std::move(options);
}

OptimizerBase::~OptimizerBase() = default;

OptimizerBase::Prepared OptimizerBase::prepare(const Step& step) const { return {{step.rate}, {}}; }

std::string OptimizerBase::config() const {
  return detail::optimizer_config(*this, state_->options);
}

// ---- Optimizer

Optimizer::Optimizer(std::shared_ptr<OptimizerBase> base, std::source_location site)
    : base_(std::move(base)) {
  OptimizerState& state = OptimizerAccess::state(*base_);
  const std::lock_guard lock(state.mutex);
  if (state.label) return;
  const std::string& name = state.options.name;
  state.label = LabelRef::make(base_->class_name(), name.empty() ? base_->class_name() : name,
                               tenure::detail::user_site(site));
}

void Optimizer::build(const std::vector<Variable>& variables, std::source_location site) const {
  check_alive(*base_, "build", site);
  build_state(*base_, variables, site);
  if (scale_ != nullptr) scale_->build(OptimizerAccess::state(*base_), site);
}

void Optimizer::apply(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables,
                      std::source_location site) const {
  check_alive(*base_, "apply", site);
  const std::vector<std::size_t> with_gradient =
      those_with_gradients(*base_, gradients, variables, site);
  if (with_gradient.empty()) return;
  OptimizerState& state = OptimizerAccess::state(*base_);
  const std::lock_guard lock(state.mutex);
  build_state(*base_, variables, site);
  if (scale_ != nullptr) scale_->build(state, site);
  const OptimizerOptions& options = state.options;
  const detail::NoTapes no_tapes;
  const CallScope scope(base_->class_name(), site);

  OptimizerBase::Step step;
  const Tensor taken = state.iterations.read(site);
  const Tensor steps = cast(taken, DType::float64);
  step.number = steps + 1.0;
  const Schedule& schedule = options.learning_rate.schedule();
  step.rate = schedule.given() ? schedule(steps) : state.learning_rate.read(site);
  for (const Variable& each : state.shared) step.shared.push_back(each.read(site));
  OptimizerBase::Prepared prepared = base_->prepare(step);
  if (options.weight_decay) {
    prepared.numbers.push_back(1.0 - step.rate * *options.weight_decay);
  }
  std::map<DType, std::vector<Tensor>> numbers;  // in each dtype that is computed in
  const auto numbers_as = [&](DType dtype) -> const std::vector<Tensor>& {
    std::vector<Tensor>& converted = numbers[dtype];
    if (converted.empty()) {
      for (const Tensor& each : prepared.numbers) converted.push_back(cast(each, dtype));
    }
    return converted;
  };

  std::vector<Tensor> clipped;
  clipped.reserve(with_gradient.size());
  for (const std::size_t i : with_gradient) {
    clipped.push_back(detail::widened(gradients[i], "apply"));
  }
  Tensor good;  // whether the step is taken; none: it is
  if (scale_ != nullptr) good = scale_->take_out(clipped);
  clip_gradients(options, clipped);
  std::vector<OptimizerBase::Update> updates;
  for (std::size_t k = 0; k < with_gradient.size(); ++k) {
    const Variable& variable = variables[with_gradient[k]];
    const std::vector<Tensor>& step_numbers = numbers_as(detail::widened(variable.dtype()));
    Tensor value = detail::widened(variable.read(site), "apply");
    if (decays(options, variable)) value = std::move(value) * step_numbers.back();
    std::vector<Tensor> slots;
    for (const Variable& slot : state.slots[state.slot_index.at(variable.id())]) {
      slots.push_back(slot.read(site));
    }
    Tensor average_before;
    if (options.use_ema) {
      average_before = std::move(slots.back());
      slots.pop_back();
    }
    updates.push_back(base_->update(value, clipped[k], slots, step_numbers));
    if (updates.back().slots.size() != slots.size()) {
      raise<ValueError>("{}: update gave {} slots for {}", text_of(*base_),
                        updates.back().slots.size(), slots.size());
    }
    if (is_half(variable.dtype())) {  // rounded once, here
      updates.back().value = cast(updates.back().value, variable.dtype());
    }
    if (options.use_ema) {
      average(options, taken, variable.dtype(), average_before, updates.back());
    }
  }
  std::vector<Variable> changed;
  std::vector<Tensor> values;
  const auto change = [&](const Variable& variable, Tensor value) {
    changed.push_back(variable);
    values.push_back(std::move(value));
  };
  for (std::size_t k = 0; k < with_gradient.size(); ++k) {
    const Variable& variable = variables[with_gradient[k]];
    const std::vector<Variable>& slots = state.slots[state.slot_index.at(variable.id())];
    for (std::size_t s = 0; s < slots.size(); ++s) {
      change(slots[s], std::move(updates[k].slots[s]));
    }
    change(variable, std::move(updates[k].value));
  }
  for (std::size_t s = 0; s < state.shared.size(); ++s) {
    change(state.shared[s], prepared.shared.at(s));
  }
  change(state.iterations, taken + 1);
  if (scale_ != nullptr) {
    for (std::size_t i = 0; i < changed.size(); ++i) {
      values[i] = where(good, values[i], changed[i].read(site));
    }
    scale_->adapt(good, change);
  }
  tenure::detail::assign_all(changed, values, site);
}

void Optimizer::finalize_variable_values(const std::vector<Variable>& variables,
                                         std::source_location site) const {
  const OptimizerState& state = OptimizerAccess::state(*base_);
  if (!state.options.use_ema) return;
  check_alive(*base_, "finalize_variable_values", site);
  const std::lock_guard lock(state.mutex);
  const detail::NoTapes no_tapes;
  const CallScope scope("finalize_variable_values", site);
  std::vector<Variable> averaged;
  std::vector<Tensor> values;
  for (const Variable& variable : variables) {
    const auto index = state.slot_index.find(variable.id());
    if (index == state.slot_index.end()) continue;
    averaged.push_back(variable);
    values.push_back(cast(state.slots[index->second].back().read(site), variable.dtype()));
  }
  tenure::detail::assign_all(averaged, values, site);
}

double Optimizer::learning_rate(std::source_location site) const {
  const OptimizerState& state = OptimizerAccess::state(*base_);
  const CallScope call("learning_rate", site);
  const Schedule& schedule = state.options.learning_rate.schedule();
  if (schedule.given()) return schedule.at(iterations(site), site);
  const std::lock_guard lock(state.mutex);
  if (!state.learning_rate.defined() || state.disposed) return state.rate;
  const EagerScope eager;
  return state.learning_rate.read().item<double>();
}

void Optimizer::set_learning_rate(double rate, std::source_location site) const {
  OptimizerState& state = OptimizerAccess::state(*base_);
  const CallScope call("set_learning_rate", site);
  const std::lock_guard lock(state.mutex);
  if (state.options.learning_rate.schedule().given()) {
    throw ValueError(describe("{}: the learning rate is set by a schedule, it cannot be made {}",
                              text_of(*base_), rate)
                         .told({},
                               "give the optimizer a number as its learning_rate, or leave out "
                               "what sets it: set_learning_rate, LearningRateScheduler, "
                               "ReduceLROnPlateau."));
  }
  detail::check_at_least(text_of(*base_), "learning_rate", rate, 0.0);
  state.rate = rate;
  if (!state.learning_rate.defined() || state.disposed) return;
  const EagerScope eager;
  state.learning_rate.assign(full({}, rate, DType::float64));
}

std::int64_t Optimizer::iterations(std::source_location site) const {
  const OptimizerState& state = OptimizerAccess::state(*base_);
  const CallScope call("iterations", site);
  const std::lock_guard lock(state.mutex);
  if (!state.iterations.defined()) return 0;
  check_alive(*base_, "iterations", site);
  const EagerScope eager;
  return state.iterations.read().item<std::int64_t>();
}

std::vector<Variable> Optimizer::variables() const {
  const OptimizerState& state = OptimizerAccess::state(*base_);
  const std::lock_guard lock(state.mutex);
  std::vector<Variable> all;
  if (!state.iterations.defined()) return all;
  all.push_back(state.iterations);
  if (state.learning_rate.defined()) all.push_back(state.learning_rate);
  all.insert(all.end(), state.shared.begin(), state.shared.end());
  for (const std::vector<Variable>& slots : state.slots) {
    all.insert(all.end(), slots.begin(), slots.end());
  }
  if (scale_ != nullptr) {
    for (Variable& each : scale_->variables()) all.push_back(std::move(each));
  }
  return all;
}

std::string Optimizer::name() const { return OptimizerAccess::state(*base_).label->text; }
std::string Optimizer::class_name() const {
  return scale_ != nullptr ? "LossScaleOptimizer" : base_->class_name();
}
std::string Optimizer::config() const {
  return scale_ != nullptr ? scale_->config(*base_) : base_->config();
}

Disposal Optimizer::dispose(std::source_location site) const {
  detail::check_untrained("dispose", *base_, site);
  OptimizerState& state = OptimizerAccess::state(*base_);
  const std::lock_guard lock(state.mutex);
  if (state.disposed) return {};
  // What a schedule or a file would ask for last. Where its session is closed, or not this one, it
  // stays at what was set last: disposing refuses nothing.
  try {
    if (state.learning_rate.defined()) state.rate = learning_rate(site);
  } catch (const DisposedError&) {
  } catch (const InaccessibleTensorError&) {
  }
  const std::vector<Variable> all = variables();
  state.disposed_at = site;
  state.disposed.store(true, std::memory_order_release);
  return {0, detail::kill_variables(all, state.label, site)};
}

bool Optimizer::is_disposed() const { return OptimizerAccess::state(*base_).disposed; }

LearningRate detail::current_rate(const OptimizerBase& base) {
  const OptimizerState& state = OptimizerAccess::state(base);
  if (state.options.learning_rate.schedule().given()) return state.options.learning_rate;
  const std::lock_guard lock(state.mutex);
  if (!state.learning_rate.defined() || state.disposed) return state.rate;
  const EagerScope eager;
  return state.learning_rate.read().item<double>();
}

}  // namespace tenure::nn
