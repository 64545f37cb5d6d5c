// What looks on while a model is trained, evaluated or asked, and may stop it.
//
//   model.fit(x, y, {.epochs = 100,
//                    .callbacks = {nn::EarlyStopping({.patience = 5}),
//                                  nn::CSVLogger({"log.csv"})},
//                    .validation_split = 0.2});
//
// One of your own:
//
//   struct Shout : nn::CallbackBase {
//     void on_epoch_end(nn::Training& training, const nn::Logs& logs) override { ... }
//   };
//   nn::make_callback<Shout>()
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/export.h"
#include "tenure/handle.h"
#include "tenure/tensor.h"

namespace tenure::nn {

class Model;
namespace detail {
struct PassAccess;
}

// Loss and metrics by name, in order.
using Logs = std::vector<std::pair<std::string, double>>;
// A ValueError lists the names.
TENURE_API double value_of(const Logs& logs, std::string_view name,
                           std::source_location site = std::source_location::current());

// How fit tells of itself: a progress bar on a terminal, lines elsewhere. As numbers 0 is silent, 1
// a progress bar and 2 a line for each epoch.
class TENURE_API Verbose {
 public:
  enum How : std::uint8_t { automatic, silent, progress, lines };
  constexpr Verbose(How how) : how_(how) {}
  Verbose(int number, std::source_location site = std::source_location::current());
  friend bool operator==(Verbose, Verbose) = default;

 private:
  How how_;
};

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
  Series values;             // one per epoch each; NaN in epochs that had none
  bool cancelled = false;    // by Job::cancel
  std::string stopped = {};  // why a callback stopped it
  double seconds = 0;

  const std::vector<double>& operator[](tenure::detail::NameAt name) const;
  void add(int epoch, const Logs& logs);
  std::string plot(const PlotOptions& options = {}) const;  // for a terminal
};

inline void walk_tensors(History&, auto&&) {}  // a tidy may return one: it has none

// Batches that go through a model, as callbacks see them: those of a fit, an evaluate or a predict.
class TENURE_API Pass {
 public:
  explicit Pass(const Model& model) : model_(model) {}
  const Model& model() const { return model_; }
  std::int64_t batch() const { return batch_; }      // in hand, from 0; at the end, how many
  std::int64_t batches() const { return batches_; }  // 0 where it is not known
  void stop(std::string why) { stopped_ = std::move(why); }  // after the batch in hand
  const std::string& stopped() const { return stopped_; }
  std::source_location site() const { return site_; }  // of the call of fit, evaluate or predict

 private:
  friend struct detail::PassAccess;
  const Model& model_;
  std::int64_t batch_ = 0;
  std::int64_t batches_ = 0;
  std::string stopped_;
  std::source_location site_;
};

// A training run: its batches are those of an epoch.
class TENURE_API Training : public Pass {
 public:
  Training(const Model& model, int epochs) : Pass(model), epochs_(epochs) {}
  int epoch() const { return epoch_; }  // from 0
  int epochs() const { return epochs_; }
  bool validates() const { return validates_; }  // in some epochs
  bool validated() const { return validated_; }  // in this one
  bool cancelled() const { return cancelled_ && cancelled_(); }
  // Asked for in on_train_begin: leaves out what an earlier run has done.
  void go_on_at(int epoch, std::int64_t batch = 0) { first_ = {epoch, batch}; }

 private:
  friend struct detail::PassAccess;
  int epoch_ = 0;
  int epochs_;
  bool validates_ = false;
  bool validated_ = false;
  std::function<bool()> cancelled_;
  std::pair<int, std::int64_t> first_{0, 0};
};

