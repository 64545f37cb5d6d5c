#include "tenure/task.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <iterator>
#include <mutex>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/session.h"
#include "memory/text.h"
#include "runtime/lost_jobs.h"
#include "runtime/own_loops.h"

namespace tenure {
namespace detail {
namespace {

std::exception_ptr cancelled_error(JobBase& job, bool loop_ended = false) {
  std::vector<Line> lines;
  {
    const std::lock_guard lock(job.mutex);
    if (job.started.line() != 0) lines.push_back({"started", site_text(job.started), ""});
    if (job.cancelled_at.line() != 0)
      lines.push_back({"cancelled", site_text(job.cancelled_at), ""});
  }
  if (loop_ended) {
    return std::make_exception_ptr(CancelledError(
        describe("task: the TaskLoop it was added to was destroyed before it had ended")
            .told(lines, "run() the loop to its end, or take the results before it goes.")));
  }
  return std::make_exception_ptr(CancelledError(
      describe("task: it was cancelled")
          .told(lines,
                "what it made was freed; catch CancelledError where its job is waited for.")));
}

class BackgroundExecutor final : public TaskExecutor {
  void post(std::shared_ptr<TaskRun> run) override {
    std::shared_ptr<JobBase> job = run->job();
    run_in_background([run = std::move(run)] { run->go_on(); }, std::move(job));
  }
};

}  // namespace

// The context a task carries. Between its turns nobody points at it.
struct TaskRun::Home {
  Home(TaskHome kind, Worker worker) : stay(detail::context().session, worker) {
    const Context& outer = detail::context();
    context.session = outer.session;
    context.random = outer.random;
    if (kind == TaskHome::callers) {
      context.scope = outer.scope;
      context.tapes = outer.tapes;
      context.trace = outer.trace;
      context.trace_id = outer.trace_id;
      context.function = outer.function;
      context.free = outer.free;
      context.watch = outer.watch;
    }
  }

  // The task has ended. A tape that got away from it records no more.
  void leave() noexcept {
    leave_tapes(context);
    stay.leave();
  }

  Context context;
  SessionStay stay;
};

namespace {

// Makes a task's context the thread's.
struct Installed : Meanwhile<Context*> {
  explicit Installed(Context& context) : Meanwhile(installed(), &context) {
    context.thread = outer()->thread;
  }

 private:
  static Context*& installed() {
    detail::context();  // is there
    return t_context;
  }
};

}  // namespace

std::shared_ptr<TaskExecutor> background_executor() {
  static const auto* executor =
      new std::shared_ptr<TaskExecutor>(std::make_shared<BackgroundExecutor>());
  return *executor;
}

void raise_no_task(const char* what, bool was_awaited) {
  raise<ValueError>("{}: the Task {}", what,
                    was_awaited
                        ? "was awaited or started before, and can be once: call the coroutine again"
                        : "is empty (moved from, by an await or a start before)");
}

TaskRun::TaskRun(std::shared_ptr<JobBase> job, std::shared_ptr<TaskExecutor> executor,
                 TaskHome home)
    : job_(std::move(job)),
      executor_(std::move(executor)),
      home_(std::make_unique<Home>(
          home, executor_ == background_executor() ? in_background() : this_thread())) {}

TaskRun::~TaskRun() { home_->leave(); }

void TaskRun::throw_if_cancelled() const {
  if (is_cancelled()) std::rethrow_exception(cancelled_error(*job_));
}

bool TaskRun::go_on() {
  std::shared_ptr<TaskRun> self = shared_from_this();
  if (!begun_ && is_cancelled()) {
    end(cancelled_error(*job_));
    return true;
  }
  begun_ = true;
  {
    const Installed installed(home_->context);
    const RunningHere running(RunningHere::What::task, job_.get());
    while (next_) std::exchange(next_, nullptr).resume();
  }
  if (ended_) {
    end(nullptr);
    return true;
  }
  park(std::move(self));
  return false;
}

// From the moment it is known to wait it may be running elsewhere: nothing of it is touched then.
void TaskRun::park(std::shared_ptr<TaskRun> self) {
  next_ = parked_;
  std::shared_ptr<JobBase> job = std::move(awaited_);
  {
    const std::lock_guard lock(mutex_);
    // One that cancels later finds it waiting; one that did so before has set the flag.
    if (is_cancelled()) job = nullptr;
    waiting_ = job != nullptr;
  }
  if (job == nullptr) {
    const std::shared_ptr<TaskExecutor> executor = executor_;
    executor->post(std::move(self));
  } else {
    job->when_done([self = std::move(self)] { self->wake(); });
  }
}

void TaskRun::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_) return;
    waiting_ = false;
  }
  executor_->post(shared_from_this());
}

void TaskRun::abandon() {
  {
    const std::lock_guard lock(mutex_);
    waiting_ = false;
  }
  end(cancelled_error(*job_, !is_cancelled()));
}

// The job is done once nothing of the task is left but its result.
void TaskRun::end(std::exception_ptr unfinished) {
  {
    const Installed installed(home_->context);
    failed_ = !collect(std::move(unfinished));
  }
  home_->leave();
  publish();
}

}  // namespace detail

using detail::RunningHere;
using detail::TaskRun;

