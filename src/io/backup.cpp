// A training that goes on after its process was killed.
#include <filesystem>
#include <system_error>

#include "core/raise.h"
#include "io/training_state.h"
#include "memory/context.h"
#include "memory/text.h"
#include "nn/callbacks/passes.h"
#include "nn/model_state.h"

namespace tenure::nn {

namespace {

namespace fs = std::filesystem;

class Backup final : public detail::LibraryCallback {
 public:
  Backup(BackupAndRestoreOptions options, std::source_location site)
      : options_(std::move(options)), site_(site) {
    if (options_.backup_dir.empty()) raise<ValueError>("BackupAndRestore: backup_dir is empty");
  }

  void on_train_begin(Training& training) override {
    check_can_go_on(training);
    std::error_code error;
    fs::create_directories(options_.backup_dir, error);
    if (error) {
      raise<IoError>("BackupAndRestore: {}: cannot be made: {}", options_.backup_dir,
                     error.message());
    }
    remove_unfinished();
    batches_ = 0;
    if (!fs::exists(file())) return;
    const io::TrainingPosition position = io::load_training(training.model(), file(), site_);
    training.go_on_at(position.epoch, position.batch);
  }
  void on_train_batch_end(Training& training, const Logs&) override {
    if (!saves_batches() || ++batches_ % options_.save_freq.batches() != 0) return;
    io::save_training(training.model(), file(), {training.epoch(), training.batch() + 1}, site_);
  }
  void on_epoch_end(Training& training, const Logs&) override {
    if (training.cancelled()) {  // maybe in the middle of it
      io::save_training(training.model(), file(), {training.epoch(), training.batch()}, site_);
    } else if (!saves_batches()) {
      io::save_training(training.model(), file(), {training.epoch() + 1, 0}, site_);
    }
  }
  void on_train_end(Training& training) override {
    if (!options_.delete_checkpoint || training.cancelled()) return;
    std::error_code ignored;  // there is nothing to lose
    fs::remove(file(), ignored);
    fs::remove(options_.backup_dir, ignored);  // where nothing else is in it
  }

 private:
  bool saves_batches() const { return options_.save_freq.batches() > 0; }
  std::string file() const {
    return (fs::path(options_.backup_dir) / "backup.safetensors").string();
  }

  // Before the training begins, not when it is to go on.
  void check_can_go_on(const Training& training) const {
    const ModelBase& base = detail::ModelAccess::base(training.model());
    const std::vector<tenure::detail::Line> lines{
        {"born", tenure::detail::site_text(site_), "BackupAndRestore"}};
    if (!training.model().is_built()) {
      throw ValueError(
          describe("BackupAndRestore: {} has no weights yet", detail::layer_text(base))
              .told(lines, "build it, call it once, or give its first layer an input_shape."));
    }
    const int accumulate =
        detail::compiled_of(training.model(), "BackupAndRestore", site_)->options.accumulate;
    if (accumulate > 1 && detail::structure_of(base) == nullptr) {
      throw UnsupportedError(
          describe("BackupAndRestore: {} is a model of your own, compiled with accumulate = {}: "
                   "gradients that wait for the rest of their step cannot be put back into it",
                   detail::layer_text(base), accumulate)
              .told(lines, "compile it without accumulate."));
    }
  }

  // What a process that was killed had begun to write.
  void remove_unfinished() const {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(options_.backup_dir, error)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(".tenure-") && name.ends_with(".tmp")) fs::remove(entry.path(), error);
    }
  }

  BackupAndRestoreOptions options_;
  std::source_location site_;
  std::int64_t batches_ = 0;  // of this fit
};

}  // namespace

Callback BackupAndRestore(BackupAndRestoreOptions options, std::source_location site) {
  const tenure::detail::UserLine line(site);
  const detail::BatchHooks hears{options.save_freq.batches() > 0, false, false};
  return Callback(std::make_shared<Backup>(std::move(options), site), hears);
}

}  // namespace tenure::nn
