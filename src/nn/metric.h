// The families of metrics, each in its own file; nn/metrics.cpp joins them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "nn/fields.h"
#include "tenure/nn/metrics.h"

namespace tenure::nn::detail {

// A metric of the library's; made again from its own function for a fresh one.
class ConfiguredMetric : public MetricBase {
 public:
  ConfiguredMetric(std::string class_name, std::string name, Settings settings, Direction direction)
      : MetricBase(std::move(name)),
        class_name_(std::move(class_name)),
        settings_(std::move(settings)),
        direction_(direction) {}
  const char* class_name() const override { return class_name_.c_str(); }
  Direction direction() const override { return direction_; }
  std::string config() const override {
    return written([this](Fields& visit) {
      std::string metric_name = name();
      DType dtype = DType::float32;
      visit("name", metric_name);
      visit("dtype", dtype);
      if (settings_) settings_(visit);
    });
  }

 private:
  std::string class_name_;
  Settings settings_;
  Direction direction_;
};

// Null in files where it is empty.
template <class T>
void field_or_null(Fields& visit, const char* key, T& value) {
  std::optional<T> some;
  if (!value.empty()) some = std::move(value);
  visit(key, some);
  value = std::move(some).value_or(T());
}

// The metric of that name, or none.
std::optional<Metric> find_mean_metric(const std::string& name, Fields& settings);
std::optional<Metric> find_confusion_metric(const std::string& name, Fields& settings);
std::optional<Metric> find_class_metric(const std::string& name, Fields& settings);
std::optional<Metric> find_regression_metric(const std::string& name, Fields& settings);
std::string mean_metric_names();
std::string confusion_metric_names();
std::string class_metric_names();
std::string regression_metric_names();

double ratio(double part, double whole);  // 0 of nothing

}  // namespace tenure::nn::detail
