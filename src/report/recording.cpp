#include "tenure/recording.h"

#include "report/recorder.h"

namespace tenure {

class Recording::State {
 public:
  State(const std::string& path, std::source_location site) : path_(path) {
    report::check_not_recording(site);
    recorder_ = std::make_unique<report::Recorder>(std::make_unique<report::FileSink>(path), site);
  }
  void stop() { recorder_->stop(); }
  const std::string& path() const { return path_; }
  std::uint64_t events() const { return recorder_->events(); }

 private:
  std::string path_;
  std::unique_ptr<report::Recorder> recorder_;
};

Recording::Recording(const std::string& path, std::source_location site)
    : state_(std::make_unique<State>(path, site)) {}

Recording::~Recording() = default;

void Recording::stop() { state_->stop(); }

const std::string& Recording::path() const { return state_->path(); }

std::uint64_t Recording::events() const { return state_->events(); }

}  // namespace tenure
