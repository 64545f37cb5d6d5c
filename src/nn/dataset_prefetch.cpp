// A thread per pass that stays up to `count` elements ahead. It waits for room before it makes the
// next, so that at most `count` are made and not taken. An error comes out where its element would
// have. The pass joins its thread: nothing of a dropped iterator goes on behind the user's back.
#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "memory/fork.h"
#include "memory/session.h"
#include "memory/text.h"
#include "nn/dataset_stream.h"
#include "tenure/error.h"
#include "tenure/job.h"

namespace tenure::nn::dataset {
namespace {

class Ahead final : public Stream<Batch> {
 public:
  Ahead(StreamPtr<Batch> from, std::size_t count)
      : from_(std::move(from)), count_(count), site_(tenure::detail::context().call.site) {
    thread_ = std::make_unique<std::thread>([this] { make(); });
  }
  ~Ahead() override {
    if (is_left_behind()) {  // what the thread was at work on is never whole again
      [[maybe_unused]] const auto* thread = thread_.release();
      [[maybe_unused]] const auto* from = from_.release();
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      tell();
    }
    thread_->join();
  }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  std::optional<Batch> next() override {
    const tenure::detail::WaitingHere waiting;
    for (;;) {
      const std::uint32_t changes = changes_.load(std::memory_order_acquire);
      {
        const std::lock_guard lock(mutex_);
        if (!ready_.empty()) {
          std::optional<Batch> element(std::move(ready_.front()));
          ready_.pop_front();
          tell();
          return element;
        }
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
        if (ended_) return std::nullopt;
      }
      if (is_left_behind()) raise_left_behind();
      changes_.wait(changes, std::memory_order_acquire);
    }
  }

 private:
  void make() {
    tenure::detail::context().session = session_.get();
    const tenure::detail::CallScope call("prefetch", site_);
    std::exception_ptr error;
    try {
      while (has_room()) {
        std::optional<Batch> element = from_->next();
        if (!element) break;
        const std::lock_guard lock(mutex_);
        ready_.push_back(std::move(*element));
        tell();
      }
    } catch (...) {
      error = std::current_exception();
    }
    from_ = nullptr;
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    ended_ = true;
    tell();
  }
  bool has_room() {
    for (;;) {
      const std::uint32_t changes = changes_.load(std::memory_order_acquire);
      {
        const std::lock_guard lock(mutex_);
        if (stopped_) return false;
        if (ready_.size() < count_) return true;
      }
      changes_.wait(changes, std::memory_order_acquire);
    }
  }
  void tell() noexcept {
    changes_.fetch_add(1, std::memory_order_release);
    changes_.notify_all();
  }

  // The pass was begun before a fork: this process does not have its thread.
  bool is_left_behind() const { return forks_ != tenure::detail::forks(); }
  [[noreturn]] void raise_left_behind() const {
    throw ValueError(
        describe("prefetch: the pass was begun before a fork, and the thread that "
                 "makes its batches is in "
                 "the parent process")
            .told({{"begun", tenure::detail::site_text(site_), "prefetch"},
                   tenure::detail::used_line(tenure::detail::context().call.site, "next")},
                  "begin a pass of its own in the child."));
  }

  const tenure::detail::SessionStay session_{
      tenure::detail::context().session};  // of who asked for the pass
  StreamPtr<Batch> from_;                  // the thread's
  const std::size_t count_;
  const std::source_location site_;
  const std::uint32_t forks_ = tenure::detail::forks();
  tenure::detail::Mutex mutex_;
  std::atomic<std::uint32_t> changes_{0};  // of what follows; waited for
  std::deque<Batch> ready_;
  std::exception_ptr error_;
  bool ended_ = false;
  bool stopped_ = false;
  std::unique_ptr<std::thread> thread_;
};

class Prefetched final : public Recipe<Batch> {
 public:
  Prefetched(RecipePtr<Batch> from, std::int64_t count) : from_(std::move(from)), count_(count) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Ahead>(from_->open(epoch), static_cast<std::size_t>(count_));
  }
  std::optional<std::int64_t> size() const override { return from_->size(); }

 private:
  RecipePtr<Batch> from_;
  std::int64_t count_;
};

}  // namespace

RecipePtr<Batch> prefetch_of(RecipePtr<Batch> from, std::int64_t count) {
  return std::make_shared<Prefetched>(std::move(from), count);
}

}  // namespace tenure::nn::dataset
