// Saves the model while it is trained.
#include <filesystem>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/callbacks/file_pattern.h"
#include "nn/callbacks/monitor.h"
#include "nn/callbacks/passes.h"
#include "nn/model_path.h"
#include "tenure/nn/model.h"

namespace tenure::nn {

namespace {

constexpr const char* kCheckpoint = "ModelCheckpoint";

class Checkpointer final : public detail::LibraryCallback {
 public:
  Checkpointer(ModelCheckpointOptions options, std::source_location site)
      : options_(std::move(options)),
        pattern_(kCheckpoint, options_.filepath, {"epoch", "batch"}),
        monitor_({options_.monitor, options_.mode}, kCheckpoint, site),
        fields_(kCheckpoint, "names its files by", site) {
    if (options_.filepath.empty()) raise<ValueError>("ModelCheckpoint: filepath is empty");
    detail::check_model_path(kCheckpoint, options_.filepath);
    if (options_.initial_value_threshold) monitor_.set_best(*options_.initial_value_threshold);
    check_names();
  }
  void on_train_begin(Training&) override {
    monitor_.logs().begin();  // the best of all fits counts
    fields_.begin();
    batches_ = 0;
  }
  void on_train_batch_end(Training& training, const Logs& logs) override {
    if (!saves_batches() || ++batches_ % options_.save_freq.batches() != 0) return;
    save(training, logs);
  }
  void on_epoch_end(Training& training, const Logs& logs) override {
    if (!saves_batches()) save(training, logs);
  }

 private:
  bool saves_batches() const { return options_.save_freq.batches() > 0; }

  // What is known in the middle of an epoch is not what is known at its end.
  void check_names() const {
    for (const detail::FilePattern::Field& field : pattern_.fields()) {
      if (field.name.empty()) {
        raise<ValueError>(
            "ModelCheckpoint: filepath \"{}\" has a field without a name: {{epoch}}, or "
            "that of a log",
            options_.filepath);
      }
      if (field.name == "batch" && !saves_batches()) {
        raise<ValueError>(
            "ModelCheckpoint: filepath \"{}\" has {{batch}}, and the model is saved at "
            "the end of epochs: give .save_freq = a number of batches",
            options_.filepath);
      }
      if (saves_batches()) check_is_of_batches(field.name);
    }
    if (saves_batches() && options_.save_best_only) check_is_of_batches(options_.monitor);
  }
  void check_is_of_batches(const std::string& name) const {
    if (!name.starts_with("val_")) return;
    raise<ValueError>(
        "ModelCheckpoint: \"{}\" is known at the end of epochs, and the model is "
        "saved every {} batches: use another, or .save_freq = \"epoch\"",
        name, options_.save_freq.batches());
  }

  void save(Training& training, const Logs& logs) {
    const std::optional<std::string> path = path_of(training, logs);
    if (!path) return;
    if (options_.save_best_only) {
      const std::optional<double> value = monitor_.value(training, logs);
      if (!value || !monitor_.improves(*value)) return;
    }
    make_folder(std::filesystem::path(*path).parent_path());
    if (options_.save_weights_only) {
      training.model().save_weights(*path);
    } else {
      training.model().save(*path);
    }
  }
  static void make_folder(const std::filesystem::path& folder) {
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    if (error) {
      raise<IoError>("ModelCheckpoint: {}: cannot be made: {}", folder.string(), error.message());
    }
  }
  // None in an epoch that lacks a log of the name.
  std::optional<std::string> path_of(const Training& training, const Logs& logs) {
    std::vector<detail::FilePattern::Value> values;
    for (const detail::FilePattern::Field& field : pattern_.fields()) {
      if (field.name == "epoch") {
        values.emplace_back(std::int64_t{training.epoch()} + 1);
      } else if (field.name == "batch") {
        values.emplace_back(training.batch() + 1);
      } else {
        const std::optional<double> value = fields_.value(training, logs, field.name);
        if (!value) return std::nullopt;
        values.emplace_back(*value);
      }
    }
    return pattern_.filled(values);
  }

  ModelCheckpointOptions options_;
  detail::FilePattern pattern_;
  detail::Monitor monitor_;
  detail::Awaited fields_;
  std::int64_t batches_ = 0;  // of this fit
};

}  // namespace

Callback ModelCheckpoint(ModelCheckpointOptions options, std::source_location site) {
  const tenure::detail::UserLine line(site);
  const detail::BatchHooks hears{options.save_freq.batches() > 0, false, false};
  return Callback(std::make_shared<Checkpointer>(std::move(options), site), hears);
}

}  // namespace tenure::nn
