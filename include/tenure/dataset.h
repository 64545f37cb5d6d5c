// Examples in batches, in an order, as often as asked for.
//
//   nn::Dataset data = nn::Dataset::from_tensors(x, y).shuffle().batch(32).prefetch(2);
//   for (int epoch = 0; epoch < 5; ++epoch) {
//     for (nn::Batch& batch : data) train(batch.x[0], batch.y[0]);   // a new order each time
//   }
//
// A Dataset describes a pipeline and holds what it reads, not your tensors: dispose those as you
// like. Batches are alive for as long as you hold them; no tidy disposes one, since they may have
// been made before it was opened.
//
// Before batch(), an element is one example without the axis 0 that batch() gives it. Shuffling,
// taking and skipping move numbers of examples, not their bytes: a batch of tensors in memory is
// one gather each, or no copy at all where its examples lie one after the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/export.h"
#include "tenure/handle.h"
#include "tenure/scalar.h"
#include "tenure/scope.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"

namespace tenure::nn {

// Strings of an element, row-major; [] is one. Tensors hold none: tenure/nn/text.h makes numbers of
// them.
struct Text {
  std::vector<std::string> strings = {};
  Shape shape = {};
};

struct Batch {
  std::vector<Tensor> x;        // inputs
  std::vector<Tensor> y;        // targets; none for inputs alone
  Tensor weight;                // per example; empty for all the same
  std::vector<Text> text = {};  // what is not made into numbers yet
};
inline void walk_tensors(Batch& batch, auto&& visit) {
  visit(batch.x);
  visit(batch.y);
  visit(batch.weight);
}

// One tensor or several: from_tensors(x, y), from_tensors({a, b}, y).
class Tensors {
 public:
  Tensors() = default;
  Tensors(Tensor one) : list_{std::move(one)} {}
  Tensors(std::vector<Tensor> several) : list_(std::move(several)) {}
  Tensors(std::initializer_list<Tensor> several) : list_(several) {}
  const std::vector<Tensor>& list() const { return list_; }

 private:
  std::vector<Tensor> list_;
};

// Examples that can be read in any order: a table, a file. Several threads may read at once.
class TENURE_API ExampleSource {
 public:
  virtual ~ExampleSource() = default;
  virtual std::int64_t size() const = 0;
  // The examples with these numbers, stacked along axis 0 in this order.
  virtual Batch read(std::span<const std::int64_t> examples) const = 0;
  // Neighbours. By default read() of each; override it where they lie together.
  virtual Batch read_range(std::int64_t first, std::int64_t count) const;
};

struct CsvDatasetOptions;
struct ShuffleOptions {
  std::optional<std::uint64_t> seed = {};  // default: drawn from the one set_seed began
  bool each_epoch = true;                  // a new order for every epoch
};
struct BatchOptions {
  bool drop_remainder = false;  // no smaller last batch
};
struct PaddedBatchOptions {
  // What each input and each target is filled up to; -1, and all where none is given: the longest
  // of the batch.
  std::vector<Shape> x_shapes = {};
  std::vector<Shape> y_shapes = {};
  // What they are filled with; 0 where none is given.
  std::vector<Scalar> x_values = {};
  std::vector<Scalar> y_values = {};
  bool drop_remainder = false;
};
struct WindowOptions {
  std::optional<std::int64_t> shift = {};  // from window to window; default: no overlap, no gap
  std::int64_t stride = 1;                 // from element to element of a window
  bool drop_remainder = false;             // no smaller windows at the end
};
struct MapOptions {
  // So many elements at once, each on a thread; 1: on the thread that asks for it. Random numbers
  // that fn draws are then of the element, whichever thread draws them.
  int num_parallel_calls = 1;
  bool deterministic = true;  // in their order; false: as they are ready
};
struct InterleaveOptions {
  std::int64_t cycle_length = 4;  // datasets that are open at once
  std::int64_t block_length = 1;  // elements taken from one before the next has its turn
};
struct TimeseriesOptions {
  std::int64_t sequence_length = 0;  // must be given
  std::int64_t sequence_stride = 1;  // from the begin of an example to that of the next
  std::int64_t sampling_rate = 1;    // from step to step of an example
  std::int64_t start_index = 0;      // of the part of the series that is used
  std::optional<std::int64_t> end_index = {};
};

namespace dataset {
struct Pipeline;
class Run;
struct DatasetAccess;
}  // namespace dataset

// One pass over a Dataset. Used by one thread at a time; it may be dropped at any moment.
class TENURE_API DatasetIterator {
 public:
  DatasetIterator(DatasetIterator&&) noexcept;
  DatasetIterator& operator=(DatasetIterator&&) noexcept;
  ~DatasetIterator();

