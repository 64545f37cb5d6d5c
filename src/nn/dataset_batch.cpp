// From examples to elements, from elements to batches.
#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/raise.h"
#include "nn/dataset_stream.h"
#include "tenure/views.h"

namespace tenure::nn::dataset {

Text stacked(std::vector<Text> parts) {
  Text whole;
  whole.shape.push_back(static_cast<std::int64_t>(parts.size()));
  for (const std::int64_t size : parts.front().shape) whole.shape.push_back(size);
  for (Text& part : parts) {
    if (part.shape != parts.front().shape) {
      raise<ShapeError>("batch: texts differ: {} and {}", parts.front().shape, part.shape);
    }
    std::ranges::move(part.strings, std::back_inserter(whole.strings));
  }
  return whole;
}

Text text_at(const Text& text, std::int64_t index) {
  Text part{.shape = Shape(text.shape.dims().subspan(1))};
  const std::int64_t size = part.shape.numel();
  const auto first = text.strings.begin() + index * size;
  part.strings.assign(first, first + size);
  return part;
}

namespace {

template <class T>
class Grouped final : public Recipe<std::vector<T>> {
 public:
  Grouped(RecipePtr<T> from, Grouping grouping) : from_(std::move(from)), grouping_(grouping) {}
  StreamPtr<std::vector<T>> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(from_->open(epoch), grouping_);
  }
  std::optional<std::int64_t> size() const override {
    const auto all = from_->size();
    if (!all || *all == kEndless) return all;
    const std::int64_t last = *all - (grouping_.drop_remainder ? reach(grouping_) : 1);
    return last < 0 ? 0 : last / grouping_.shift + 1;
  }

 private:
  // How many elements a whole group spans.
  static std::int64_t reach(const Grouping& grouping) {
    return (grouping.size - 1) * grouping.stride + 1;
  }

  struct Pass final : Stream<std::vector<T>> {
    Pass(StreamPtr<T> stream, Grouping of) : from(std::move(stream)), grouping(of) {}
    std::optional<std::vector<T>> next() override {
      for (; to_skip > 0 && from != nullptr; --to_skip) {
        if (!from->next()) from = nullptr;
      }
      while (from != nullptr && length() < reach(grouping)) {
        if (std::optional<T> element = from->next()) {
          ahead.push_back(std::move(*element));
        } else {
          from = nullptr;
        }
      }
      if (ahead.empty() || (grouping.drop_remainder && length() < reach(grouping))) {
        return std::nullopt;
      }
      return group();
    }
    std::vector<T> group() {
      const std::int64_t shift = std::min(grouping.shift, length());
      to_skip = grouping.shift - shift;
      if (shift == length() && grouping.stride == 1) return std::exchange(ahead, {});
      std::vector<T> members;
      for (std::int64_t i = 0; i < length(); i += grouping.stride) {
        members.push_back(ahead[static_cast<std::size_t>(i)]);
      }
      ahead.erase(ahead.begin(), ahead.begin() + shift);
      return members;
    }
    std::int64_t length() const { return std::ssize(ahead); }

    StreamPtr<T> from;  // null once it has ended
    Grouping grouping;
    std::vector<T> ahead;
    std::int64_t to_skip = 0;
  };
  RecipePtr<T> from_;
  Grouping grouping_;
};

// Groups, each made one element.
template <class T>
class Joined final : public Recipe<Batch> {
 public:
  using Join = std::function<Batch(std::vector<T>)>;
  Joined(RecipePtr<T> from, Grouping grouping, Join join)
      : groups_(std::make_shared<Grouped<T>>(std::move(from), grouping)), join_(std::move(join)) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(groups_->open(epoch), join_);
  }
  std::optional<std::int64_t> size() const override { return groups_->size(); }

 private:
  struct Pass final : Stream<Batch> {
    Pass(StreamPtr<std::vector<T>> stream, const Join& function)
        : groups(std::move(stream)), join(function) {}
    std::optional<Batch> next() override {
      std::optional<std::vector<T>> group = groups->next();
      if (!group) return std::nullopt;
      return join(std::move(*group));
    }
    StreamPtr<std::vector<T>> groups;
    const Join& join;  // the recipe outlives its passes
  };
  RecipePtr<std::vector<T>> groups_;
  Join join_;
};

