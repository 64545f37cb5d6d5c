// From elements to other elements.
#include "core/raise.h"
#include "nn/dataset_stream.h"
#include "tenure/views.h"

namespace tenure::nn::dataset {
namespace {

class Mapped final : public Recipe<Batch> {
 public:
  Mapped(RecipePtr<Batch> from, std::function<Batch(Batch)> fn)
      : from_(std::move(from)), fn_(std::move(fn)) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(from_->open(epoch), fn_);
  }
  std::optional<std::int64_t> size() const override { return from_->size(); }

 private:
  struct Pass final : Stream<Batch> {
    Pass(StreamPtr<Batch> stream, const std::function<Batch(Batch)>& function)
        : from(std::move(stream)), fn(function) {}
    std::optional<Batch> next() override {
      std::optional<Batch> element = from->next();
      if (!element) return std::nullopt;
      const tenure::detail::CallbackScope users;
      return fn(std::move(*element));
    }
    StreamPtr<Batch> from;
    const std::function<Batch(Batch)>& fn;  // the recipe outlives its passes
  };
  RecipePtr<Batch> from_;
  std::function<Batch(Batch)> fn_;
};

class Filtered final : public Recipe<Batch> {
 public:
  Filtered(RecipePtr<Batch> from, std::function<bool(const Batch&)> keep)
      : from_(std::move(from)), keep_(std::move(keep)) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(from_->open(epoch), keep_);
  }
  std::optional<std::int64_t> size() const override { return std::nullopt; }

 private:
  struct Pass final : Stream<Batch> {
    Pass(StreamPtr<Batch> stream, const std::function<bool(const Batch&)>& function)
        : from(std::move(stream)), keep(function) {}
    std::optional<Batch> next() override {
      while (std::optional<Batch> element = from->next()) {
        const tenure::detail::CallbackScope users;
        if (keep(*element)) return element;
      }
      return std::nullopt;
    }
    StreamPtr<Batch> from;
    const std::function<bool(const Batch&)>& keep;  // the recipe outlives its passes
  };
  RecipePtr<Batch> from_;
  std::function<bool(const Batch&)> keep_;
};

class Concatenated final : public Recipe<Batch> {
 public:
  Concatenated(RecipePtr<Batch> first, RecipePtr<Batch> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(first_->open(epoch), *second_, epoch);
  }
  std::optional<std::int64_t> size() const override {
    const auto first = first_->size(), second = second_->size();
    if (!first || !second) return std::nullopt;
    return *first + *second;
  }

 private:
  struct Pass final : Stream<Batch> {
    Pass(StreamPtr<Batch> first, const Recipe<Batch>& second, std::uint64_t of)
        : current(std::move(first)), rest(&second), epoch(of) {}
    std::optional<Batch> next() override {
      std::optional<Batch> element = current->next();
      if (element || rest == nullptr) return element;
      current = std::exchange(rest, nullptr)->open(epoch);
      return current->next();
    }
    StreamPtr<Batch> current;
    const Recipe<Batch>* rest;  // null once it is open
    std::uint64_t epoch;
  };
  RecipePtr<Batch> first_, second_;
};

class Unbatched final : public Recipe<Batch> {
 public:
  explicit Unbatched(RecipePtr<Batch> from) : from_(std::move(from)) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(from_->open(epoch));
  }
  std::optional<std::int64_t> size() const override { return std::nullopt; }

 private:
  struct Pass final : Stream<Batch> {
    explicit Pass(StreamPtr<Batch> stream) : from(std::move(stream)) {}
    std::optional<Batch> next() override {
      while (at == count) {
        std::optional<Batch> element = from->next();
        if (!element) return std::nullopt;
        batch = std::move(*element);
        at = 0;
        count = examples_in(batch);
      }
      Batch one = batch;
      tenure::detail::walk(one, [this](Tensor& tensor) {
        if (tensor.defined()) tensor = tensor[at];
      });
      ++at;
      return one;
    }
    static std::int64_t examples_in(Batch& batch) {
      std::optional<std::int64_t> examples;
      tenure::detail::walk(batch, [&](Tensor& tensor) {
        if (!tensor.defined()) return;
        const Shape& shape = tensor.shape();
        if (shape.rank() == 0) raise<ShapeError>("unbatch: an element has a scalar");
        if (examples && *examples != shape[0]) {
          raise<ShapeError>("unbatch: different numbers of examples: {} and {}", *examples,
                            shape[0]);
        }
        examples = shape[0];
      });
      return examples.value_or(0);
    }
    StreamPtr<Batch> from;
    Batch batch;
    std::int64_t at = 0;
    std::int64_t count = 0;
  };
  RecipePtr<Batch> from_;
};

}  // namespace

RecipePtr<Batch> map_of(RecipePtr<Batch> from, std::function<Batch(Batch)> fn) {
  return std::make_shared<Mapped>(std::move(from), std::move(fn));
}

RecipePtr<Batch> filter_of(RecipePtr<Batch> from, std::function<bool(const Batch&)> keep) {
  return std::make_shared<Filtered>(std::move(from), std::move(keep));
}

RecipePtr<Batch> concatenation_of(RecipePtr<Batch> first, RecipePtr<Batch> second) {
  return std::make_shared<Concatenated>(std::move(first), std::move(second));
}

RecipePtr<Batch> unbatched_of(RecipePtr<Batch> from) {
  return std::make_shared<Unbatched>(std::move(from));
}

}  // namespace tenure::nn::dataset
