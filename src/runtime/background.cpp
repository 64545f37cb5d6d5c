// The threads behind Job.
#include <deque>
#include <system_error>
#include <thread>

#include "memory/text.h"
#include "runtime/own_loops.h"
#include "tenure/error.h"
#include "tenure/job.h"

namespace tenure::detail {
namespace {

thread_local bool t_in_background = false;

// Threads are started when there is work and nobody idle. They are never joined: a process may end
// while work is queued, as with any detached work.
class Crew {
 public:
  static Crew& instance() {
    static Crew* crew = new Crew;
    return *crew;
  }

  void run(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
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

  void find_a_thread() {
    if (idle_ < queue_.size() && threads_ - waiting_ < kMost) {
      std::thread([this] { loop(); }).detach();
      ++threads_;
    } else {
      wake_.notify_one();
    }
  }

  void loop() {
    t_in_background = true;
    std::unique_lock lock(mutex_);
    for (;;) {
      if (queue_.empty()) {
        if (idle_ == kIdle) break;
        ++idle_;
        wake_.wait(lock, [this] { return !queue_.empty(); });
        --idle_;
      }
      std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
    }
    --threads_;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  std::size_t threads_ = 0;
  std::size_t idle_ = 0;
  std::size_t waiting_ = 0;  // of the threads
};

}  // namespace

void run_in_background(std::function<void()> work) { Crew::instance().run(std::move(work)); }

WaitingHere::WaitingHere() : background_(t_in_background) {
  if (background_) Crew::instance().begin_wait();
}

WaitingHere::~WaitingHere() {
  if (background_) Crew::instance().end_wait();
}

void JobBase::wait(std::source_location site) {
  if (ready()) return;
  if (runs_here(loop)) {
    raise_told<ValueError>(
        "wait: the job's task is one of the TaskLoop that runs here, and would never be reached",
        {{"started", site_text(started), "add"}, used_line(site, "wait")},
        "co_await the job: then the loop goes on with it meanwhile.");
  }
  const WaitingHere waiting;
  std::unique_lock lock(mutex);
  done.wait(lock, [this] { return finished; });
}

bool JobBase::ready() {
  const std::lock_guard lock(mutex);
  return finished;
}

void JobBase::raise_taken(std::source_location site) {
  raise_told<ValueError>("get: the job's value was taken before, and it gives it once",
                         {{"started", site_text(started), ""},
                          {"taken", site_text(taken_at), "get"},
                          used_line(site, "get")},
                         "keep what the first get() gave.");
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
    if (!finished) {
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
    finished = true;
    waiting.swap(calls);
    done.notify_all();
  }
  for (const std::function<void()>& call : waiting) call();
}

}  // namespace tenure::detail
