#include "tenure/nn/callbacks.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "core/listed.h"
#include "core/raise.h"
#include "tenure/nn/model.h"

namespace tenure::nn {

CallbackBase::~CallbackBase() = default;

namespace {

// Whether a value of a monitored quantity is better than the best so far.
class Monitor {
 public:
  Monitor(std::string name, const std::string& mode, double min_delta, const char* who)
      : name_(std::move(name)), min_delta_(std::abs(min_delta)), who_(who) {
    if (mode != "auto" && mode != "min" && mode != "max") {
      raise<ValueError>("{}: no such mode: \"{}\" (auto, min, max)", who, mode);
    }
    // What grows as it gets better.
    const auto ends = [this](std::string_view end) { return name_.ends_with(end); };
    grows_ = mode == "max" ||
             (mode == "auto" && (ends("accuracy") || ends("acc") || ends("auc") || ends("AUC") ||
                                 ends("precision") || ends("recall") || ends("f1_score")));
    reset();
  }
  void reset() {
    best_ =
        grows_ ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  double value(const Logs& logs) const {
    for (const auto& [name, value] : logs) {
      if (name == name_) return value;
    }
    raise<ValueError>("{}: monitors \"{}\", which is not there (there are: {}){}", who_, name_,
                      tenure::detail::listed(logs, [](const auto& log) { return log.first; }),
                      name_.starts_with("val_") ? ": give fit validation data or a split" : "");
  }
  // True, and from then on the best, when it is.
  bool improves(double value) {
    const bool better = grows_ ? value - min_delta_ > best_ : value + min_delta_ < best_;
    if (better) best_ = value;
    return better;
  }
  void start_at(double value) { best_ = value; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  double min_delta_;
  const char* who_;
  bool grows_ = false;
  double best_ = 0;
};

class EarlyStopper final : public CallbackBase {
 public:
  explicit EarlyStopper(EarlyStoppingOptions options)
      : options_(std::move(options)),
        monitor_(options_.monitor, options_.mode, options_.min_delta, "EarlyStopping") {}

  void on_train_begin(Training&) override {
    waited_ = 0;
    best_weights_.clear();
    monitor_.reset();
    if (!std::isnan(options_.baseline)) monitor_.start_at(options_.baseline);
  }
  void on_epoch_end(Training& training, const Logs& logs) override {
    if (training.epoch() < options_.start_from_epoch) return;
    if (monitor_.improves(monitor_.value(logs))) {
      waited_ = 0;
      if (options_.restore_best_weights) best_weights_ = training.model().get_weights();
      return;
    }
    if (++waited_ < options_.patience) return;
    training.stop(fmt::format("{} did not improve for {} epochs", monitor_.name(), waited_));
  }
  void on_train_end(Training& training) override {
    if (!best_weights_.empty()) training.model().set_weights(best_weights_);
    best_weights_.clear();
  }

 private:
  EarlyStoppingOptions options_;
  Monitor monitor_;
  int waited_ = 0;
  std::vector<Tensor> best_weights_;
};

class Checkpointer final : public CallbackBase {
 public:
  explicit Checkpointer(ModelCheckpointOptions options)
      : options_(std::move(options)),
        monitor_(options_.monitor, options_.mode, 0, "ModelCheckpoint") {
    if (options_.path.empty()) raise<ValueError>("ModelCheckpoint: path is empty");
  }
  void on_epoch_end(Training& training, const Logs& logs) override {
    if (options_.save_best_only && !monitor_.improves(monitor_.value(logs))) return;
    std::string path = options_.path;
    replace(path, "{epoch}", std::to_string(training.epoch() + 1));
    for (const auto& [name, value] : logs) {
      replace(path, "{" + name + "}", fmt::format("{:.4f}", value));
    }
    if (options_.save_weights_only) {
      training.model().save_weights(path);
    } else {
      training.model().save(path);
    }
  }

 private:
  static void replace(std::string& text, const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  }
  ModelCheckpointOptions options_;
  Monitor monitor_;
};

class PlateauReducer final : public CallbackBase {
 public:
  explicit PlateauReducer(ReduceLROnPlateauOptions options)
      : options_(std::move(options)),
        monitor_(options_.monitor, options_.mode, options_.min_delta, "ReduceLROnPlateau") {
    if (options_.factor >= 1 || options_.factor <= 0) {
      raise<ValueError>("ReduceLROnPlateau: factor must be between 0 and 1: {}", options_.factor);
    }
  }
  void on_train_begin(Training&) override {
    monitor_.reset();
    waited_ = cooling_ = 0;
  }
  void on_epoch_end(Training& training, const Logs& logs) override {
    const bool better = monitor_.improves(monitor_.value(logs));
    if (cooling_ > 0) {
      --cooling_;
      waited_ = 0;
    }
    if (better) {
      waited_ = 0;
      return;
    }
    if (cooling_ > 0 || ++waited_ < options_.patience) return;
    const Optimizer optimizer = training.model().optimizer();
    const double rate = optimizer.learning_rate();
    if (rate <= options_.min_lr) return;
    optimizer.set_learning_rate(std::max(rate * options_.factor, options_.min_lr));
    cooling_ = options_.cooldown;
    waited_ = 0;
  }

 private:
  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  int waited_ = 0;
  int cooling_ = 0;
};

class RateScheduler final : public CallbackBase {
 public:
  explicit RateScheduler(std::function<double(int, double)> schedule)
      : schedule_(std::move(schedule)) {}
  void on_epoch_begin(Training& training) override {
    const Optimizer optimizer = training.model().optimizer();
    optimizer.set_learning_rate(schedule_(training.epoch(), optimizer.learning_rate()));
  }

 private:
  std::function<double(int, double)> schedule_;
};

class CsvWriter final : public CallbackBase {
 public:
  explicit CsvWriter(CSVLoggerOptions options) : options_(std::move(options)) {}
  void on_train_begin(Training&) override {
    bool old = false;
    if (options_.append)
      old = std::ifstream(options_.path).peek() != std::ifstream::traits_type::eof();
    file_.open(options_.path, options_.append ? std::ios::app : std::ios::trunc);
    if (!file_) raise<IoError>("CSVLogger: cannot write {}", options_.path);
    names_.clear();
    header_written_ = old;
  }
  void on_epoch_end(Training& training, const Logs& logs) override {
    if (names_.empty()) {
      for (const auto& [name, value] : logs) names_.push_back(name);
      if (!header_written_) {
        file_ << "epoch";
        for (const std::string& name : names_) file_ << options_.separator << name;
        file_ << '\n';
      }
    }
    file_ << training.epoch();
    for (const std::string& name : names_) {
      file_ << options_.separator;
      for (const auto& [each, value] : logs) {
        if (each == name) file_ << fmt::format("{}", value);
      }
    }
    file_ << '\n' << std::flush;  // a log is of use while it is being written
    if (!file_) raise<IoError>("CSVLogger: cannot write {}", options_.path);
  }
  void on_train_end(Training&) override { file_.close(); }

 private:
  CSVLoggerOptions options_;
  std::ofstream file_;
  std::vector<std::string> names_;
  bool header_written_ = false;
};

class NanTerminator final : public CallbackBase {
 public:
  void on_batch_end(Training& training, const Logs& logs) override {
    const double loss = value_of(logs, "loss");
    if (!std::isfinite(loss)) training.stop(fmt::format("the loss is {}", loss));
  }
};

}  // namespace

Callback EarlyStopping(EarlyStoppingOptions options) {
  return make_callback<EarlyStopper>(std::move(options));
}
Callback ModelCheckpoint(ModelCheckpointOptions options) {
  return make_callback<Checkpointer>(std::move(options));
}
Callback ReduceLROnPlateau(ReduceLROnPlateauOptions options) {
  return make_callback<PlateauReducer>(std::move(options));
}
Callback LearningRateScheduler(std::function<double(int epoch, double rate)> schedule) {
  return make_callback<RateScheduler>(std::move(schedule));
}
Callback CSVLogger(CSVLoggerOptions options) {
  return make_callback<CsvWriter>(std::move(options));
}
Callback TerminateOnNaN() { return make_callback<NanTerminator>(); }

}  // namespace tenure::nn
