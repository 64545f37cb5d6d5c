// Parts by name.
#pragma once

#include <optional>
#include <source_location>

#include "memory/context.h"
#include "nn/fields.h"
#include "tenure/nn/losses.h"
#include "tenure/nn/metrics.h"
#include "tenure/nn/optimizers.h"
#include "tenure/nn/parts.h"

namespace tenure::nn::detail {

// Calls a part. One of the library's own is the user's call, of this name.
template <class P, class F>
Tensor call_part(const char* name, const P& part, std::source_location site, F&& fn) {
  std::optional<tenure::detail::CallScope> call;
  if (!part.class_name().empty()) call.emplace(name, site);
  return fn();
}

// What `make` gives; what it refuses is told of that line.
template <class F>
auto told_of(std::source_location site, F&& make) {
  const tenure::detail::UserLine line(site);
  return make();
}

Initializer initializer_named(const std::string& name, Fields&& settings);
Regularizer regularizer_named(const std::string& name, Fields&& settings);
Constraint constraint_named(const std::string& name, Fields&& settings);
Schedule schedule_named(const std::string& name, Fields&& settings);
std::string optimizer_names();  // "adadelta, ..."
Optimizer optimizer_named(const std::string& name, Fields&& settings);
Loss loss_named(const std::string& name, Fields&& settings);
Metric metric_named(const std::string& name, Fields&& settings);

}  // namespace tenure::nn::detail
