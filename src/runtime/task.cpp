#include "tenure/task.h"

#include <algorithm>
#include <atomic>
#include <deque>
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

thread_local RunningLoop* t_loops = nullptr;

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

RunningLoop::RunningLoop(const void* loop) : loop_(loop), innermost_(t_loops, this) {}

bool runs_here(const void* loop) {
  if (loop == nullptr) return false;
  for (const RunningLoop* running = t_loops; running != nullptr;
       running = running->innermost_.outer()) {
    if (running->loop_ == loop) return true;
  }
  return false;
}

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

using detail::TaskRun;

class TaskLoop::Queue final : public detail::TaskExecutor {
 public:
  void post(std::shared_ptr<TaskRun> run) override {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
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
  void ended(const std::shared_ptr<TaskRun>& run) {
    const std::lock_guard lock(mutex_);
    std::erase(unfinished_, run);
    tell();
  }
  std::vector<std::shared_ptr<TaskRun>> unfinished() const {
    const std::lock_guard lock(mutex_);
    return unfinished_;
  }
  // Gives up the tasks that have not ended: each of them holds the queue.
  std::vector<std::shared_ptr<TaskRun>> close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    ready_.clear();
    return std::exchange(unfinished_, {});
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
  bool closed_ = false;
};

TaskLoop::TaskLoop() : queue_(std::make_shared<Queue>()) {}

TaskLoop::~TaskLoop() {
  for (const std::shared_ptr<TaskRun>& run : queue_->close()) run->abandon();
}

void TaskLoop::add(std::shared_ptr<TaskRun> run) {
  run->job()->loop = queue_.get();
  queue_->add(std::move(run));
}

std::shared_ptr<detail::TaskExecutor> TaskLoop::executor() const { return queue_; }

std::size_t TaskLoop::unfinished() const { return queue_->unfinished().size(); }

bool TaskLoop::step() {
  const std::shared_ptr<TaskRun> run = queue_->next();
  if (run == nullptr) return false;
  const detail::RunningLoop running(queue_.get());
  if (run->go_on()) queue_->ended(run);
  return true;
}

void TaskLoop::run() {
  const detail::RunningLoop running(queue_.get());
  while (const std::shared_ptr<TaskRun> run = queue_->wait()) {
    if (run->go_on()) queue_->ended(run);
  }
}

void TaskLoop::run_or_cancel() {
  const detail::RunningLoop running(queue_.get());
  std::shared_ptr<TaskRun> first;
  while (const std::shared_ptr<TaskRun> run = queue_->wait()) {
    if (!run->go_on()) continue;
    queue_->ended(run);
    if (first != nullptr || !run->failed()) continue;
    first = run;
    for (const std::shared_ptr<TaskRun>& other : queue_->unfinished()) other->job()->cancel({});
  }
  if (first != nullptr) std::rethrow_exception(first->job()->error);
}

}  // namespace tenure
