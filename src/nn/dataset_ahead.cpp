// Elements made before they are asked for, by threads that belong to the pass: one that reads
// (prefetch), or several that each read an element and then work on it while others do the same
// (map). Reading is one thread's at a time. Each element has its place from the moment it is read,
// and there are no more than `count` of them: who wants to read waits for room. An error comes out
// where its element would have. The pass joins its threads: nothing of a dropped iterator goes on
// behind the user's back.
#include <atomic>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "memory/fork.h"
#include "memory/session.h"
#include "memory/text.h"
#include "nn/dataset_stream.h"
#include "tenure/error.h"
#include "tenure/job.h"

namespace tenure::nn::dataset {
namespace {

class AheadPass final : public Stream<Batch> {
 public:
  AheadPass(StreamPtr<Batch> from, const Ahead& ahead)
      : from_(std::move(from)), ahead_(ahead), site_(tenure::detail::context().call.site) {
    if (ahead_.map) seed_ = draw_seed();
    try {
      threads_->reserve(ahead_.threads);
      while (threads_->size() < ahead_.threads) threads_->emplace_back([this] { work(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~AheadPass() override {
    if (!is_left_behind()) {
      stop();
      return;
    }
    // What the threads were at work on is never whole again.
    [[maybe_unused]] const auto* threads = threads_.release();
    [[maybe_unused]] const auto* from = from_.release();
  }
  AheadPass(const AheadPass&) = delete;
  AheadPass& operator=(const AheadPass&) = delete;

  std::optional<Batch> next() override {
    const tenure::detail::WaitingHere waiting;
    for (;;) {
      const std::uint32_t changes = changes_.load(std::memory_order_acquire);
      {
        const std::lock_guard lock(mutex_);
        if (const auto place = ready_place(); place != places_.end()) {
          const Place taken = std::move(*place);
          places_.erase(place);
          tell();
          if (taken.error) std::rethrow_exception(taken.error);
          return taken.element;
        }
        if (places_.empty() && error_) std::rethrow_exception(std::exchange(error_, nullptr));
        if (places_.empty() && ended_) return std::nullopt;
      }
      if (is_left_behind()) raise_left_behind();
      changes_.wait(changes, std::memory_order_acquire);
    }
  }

 private:
  struct Place {
    std::uint64_t number;
    std::optional<Batch> element;
    std::exception_ptr error = {};
    bool ready = false;
  };
  using Places = std::list<Place>;

  Places::iterator ready_place() {
    for (auto place = places_.begin(); place != places_.end(); ++place) {
      if (place->ready) return place;
      if (ahead_.in_order) break;
    }
    return places_.end();
  }

  void work() {
    tenure::detail::context().session = session_.get();
    const tenure::detail::CallScope call(ahead_.op, site_);
    for (Place* place = read(); place != nullptr; place = read()) {
      if (ahead_.map) finish(*place);
    }
  }

  // A new place, which stays where it is until it is ready; null when there are no more.
  Place* read() {
    const std::lock_guard reading(reading_);
    std::exception_ptr error;
    try {
      if (has_room()) {
        if (std::optional<Batch> element = from_->next()) {
          const std::lock_guard lock(mutex_);
          places_.push_back({.number = read_++, .element = std::move(element)});
          places_.back().ready = !ahead_.map;
          Place* const place = &places_.back();
          tell();
          return place;
        }
      }
    } catch (...) {
      error = std::current_exception();
    }
    from_ = nullptr;
    const std::lock_guard lock(mutex_);
    if (error) error_ = std::move(error);
    ended_ = true;
    tell();
    return nullptr;
  }
  bool has_room() {
    for (;;) {
      const std::uint32_t changes = changes_.load(std::memory_order_acquire);
      {
        const std::lock_guard lock(mutex_);
        if (ended_) return false;
        if (places_.size() < ahead_.count) return true;
      }
      changes_.wait(changes, std::memory_order_acquire);
    }
  }

  void finish(Place& place) {
    tenure::detail::OwnRandom random;  // of the element, not of the thread it meets
    random.set(seed_, place.number << 32);
    std::optional<Batch> made;
    std::exception_ptr error;
    try {
      made = (*ahead_.map)(*std::exchange(place.element, std::nullopt));
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ended_ |= error != nullptr;  // nobody will ask for what follows
    place.element = std::move(made);
    place.error = std::move(error);
    place.ready = true;
    tell();
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      tell();
    }
    for (std::thread& thread : *threads_) thread.join();
    threads_->clear();
  }
  void tell() noexcept {
    changes_.fetch_add(1, std::memory_order_release);
    changes_.notify_all();
  }

  // The pass was begun before a fork: this process does not have its threads.
  bool is_left_behind() const { return forks_ != tenure::detail::forks(); }
  [[noreturn]] void raise_left_behind() const {
    throw ValueError(
        describe("{}: the pass was begun before a fork, and the thread that makes its batches is "
                 "in the parent process",
                 ahead_.op)
            .told({{"begun", tenure::detail::site_text(site_), ahead_.op},
                   tenure::detail::used_line(tenure::detail::context().call.site, "next")},
                  "begin a pass of its own in the child."));
  }

  const tenure::detail::SessionStay session_{tenure::detail::context().session,  // of who asked
                                             tenure::detail::in_background()};
  tenure::detail::Mutex reading_;
  StreamPtr<Batch> from_;   // of who reads
  std::uint64_t read_ = 0;  // and this
  const Ahead& ahead_;      // the recipe outlives its passes
  const std::source_location site_;
  std::uint64_t seed_ = 0;
  const std::uint32_t forks_ = tenure::detail::forks();
  tenure::detail::Mutex mutex_;
  std::atomic<std::uint32_t> changes_{0};  // of what follows; waited for
  Places places_;
  std::exception_ptr error_;  // of reading
  bool ended_ = false;
  std::unique_ptr<std::vector<std::thread>> threads_ = std::make_unique<std::vector<std::thread>>();
};

class AheadRecipe final : public Recipe<Batch> {
 public:
  AheadRecipe(RecipePtr<Batch> from, Ahead ahead)
      : from_(std::move(from)), ahead_(std::move(ahead)) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<AheadPass>(from_->open(epoch), ahead_);
  }
  std::optional<std::int64_t> size() const override { return from_->size(); }

 private:
  RecipePtr<Batch> from_;
  Ahead ahead_;
};

}  // namespace

RecipePtr<Batch> ahead_of(RecipePtr<Batch> from, Ahead ahead) {
  return std::make_shared<AheadRecipe>(std::move(from), std::move(ahead));
}

}  // namespace tenure::nn::dataset
