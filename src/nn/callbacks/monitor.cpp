#include "nn/callbacks/monitor.h"

#include <algorithm>
#include <cmath>

#include "core/listed.h"
#include "core/raise.h"
#include "memory/text.h"
#include "memory/warn.h"
#include "nn/bounds.h"
#include "nn/model_state.h"

namespace tenure::nn::detail {

namespace {

constexpr std::string_view kValidation = "val_";

std::string log_names(const Logs& logs) {
  return tenure::detail::listed(logs, [](const auto& log) { return log.first; });
}

std::vector<tenure::detail::Line> lines_of(const char* who, std::source_location made) {
  return {{"born", tenure::detail::site_text(made), who}};
}

}  // namespace

std::optional<double> Awaited::value(const Training& training, const Logs& logs,
                                     const std::string& name) {
  const auto log = std::ranges::find(logs, name, [](const auto& pair) { return pair.first; });
  if (log != logs.end()) {
    seen_.insert(name);
    return log->second;
  }
  if (!may_come(training, name)) refuse(training, logs, name);
  const bool over = training.cancelled() || !training.stopped().empty();
  if (!warned_ && !over) {
    warned_ = true;
    tenure::detail::warn(
        fmt::format("{}: {} \"{}\", which epoch {} does not have (it has: {}); such epochs are "
                    "passed over ({})",
                    who_, verb_, name, training.epoch() + 1, log_names(logs),
                    tenure::detail::site_text(site_)));
  }
  return std::nullopt;
}

bool Awaited::may_come(const Training& training, const std::string& name) const {
  if (seen_.contains(name)) return true;
  return name.starts_with(kValidation) && training.validates() && !training.validated();
}

void Awaited::refuse(const Training& training, const Logs& logs, const std::string& name) const {
  const bool unvalidated = name.starts_with(kValidation) && !training.validates();
  throw ValueError(describe("{}: {} \"{}\", which is not there (there are: {})", who_, verb_, name,
                            log_names(logs))
                       .told(lines_of(who_, site_),
                             unvalidated ? "give fit validation data, or a validation_split."
                                         : "give one of the names that are there."));
}

Direction direction_of(const Model& model, const std::string& log) {
  std::string name = log.starts_with(kValidation) ? log.substr(kValidation.size()) : log;
  // What a metric gives for one class is as what it gives for all.
  if (name.ends_with(']')) name.erase(std::min(name.rfind('['), name.size() - 1));
  if (name == "loss") return Direction::lower;
  ModelState& state = ModelAccess::state(model);
  std::shared_ptr<Compiled> compiled;
  {
    const std::lock_guard lock(state.mutex);
    compiled = state.compiled;
  }
  if (compiled == nullptr) return Direction::unknown;
  if (std::ranges::find(compiled->loss_names, name) != compiled->loss_names.end()) {
    return Direction::lower;
  }
  const auto metric = std::ranges::find(compiled->metrics, name, &Measure::name);
  return metric == compiled->metrics.end() ? Direction::unknown : metric->metric.direction();
}

Monitor::Monitor(Options options, const char* who, std::source_location site)
    : options_(std::move(options)), who_(who), awaited_(who, "monitors", site) {
  const std::string& mode = options_.mode;
  if (mode != "auto" && mode != "min" && mode != "max") {
    raise<ValueError>("{}: no such mode: \"{}\" (auto, min, max)", who, mode);
  }
  options_.min_delta = std::abs(options_.min_delta);
  check_at_least(who, "min_delta", options_.min_delta, 0.0);
  if (mode == "min") direction_ = Direction::lower;
  if (mode == "max") direction_ = Direction::higher;
}

void Monitor::begin() {
  awaited_.begin();
  best_.reset();
  if (options_.mode == "auto") direction_ = Direction::unknown;  // it may be another model
}

std::optional<double> Monitor::value(const Training& training, const Logs& logs) {
  const std::optional<double> value = awaited_.value(training, logs, options_.monitor);
  if (!value || direction_ != Direction::unknown) return value;
  direction_ = direction_of(training.model(), options_.monitor);
  if (direction_ == Direction::unknown) {
    throw ValueError(describe("{}: monitors \"{}\", of which it is not known what is better", who_,
                              options_.monitor)
                         .told(lines_of(who_, awaited_.site()),
                               "give .mode = \"min\" where small values are better, or \"max\"."));
  }
  return value;
}

bool Monitor::is_better(double value, double than) const {
  return direction_ == Direction::higher ? value - options_.min_delta > than
                                         : value + options_.min_delta < than;
}

bool Monitor::improves(double value) {
  const bool better = best_ ? is_better(value, *best_) : !std::isnan(value);
  if (better) best_ = value;
  return better;
}

}  // namespace tenure::nn::detail