class TaskLoop::Queue final : public detail::TaskExecutor {
 public:
  void post(std::shared_ptr<TaskRun> run) override {
    const std::lock_guard lock(mutex_);
    if (closed_ && std::ranges::find(unfinished_, run) == unfinished_.end()) return;
    ready_.push_back(std::move(run));
    tell();
  }
  void add(std::shared_ptr<TaskRun> run) {
    const std::lock_guard lock(mutex_);
    unfinished_.push_back(run);
    ready_.push_back(std::move(run));
    tell();
  }
  std::shared_ptr<TaskRun> next() {
    const std::lock_guard lock(mutex_);
    return pop();
  }
  // Waits until one is ready; null when all have ended.
  std::shared_ptr<TaskRun> wait() {
    if (std::shared_ptr<TaskRun> run = next()) return run;
    detail::end_lost_jobs();
    const detail::WaitingHere waiting;
    for (;;) {
      const std::uint32_t changes = changes_.load(std::memory_order_acquire);
      {
        const std::lock_guard lock(mutex_);
        if (!ready_.empty() || unfinished_.empty()) return pop();
      }
      changes_.wait(changes, std::memory_order_acquire);
    }
  }
  // A turn of a task's; true if it has ended.
  bool go_on(const std::shared_ptr<TaskRun>& run) {
    {
      const std::lock_guard lock(mutex_);
      running_.push_back(run);
    }
    const bool ended = run->go_on();
    const std::lock_guard lock(mutex_);
    std::erase(running_, run);
    if (ended) {
      std::erase(unfinished_, run);
      tell();
    }
    return ended;
  }
  std::vector<std::shared_ptr<TaskRun>> unfinished() const {
    const std::lock_guard lock(mutex_);
    return unfinished_;
  }
  // The loop is gone: ends the tasks that have not ended, each of which holds the queue, but for
  // those in the middle of their turn.
  void close() {
    std::vector<std::shared_ptr<TaskRun>> given_up;
    {
      const std::lock_guard lock(mutex_);
      const auto runs = [this](const std::shared_ptr<TaskRun>& run) {
        return std::ranges::find(running_, run) != running_.end();
      };
      closed_ = true;
      std::erase_if(ready_, std::not_fn(runs));
      std::ranges::copy_if(unfinished_, std::back_inserter(given_up), std::not_fn(runs));
      std::erase_if(unfinished_, std::not_fn(runs));
      tell();
    }
    for (const std::shared_ptr<TaskRun>& run : given_up) run->abandon();
  }
  bool is_closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  void tell() noexcept {
    changes_.fetch_add(1, std::memory_order_release);
    changes_.notify_all();
  }
  std::shared_ptr<TaskRun> pop() {
    if (ready_.empty()) return nullptr;
    std::shared_ptr<TaskRun> run = std::move(ready_.front());
    ready_.pop_front();
    return run;
  }

  mutable detail::Mutex mutex_;
  std::atomic<std::uint32_t> changes_{
      0};  // waited for; a condition variable would not outlive a fork
  std::deque<std::shared_ptr<TaskRun>> ready_;
  std::vector<std::shared_ptr<TaskRun>> unfinished_;
  std::vector<std::shared_ptr<TaskRun>> running_;  // one within the other
  bool closed_ = false;
};

TaskLoop::TaskLoop() : queue_(std::make_shared<Queue>()) {}

TaskLoop::~TaskLoop() { queue_->close(); }

void TaskLoop::add(std::shared_ptr<TaskRun> run) {
  run->job()->loop = queue_.get();
  queue_->add(std::move(run));
}

std::shared_ptr<detail::TaskExecutor> TaskLoop::executor() const { return queue_; }

std::size_t TaskLoop::unfinished() const { return queue_->unfinished().size(); }

// A task's turn may destroy the loop: what runs it holds on to the queue alone.

bool TaskLoop::step() {
  const std::shared_ptr<Queue> queue = queue_;
  const std::shared_ptr<TaskRun> run = queue->next();
  if (run == nullptr) return false;
  const RunningHere running(RunningHere::What::step, queue.get());
  queue->go_on(run);
  if (queue->is_closed()) queue->close();  // nobody else will go on with it
  return true;
}

void TaskLoop::run(std::source_location site) {
  const std::shared_ptr<Queue> queue = queue_;
  if (detail::runs_here(queue.get())) {
    throw ValueError(
        describe("run: one of the TaskLoop's own tasks calls it, and would wait for itself to end")
            .told({detail::used_line(site, "run")},
                  "co_await the jobs of the other tasks, or next_turn(): the loop goes on with "
                  "them meanwhile."));
  }
  const RunningHere running(RunningHere::What::run, queue.get());
  while (const std::shared_ptr<TaskRun> run = queue->wait()) queue->go_on(run);
}

void TaskLoop::run_or_cancel() {
  const RunningHere running(RunningHere::What::run, queue_.get());
  std::shared_ptr<TaskRun> first;
  while (const std::shared_ptr<TaskRun> run = queue_->wait()) {
    if (!queue_->go_on(run) || first != nullptr || !run->failed()) continue;
    first = run;
    for (const std::shared_ptr<TaskRun>& other : queue_->unfinished()) other->job()->cancel({});
  }
  if (first != nullptr) std::rethrow_exception(first->job()->error);
}

}  // namespace tenure
