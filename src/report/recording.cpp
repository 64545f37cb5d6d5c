#include "tenure/recording.h"

#include <mutex>
#include <set>

#include "memory/events.h"
#include "memory/fork.h"
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

namespace {

// Records point at kinds, so each is kept for as long as the process lives. There are few.
const char* kept(std::string_view kind) {
  static detail::ProcessMutex mutex;
  static auto* kinds = new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  const auto known = kinds->find(kind);
  return (known != kinds->end() ? *known : *kinds->emplace(kind).first).c_str();
}

}  // namespace

RecordedSpan::RecordedSpan(std::string_view kind, std::string_view name, std::source_location site)
    : begun_(detail::events::on()) {
  if (begun_) detail::events::cold::span_began(this, kept(kind), name, site, 0);
}

RecordedSpan::~RecordedSpan() {
  if (begun_) detail::events::cold::span_ended(this);
}

void record_value(std::string_view name, double value, std::uint64_t step) {
  detail::events::value(name, step, value);
}

}  // namespace tenure
