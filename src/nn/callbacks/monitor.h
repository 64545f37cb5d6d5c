// What callbacks look for in the logs of an epoch.
#pragma once

#include <optional>
#include <set>
#include <source_location>
#include <string>

#include "tenure/nn/callbacks.h"
#include "tenure/nn/metrics.h"

namespace tenure::nn::detail {

// Values by names that not every epoch has. Validations come in some epochs only, and not in one
// that was stopped: such an epoch is passed over, and the first time a warning says so. What no
// epoch can have is a ValueError, as soon as that is certain.
class Awaited {
 public:
  // Of a callback, made at `site`; `verb` is what it does with them: "monitors".
  Awaited(const char* who, const char* verb, std::source_location site)
      : who_(who), verb_(verb), site_(site) {}
  void begin() {  // another fit
    seen_.clear();
    warned_ = false;
  }
  std::optional<double> value(const Training& training, const Logs& logs, const std::string& name);
  std::source_location site() const { return site_; }

 private:
  bool may_come(const Training& training, const std::string& name) const;
  [[noreturn]] void refuse(const Training& training, const Logs& logs,
                           const std::string& name) const;
  const char* who_;
  const char* verb_;
  std::source_location site_;
  std::set<std::string> seen_;
  bool warned_ = false;
};

// What is better in the log of that name.
Direction direction_of(const Model& model, const std::string& log);

// Whether a value of a monitored log is better than the best so far.
class Monitor {
 public:
  struct Options {
    std::string monitor;
    std::string mode;
    double min_delta = 0;
  };
  Monitor(Options options, const char* who, std::source_location site);
  // Of a new fit: what was best is forgotten.
  void begin();
  // In the logs of an epoch, if it is there.
  std::optional<double> value(const Training& training, const Logs& logs);
  // Better than another value by more than min_delta. After value().
  bool is_better(double value, double than) const;
  // Whether it is the best so far, and from then on it is.
  bool improves(double value);
  void set_best(double value) { best_ = value; }
  const std::string& name() const { return options_.monitor; }
  Awaited& logs() { return awaited_; }

 private:
  Options options_;
  const char* who_;
  Awaited awaited_;
  Direction direction_ = Direction::unknown;
  std::optional<double> best_;
};

}  // namespace tenure::nn::detail