Batch read_examples(const ExampleSource& source, const std::vector<Example>& examples) {
  for (std::size_t i = 1; i < examples.size(); ++i) {
    if (examples[i] != examples[i - 1] + 1) return source.read(examples);
  }
  return source.read_range(examples.front(), static_cast<std::int64_t>(examples.size()));
}

// What a read of one example gives, without axis 0.
struct FirstOf {
  Tensor operator()(Tensor tensor) const { return squeeze(std::move(tensor), {0}); }
  Text operator()(Text text) const { return text_at(text, 0); }
};

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
      change_each(one, FirstOf());
      return one;
    }
    const ExampleSource& source;
    StreamPtr<Example> order;
  };
  std::shared_ptr<const ExampleSource> source_;
  RecipePtr<Example> order_;
};

std::string parts_text(const Batch& batch) {
  return fmt::format("{} inputs, {} targets, {} weight{}", batch.x.size(), batch.y.size(),
                     batch.weight.defined() ? "a" : "no",
                     batch.text.empty() ? "" : fmt::format(", {} texts", batch.text.size()));
}

void check_alike(const char* op, const std::vector<Batch>& elements) {
  const Batch& first = elements.front();
  for (const Batch& other : elements) {
    if (first.x.size() == other.x.size() && first.y.size() == other.y.size() &&
        first.weight.defined() == other.weight.defined() &&
        first.text.size() == other.text.size()) {
      continue;
    }
    raise<ValueError>("{}: elements differ: {}; {}", op, parts_text(first), parts_text(other));
  }
}

// One part of every element: parts(elements, "x[0]", part) gives what is to be stacked.
using Part = std::function<Tensor&(Batch&)>;
using Parts = std::function<std::vector<Tensor>(std::vector<Batch>&, const std::string& name,
                                                const Part& part)>;

Batch joined(const char* op, std::vector<Batch> elements, const Parts& parts) {
  check_alike(op, elements);
  const Batch& first = elements.front();
  const auto join = [&](const std::string& name, const Part& part) {
    return stack(parts(elements, name, part));
  };
  Batch batch;
  for (std::size_t i = 0; i < first.x.size(); ++i) {
    batch.x.push_back(
        join(fmt::format("x[{}]", i), [i](Batch& element) -> Tensor& { return element.x[i]; }));
  }
  for (std::size_t i = 0; i < first.y.size(); ++i) {
    batch.y.push_back(
        join(fmt::format("y[{}]", i), [i](Batch& element) -> Tensor& { return element.y[i]; }));
  }
  if (first.weight.defined()) {
    batch.weight = join("weight", [](Batch& element) -> Tensor& { return element.weight; });
  }
  for (std::size_t i = 0; i < first.text.size(); ++i) {
    std::vector<Text> texts;
    for (Batch& element : elements) texts.push_back(std::move(element.text[i]));
    batch.text.push_back(stacked(std::move(texts)));
  }
  return batch;
}

Batch stacked_elements(const char* op, std::vector<Batch> elements) {
  return joined(op, std::move(elements),
                [op](std::vector<Batch>& from, const std::string& name, const Part& part) {
                  std::vector<Tensor> tensors;
                  tensors.reserve(from.size());
                  for (Batch& element : from) tensors.push_back(part(element));
                  const Shape& shape = tensors.front().shape();
                  for (const Tensor& tensor : tensors) {
                    if (tensor.shape() == shape) continue;
                    throw ShapeError(describe("{}: elements differ in {}: {} and {}", op, name,
                                              shape, tensor.shape())
                                         .told({}, "padded_batch() fills the smaller ones up."));
                  }
                  return tensors;
                });
}

