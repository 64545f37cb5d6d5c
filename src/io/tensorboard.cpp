// Scalars and histograms of a training for TensorBoard.
#include <chrono>
#include <filesystem>
#include <optional>

#include "io/event_file.h"
#include "memory/context.h"
#include "nn/bounds.h"
#include "nn/callbacks/passes.h"
#include "nn/model_state.h"
#include "nn/weight_paths.h"
#include "tenure/math.h"

namespace tenure::nn {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point then) {
  return std::max(1e-9, std::chrono::duration<double>(Clock::now() - then).count());
}

class BoardWriter final : public detail::LibraryCallback {
 public:
  explicit BoardWriter(TensorBoardOptions options) : options_(std::move(options)) {
    detail::check_at_least("TensorBoard", "histogram_freq", options_.histogram_freq, 0);
  }

  void on_train_begin(Training&) override {
    batches_ = 0;
    train_.reset();
    validation_.reset();
    train();
  }
  void on_train_end(Training&) override {
    train_.reset();
    validation_.reset();
  }
  void on_epoch_begin(Training&) override { epoch_began_ = Clock::now(); }
  void on_train_batch_begin(Training&) override { batch_began_ = Clock::now(); }
  void on_train_batch_end(Training&, const Logs& logs) override {
    ++batches_;
    const std::int64_t every = options_.update_freq.batches();
    if (every == 0 || batches_ % every != 0) return;
    if (options_.write_steps_per_second) {
      train().scalar("batch_steps_per_second", batches_, 1 / seconds_since(batch_began_));
    }
    for (const auto& [name, value] : logs) train().scalar("batch_" + name, batches_, value);
    train().flush();
  }
  void on_test_end(Pass& pass, const Logs& logs) override {
    const std::int64_t step = pass.model().optimizer().iterations();
    for (const auto& [name, value] : logs) {
      validation().scalar("evaluation_" + name + "_vs_iterations", step, value);
    }
    validation().flush();
  }
  void on_epoch_end(Training& training, const Logs& logs) override {
    constexpr std::string_view kPrefix = "val_";
    const std::int64_t step = training.epoch();
    bool has_rate = false;
    for (const auto& [name, value] : logs) {
      has_rate |= name == "learning_rate";
      if (name.starts_with(kPrefix)) {
        validation().scalar("epoch_" + name.substr(kPrefix.size()), step, value);
      } else {
        train().scalar("epoch_" + name, step, value);
      }
    }
    if (!has_rate) {
      train().scalar("epoch_learning_rate", step, training.model().optimizer().learning_rate());
    }
    if (options_.write_steps_per_second) {
      train().scalar("epoch_steps_per_second", step,
                     static_cast<double>(training.batch()) / seconds_since(epoch_began_));
    }
    if (options_.histogram_freq > 0 && training.epoch() % options_.histogram_freq == 0) {
      write_weights(training);
    }
    train().flush();
    if (validation_) validation_->flush();
  }

 private:
  io::EventFile& train() { return file(train_, "train"); }
  io::EventFile& validation() { return file(validation_, "validation"); }
  io::EventFile& file(std::optional<io::EventFile>& file, const char* folder) const {
    if (!file) file.emplace((std::filesystem::path(options_.log_dir) / folder).string());
    return *file;
  }
  void write_weights(const Training& training) {
    for (const detail::NamedVariable& weight :
         detail::named_weights(detail::ModelAccess::base(training.model()))) {
      const std::vector<double> values =
          cast(weight.variable.read(), DType::float64).to_vector<double>();
      train().histogram(weight.name + "/histogram", training.epoch(), values);
    }
  }

  TensorBoardOptions options_;
  std::optional<io::EventFile> train_, validation_;
  std::int64_t batches_ = 0;  // of this fit
  Clock::time_point epoch_began_, batch_began_;
};

}  // namespace

Callback TensorBoard(TensorBoardOptions options, std::source_location site) {
  const tenure::detail::UserLine line(site);
  const detail::BatchHooks hears{options.update_freq.batches() > 0, false, false};
  return Callback(std::make_shared<BoardWriter>(std::move(options)), hears);
}

}  // namespace tenure::nn