  // Nothing at the end, and after an error.
  std::optional<Batch> next(std::source_location site = std::source_location::current());

 private:
  friend class Dataset;
  explicit DatasetIterator(std::unique_ptr<dataset::Run> run);
  std::unique_ptr<dataset::Run> run_;
};

// A copyable handle; copies stand for the same pipeline. Every method gives a new Dataset.
class TENURE_API Dataset {
 public:
  using Generator = std::function<std::optional<Batch>()>;  // nothing at the end

  // Examples along axis 0 of each.
  static Dataset from_tensors(const Tensors& x, const Tensors& y = {}, const Tensor& weight = {},
                              std::source_location site = std::source_location::current());
  static Dataset from_source(std::shared_ptr<const ExampleSource> source,
                             std::source_location site = std::source_location::current());
  // `open` is called for every epoch; each element is what its generator gives.
  static Dataset from_generator(std::function<Generator()> open,
                                std::optional<std::int64_t> size = {},
                                std::source_location site = std::source_location::current());
  // The elements of a range, read now: Batches, pairs of input and target, or inputs.
  template <class R>
    requires requires(R& range) { std::begin(range) != std::end(range); }
  static Dataset from_range(R&& range,
                            std::source_location site = std::source_location::current()) {
    std::vector<Batch> elements;
    for (auto&& element : range) {
      using E = std::remove_cvref_t<decltype(element)>;
      if constexpr (std::is_same_v<E, Batch>) {
        elements.push_back(element);
      } else if constexpr (std::is_same_v<E, Tensor>) {
        elements.push_back({{element}, {}, {}});
      } else {
        elements.push_back({{element.first}, {element.second}, {}});
      }
    }
    return from_elements(elements, site);
  }

  // Strings, with a target and a weight each where given.
  static Dataset from_text(std::vector<std::string> text, const Tensors& y = {},
                           const Tensor& weight = {},
                           std::source_location site = std::source_location::current());
  // Stretches of a series, whose axis 0 is time: example i is the steps i * sequence_stride +
  // k * sampling_rate. Its target, where there are any, is that of its first step: give
  // targets that look ahead, as slice(y, {sequence_length}, {-1}).
  static Dataset from_timeseries(const Tensor& data, const Tensor& targets,
                                 TimeseriesOptions options,
                                 std::source_location site = std::source_location::current());
  // Elements side by side, until one of the datasets ends: those of x are the inputs, those of y
  // the targets. Targets, weights and text that x has already stay.
  static Dataset zip(const std::vector<Dataset>& x, const std::vector<Dataset>& y = {},
                     std::source_location site = std::source_location::current());
  static Dataset zip(const Dataset& x, const Dataset& y,
                     std::source_location site = std::source_location::current()) {
    return zip(std::vector<Dataset>{x}, std::vector<Dataset>{y}, site);
  }

  // The lines of text files, one file after the other, each an element's text without its end.
  static Dataset from_text_lines(const std::vector<std::string>& paths,
                                 std::source_location site = std::source_location::current());
  static Dataset from_text_lines(const std::string& path,
                                 std::source_location site = std::source_location::current()) {
    return from_text_lines(std::vector<std::string>{path}, site);
  }
  // Examples that stay in files (tenure/nn/files.h). Rows of a CSV file are found by an index of at
  // most 8 MiB, in any order; the file must be a regular one and stay as it is.
  static Dataset from_csv(const std::string& path, const CsvDatasetOptions& options,
                          std::source_location site = std::source_location::current());
  // Along axis 0 of .npy files, which are mapped: only what is read takes memory. An empty
  // `y_path` for inputs alone.
  static Dataset from_npy(const std::string& x_path, const std::string& y_path = {},
                          std::source_location site = std::source_location::current());

  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kForever = -1;

