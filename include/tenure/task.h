// Coroutines whose scopes, tapes and session travel with them: what a task makes is its own,
// whichever tasks run between its awaits, and on whichever thread it goes on.
//
//   tenure::Task<float> score(tenure::Tensor x) {
//     tenure::Tensor y = co_await tenure::tidy("score", [&]() -> tenure::Task<tenure::Tensor> {
//       std::vector<float> raw = co_await x.read_async<float>();   // the tidy is open meanwhile
//       co_return tenure::tanh(x) / raw[0];
//     });
//     co_return (co_await y.read_async<float>())[0];
//   }
//   float value = tenure::run(score(x));                    // on this thread
//   tenure::Job<float> job = tenure::start(score(x));       // in the background
//
// A Task is lazy: it begins when it is awaited, run or started, and one dropped before that does
// nothing. A task that is awaited is part of the one that awaits it, as a function is part of its
// caller: same scopes, same tapes, same session. Tasks await Tasks, Jobs and next_turn(); anything
// else does not compile, since it would go on without the task's scopes.
//
// A lambda that is a coroutine keeps its captures in the lambda object. Give the lambda itself to
// tidy, start, run or Session::run, which hold it for as long as the task lasts.
//
// GCC 12 destroys a temporary twice if it is a lambda or an aggregate whose members have
// destructors and stands inside the operand of co_await. Capture by reference there, or give the
// Task or Job a name first: Job<H> job = f({.text = "..."}); co_await std::move(job);
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/export.h"
#include "tenure/job.h"
#include "tenure/scope.h"
#include "tenure/session.h"

namespace tenure {

namespace detail {

class TaskRun;

// Where tasks go on.
class TENURE_API TaskExecutor {
 public:
  virtual ~TaskExecutor() = default;
  virtual void post(std::shared_ptr<TaskRun> run) = 0;
};
TENURE_API std::shared_ptr<TaskExecutor> background_executor();

// What a task finds as its own when it begins.
enum class TaskHome : std::uint8_t {
  fresh,    // the session, and nothing else
  callers,  // the caller's scope and tapes too: the caller waits for the task
};

// A task that was started, with all it awaits. Its frames run one at a time, in a loop, so that a
// chain of awaits never grows the stack, on any compiler.
class TENURE_API TaskRun : public std::enable_shared_from_this<TaskRun> {
 public:
  virtual ~TaskRun();
  TaskRun(const TaskRun&) = delete;
  TaskRun& operator=(const TaskRun&) = delete;

  // Runs until it ends (true) or has to wait; then its executor is told when it can go on.
  bool go_on();
  void abandon();  // ends it where it is; nobody may be running it
  // Its job ended, or it was cancelled: from any thread. Does nothing unless it waits; once it was
  // cancelled it never waits again, so that a job that ends later wakes nobody.
  void wake();
  bool failed() const { return failed_; }
  const std::shared_ptr<JobBase>& job() const { return job_; }

  // For the awaiters.
  void call(std::coroutine_handle<> frame) { next_ = frame; }
  void returned_to(std::coroutine_handle<> caller) {
    next_ = caller;
    ended_ = !caller;
  }
  void wait_for(std::coroutine_handle<> frame, std::shared_ptr<JobBase> job) {
    parked_ = frame;
    awaited_ = std::move(job);
  }
  bool is_cancelled() const { return job_->control.cancelled(); }
  void throw_if_cancelled() const;

 protected:
  TaskRun(std::shared_ptr<JobBase> job, std::shared_ptr<TaskExecutor> executor, TaskHome home);
  // Moves the result out and destroys the frame; with an error given, that is the result.
  virtual bool collect(std::exception_ptr unfinished) = 0;
  virtual void publish() = 0;

 private:
  struct Home;
  void park(std::shared_ptr<TaskRun> self);
  void end(std::exception_ptr unfinished);

  const std::shared_ptr<JobBase> job_;
  const std::shared_ptr<TaskExecutor> executor_;
  const std::unique_ptr<Home> home_;
  // Only whoever runs it touches these.
  std::coroutine_handle<> next_;
  std::coroutine_handle<> parked_;
  std::shared_ptr<JobBase> awaited_;
  bool begun_ = false;
  bool ended_ = false;
  bool failed_ = false;

