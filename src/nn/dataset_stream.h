// How a Dataset is made: recipes, from which each pass opens a stream. While nothing but an order
// is asked for, the elements are numbers of examples; they become tensors where a batch is made.
// The steps that only choose and reorder are written once for both.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "memory/context.h"
#include "tenure/dataset.h"

namespace tenure::nn::dataset {

using Example = std::int64_t;

template <class T>
class Stream {
 public:
  virtual ~Stream() = default;
  virtual std::optional<T> next() = 0;
};
template <class T>
using StreamPtr = std::unique_ptr<Stream<T>>;

// The size of a recipe whose passes do not end.
constexpr std::int64_t kEndless = Dataset::kAll;

template <class T>
class Recipe {
 public:
  virtual ~Recipe() = default;
  virtual StreamPtr<T> open(std::uint64_t epoch) const = 0;
  virtual std::optional<std::int64_t> size() const = 0;  // nothing where it is not known
};
template <class T>
using RecipePtr = std::shared_ptr<const Recipe<T>>;

// Of a step that gives any number of elements for each it takes.
template <class T>
std::optional<std::int64_t> unknown_size(const Recipe<T>& from) {
  const auto size = from.size();
  return size == kEndless ? size : std::nullopt;
}

// Examples of a source in some order, or elements. One of the two.
struct Pipeline {
  std::shared_ptr<const ExampleSource> source;
  RecipePtr<Example> examples;
  RecipePtr<Batch> elements;
};

RecipePtr<Batch> elements_of(const Pipeline& pipeline);  // examples one by one, where it has those
// Its recipe's.
inline std::optional<std::int64_t> size_of(const Pipeline& pipeline) {
  return pipeline.examples != nullptr ? pipeline.examples->size() : pipeline.elements->size();
}
// A ValueError where passes do not end, for what goes on to the end.
void check_ends(std::optional<std::int64_t> size, const char* what, std::string remedy);

// The library's way into the handle.
struct DatasetAccess {
  static Dataset make(RecipePtr<Batch> elements) {
    return Dataset(Pipeline{{}, {}, std::move(elements)});
  }
  static RecipePtr<Batch> elements(const Dataset& dataset) {
    return elements_of(*dataset.pipeline_);
  }
  // Whether each element is known to be one example, which no batch() has given an axis 0 yet.
  static bool has_single_examples(const Dataset& dataset) {
    return dataset.pipeline_->examples != nullptr;
  }
  static std::optional<std::int64_t> size(const Dataset& dataset) {
    return size_of(*dataset.pipeline_);
  }
  // The next iterate() opens the pass after the one it would have.
  static void skip_pass(const Dataset& dataset) {
    dataset.epochs_->fetch_add(1, std::memory_order_relaxed);
  }
};

// Groups of `size` neighbours, `stride` apart, beginning every `shift` elements.
struct Grouping {
  std::int64_t size;
  std::int64_t shift;
  std::int64_t stride = 1;
  bool drop_remainder = false;
};
// Stacked; `op` is named where elements differ.
RecipePtr<Batch> batches_of(const Pipeline& pipeline, Grouping grouping, const char* op);
RecipePtr<Batch> padded_batches_of(RecipePtr<Batch> from, std::int64_t size,
                                   PaddedBatchOptions options);
// A function of the user's, and where it was given.
struct Mapping {
  std::function<Batch(Batch)> fn;
  std::source_location site;
  Batch operator()(Batch element) const;
};
RecipePtr<Batch> map_of(RecipePtr<Batch> from, Mapping mapping);
RecipePtr<Batch> filter_of(RecipePtr<Batch> from, std::function<bool(const Batch&)> keep);
RecipePtr<Batch> concatenation_of(RecipePtr<Batch> first, RecipePtr<Batch> second);
RecipePtr<Batch> unbatched_of(RecipePtr<Batch> from);
RecipePtr<Batch> zip_of(std::vector<RecipePtr<Batch>> x, std::vector<RecipePtr<Batch>> y);
RecipePtr<Batch> enumerated_of(RecipePtr<Batch> from, std::int64_t start);
RecipePtr<Batch> interleaved_of(const char* op, RecipePtr<Batch> from,
                                std::function<Dataset(Batch)> fn, InterleaveOptions options,
                                std::source_location site);
RecipePtr<Batch> cached_of(RecipePtr<Batch> from, std::source_location site);
// Elements made before they are asked for, by threads of the pass.
struct Ahead {
  const char* op;         // what the user called
  std::size_t count = 1;  // of elements that are being made, or made and not taken
  std::size_t threads = 1;
  bool in_order = true;
  std::optional<Mapping> map;  // what each thread does with an element; nothing: no more than read
};
RecipePtr<Batch> ahead_of(RecipePtr<Batch> from, Ahead ahead);
RecipePtr<Batch> generator_of(std::function<Dataset::Generator()> open,
                              std::optional<std::int64_t> size, std::source_location site);
RecipePtr<Batch> saved_elements(const std::vector<Batch>& elements, std::source_location site);
RecipePtr<Example> all_examples(const ExampleSource& source);
std::shared_ptr<const ExampleSource> tensor_source(const Tensors& x, const Tensors& y,
                                                   const Tensor& weight, std::source_location site);
std::shared_ptr<const ExampleSource> text_source(std::vector<std::string> text, const Tensors& y,
                                                 const Tensor& weight, std::source_location site);
std::shared_ptr<const ExampleSource> series_source(const Tensor& data, const Tensor& targets,
                                                   const TimeseriesOptions& options,
                                                   std::source_location site);

// Along a new axis 0; they have one shape.
Text stacked(std::vector<Text> parts);
Text text_at(const Text& text, std::int64_t index);  // of axis 0
// Every tensor and text of an element, changed by what `change` gives for it.
template <class Change>
void change_each(Batch& element, const Change& change) {
  for (Tensor& tensor : element.x) tensor = change(std::move(tensor));
  for (Tensor& tensor : element.y) tensor = change(std::move(tensor));
  if (element.weight.defined()) element.weight = change(std::move(element.weight));
  for (Text& text : element.text) text = change(std::move(text));
}

std::uint64_t draw_seed();  // from the one that set_seed began

// The library at work for itself: what it makes joins no scope, no tape and no trace.
struct OwnWork : tenure::detail::Meanwhile<tenure::detail::Context> {
  OwnWork() : Meanwhile(tenure::detail::context(), tenure::detail::context().eager()) {
    now().watch = nullptr;
  }
};

// A small generator with the same numbers everywhere (splitmix64).
inline std::uint64_t mix(std::uint64_t state) {
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
  return state ^ (state >> 31);
}
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t epoch) : state_(mix(seed) + mix(~epoch)) {}
  // Below `bound`, each as likely: what would favour the low ones is drawn again.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t uneven = (0 - bound) % bound;
    for (;;) {
      const std::uint64_t drawn = mix(state_ += 0x9e3779b97f4a7c15);
      if (drawn >= uneven) return drawn % bound;
    }
  }

 private:
  std::uint64_t state_;
};