// Hooks of a pass. Logs of batches are those of the epoch, or of the pass, so far.
class TENURE_API CallbackBase {
 public:
  virtual ~CallbackBase();
  virtual void on_train_begin(Training&) {}
  virtual void on_train_end(Training&) {}
  virtual void on_epoch_begin(Training&) {}
  // Before any on_epoch_end: what is added here, all callbacks and the History see.
  virtual void add_logs(Training&, Logs&) {}
  virtual void on_epoch_end(Training&, const Logs&) {}
  virtual void on_train_batch_begin(Training&) {}
  virtual void on_train_batch_end(Training&, const Logs&) {}
  // Of evaluate, and of the validations of fit.
  virtual void on_test_begin(Pass&) {}
  virtual void on_test_end(Pass&, const Logs&) {}
  virtual void on_test_batch_begin(Pass&) {}
  virtual void on_test_batch_end(Pass&, const Logs&) {}
  virtual void on_predict_begin(Pass&) {}
  virtual void on_predict_end(Pass&) {}
  virtual void on_predict_batch_begin(Pass&) {}
  virtual void on_predict_batch_end(Pass&, const std::vector<Tensor>& /*outputs*/) {}
};

namespace detail {

// Which batches a callback is told of. Where none listens, a batch costs nothing.
struct BatchHooks {
  bool train = true;
  bool test = true;
  bool predict = true;
};

template <class Hook, class BaseHook>
concept Inherited = std::same_as<Hook, BaseHook>;
template <class T>
concept DeafToTrainBatches = requires {
  requires Inherited<decltype(&T::on_train_batch_begin),
                     decltype(&CallbackBase::on_train_batch_begin)>;
  requires Inherited<decltype(&T::on_train_batch_end), decltype(&CallbackBase::on_train_batch_end)>;
};
template <class T>
concept DeafToTestBatches = requires {
  requires Inherited<decltype(&T::on_test_batch_begin),
                     decltype(&CallbackBase::on_test_batch_begin)>;
  requires Inherited<decltype(&T::on_test_batch_end), decltype(&CallbackBase::on_test_batch_end)>;
};
template <class T>
concept DeafToPredictBatches = requires {
  requires Inherited<decltype(&T::on_predict_batch_begin),
                     decltype(&CallbackBase::on_predict_batch_begin)>;
  requires Inherited<decltype(&T::on_predict_batch_end),
                     decltype(&CallbackBase::on_predict_batch_end)>;
};
// Of a callback that is a T and nothing derived from it.
template <class T>
inline constexpr BatchHooks kBatchHooks{!DeafToTrainBatches<T>, !DeafToTestBatches<T>,
                                        !DeafToPredictBatches<T>};

}  // namespace detail

// A copyable handle.
class Callback {
 public:
  explicit Callback(std::shared_ptr<CallbackBase> base, detail::BatchHooks hears = {})
      : base_(std::move(base)), hears_(hears) {}
  CallbackBase& operator*() const { return *base_; }
  CallbackBase* operator->() const { return &*base_; }
  detail::BatchHooks hears() const { return hears_; }

 private:
  tenure::detail::Held<std::shared_ptr<CallbackBase>, "Callback"> base_;
  detail::BatchHooks hears_;
};

template <class T, class... A>
Callback make_callback(A&&... args) {
  return Callback(std::make_shared<T>(std::forward<A>(args)...), detail::kBatchHooks<T>);
}

// How often: "epoch" (at the end of each), "batch", or every so many batches.
class TENURE_API Frequency {
 public:
  Frequency(const char* name, std::source_location site = std::source_location::current());
  template <std::integral N>
  Frequency(N batches, std::source_location site = std::source_location::current())
      : Frequency(static_cast<std::int64_t>(batches), site, 0) {}
  std::int64_t batches() const { return batches_; }  // 0: epochs

 private:
  Frequency(std::int64_t batches, std::source_location site, int);
  std::int64_t batches_ = 0;
};

// ---- The callbacks
//
// `monitor` names a value of the logs. An epoch that lacks it, because it was not validated, is
// passed over with a warning; a name that no epoch can have is a ValueError at the end of the first
// epoch that shows it. `mode` is "min", "max", or "auto": what the metric itself says is better
// (Metric::direction), and a ValueError where it does not say.

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;  // less than that is no improvement
  int patience = 0;      // epochs without improvement
  std::string mode = "auto";
  // What is no better than this does not end the waiting.
  double baseline = std::numeric_limits<double>::quiet_NaN();
  bool restore_best_weights = false;  // also where the baseline was never reached
  int start_from_epoch = 0;           // those before are not looked at
};
TENURE_API Callback EarlyStopping(EarlyStoppingOptions options = {},
                                  std::source_location site = std::source_location::current());