  Mutex mutex_;
  bool waiting_ = false;  // for a job: either its end or a cancel wakes it, once
};

// A task waits for a job for as long as one lives. Refuses a job that cannot end before the task.
class TENURE_API WaitsFor {
 public:
  WaitsFor(const TaskRun& run, const JobBase& job, std::source_location site);
  ~WaitsFor();
  WaitsFor(const WaitsFor&) = delete;
  WaitsFor& operator=(const WaitsFor&) = delete;

 private:
  const JobBase& waiting_;
};

// What awaiting a Task, a Job or a turn becomes inside a Task.
template <class T>
class TaskAwaiter {
 public:
  TaskAwaiter(TaskRun& run, Task<T>& task) : run_(run), task_(task) {}
  bool await_ready() const {
    task_.check("await");
    run_.throw_if_cancelled();
    return false;
  }
  void await_suspend(std::coroutine_handle<> caller) {
    task_.frame_.promise().run = &run_;
    task_.frame_.promise().caller = caller;
    run_.call(task_.frame_);
  }
  T await_resume() { return task_.frame_.promise().take(); }

 private:
  TaskRun& run_;
  Task<T>& task_;
};

template <class T>
class JobAwaiter {
 public:
  JobAwaiter(TaskRun& run, Job<T> job, bool only_ours, std::source_location site)
      : run_(run), job_(std::move(job)), only_ours_(only_ours), site_(site) {}
  bool await_ready() {
    stop_if_cancelled();
    if (job_.ready(site_)) return true;
    waits_.emplace(run_, *JobAccess::state(job_), site_);
    return false;
  }
  void await_suspend(std::coroutine_handle<> frame) {
    run_.wait_for(frame, JobAccess::state(job_));
  }
  T await_resume() {
    waits_.reset();
    stop_if_cancelled();
    return job_.get(site_);
  }

 private:
  void stop_if_cancelled() {
    if (only_ours_ && run_.is_cancelled()) job_.cancel(run_.job()->where_cancelled());
    run_.throw_if_cancelled();
  }
  TaskRun& run_;
  Job<T> job_;
  bool only_ours_;
  std::source_location site_;
  std::optional<WaitsFor> waits_;
};

struct NextTurn {};
class TurnAwaiter {
 public:
  explicit TurnAwaiter(TaskRun& run) : run_(run) {}
  bool await_ready() const {
    run_.throw_if_cancelled();
    return false;
  }
  void await_suspend(std::coroutine_handle<> frame) { run_.wait_for(frame, nullptr); }
  void await_resume() const { run_.throw_if_cancelled(); }

 private:
  TaskRun& run_;
};

struct ThisTask {};
class ControlAwaiter {
 public:
  explicit ControlAwaiter(TaskRun& run) : run_(run) {}
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  JobControl& await_resume() const noexcept { return run_.job()->control; }

 private:
  TaskRun& run_;
};

class TaskPromiseBase {
 public:
  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> frame) const noexcept {
      frame.promise().run->returned_to(frame.promise().caller);
    }
    void await_resume() const noexcept {}
  };
  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }

  template <class U>
  TaskAwaiter<U> await_transform(Task<U>&& task) {
    return {*run, task};
  }
  template <class U>
  JobAwaiter<U> await_transform(Job<U>& job,
                                std::source_location site = std::source_location::current()) {
    return {*run, job, false, site};
  }
  template <class U>
  JobAwaiter<U> await_transform(Job<U>&& job,
                                std::source_location site = std::source_location::current()) {
    return {*run, std::move(job), true, site};
  }
  TurnAwaiter await_transform(NextTurn) { return TurnAwaiter(*run); }
  ControlAwaiter await_transform(ThisTask) { return ControlAwaiter(*run); }

  TaskRun* run = nullptr;          // from the beginning on
  std::coroutine_handle<> caller;  // none: the task that was started
  std::exception_ptr error;
};

template <class T>
class TaskPromise : public TaskPromiseBase {
 public:
  Task<T> get_return_object();
  template <class U = T>
    requires std::constructible_from<T, U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
    return std::move(*value);
  }
  std::optional<T> value;
};

template <>
class TaskPromise<void> : public TaskPromiseBase {
 public:
  Task<void> get_return_object();
  void return_void() const noexcept {}
  void take() {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }
};

[[noreturn]] TENURE_API void raise_no_task(const char* what, bool was_awaited);

