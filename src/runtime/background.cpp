// The threads behind Job.
#include <condition_variable>
#include <iterator>
#include <list>
#include <system_error>
#include <thread>

#include "core/raise.h"
#include "memory/fork.h"
#include "memory/text.h"
#include "runtime/lost_jobs.h"
#include "runtime/own_loops.h"
#include "tenure/error.h"
#include "tenure/job.h"

namespace tenure::detail {
namespace {

class Crew;
constinit thread_local Crew* t_crew = nullptr;  // whose thread this is

// Threads are started when there is work and nobody idle. They are never joined: a process may end
// while work is queued, as with any detached work. The child of a fork makes a crew of its own.
class Crew {
 public:
  static Crew& instance() {
    Crew* crew = g_crew.load(std::memory_order_acquire);
    return crew != nullptr && crew->forks_ == forks() ? *crew : make();
  }

  void run(std::function<void()> task, std::shared_ptr<JobBase> job) {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(task), std::move(job)});
    try {
      find_a_thread();
    } catch (const std::system_error&) {  // none to be had: those there are will come to it
      if (threads_ > 0) return;
      queue_.pop_back();
      throw;
    }
  }

  void begin_wait() {
    const std::lock_guard lock(mutex_);
    ++waiting_;
    try {
      if (!queue_.empty()) find_a_thread();
    } catch (const std::system_error&) {  // the queue waits for this one
    }
  }
  void end_wait() {
    const std::lock_guard lock(mutex_);
    --waiting_;
  }

 private:
  static constexpr std::size_t kMost = 16;  // not counting those that wait
  static constexpr std::size_t kIdle = 4;   // kept for the next work

  struct Work {
    std::function<void()> run;
    std::shared_ptr<JobBase> job;
  };

  static Crew& make() {
    static ProcessMutex making;
    Crew* before = nullptr;
    Crew* crew = nullptr;
    {
      const std::lock_guard lock(making);
      before = g_crew.load(std::memory_order_acquire);
      if (before != nullptr && before->forks_ == forks()) return *before;
      crew = new Crew;
      g_crew.store(crew, std::memory_order_release);
    }
    if (before != nullptr) before->end_lost_jobs();
    return *crew;
  }

  // In the child of a fork, of the parent's crew: nobody will do its work. It stays as it is, and
  // what it holds with it, for a thread may have been at work on that.
  void end_lost_jobs() {
    const auto end = [](const Work& lost) {
      if (lost.job->ready()) return;
      lost.job->end(std::make_exception_ptr(CancelledError(
          describe(
              "job: it was left behind by a fork: the thread that ran it is in the parent process")
              .told({{"started", site_text(lost.job->started), ""}},
                    "wait for it before the fork, or start it again in the child."))));
    };
    for (const Work& running : running_) end(running);
    for (const Work& queued : queue_) end(queued);
  }

  void find_a_thread() {
    if (idle_ < queue_.size() && threads_ - waiting_ < kMost) {
      std::thread([this] { loop(); }).detach();
      ++threads_;
    } else {
      wake_.notify_one();
    }
  }

  void loop() {
    t_crew = this;
    std::unique_lock lock(mutex_);
    for (;;) {
      if (queue_.empty()) {
        if (idle_ == kIdle) break;
        ++idle_;
        wake_.wait(lock, [this] { return !queue_.empty(); });
        --idle_;
      }
      running_.splice(running_.end(), queue_, queue_.begin());
      const auto work = std::prev(running_.end());
      lock.unlock();
      work->run();
      work->run = nullptr;
      std::list<Work> done;  // let go of without the lock
      lock.lock();
      done.splice(done.end(), running_, work);
      lock.unlock();
      done.clear();
      lock.lock();
    }
    --threads_;
  }

  static constinit std::atomic<Crew*> g_crew;

  const std::uint32_t forks_ = forks();
  ProcessMutex mutex_;
  std::condition_variable_any wake_;
  std::list<Work> queue_;
  std::list<Work> running_;
  std::size_t threads_ = 0;
  std::size_t idle_ = 0;
  std::size_t waiting_ = 0;  // of the threads
};
constinit std::atomic<Crew*> Crew::g_crew{nullptr};

}  // namespace

void run_in_background(std::function<void()> work, std::shared_ptr<JobBase> job) {
  Crew::instance().run(std::move(work), std::move(job));
}

void end_lost_jobs() { Crew::instance(); }

WaitingHere::WaitingHere() : background_(t_crew != nullptr && t_crew == &Crew::instance()) {
  if (background_) Crew::instance().begin_wait();
}

WaitingHere::~WaitingHere() {
  if (background_) Crew::instance().end_wait();
}

void JobBase::wait(std::source_location site) {
  if (ready()) return;
  if (runs_here(loop)) {
    throw ValueError(describe("wait: the job's task is one of the TaskLoop that runs here, and "
                              "would never be reached")
                         .told({{"started", site_text(started), "add"}, used_line(site, "wait")},
                               "co_await the job: then the loop goes on with it meanwhile."));
  }
  if (runs_here(*this)) {
    throw ValueError(
        describe("wait: the job's task is in the middle of this very call, and would never end")
            .told({{"started", site_text(started), ""}, used_line(site, "wait")},
                  "wait for it outside of the task."));
  }
  const WaitingHere waiting;
  finished.wait(0, std::memory_order_acquire);
}

bool JobBase::ready() {
  if (finished.load(std::memory_order_acquire) != 0) return true;
  end_lost_jobs();
  return finished.load(std::memory_order_acquire) != 0;
}

void raise_no_job(const char* what, std::source_location site) {
  throw ValueError(
      describe("{}: the Job is empty (moved from): it stands for no work", what)
          .told({used_line(site, what)},
                "use the Job it was moved to; a copy of a Job stands for the same work."));
}

void JobBase::raise_taken(std::source_location site) {
  throw ValueError(describe("get: the job's value was taken before, and it gives it once")
                       .told({{"started", site_text(started), ""},
                              {"taken", site_text(taken_at), "get"},
                              used_line(site, "get")},
                             "keep what the first get() gave."));
}

std::source_location JobBase::where_cancelled() {
  const std::lock_guard lock(mutex);
  return cancelled_at;
}

void JobBase::cancel(std::source_location site) {
  {
    const std::lock_guard lock(mutex);
    if (cancelled_at.line() == 0) cancelled_at = site;
  }
  control.cancelled_.store(true, std::memory_order_relaxed);
  if (on_cancel) on_cancel();
}

double JobBase::progress() {
  return ready() ? 1.0 : control.progress_.load(std::memory_order_relaxed);
}

void JobBase::when_done(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex);
    if (finished.load(std::memory_order_relaxed) == 0) {
      calls.push_back(std::move(call));
      return;
    }
  }
  call();
}

void JobBase::end(std::exception_ptr failure) {
  std::vector<std::function<void()>> waiting;
  {
    const std::lock_guard lock(mutex);
    error = std::move(failure);
    waiting.swap(calls);
    finished.store(1, std::memory_order_release);
  }
  finished.notify_all();
  for (const std::function<void()>& call : waiting) call();
}

}  // namespace tenure::detail
