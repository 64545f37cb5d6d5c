// Work in the background. Dropping a Job neither stops the work nor frees what it uses.
//
//   tenure::Job<std::vector<float>> job = y.read_async<float>();
//   std::vector<float> values = job.get();
//
// Inside a Task (tenure/task.h), co_await a Job in place of get().
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/callable.h"
#include "tenure/export.h"
#include "tenure/tensor.h"

namespace tenure {

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

// A mutex that no thread holds for ever which a fork has left behind: the child takes it over.
class TENURE_API Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock() noexcept;
  bool try_lock() noexcept;
  void unlock() noexcept;

 private:
  void wait_and_lock() noexcept;
  std::atomic<std::uint32_t> word_{0};  // 0: free; else when it was taken, and whether some wait
};

// On one of a few threads, of which there are more while some of them only wait. `job` is what the
// work is part of: the child of a fork, which has none of them, ends it.
TENURE_API void run_in_background(std::function<void()> work, std::shared_ptr<JobBase> job);

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

[[noreturn]] TENURE_API void raise_no_job(const char* what, std::source_location site);

struct TENURE_API JobBase {
  void wait(std::source_location site);
  bool ready();
  void cancel(std::source_location site);
  double progress();
  void when_done(std::function<void()> call);  // at once if it is
  void end(std::exception_ptr failure);
  std::source_location where_cancelled();
  [[noreturn]] void raise_taken(std::source_location site);

  JobControl control;
  Mutex mutex;
  std::atomic<int> finished{0};  // set under the mutex, and waited for
  std::exception_ptr error;
  std::vector<std::function<void()>> calls;  // for when it is done
  std::function<void()> on_cancel;           // set before anybody else knows the job
  std::source_location started;              // and these
  const void* loop = nullptr;                // the TaskLoop that runs it
  std::source_location cancelled_at;         // guarded by the mutex, as is
  std::source_location taken_at;             // where the value went
};

struct Nothing {};
template <class T>
using Stored = std::conditional_t<std::is_void_v<T>, Nothing, T>;

template <class T>
struct JobState : JobBase {
  void finish(std::optional<Stored<T>> result, std::exception_ptr failure) {
    value = std::move(result);
    end(std::move(failure));
  }
  std::optional<Stored<T>> value;
};

}  // namespace detail

// Copyable: copies stand for the same work. Any use of one that was moved from is a ValueError.
template <class T>
class Job {
 public:
  void wait(std::source_location site = std::source_location::current()) const {
    state("wait", site).wait(site);
  }
  // Waits; the value (once: it is moved out), or the error the work ended with.
  T get(std::source_location site = std::source_location::current()) {
    detail::JobState<T>& job = state("get", site);
    job.wait(site);
    const std::lock_guard lock(job.mutex);
    if (job.error) std::rethrow_exception(job.error);
    if (!job.value) job.raise_taken(site);
    auto value = std::move(*job.value);
    job.value.reset();
    job.taken_at = site;
    if constexpr (!std::is_void_v<T>) return value;
  }
  bool ready(std::source_location site = std::source_location::current()) const {
    return state("ready", site).ready();
  }
  // Tells the work; it ends when it looks.
  void cancel(std::source_location site = std::source_location::current()) {
    state("cancel", site).cancel(site);
  }
  double progress(std::source_location site = std::source_location::current()) const {
    return state("progress", site).progress();
  }

 private:
  friend struct detail::JobAccess;
  Job() = default;
  detail::JobState<T>& state(const char* what, std::source_location site) const {
    if (state_ == nullptr) detail::raise_no_job(what, site);
    return *state_;
  }
  std::shared_ptr<detail::JobState<T>> state_ = std::make_shared<detail::JobState<T>>();
};

namespace detail {
struct JobAccess {
  template <class T>
  static Job<T> make(std::source_location started) {
    Job<T> job;
    job.state_->started = started;
    return job;
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
Job<T> start_job(F work, std::source_location site = std::source_location::current()) {
  detail::check_function("start_job", work, site);
  Job<T> job = detail::JobAccess::make<T>(site);
  detail::run_in_background(
      [state = detail::JobAccess::state(job), held = std::optional<F>(std::move(work))]() mutable {
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
      },
      detail::JobAccess::state(job));
  return job;
}

template <class T>
Job<std::vector<T>> Tensor::read_async(std::source_location site) const {
  auto held = std::make_shared<TensorSpan<T>>(span<T>("read_async", site));
  return start_job<std::vector<T>>(
      [held = std::move(held), site](JobControl&) {
        std::vector<T> values = detail::host_vector<T>(held->size(), "read_async", site);
        values.assign(held->begin(), held->end());
        return values;
      },
      site);
}

}  // namespace tenure
