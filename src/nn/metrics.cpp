// What all metrics share, and metrics by name.
#include "tenure/nn/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <numeric>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/fork.h"
#include "memory/user_site.h"
#include "nn/disposal.h"
#include "nn/eager_scope.h"
#include "nn/loss_functions.h"
#include "nn/loss_spec.h"
#include "nn/metric.h"
#include "nn/no_tapes.h"
#include "nn/parts.h"
#include "nn/widened.h"
#include "tensor/assign.h"
#include "tenure/create.h"
#include "tenure/math.h"

namespace tenure::nn {

using detail::EagerScope;
using tenure::detail::CallScope;
using tenure::detail::LabelRef;

namespace detail {

struct MetricState {
  std::string name;
  mutable tenure::detail::RecursiveMutex mutex;  // guards the rest
  std::vector<Variable> parts;
};

struct MetricAccess {
  static MetricState& state(const MetricBase& base) { return *base.state_; }
};

}  // namespace detail

using detail::MetricAccess;

// ---- MetricBase

MetricBase::MetricBase(std::string name) : state_(std::make_unique<detail::MetricState>()) {
  state_->name = std::move(name);
}

MetricBase::~MetricBase() = default;

const std::string& MetricBase::name() const { return state_->name; }

void MetricBase::add(const Tensor&, const Tensor&) {
  raise<UnsupportedError>("metric \"{}\": measures labels and predictions: call update", name());
}

std::string MetricBase::config() const {
  return detail::written([this](detail::Fields& visit) { visit("name", state_->name); });
}

void MetricBase::make_state(const std::vector<Part>& parts) {
  const EagerScope eager;
  std::vector<Variable> variables;
  variables.reserve(parts.size());
  for (const Part& part : parts) {
    variables.emplace_back(zeros(detail::shape_of(part.value, "metric"), DType::float64),
                           VariableOptions{.name = fmt::format("{}/{}", state_->name, part.name),
                                           .trainable = false,
                                           .kind = Category::other},
                           tenure::detail::user_site({}));
  }
  state_->parts = std::move(variables);
}

std::vector<Tensor> MetricBase::held(const std::vector<Part>& parts) {
  const std::lock_guard lock(state_->mutex);
  if (state_->parts.empty()) make_state(parts);
  std::vector<Tensor> values;
  values.reserve(state_->parts.size());
  for (const Variable& part : state_->parts) {
    values.push_back(part.read(tenure::detail::user_site({})));
  }
  return values;
}

void MetricBase::accumulate(std::vector<Part> parts) {
  detail::MetricState& state = *state_;
  const std::lock_guard lock(state.mutex);
  if (state.parts.empty()) make_state(parts);
  std::vector<Tensor> sums;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Shape& shape = detail::shape_of(parts[i].value, "metric");
    if (shape != state.parts.at(i).shape()) {
      raise<ShapeError>("metric \"{}\": was updated with values of shape {}, now of {}", state.name,
                        state.parts[i].shape(), shape);
    }
    sums.push_back(state.parts[i] + cast(std::move(parts[i].value), DType::float64));
  }
  tenure::detail::assign_all(state.parts, sums, tenure::detail::user_site({}));
}

std::vector<double> MetricBase::numbers(std::size_t part) const {
  const std::lock_guard lock(state_->mutex);
  const EagerScope eager;
  return state_->parts.at(part).read().to_vector<double>();
}

// ---- Metric

Metric::Metric(const char* name, std::source_location site) : Metric(std::string(name), site) {}
// It goes by the name that it was asked for with.
Metric::Metric(const std::string& name, std::source_location site)
    : Metric(detail::told_of(
          site, [&] { return detail::metric_named(name, detail::Unwritten(name)); })) {}

void Metric::update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight,
                    std::source_location site) const {
  const CallScope scope("metric", site);
  const detail::NoTapes no_tapes;
  base_->update(detail::widened(y_true, "y_true"), detail::widened(y_pred, "y_pred"),
                sample_weight);
}

void Metric::add(const Tensor& values, const Tensor& sample_weight,
                 std::source_location site) const {
  const CallScope scope("metric", site);
  const detail::NoTapes no_tapes;
  base_->add(detail::widened(values, "values"), sample_weight);
}

std::vector<double> Metric::results(std::source_location site) const {
  const detail::MetricState& state = MetricAccess::state(*base_);
  const CallScope scope("metric", site);
  const std::lock_guard lock(state.mutex);
  return state.parts.empty() ? std::vector<double>{0} : base_->results();
}

double Metric::result(std::source_location site) const {
  const std::vector<double> all = results(site);
  return detail::ratio(std::accumulate(all.begin(), all.end(), 0.0),
                       static_cast<double>(all.size()));
}

void Metric::reset(std::source_location site) const {
  detail::MetricState& state = MetricAccess::state(*base_);
  const CallScope scope("metric", site);
  const std::lock_guard lock(state.mutex);
  const EagerScope eager;
  std::vector<Tensor> none;
  none.reserve(state.parts.size());
  for (const Variable& part : state.parts) none.push_back(zeros(part.shape(), part.dtype()));
  tenure::detail::assign_all(state.parts, none, site);
}

std::string Metric::name() const { return base_->name(); }
Direction Metric::direction() const { return base_->direction(); }
bool Metric::takes_mask() const { return base_->takes_mask(); }
std::vector<Variable> Metric::variables() const {
  const detail::MetricState& state = MetricAccess::state(*base_);
  const std::lock_guard lock(state.mutex);
  return state.parts;
}
std::string Metric::class_name() const { return base_->class_name(); }
std::string Metric::config() const { return base_->config(); }

Metric Metric::resolved(const Loss& loss, const Shape& output) const {
  std::shared_ptr<MetricBase> kind = base_->resolved(loss, output);
  return kind != nullptr ? Metric(std::move(kind)) : *this;
}

Metric Metric::fresh() const { return Metric(base_->fresh()); }

Disposal Metric::dispose(std::source_location site) const {
  const detail::MetricState& state = MetricAccess::state(*base_);
  const std::lock_guard lock(state.mutex);
  const LabelRef label = LabelRef::make("metric", state.name, site);
  return {0, detail::kill_variables(state.parts, label, site)};
}

namespace detail {

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

Metric metric_named(const std::string& name, Fields&& settings) {
  std::optional<Metric> metric = find_mean_metric(name, settings);
  if (!metric) metric = find_confusion_metric(name, settings);
  if (!metric) metric = find_class_metric(name, settings);
  if (!metric) metric = find_regression_metric(name, settings);
  if (metric) return *std::move(metric);
  if (const std::optional<Loss> loss = find_loss(name, settings)) return Metric(*loss);
  raise_no_such("metric", name,
                fmt::format("accuracy, crossentropy, {}, {}, {}, {}, {}", mean_metric_names(),
                            confusion_metric_names(), class_metric_names(),
                            regression_metric_names(), loss_names()));
}

}  // namespace detail
}  // namespace tenure::nn
