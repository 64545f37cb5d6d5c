// The families of metrics, each in its own file; nn/metrics.cpp joins them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "nn/config.h"
#include "tenure/nn/metrics.h"

namespace tenure::nn::detail {

// A metric whose settings are JSON; made again from its own function for a fresh one.
class ConfiguredMetric : public MetricBase {
 public:
  ConfiguredMetric(std::string class_name, std::string name, Json settings)
      : MetricBase(std::move(name)),
        class_name_(std::move(class_name)),
        settings_(std::move(settings)) {}
  const char* class_name() const override { return class_name_.c_str(); }
  std::string config() const override {
    Json config{{"name", name()}, {"dtype", "float32"}};
    config.update(settings_);
    return config.dump();
  }

 private:
  std::string class_name_;
  Json settings_;
};

inline std::string name_or(const std::string& name, const char* otherwise) {
  return name.empty() ? otherwise : name;
}

// The metric of that name, or none.
std::optional<Metric> find_mean_metric(const std::string& name, const Json& config);
std::optional<Metric> find_confusion_metric(const std::string& name, const Json& config);

double ratio(double part, double whole);  // 0 of nothing

}  // namespace tenure::nn::detail
