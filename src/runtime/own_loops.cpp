#include "runtime/own_loops.h"

#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/raise.h"
#include "memory/fork.h"
#include "memory/text.h"
#include "tenure/task.h"

namespace tenure::detail {
namespace {

thread_local const RunningHere* t_running = nullptr;

}  // namespace

RunningHere::RunningHere(What what, const void* which)
    : what_(what), which_(which), innermost_(t_running, this) {}

bool RunningHere::is(const JobBase& job) const {
  return which_ == (what_ == What::task ? static_cast<const void*>(&job) : job.loop);
}

bool runs_here(const void* loop) {
  const RunningHere* at = t_running;
  while (at != nullptr && at->which() != loop) at = at->outer();
  return at != nullptr;
}

bool runs_here(const JobBase& job) {
  const RunningHere* at = t_running;
  while (at != nullptr && !at->is(job)) at = at->outer();
  return at != nullptr;
}

bool is_kept_from_ending(const JobBase& job) {
  if (t_running->is(job)) return true;
  // The loop goes on with its other tasks. What is around it gets its turn once run() has returned.
  const RunningHere* at = t_running->outer();
  if (at == nullptr || at->what() != RunningHere::What::run) return false;
  do at = at->outer();
  while (at != nullptr && !at->is(job));
  return at != nullptr;
}

namespace {

// The job that each waiting task awaits, by the task's own job.
struct Waits {
  ProcessMutex mutex;
  std::unordered_map<const JobBase*, const JobBase*> awaited;

  static Waits& all() {
    static auto* waits = new Waits;
    return *waits;
  }
};

[[noreturn]] void raise_waits_for_ever(const std::vector<const JobBase*>& chain,
                                       std::source_location site) {
  std::vector<Line> lines;
  for (const JobBase* job : chain) lines.push_back({"started", site_text(job->started), ""});
  lines.push_back(used_line(site, "co_await"));
  throw ValueError(
      describe("co_await: the task would wait for ever: {}",
               chain.size() > 1 ? "the task of the job, through others, waits for it"
                                : "the job cannot end before the task that awaits it has gone on")
          .told(std::move(lines),
                "await it in a task that it does not wait for, or after run() has returned."));
}

}  // namespace

WaitsFor::WaitsFor(const TaskRun& run, const JobBase& job, std::source_location site)
    : waiting_(*run.job()) {
  Waits& waits = Waits::all();
  const std::lock_guard lock(waits.mutex);
  std::vector<const JobBase*> chain{&job};
  while (!is_kept_from_ending(*chain.back())) {
    const auto next = waits.awaited.find(chain.back());
    if (next == waits.awaited.end() || chain.back()->control.cancelled()) {
      waits.awaited.emplace(&waiting_, &job);
      return;
    }
    chain.push_back(next->second);
  }
  raise_waits_for_ever(chain, site);
}

WaitsFor::~WaitsFor() {
  Waits& waits = Waits::all();
  const std::lock_guard lock(waits.mutex);
  waits.awaited.erase(&waiting_);
}

}  // namespace tenure::detail