template <class T>
class TaskRunOf;

}  // namespace detail

// The one owner of a coroutine that has not ended. Movable; it may be awaited once.
template <class T = void>
class [[nodiscard]] Task {
 public:
  static_assert(!std::is_reference_v<T>, "a Task gives a value");
  using promise_type = detail::TaskPromise<T>;

  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Task() {
    if (frame_) frame_.destroy();
  }

 private:
  friend promise_type;
  friend class detail::TaskAwaiter<T>;
  friend class detail::TaskRunOf<T>;
  explicit Task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  void check(const char* what) const {
    if (!frame_ || frame_.promise().run != nullptr) detail::raise_no_task(what, bool(frame_));
  }
  std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <class T>
Task<T> TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

template <class T>
class TaskRunOf final : public TaskRun {
 public:
  static std::shared_ptr<TaskRunOf> make(Task<T> task, const Job<T>& job,
                                         std::shared_ptr<TaskExecutor> executor, TaskHome home) {
    task.check("start");
    std::shared_ptr<TaskRunOf> run(
        new TaskRunOf(std::move(task), JobAccess::state(job), std::move(executor), home));
    run->state_->on_cancel = [weak = run->weak_from_this()] {
      if (const std::shared_ptr<TaskRun> running = weak.lock()) running->wake();
    };
    return run;
  }

 private:
  TaskRunOf(Task<T> task, std::shared_ptr<JobState<T>> state,
            std::shared_ptr<TaskExecutor> executor, TaskHome home)
      : TaskRun(state, std::move(executor), home),
        state_(std::move(state)),
        task_(std::move(task)) {
    task_->frame_.promise().run = this;
    call(task_->frame_);
  }
  bool collect(std::exception_ptr unfinished) override {
    error_ = std::move(unfinished);
    if (!error_) {
      try {
        if constexpr (std::is_void_v<T>) {
          task_->frame_.promise().take();
          value_.emplace();
        } else {
          value_.emplace(task_->frame_.promise().take());
        }
      } catch (...) {
        error_ = std::current_exception();
      }
    }
    task_.reset();
    return error_ == nullptr;
  }
  void publish() override { state_->finish(std::move(value_), std::move(error_)); }

  std::shared_ptr<JobState<T>> state_;
  std::optional<Task<T>> task_;
  std::optional<Stored<T>> value_;
  std::exception_ptr error_;
};

template <class T>
struct TaskValue;
template <class T>
struct TaskValue<Task<T>> {
  using type = T;
};

template <class F>
using ValueOfTask = typename TaskValue<std::invoke_result_t<F&>>::type;

template <class F>
concept MakesTask = std::invocable<F&> && kIsTask<std::invoke_result_t<F&>>;

// Keeps a lambda and its captures for as long as its task lasts.
template <class F>
std::invoke_result_t<F&> hold(F fn) {
  co_return co_await fn();
}

template <class F>
std::invoke_result_t<F&> tidy_task(std::string name, F fn, std::source_location site) {
  ScopeGuard scope(name, site);
  if constexpr (std::is_void_v<ValueOfTask<F>>) {
    co_await fn();
    scope.close();
  } else {
    auto result = co_await fn();
    pass_outward(scope, result);
    scope.close();
    co_return std::move(result);
  }
}

}  // namespace detail

template <class F>
std::invoke_result_t<F&> Session::run_task(Session& session, F fn, std::source_location site) {
  const Entered entered(session, site);
  co_return co_await fn();
}

// co_await next_turn(): the other tasks that are ready run first. A place to be cancelled at.
inline detail::NextTurn next_turn() { return {}; }
// JobControl& control = co_await this_task(): to set progress, and to ask whether to stop.
inline detail::ThisTask this_task() { return {}; }

template <class T>
T run(Task<T> task, std::source_location site = std::source_location::current());
template <class T>
auto run_all(std::vector<Task<T>> tasks,
             std::source_location site = std::source_location::current());

// Runs tasks on the thread that asks, one at a time, in turns: each goes on until it awaits what is
// not there yet. The order is that of add(), of next_turn() and of the jobs' ends.
//
//   tenure::TaskLoop loop;
//   tenure::Job<float> a = loop.add(score(x)), b = loop.add(score(y));
//   loop.run();
//
// A task of a loop must not wait() for another of the same loop; it may co_await it.
class TENURE_API TaskLoop {
 public:
  TaskLoop();
  // Ends the tasks that have not ended where they are. Their jobs give a CancelledError. A task may
  // destroy the loop it is in: it goes on itself, until run() has brought it to its end or step()
  // returns.
  ~TaskLoop();
  TaskLoop(const TaskLoop&) = delete;
  TaskLoop& operator=(const TaskLoop&) = delete;

