// Work in the background. Dropping a Job neither stops the work nor frees what it uses.
//
//   tenure::Job<std::vector<float>> job = y.read_async<float>();
//   std::vector<float> values = job.get();
//
// Inside a Task (tenure/task.h), co_await a Job in place of get().
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tenure/export.h"

namespace tenure {

template <class T>
class Task;

namespace detail {
struct JobAccess;
struct JobBase;
}  // namespace detail

// How running work hears of its caller and tells how far it is.
class JobControl {
 public:
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  void set_progress(double done) { progress_.store(done, std::memory_order_relaxed); }  // 0 to 1

 private:
  friend struct detail::JobBase;
  std::atomic<bool> cancelled_{false};
  std::atomic<double> progress_{0};
};

namespace detail {

template <class T>
inline constexpr bool kIsTask = false;
template <class T>
inline constexpr bool kIsTask<Task<T>> = true;

// On one of a few threads, of which there are more while some of them only wait.
TENURE_API void run_in_background(std::function<void()> work);

// While one lives, this thread waits; if it is a background thread, another does its work.
class TENURE_API WaitingHere {
 public:
  WaitingHere();
  ~WaitingHere();
  WaitingHere(const WaitingHere&) = delete;
  WaitingHere& operator=(const WaitingHere&) = delete;

 private:
  bool background_;
};

struct TENURE_API JobBase {
  void wait();
  bool ready();
  void cancel();
  double progress();
  void when_done(std::function<void()> call);  // at once if it is
  void end(std::exception_ptr failure);

  JobControl control;
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  std::exception_ptr error;
  std::vector<std::function<void()>> calls;  // for when it is done
  std::function<void()> on_cancel;           // set before anybody else knows the job
};

template <class T>
using Stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class T>
struct JobState : JobBase {
  void finish(std::optional<Stored<T>> result, std::exception_ptr failure) {
    value = std::move(result);
    end(std::move(failure));
  }
  std::optional<Stored<T>> value;
};

}  // namespace detail

// Copyable: copies stand for the same work.
template <class T>
class Job {
 public:
  void wait() const { state_->wait(); }
  // Waits; the value (once: it is moved out), or the error the work ended with.
  T get() {
    wait();
    const std::lock_guard lock(state_->mutex);
    if (state_->error) std::rethrow_exception(state_->error);
    if (!state_->value) throw std::logic_error("Job::get: the value was taken before");
    auto value = std::move(*state_->value);
    state_->value.reset();
    if constexpr (!std::is_void_v<T>) return value;
  }
  bool ready() const { return state_->ready(); }
  // Tells the work; it ends when it looks.
  void cancel() { state_->cancel(); }
  double progress() const { return state_->progress(); }

 private:
  friend struct detail::JobAccess;
  template <class U, class F>
  friend Job<U> start_job(F work);
  Job() = default;
  std::shared_ptr<detail::JobState<T>> state_ = std::make_shared<detail::JobState<T>>();
};

namespace detail {
struct JobAccess {
  template <class T>
  static Job<T> make() {
    return {};
  }
  template <class T>
  static const std::shared_ptr<JobState<T>>& state(const Job<T>& job) {
    return job.state_;
  }
};
}  // namespace detail

// Runs work(JobControl&) in the background. Work that has not begun when it is cancelled still
// runs, and can ask its JobControl. What the work holds is let go of before the Job is ready.
template <class T, class F>
Job<T> start_job(F work) {
  Job<T> job;
  detail::run_in_background(
      [state = job.state_, held = std::optional<F>(std::move(work))]() mutable {
        std::optional<detail::Stored<T>> value;
        std::exception_ptr error;
        try {
          if constexpr (std::is_void_v<T>) {
            (*held)(state->control);
            value.emplace();
          } else {
            value.emplace((*held)(state->control));
          }
        } catch (...) {
          error = std::current_exception();
        }
        held.reset();
        state->finish(std::move(value), std::move(error));
      });
  return job;
}

}  // namespace tenure