// What the elements' parts are filled up to.
Shape padded_shape(const std::vector<Tensor>& tensors, const std::string& name,
                   const std::optional<Shape>& wanted) {
  Shape longest = tensors.front().shape();
  for (const Tensor& tensor : tensors) {
    if (tensor.rank() != longest.rank()) {
      raise<ShapeError>("padded_batch: elements differ in the rank of {}: {} and {}", name,
                        tensors.front().shape(), tensor.shape());
    }
    for (int axis = 0; axis < longest.rank(); ++axis) {
      longest[axis] = std::max(longest[axis], tensor.shape()[axis]);
    }
  }
  if (!wanted) return longest;
  if (wanted->rank() != longest.rank()) {
    raise<ShapeError>("padded_batch: {} is to be filled up to {}, and is {}", name, *wanted,
                      longest);
  }
  for (int axis = 0; axis < longest.rank(); ++axis) {
    const std::int64_t size = (*wanted)[axis];
    if (size >= 0 && size < longest[axis]) {
      raise<ShapeError>("padded_batch: {} of {} is longer than the {} it is to be filled up to",
                        name, longest, *wanted);
    }
    longest[axis] = std::max(longest[axis], size);
  }
  return longest;
}

std::vector<Tensor> padded(std::vector<Tensor> tensors, const Shape& shape, Scalar value) {
  for (Tensor& tensor : tensors) {
    if (tensor.shape() == shape) continue;
    Paddings after;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      after.emplace_back(0, shape[axis] - tensor.shape()[axis]);
    }
    tensor = pad(std::move(tensor), after, value);
  }
  return tensors;
}

// The i-th of the shapes or values for the i-th input or target; nothing where none are given.
template <class T>
std::optional<T> choice(const std::vector<T>& list, const char* what, std::size_t i,
                        std::size_t count) {
  if (list.empty()) return std::nullopt;
  if (list.size() != count) {
    raise<ValueError>("padded_batch: {} {} for {}: one each, or none", list.size(), what, count);
  }
  return list[i];
}

Batch padded_elements(const PaddedBatchOptions& options, std::vector<Batch> elements) {
  const std::size_t inputs = elements.front().x.size(), targets = elements.front().y.size();
  std::size_t number = 0;  // inputs come first, then targets, then the weight
  return joined("padded_batch", std::move(elements),
                [&](std::vector<Batch>& from, const std::string& name, const Part& part) {
                  const std::size_t i = number++;
                  std::optional<Shape> shape;
                  std::optional<Scalar> value;
                  if (i < inputs) {
                    shape = choice(options.x_shapes, "x_shapes", i, inputs);
                    value = choice(options.x_values, "x_values", i, inputs);
                  } else if (i < inputs + targets) {
                    shape = choice(options.y_shapes, "y_shapes", i - inputs, targets);
                    value = choice(options.y_values, "y_values", i - inputs, targets);
                  }
                  std::vector<Tensor> tensors;
                  for (Batch& element : from) tensors.push_back(part(element));
                  const Shape full = padded_shape(tensors, name, shape);
                  return padded(std::move(tensors), full, value.value_or(Scalar(0)));
                });
}

}  // namespace

RecipePtr<Batch> elements_of(const Pipeline& pipeline) {
  if (pipeline.elements != nullptr) return pipeline.elements;
  return std::make_shared<Examples>(pipeline.source, pipeline.examples);
}

RecipePtr<Batch> batches_of(const Pipeline& pipeline, Grouping grouping, const char* op) {
  if (pipeline.elements != nullptr) {
    return std::make_shared<Joined<Batch>>(
        pipeline.elements, grouping,
        [op](std::vector<Batch> elements) { return stacked_elements(op, std::move(elements)); });
  }
  return std::make_shared<Joined<Example>>(
      pipeline.examples, grouping,
      [source = pipeline.source](const std::vector<Example>& examples) {
        return read_examples(*source, examples);
      });
}

RecipePtr<Batch> padded_batches_of(RecipePtr<Batch> from, std::int64_t size,
                                   PaddedBatchOptions options) {
  const Grouping grouping{.size = size, .shift = size, .drop_remainder = options.drop_remainder};
  return std::make_shared<Joined<Batch>>(
      std::move(from), grouping, [options = std::move(options)](std::vector<Batch> elements) {
        return padded_elements(options, std::move(elements));
      });
}

}  // namespace tenure::nn::dataset
