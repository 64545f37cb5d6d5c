// From elements to other elements.
#include "core/raise.h"
#include "memory/text.h"
#include "nn/dataset_stream.h"
#include "tenure/views.h"

namespace tenure::nn::dataset {
namespace {

class Mapped final : public Recipe<Batch> {
 public:
  Mapped(RecipePtr<Batch> from, Mapping mapping)
      : from_(std::move(from)), mapping_(std::move(mapping)) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(from_->open(epoch), mapping_);
  }
  std::optional<std::int64_t> size() const override { return from_->size(); }

 private:
  struct Pass final : Stream<Batch> {
    Pass(StreamPtr<Batch> stream, const Mapping& function)
        : from(std::move(stream)), mapping(function) {}
    std::optional<Batch> next() override {
      std::optional<Batch> element = from->next();
      if (!element) return std::nullopt;
      return mapping(std::move(*element));
    }
    StreamPtr<Batch> from;
    const Mapping& mapping;  // the recipe outlives its passes
  };
  RecipePtr<Batch> from_;
  Mapping mapping_;
};

class Filtered final : public Recipe<Batch> {
 public:
  Filtered(RecipePtr<Batch> from, std::function<bool(const Batch&)> keep)
      : from_(std::move(from)), keep_(std::move(keep)) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(from_->open(epoch), keep_);
  }
  std::optional<std::int64_t> size() const override { return unknown_size(*from_); }

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
    if (first == kEndless || second == kEndless) return kEndless;
    if (!first || !second || *first > Dataset::kAll - *second) return std::nullopt;
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

struct ExampleAt {
  Tensor operator()(const Tensor& tensor) const { return tensor[index]; }
  Text operator()(const Text& text) const { return text_at(text, index); }
  std::int64_t index;
};

class Unbatched final : public Recipe<Batch> {
 public:
  explicit Unbatched(RecipePtr<Batch> from) : from_(std::move(from)) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(from_->open(epoch));
  }
  std::optional<std::int64_t> size() const override { return unknown_size(*from_); }

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
      change_each(one, ExampleAt{at});
      ++at;
      return one;
    }
    static std::int64_t examples_in(Batch& batch) {
      std::optional<std::int64_t> examples;
      const auto look = [&](const Shape& shape) {
        if (shape.rank() == 0) raise<ShapeError>("unbatch: an element has a scalar");
        if (examples && *examples != shape[0]) {
          raise<ShapeError>("unbatch: different numbers of examples: {} and {}", *examples,
                            shape[0]);
        }
        examples = shape[0];
      };
      tenure::detail::walk(batch, [&](Tensor& tensor) {
        if (tensor.defined()) look(tensor.shape());
      });
      for (const Text& text : batch.text) look(text.shape);
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

Batch Mapping::operator()(Batch element) const {
  const tenure::detail::CallbackScope users;
  try {
    return fn(std::move(element));
  } catch (Error& error) {
    error.add({"mapped", tenure::detail::site_text(site), "map"});
    throw;
  }
}

RecipePtr<Batch> map_of(RecipePtr<Batch> from, Mapping mapping) {
  return std::make_shared<Mapped>(std::move(from), std::move(mapping));
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