// What follows the first `skipped` elements, `count` of them at most.
template <class T>
class Portion final : public Recipe<T> {
 public:
  Portion(RecipePtr<T> from, std::int64_t skipped, std::int64_t count)
      : from_(std::move(from)), skipped_(skipped), count_(count) {}
  StreamPtr<T> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(from_->open(epoch), skipped_, count_);
  }
  std::optional<std::int64_t> size() const override {
    const auto all = from_->size();
    if (!all) return std::nullopt;
    const std::int64_t left = *all == kEndless ? kEndless : std::max(*all - skipped_, Example{0});
    return std::min(left, count_);
  }

 private:
  struct Pass final : Stream<T> {
    Pass(StreamPtr<T> stream, std::int64_t skipped, std::int64_t count)
        : from(std::move(stream)), to_skip(skipped), left(count) {}
    std::optional<T> next() override {
      if (left == 0) return std::nullopt;
      for (; to_skip > 0; --to_skip) {
        if (!from->next()) return std::nullopt;
      }
      --left;
      return from->next();
    }
    StreamPtr<T> from;
    std::int64_t to_skip, left;
  };
  RecipePtr<T> from_;
  std::int64_t skipped_, count_;
};

template <class T>
class Repeated final : public Recipe<T> {
 public:
  Repeated(RecipePtr<T> from, std::int64_t times) : from_(std::move(from)), times_(times) {}
  StreamPtr<T> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(from_, times_, epoch);
  }
  std::optional<std::int64_t> size() const override {
    const auto once = from_->size();
    if (times_ == 0 || once == 0) return 0;
    if (times_ < 0 || once == kEndless) return kEndless;
    if (!once || times_ > Dataset::kAll / *once) return std::nullopt;
    return *once * times_;
  }

 private:
  struct Pass final : Stream<T> {
    Pass(RecipePtr<T> recipe, std::int64_t count, std::uint64_t first)
        : from(std::move(recipe)), times(count), epoch(first) {}
    std::optional<T> next() override {
      while (stream != nullptr || done != times) {
        if (stream == nullptr) {
          // The first time is the epoch itself; the others have orders of their own.
          stream =
              from->open(done == 0 ? epoch : mix(epoch + 1) + static_cast<std::uint64_t>(done));
          any = false;
        }
        if (std::optional<T> element = stream->next()) {
          any = true;
          return element;
        }
        stream = nullptr;
        ++done;
        if (!any) done = times;  // nothing, however often
      }
      return std::nullopt;
    }
    RecipePtr<T> from;
    std::int64_t times;  // below 0: for ever
    std::uint64_t epoch;
    std::int64_t done = 0;
    bool any = false;
    StreamPtr<T> stream;
  };
  RecipePtr<T> from_;
  std::int64_t times_;
};

template <class T>
class Shuffled final : public Recipe<T> {
 public:
  Shuffled(RecipePtr<T> from, std::int64_t buffer, std::uint64_t seed, bool each_epoch)
      : from_(std::move(from)), buffer_(buffer), seed_(seed), each_epoch_(each_epoch) {}
  StreamPtr<T> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(from_->open(epoch), buffer_,
                                  Random(seed_, each_epoch_ ? epoch : 0));
  }
  std::optional<std::int64_t> size() const override { return from_->size(); }

 private:
  struct Pass final : Stream<T> {
    Pass(StreamPtr<T> stream, std::int64_t size, Random numbers)
        : from(std::move(stream)), bound(static_cast<std::size_t>(size)), random(numbers) {}
    std::optional<T> next() override {
      while (from != nullptr && buffer.size() < bound) {
        if (std::optional<T> element = from->next()) {
          buffer.push_back(std::move(*element));
        } else {
          from = nullptr;
        }
      }
      if (buffer.empty()) return std::nullopt;
      std::swap(buffer[random.below(buffer.size())], buffer.back());
      std::optional<T> drawn(std::move(buffer.back()));
      buffer.pop_back();
      return drawn;
    }
    StreamPtr<T> from;  // null once it has ended
    std::size_t bound;
    Random random;
    std::vector<T> buffer;
  };
  RecipePtr<T> from_;
  std::int64_t buffer_;
  std::uint64_t seed_;
  bool each_epoch_;
};

}  // namespace tenure::nn::dataset