  template <class T>
  Job<T> add(Task<T> task, std::source_location site = std::source_location::current()) {
    return add(std::move(task), detail::TaskHome::fresh, site);
  }
  template <detail::MakesTask F>
  auto add(F fn, std::source_location site = std::source_location::current()) {
    return add(detail::hold(detail::checked_function("add", std::move(fn), site)), site);
  }
  bool step();  // lets the next task that is ready go on; false when none is
  // Until all have ended; not from within one of them.
  void run(std::source_location site = std::source_location::current());
  std::size_t unfinished() const;

 private:
  template <class T>
  friend T run(Task<T> task, std::source_location site);
  template <class T>
  friend auto run_all(std::vector<Task<T>> tasks, std::source_location site);
  template <class... Ts>
    requires(sizeof...(Ts) > 0)
  friend std::tuple<Ts...> run_all(Task<Ts>... tasks);

  template <class T>
  Job<T> add(Task<T> task, detail::TaskHome home, std::source_location site) {
    Job<T> job = detail::JobAccess::make<T>(site);
    add(detail::TaskRunOf<T>::make(std::move(task), job, executor(), home));
    return job;
  }
  void add(std::shared_ptr<detail::TaskRun> run);
  void run_or_cancel();  // the first task that fails cancels the others; rethrows its error
  std::shared_ptr<detail::TaskExecutor> executor() const;

  class Queue;
  std::shared_ptr<Queue> queue_;
};

// Runs a task on this thread to its end. As with a call, what it makes belongs to the tidy around
// it, and tapes that record see what it does.
template <class T>
T run(Task<T> task, std::source_location site) {
  TaskLoop loop;
  Job<T> job = loop.add(std::move(task), detail::TaskHome::callers, site);
  loop.run(site);
  return job.get(site);
}
template <detail::MakesTask F>
auto run(F fn, std::source_location site = std::source_location::current()) {
  return run(detail::hold(detail::checked_function("run", std::move(fn), site)), site);
}

// Runs several on this thread, in turns; their results in order. The first that fails cancels the
// others, and its error is thrown once all have ended.
template <class T>
auto run_all(std::vector<Task<T>> tasks, std::source_location site) {
  TaskLoop loop;
  std::vector<Job<T>> jobs;
  jobs.reserve(tasks.size());
  for (Task<T>& task : tasks) {
    jobs.push_back(loop.add(std::move(task), detail::TaskHome::callers, site));
  }
  loop.run_or_cancel();
  if constexpr (!std::is_void_v<T>) {
    std::vector<T> results;
    results.reserve(jobs.size());
    for (Job<T>& job : jobs) results.push_back(job.get(site));
    return results;
  }
}
template <class... Ts>
  requires(sizeof...(Ts) > 0)
std::tuple<Ts...> run_all(Task<Ts>... tasks) {
  TaskLoop loop;
  std::tuple<Job<Ts>...> jobs{loop.add(std::move(tasks), detail::TaskHome::callers, {})...};
  loop.run_or_cancel();
  return std::apply([](Job<Ts>&... job) { return std::tuple<Ts...>{job.get()...}; }, jobs);
}

// Runs a task in the background. It has scopes and tapes of its own; what it makes joins no tidy
// that is open here, and is freed when it ends, but for its result. cancel() makes its next
// co_await, or the one it waits at, throw a CancelledError.
template <class T>
Job<T> start(Task<T> task, std::source_location site = std::source_location::current()) {
  Job<T> job = detail::JobAccess::make<T>(site);
  const std::shared_ptr<detail::TaskExecutor> executor = detail::background_executor();
  executor->post(
      detail::TaskRunOf<T>::make(std::move(task), job, executor, detail::TaskHome::fresh));
  return job;
}
template <detail::MakesTask F>
auto start(F fn, std::source_location site = std::source_location::current()) {
  return start(detail::hold(detail::checked_function("start", std::move(fn), site)), site);
}

}  // namespace tenure