struct ModelCheckpointOptions {
  // {epoch} (from 1), {batch} (from 1, where save_freq counts batches) and {name of a log} are
  // replaced; formats as in {epoch:02d}-{val_loss:.2f}. Folders are made.
  std::string filepath;
  std::string monitor = "val_loss";
  bool save_best_only = false;
  bool save_weights_only = false;
  std::string mode = "auto";
  Frequency save_freq = "epoch";
  std::optional<double> initial_value_threshold = {};  // only what is better is saved
};
TENURE_API Callback ModelCheckpoint(ModelCheckpointOptions options,
                                    std::source_location site = std::source_location::current());

// Puts "learning_rate" into the logs.
struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int patience = 10;
  std::string mode = "auto";
  double min_delta = 1e-4;
  int cooldown = 0;
  double min_lr = 0;
};
TENURE_API Callback ReduceLROnPlateau(ReduceLROnPlateauOptions options = {},
                                      std::source_location site = std::source_location::current());

// Sets the learning rate of each epoch: schedule(epoch, rate). Puts "learning_rate" into the logs.
TENURE_API Callback
LearningRateScheduler(std::function<double(int epoch, double rate)> schedule,
                      std::source_location site = std::source_location::current());

// A row per epoch. A column that comes later is added to the rows before, as NA.
struct CSVLoggerOptions {
  std::string filename;
  std::string separator = ",";
  bool append = false;  // to the rows of a file that is there
};
TENURE_API Callback CSVLogger(CSVLoggerOptions options,
                              std::source_location site = std::source_location::current());
TENURE_API Callback TerminateOnNaN();  // when the loss is not finite

// Functions in place of a class.
struct LambdaCallbackOptions {
  std::function<void(Training&)> on_epoch_begin = {};
  std::function<void(Training&, const Logs&)> on_epoch_end = {};
  std::function<void(Training&)> on_train_begin = {};
  std::function<void(Training&)> on_train_end = {};
  std::function<void(Training&)> on_train_batch_begin = {};
  std::function<void(Training&, const Logs&)> on_train_batch_end = {};
  std::function<void(Pass&)> on_test_begin = {};
  std::function<void(Pass&, const Logs&)> on_test_end = {};
  std::function<void(Pass&)> on_test_batch_begin = {};
  std::function<void(Pass&, const Logs&)> on_test_batch_end = {};
  std::function<void(Pass&)> on_predict_begin = {};
  std::function<void(Pass&)> on_predict_end = {};
  std::function<void(Pass&)> on_predict_batch_begin = {};
  std::function<void(Pass&, const std::vector<Tensor>& outputs)> on_predict_batch_end = {};
};
TENURE_API Callback LambdaCallback(LambdaCallbackOptions options);

// Keeps what a fit needs to go on, in one file that is whole or not there. A program that is
// started again with the same model and the same fit goes on at the epoch and the batch that were
// saved last; with set_seed before both, it gives the bits of a run that was never interrupted. To
// stand last in the list, so that it saves what the others have changed.
struct BackupAndRestoreOptions {
  std::string backup_dir;  // of this training alone; it is made
  Frequency save_freq = "epoch";
  bool delete_checkpoint = true;  // when the training is complete; a cancelled one is not
};
TENURE_API Callback BackupAndRestore(BackupAndRestoreOptions options,
                                     std::source_location site = std::source_location::current());

// Event files for TensorBoard: scalars in log_dir/train and log_dir/validation, named as Keras
// names them (epoch_loss, batch_loss, evaluation_loss_vs_iterations, epoch_learning_rate).
struct TensorBoardOptions {
  std::string log_dir = "logs";
  int histogram_freq = 0;  // of the weights, every so many epochs; 0: none
  bool write_steps_per_second = false;
  Frequency update_freq = "epoch";  // of the scalars of batches
};
TENURE_API Callback TensorBoard(TensorBoardOptions options = {},
                                std::source_location site = std::source_location::current());

}  // namespace tenure::nn
