// A thread per pass that stays up to `count` elements ahead. It waits for room before it makes the
// next, so that at most `count` are made and not taken. An error comes out where its element would
// have. The pass joins its thread: nothing of a dropped iterator goes on behind the user's back.
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "memory/session.h"
#include "nn/dataset_stream.h"
#include "tenure/job.h"

namespace tenure::nn::dataset {
namespace {

class Ahead final : public Stream<Batch> {
 public:
  Ahead(StreamPtr<Batch> from, std::size_t count)
      : from_(std::move(from)), count_(count), site_(detail::context().call.site) {
    thread_ = std::thread([this] { make(); });
  }
  ~Ahead() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  std::optional<Batch> next() override {
    const detail::WaitingHere waiting;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !made_.empty() || ended_; });
    if (!made_.empty()) {
      std::optional<Batch> element(std::move(made_.front()));
      made_.pop_front();
      changed_.notify_all();
      return element;
    }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return std::nullopt;
  }

 private:
  void make() {
    detail::context().session = session_.get();
    const detail::CallScope call("prefetch", site_);
    std::exception_ptr error;
    try {
      while (has_room()) {
        std::optional<Batch> element = from_->next();
        if (!element) break;
        const std::lock_guard lock(mutex_);
        made_.push_back(std::move(*element));
        changed_.notify_all();
      }
    } catch (...) {
      error = std::current_exception();
    }
    from_ = nullptr;
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    ended_ = true;
    changed_.notify_all();
  }
  bool has_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return made_.size() < count_ || stopped_; });
    return !stopped_;
  }

  const detail::SessionStay session_{detail::context().session};  // of who asked for the pass
  StreamPtr<Batch> from_;                                         // the thread's
  const std::size_t count_;
  const std::source_location site_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> made_;
  std::exception_ptr error_;
  bool ended_ = false;
  bool stopped_ = false;
  std::thread thread_;
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