  // Each element is drawn from the next `buffer` ones; kAll makes every order as likely.
  Dataset shuffle(std::int64_t buffer = kAll, ShuffleOptions options = {},
                  std::source_location site = std::source_location::current()) const;
  Dataset batch(std::int64_t size, BatchOptions options = {},
                std::source_location site = std::source_location::current()) const;
  // Fills the shorter ones up: for elements of different sizes.
  Dataset padded_batch(std::int64_t size, PaddedBatchOptions options = {},
                       std::source_location site = std::source_location::current()) const;
  // Stretches of `size` elements, stacked as batch() does; the last ones are smaller.
  Dataset window(std::int64_t size, WindowOptions options = {},
                 std::source_location site = std::source_location::current()) const;
  // With prefetch(), and with several iterators, `fn` is called on other threads.
  Dataset map(std::function<Batch(Batch)> fn, MapOptions options = {},
              std::source_location site = std::source_location::current()) const;
  // The elements of the dataset that `fn` makes of each element: of one after the other, or of
  // several in turns.
  Dataset flat_map(std::function<Dataset(Batch)> fn,
                   std::source_location site = std::source_location::current()) const;
  Dataset interleave(std::function<Dataset(Batch)> fn, InterleaveOptions options = {},
                     std::source_location site = std::source_location::current()) const;
  // Numbers the elements: an int64 input before the others.
  Dataset enumerate(std::int64_t start = 0) const;
  Dataset filter(std::function<bool(const Batch&)> keep,  // as for map()
                 std::source_location site = std::source_location::current()) const;
  Dataset concatenate(const Dataset& other) const;  // this one, then the other
  Dataset unbatch() const;                          // elements cut along axis 0
  // Each time a new epoch.
  Dataset repeat(std::int64_t times = kForever,
                 std::source_location site = std::source_location::current()) const;
  Dataset take(std::int64_t count,
               std::source_location site = std::source_location::current()) const;
  Dataset skip(std::int64_t count,
               std::source_location site = std::source_location::current()) const;
  // A thread makes up to `count` elements before they are asked for. Dropping the iterator waits
  // for the element that is being made.
  Dataset prefetch(std::int64_t count,
                   std::source_location site = std::source_location::current()) const;
  // The first pass that comes to its end keeps all elements, in memory or in a file; later ones
  // read those. A file that is there is read from the first pass on, whatever wrote it.
  Dataset cache(std::source_location site = std::source_location::current()) const;
  Dataset cache(const std::string& path,
                std::source_location site = std::source_location::current()) const;

  // How many elements an epoch has, where it can be known.
  std::optional<std::int64_t> size() const;

  // The first pass is epoch 0. The same epoch always has the same order.
  DatasetIterator iterate(std::source_location site = std::source_location::current()) const;
  DatasetIterator iterate(std::uint64_t epoch,
                          std::source_location site = std::source_location::current()) const;

  // for (Batch& batch : dataset): a pass of its own.
  class Range {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    Range(DatasetIterator pass, std::source_location site)
        : pass_(std::move(pass)), site_(site), batch_(pass_.next(site_)) {}
    Batch& operator*() { return *batch_; }
    Batch* operator->() { return &*batch_; }
    Range& operator++() {
      batch_.reset();  // before the next is made
      batch_ = pass_.next(site_);
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !batch_.has_value(); }

   private:
    DatasetIterator pass_;
    std::source_location site_;
    std::optional<Batch> batch_;
  };
  Range begin(std::source_location site = std::source_location::current()) const {
    return {iterate(site), site};
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  friend struct dataset::DatasetAccess;
  explicit Dataset(dataset::Pipeline pipeline);
  static Dataset from_elements(const std::vector<Batch>& elements, std::source_location site);
  tenure::detail::Held<std::shared_ptr<const dataset::Pipeline>, "Dataset"> pipeline_;
  tenure::detail::Held<std::shared_ptr<std::atomic<std::uint64_t>>, "Dataset"> epochs_;
};
// A tidy may return them: they hold no tensors of its.
inline void walk_tensors(Dataset&, auto&&) {}
inline void walk_tensors(DatasetIterator&, auto&&) {}

}  // namespace tenure::nn
