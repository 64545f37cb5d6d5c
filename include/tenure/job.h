// Work in the background. Dropping a Job neither stops the work nor frees what it uses.
//
//   tenure::Job<std::vector<float>> job = y.read_async<float>();
//   std::vector<float> values = job.get();
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

#include "tenure/export.h"

namespace tenure {

// How running work hears of its caller and tells how far it is.
class JobControl {
 public:
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  void set_progress(double done) { progress_.store(done, std::memory_order_relaxed); }  // 0 to 1

 private:
  template <class T>
  friend class Job;
  std::atomic<bool> cancelled_{false};
  std::atomic<double> progress_{0};
};

namespace detail {
TENURE_API void run_in_background(std::function<void()> work);

template <class T>
struct JobState {
  JobControl control;
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  std::optional<T> value;
  std::exception_ptr error;
};
}  // namespace detail

// Copyable: copies stand for the same work.
template <class T>
class Job {
 public:
  void wait() const {
    std::unique_lock lock(state_->mutex);
    state_->done.wait(lock, [this] { return state_->finished; });
  }
  // Waits; the value (once: it is moved out), or the error the work ended with.
  T get() {
    wait();
    const std::lock_guard lock(state_->mutex);
    if (state_->error) std::rethrow_exception(state_->error);
    if (!state_->value) throw std::logic_error("Job::get: the value was taken before");
    T value = std::move(*state_->value);
    state_->value.reset();
    return value;
  }
  bool ready() const {
    const std::lock_guard lock(state_->mutex);
    return state_->finished;
  }
  void cancel() { state_->control.cancelled_.store(true, std::memory_order_relaxed); }
  double progress() const {
    return ready() ? 1.0 : state_->control.progress_.load(std::memory_order_relaxed);
  }

 private:
  template <class U, class F>
  friend Job<U> start_job(F work);
  std::shared_ptr<detail::JobState<T>> state_ = std::make_shared<detail::JobState<T>>();
};

// Runs work(JobControl&) in the background. Work that has not begun when it is cancelled still
// runs, and can ask its JobControl.
template <class T, class F>
Job<T> start_job(F work) {
  Job<T> job;
  detail::run_in_background([state = job.state_, work = std::move(work)]() mutable {
    std::optional<T> value;
    std::exception_ptr error;
    try {
      value.emplace(work(state->control));
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(state->mutex);
    state->value = std::move(value);
    state->error = std::move(error);
    state->finished = true;
    state->done.notify_all();
  });
  return job;
}

}  // namespace tenure
