// What looks on while a model is trained, and may stop it.
//
//   model.fit(x, y, {.epochs = 100, .validation_split = 0.2,
//                    .callbacks = {nn::EarlyStopping({.patience = 5}),
//                    nn::CSVLogger({"log.csv"})}});
//
// One of your own:
//
//   struct Shout : nn::CallbackBase {
//     void on_epoch_end(nn::Training& training, const nn::Logs& logs) override { ... }
//   };
//   nn::make_callback<Shout>()
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/export.h"
#include "tenure/handle.h"

namespace tenure::nn {

class Model;

// Loss and metrics by name, in order.
using Logs = std::vector<std::pair<std::string, double>>;
TENURE_API double value_of(const Logs& logs, std::string_view name);  // ValueError lists the names

// How fit tells of itself: a progress bar on a terminal, lines elsewhere.
enum class Verbose : std::uint8_t { automatic, silent, progress, lines };

// Lines for a terminal: lists of equally spaced values, drawn over each other.
using Series = std::vector<std::pair<std::string, std::vector<double>>>;
struct PlotOptions {
  int width = 60;
  int height = 12;
  std::vector<std::string> names = {};  // of those to draw; default: all, of a History the losses
  bool colour = false;                  // tells the lines apart
};
TENURE_API std::string plot(const Series& series, const PlotOptions& options = {});

// What became of the loss and the metrics, epoch by epoch.
class TENURE_API History {
 public:
  std::vector<int> epochs;
  Series values;             // one per epoch each
  bool cancelled = false;    // by Job::cancel
  std::string stopped = {};  // why a callback stopped it
  double seconds = 0;

  const std::vector<double>& operator[](std::string_view name) const;
  void add(int epoch, const Logs& logs);
  std::string plot(const PlotOptions& options = {}) const;  // for a terminal
};

inline void walk_tensors(History&, auto&&) {}  // a tidy may return one: it has none

// A training run, as callbacks see it.
class TENURE_API Training {
 public:
  Training(const Model& model, int epochs) : model_(model), epochs_(epochs) {}
  const Model& model() const { return model_; }
  int epoch() const { return epoch_; }  // from 0
  int epochs() const { return epochs_; }
  std::int64_t batch() const { return batch_; }              // of the epoch, from 0
  std::int64_t batches() const { return batches_; }          // of an epoch; 0 where it is not known
  void stop(std::string why) { stopped_ = std::move(why); }  // after the batch in hand
  const std::string& stopped() const { return stopped_; }

 private:
  friend class FitLoop;
  const Model& model_;
  int epoch_ = 0;
  int epochs_;
  std::int64_t batch_ = 0;
  std::int64_t batches_ = 0;
  std::string stopped_;
};

class TENURE_API CallbackBase {
 public:
  virtual ~CallbackBase();
  virtual void on_train_begin(Training&) {}
  virtual void on_train_end(Training&) {}
  virtual void on_epoch_begin(Training&) {}
  virtual void on_epoch_end(Training&, const Logs&) {}
  virtual void on_batch_begin(Training&) {}
  virtual void on_batch_end(Training&, const Logs&) {}
};

// A copyable handle.
class Callback {
 public:
  explicit Callback(std::shared_ptr<CallbackBase> base) : base_(std::move(base)) {}
  CallbackBase& operator*() const { return *base_; }
  CallbackBase* operator->() const { return &*base_; }

 private:
  tenure::detail::Held<std::shared_ptr<CallbackBase>, "Callback"> base_;
};

template <class T, class... A>
Callback make_callback(A&&... args) {
  return Callback(std::make_shared<T>(std::forward<A>(args)...));
}

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;       // less than that is no improvement
  int patience = 0;           // epochs without improvement
  std::string mode = "auto";  // "min", "max", or by the name: accuracies and the like grow
  double baseline = std::numeric_limits<double>::quiet_NaN();
  bool restore_best_weights = false;
  int start_from_epoch = 0;
};
TENURE_API Callback EarlyStopping(EarlyStoppingOptions options = {});

struct ModelCheckpointOptions {
  std::string path;  // {epoch} and {name of a metric} are replaced
  std::string monitor = "val_loss";
  bool save_best_only = false;
  bool save_weights_only = false;
  std::string mode = "auto";
};
TENURE_API Callback ModelCheckpoint(ModelCheckpointOptions options);

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int patience = 10;
  std::string mode = "auto";
  double min_delta = 1e-4;
  int cooldown = 0;
  double min_lr = 0;
};
TENURE_API Callback ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});

// Sets the learning rate of each epoch: schedule(epoch, rate).
TENURE_API Callback LearningRateScheduler(std::function<double(int epoch, double rate)> schedule);

struct CSVLoggerOptions {
  std::string path;
  std::string separator = ",";
  bool append = false;
};
TENURE_API Callback CSVLogger(CSVLoggerOptions options);
TENURE_API Callback TerminateOnNaN();  // when the loss is not finite

}  // namespace tenure::nn
