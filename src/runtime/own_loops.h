// The tasks that this thread is in, one within the other, and the loops that run them.
#pragma once

#include <cstdint>

#include "memory/context.h"
#include "tenure/job.h"

namespace tenure::detail {

class RunningHere {
 public:
  // A loop's run() returns only when all its tasks have ended, its step() at once.
  enum class What : std::uint8_t { task, run, step };
  RunningHere(What what, const void* which);

  What what() const { return what_; }
  const void* which() const { return which_; }
  const RunningHere* outer() const { return innermost_.outer(); }
  bool is(const JobBase& job) const;  // the job's task, or the loop that this is in

 private:
  const What what_;
  const void* const which_;  // a task's job, or a loop
  Meanwhile<const RunningHere*> innermost_;
};

// Whether this thread is in a loop: false for null.
bool runs_here(const void* loop);
// Whether a job's task, or the loop that it is in, waits for this thread to return to it.
bool runs_here(const JobBase& job);
// Whether the task that this thread is in would keep a job from ending if it waited for it.
bool is_kept_from_ending(const JobBase& job);

}  // namespace tenure::detail
