// Optimizers, schedules, losses and metrics from files: a name, or an object with class_name and
// config in Keras's schema.
#pragma once

#include "nn/config.h"
#include "tenure/nn/losses.h"
#include "tenure/nn/metrics.h"
#include "tenure/nn/optimizers.h"

namespace tenure::nn::detail {

Optimizer optimizer_from_json(const Json& json);
Schedule schedule_from_json(const Json& json);
Loss loss_from_json(const Json& json);
Metric metric_from_json(const Json& json);

// {"class_name": ..., "config": {...}}; an UnsupportedError for a function of the user's.
Json to_json(const Schedule& schedule);
Json to_json(const Optimizer& optimizer);
Json to_json(const Loss& loss);
Json to_json(const Metric& metric);

// What a file gives for one of these.
struct NamedConfig {
  std::string name;
  Json config;
};
NamedConfig named_config(const Json& json, const char* what);

}  // namespace tenure::nn::detail
