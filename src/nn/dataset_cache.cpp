// Elements kept in memory by the first pass that comes to its end.
#include <memory>
#include <mutex>
#include <utility>

#include "nn/dataset_stream.h"
#include "nn/saved_batch.h"
#include "tenure/job.h"

namespace tenure::nn::dataset {
namespace {

class SavedPass final : public Stream<Batch> {
 public:
  explicit SavedPass(std::shared_ptr<const SavedBatches> elements)
      : elements_(std::move(elements)) {}
  std::optional<Batch> next() override {
    if (at_ == elements_->size()) return std::nullopt;
    return (*elements_)[at_++].read([](Tensor whole) { return whole; });
  }

 private:
  std::shared_ptr<const SavedBatches> elements_;
  std::size_t at_ = 0;
};

class Cached final : public Recipe<Batch> {
 public:
  Cached(RecipePtr<Batch> from, std::source_location site) : from_(std::move(from)), site_(site) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    if (auto elements = kept()) return saved_pass(std::move(elements));
    return std::make_unique<Filling>(*this, from_->open(epoch));
  }
  std::optional<std::int64_t> size() const override {
    if (const auto elements = kept()) return std::ssize(*elements);
    return from_->size();
  }

 private:
  // Gives the elements on and saves them; what a pass that is dropped has saved goes with it.
  struct Filling final : Stream<Batch> {
    Filling(const Cached& of, StreamPtr<Batch> stream) : cache(of), from(std::move(stream)) {}
    std::optional<Batch> next() override {
      if (from == nullptr) return std::nullopt;
      std::optional<Batch> element = from->next();
      if (element) {
        saved->emplace_back(*element, "cache", cache.site_);
      } else {
        from = nullptr;
        cache.keep(std::exchange(saved, nullptr));
      }
      return element;
    }
    const Cached& cache;  // outlives its passes
    StreamPtr<Batch> from;
    std::shared_ptr<SavedBatches> saved = std::make_shared<SavedBatches>();
  };

  std::shared_ptr<const SavedBatches> kept() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }
  void keep(std::shared_ptr<SavedBatches> elements) const {
    const std::lock_guard lock(mutex_);
    if (kept_ == nullptr) kept_ = std::move(elements);
  }

  RecipePtr<Batch> from_;
  std::source_location site_;
  mutable tenure::detail::Mutex mutex_;
  mutable std::shared_ptr<const SavedBatches> kept_;
};

}  // namespace

StreamPtr<Batch> saved_pass(std::shared_ptr<const SavedBatches> elements) {
  return std::make_unique<SavedPass>(std::move(elements));
}

RecipePtr<Batch> cached_of(RecipePtr<Batch> from, std::source_location site) {
  return std::make_shared<Cached>(std::move(from), site);
}

}  // namespace tenure::nn::dataset
