// From examples to elements, from elements to batches.
#include "core/raise.h"
#include "nn/dataset_stream.h"
#include "tenure/views.h"

namespace tenure::nn::dataset {
namespace {

std::optional<std::int64_t> batches_in(std::optional<std::int64_t> all, std::int64_t size,
                                       bool drop_remainder) {
  if (!all) return std::nullopt;
  return *all / size + (drop_remainder || *all % size == 0 ? 0 : 1);
}

template <class T>
std::vector<T> up_to(Stream<T>& from, std::int64_t count) {
  std::vector<T> taken;
  for (std::int64_t i = 0; i < count; ++i) {
    std::optional<T> element = from.next();
    if (!element) break;
    taken.push_back(std::move(*element));
  }
  return taken;
}

Batch read_examples(const ExampleSource& source, const std::vector<Example>& examples) {
  for (std::size_t i = 1; i < examples.size(); ++i) {
    if (examples[i] != examples[i - 1] + 1) return source.read(examples);
  }
  return source.read_range(examples.front(), static_cast<std::int64_t>(examples.size()));
}

class Examples final : public Recipe<Batch> {
 public:
  Examples(std::shared_ptr<const ExampleSource> source, RecipePtr<Example> order)
      : source_(std::move(source)), order_(std::move(order)) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(*source_, order_->open(epoch));
  }
  std::optional<std::int64_t> size() const override { return order_->size(); }

 private:
  struct Pass final : Stream<Batch> {
    Pass(const ExampleSource& from, StreamPtr<Example> stream)
        : source(from), order(std::move(stream)) {}
    std::optional<Batch> next() override {
      const std::optional<Example> example = order->next();
      if (!example) return std::nullopt;
      Batch one = source.read_range(*example, 1);
      tenure::detail::walk(one, [](Tensor& tensor) {
        if (tensor.defined()) tensor = squeeze(std::move(tensor), {0});
      });
      return one;
    }
    const ExampleSource& source;
    StreamPtr<Example> order;
  };
  std::shared_ptr<const ExampleSource> source_;
  RecipePtr<Example> order_;
};

class ExampleBatches final : public Recipe<Batch> {
 public:
  ExampleBatches(std::shared_ptr<const ExampleSource> source, RecipePtr<Example> order,
                 std::int64_t size, bool drop_remainder)
      : source_(std::move(source)),
        order_(std::move(order)),
        size_(size),
        drop_remainder_(drop_remainder) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(*this, order_->open(epoch));
  }
  std::optional<std::int64_t> size() const override {
    return batches_in(order_->size(), size_, drop_remainder_);
  }

 private:
  struct Pass final : Stream<Batch> {
    Pass(const ExampleBatches& from, StreamPtr<Example> stream)
        : recipe(from), order(std::move(stream)) {}
    std::optional<Batch> next() override {
      const std::vector<Example> examples = up_to(*order, recipe.size_);
      const bool whole = static_cast<std::int64_t>(examples.size()) == recipe.size_;
      if (examples.empty() || (recipe.drop_remainder_ && !whole)) return std::nullopt;
      return read_examples(*recipe.source_, examples);
    }
    const ExampleBatches& recipe;  // outlives its passes
    StreamPtr<Example> order;
  };
  std::shared_ptr<const ExampleSource> source_;
  RecipePtr<Example> order_;
  std::int64_t size_;
  bool drop_remainder_;
};

void check_alike(const Batch& first, const Batch& other) {
  if (first.x.size() == other.x.size() && first.y.size() == other.y.size() &&
      first.weight.defined() == other.weight.defined()) {
    return;
  }
  const auto text = [](const Batch& batch) {
    return fmt::format("{} inputs, {} targets, {} weight", batch.x.size(), batch.y.size(),
                       batch.weight.defined() ? "a" : "no");
  };
  raise<ValueError>("batch: elements differ: {}; {}", text(first), text(other));
}

Batch stacked(std::vector<Batch> elements) {
  const Batch& first = elements.front();
  for (const Batch& element : elements) check_alike(first, element);
  const auto stack_each = [&](auto&& part) {
    std::vector<Tensor> parts;
    parts.reserve(elements.size());
    for (Batch& element : elements) parts.push_back(part(element));
    return stack(std::move(parts));
  };
  Batch batch;
  for (std::size_t i = 0; i < first.x.size(); ++i) {
    batch.x.push_back(stack_each([i](Batch& element) { return element.x[i]; }));
  }
  for (std::size_t i = 0; i < first.y.size(); ++i) {
    batch.y.push_back(stack_each([i](Batch& element) { return element.y[i]; }));
  }
  if (first.weight.defined()) {
    batch.weight = stack_each([](Batch& element) { return element.weight; });
  }
  return batch;
}

class Stacked final : public Recipe<Batch> {
 public:
  Stacked(RecipePtr<Batch> from, std::int64_t size, bool drop_remainder)
      : from_(std::move(from)), size_(size), drop_remainder_(drop_remainder) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(from_->open(epoch), size_, drop_remainder_);
  }
  std::optional<std::int64_t> size() const override {
    return batches_in(from_->size(), size_, drop_remainder_);
  }

 private:
  struct Pass final : Stream<Batch> {
    Pass(StreamPtr<Batch> stream, std::int64_t count, bool drop)
        : from(std::move(stream)), size(count), drop_remainder(drop) {}
    std::optional<Batch> next() override {
      std::vector<Batch> elements = up_to(*from, size);
      const bool whole = static_cast<std::int64_t>(elements.size()) == size;
      if (elements.empty() || (drop_remainder && !whole)) return std::nullopt;
      return stacked(std::move(elements));
    }
    StreamPtr<Batch> from;
    std::int64_t size;
    bool drop_remainder;
  };
  RecipePtr<Batch> from_;
  std::int64_t size_;
  bool drop_remainder_;
};

}  // namespace

RecipePtr<Batch> elements_of(const Pipeline& pipeline) {
  if (pipeline.elements != nullptr) return pipeline.elements;
  return std::make_shared<Examples>(pipeline.source, pipeline.examples);
}

RecipePtr<Batch> batches_of(const Pipeline& pipeline, std::int64_t size, bool drop_remainder) {
  if (pipeline.elements != nullptr) {
    return std::make_shared<Stacked>(pipeline.elements, size, drop_remainder);
  }
  return std::make_shared<ExampleBatches>(pipeline.source, pipeline.examples, size, drop_remainder);
}

}  // namespace tenure::nn::dataset
