#include "tenure/dataset.h"

#include "core/raise.h"
#include "memory/context.h"
#include "nn/dataset_stream.h"

namespace tenure::nn {

using dataset::Example;
using dataset::Pipeline;
using dataset::RecipePtr;

namespace dataset {

// A pass: its streams, and the recipe they read from.
class Run {
 public:
  Run(RecipePtr<Batch> recipe, StreamPtr<Batch> stream)
      : recipe_(std::move(recipe)), stream_(std::move(stream)) {}

  std::optional<Batch> next() {
    if (stream_ == nullptr) return std::nullopt;
    std::optional<Batch> element;
    try {
      element = stream_->next();
    } catch (...) {
      stream_ = nullptr;
      throw;
    }
    if (!element) stream_ = nullptr;
    return element;
  }

 private:
  RecipePtr<Batch> recipe_;
  StreamPtr<Batch> stream_;
};

void check_ends(std::optional<std::int64_t> size, const char* what, std::string remedy) {
  if (size != kEndless) return;
  throw ValueError(describe("{}: the dataset never ends", what).told({}, std::move(remedy)));
}

std::uint64_t draw_seed() {
  tenure::detail::RandomState& random = *tenure::detail::context().random;
  const std::uint64_t drawn = random.next.fetch_add(1, std::memory_order_relaxed);
  return mix(random.seed.load(std::memory_order_relaxed)) + drawn;
}

}  // namespace dataset

namespace {

void check_count(const char* what, std::int64_t count, std::int64_t least) {
  if (count < least) raise<ValueError>("{}: at least {}, not {}", what, least, count);
}

void check_fill_shapes(const char* what, const std::vector<Shape>& shapes) {
  for (const Shape& shape : shapes) {
    for (const std::int64_t size : shape.dims()) {
      if (size >= -1) continue;
      raise<ShapeError>("padded_batch: {}: sizes are 0 and more, or -1 for the longest: {}", what,
                        shape);
    }
  }
}

// The step applied to whichever of the two the pipeline has.
template <template <class> class Step, class... Args>
Pipeline chosen(const Pipeline& from, const Args&... args) {
  Pipeline to;
  if (from.examples != nullptr) {
    to.source = from.source;
    to.examples = std::make_shared<Step<Example>>(from.examples, args...);
  } else {
    to.elements = std::make_shared<Step<Batch>>(from.elements, args...);
  }
  return to;
}

Pipeline pipeline_of(RecipePtr<Batch> elements) {
  Pipeline pipeline;
  pipeline.elements = std::move(elements);
  return pipeline;
}

}  // namespace

Batch ExampleSource::read_range(std::int64_t first, std::int64_t count) const {
  std::vector<std::int64_t> examples(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < examples.size(); ++i) {
    examples[i] = first + static_cast<std::int64_t>(i);
  }
  return read(examples);
}

DatasetIterator::DatasetIterator(std::unique_ptr<dataset::Run> run) : run_(std::move(run)) {}
DatasetIterator::DatasetIterator(DatasetIterator&&) noexcept = default;
DatasetIterator& DatasetIterator::operator=(DatasetIterator&&) noexcept = default;
DatasetIterator::~DatasetIterator() = default;

std::optional<Batch> DatasetIterator::next(std::source_location site) {
  const dataset::OwnWork own_work;
  const tenure::detail::CallScope call("next", site);
  if (run_ == nullptr) raise<ValueError>("next: the iterator is empty (moved from)");
  return run_->next();
}

Dataset::Dataset(Pipeline pipeline)
    : pipeline_(std::make_shared<const Pipeline>(std::move(pipeline))),
      epochs_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

Dataset Dataset::from_tensors(const Tensors& x, const Tensors& y, const Tensor& weight,
                              std::source_location site) {
  const tenure::detail::CallScope call("from_tensors", site);
  return from_source(dataset::tensor_source(x, y, weight, site));
}

Dataset Dataset::from_source(std::shared_ptr<const ExampleSource> source,
                             std::source_location site) {
  const tenure::detail::UserLine line(site);
  if (source == nullptr) raise<ValueError>("from_source: no source");
  Pipeline pipeline;
  pipeline.examples = dataset::all_examples(*source);
  pipeline.source = std::move(source);
  return Dataset(std::move(pipeline));
}

Dataset Dataset::from_text(std::vector<std::string> text, const Tensors& y, const Tensor& weight,
                           std::source_location site) {
  const tenure::detail::CallScope call("from_text", site);
  return from_source(dataset::text_source(std::move(text), y, weight, site));
}

Dataset Dataset::from_timeseries(const Tensor& data, const Tensor& targets,
                                 TimeseriesOptions options, std::source_location site) {
  const tenure::detail::CallScope call("from_timeseries", site);
  return from_source(dataset::series_source(data, targets, options, site));
}

Dataset Dataset::zip(const std::vector<Dataset>& x, const std::vector<Dataset>& y,
                     std::source_location site) {
  const tenure::detail::UserLine line(site);
  if (x.empty()) raise<ValueError>("zip: no inputs");
  const auto elements = [](const std::vector<Dataset>& datasets) {
    std::vector<RecipePtr<Batch>> recipes;
    for (const Dataset& each : datasets) recipes.push_back(dataset::elements_of(*each.pipeline_));
    return recipes;
  };
  return Dataset(pipeline_of(dataset::zip_of(elements(x), elements(y))));
}

Dataset Dataset::from_generator(std::function<Generator()> open, std::optional<std::int64_t> size,
                                std::source_location site) {
  const tenure::detail::UserLine line(site);
  tenure::detail::check_function("from_generator", open, line);
  if (size) check_count("from_generator: size", *size, 0);
  return Dataset(pipeline_of(dataset::generator_of(std::move(open), size, site)));
}

Dataset Dataset::from_elements(const std::vector<Batch>& elements, std::source_location site) {
  const tenure::detail::CallScope call("from_range", site);
  return Dataset(pipeline_of(dataset::saved_elements(elements, site)));
}

Dataset Dataset::shuffle(std::int64_t buffer, ShuffleOptions options,
                         std::source_location site) const {
  const tenure::detail::UserLine line(site);
  check_count("shuffle: buffer", buffer, 1);
  if (buffer == kAll) {
    dataset::check_ends(dataset::size_of(*pipeline_), "shuffle",
                        "shuffle() before repeat(), or give the size of a buffer.");
  }
  const std::uint64_t seed = options.seed ? *options.seed : dataset::draw_seed();
  return Dataset(chosen<dataset::Shuffled>(*pipeline_, buffer, seed, options.each_epoch));
}

Dataset Dataset::batch(std::int64_t size, BatchOptions options, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  check_count("batch: size", size, 1);
  return Dataset(pipeline_of(dataset::batches_of(
      *pipeline_, {.size = size, .shift = size, .drop_remainder = options.drop_remainder},
      "batch")));
}

Dataset Dataset::padded_batch(std::int64_t size, PaddedBatchOptions options,
                              std::source_location site) const {
  const tenure::detail::UserLine line(site);
  check_count("padded_batch: size", size, 1);
  check_fill_shapes("x_shapes", options.x_shapes);
  check_fill_shapes("y_shapes", options.y_shapes);
  return Dataset(pipeline_of(
      dataset::padded_batches_of(dataset::elements_of(*pipeline_), size, std::move(options))));
}

Dataset Dataset::window(std::int64_t size, WindowOptions options, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  const std::int64_t shift = options.shift.value_or(size);
  check_count("window: size", size, 1);
  check_count("window: shift", shift, 1);
  check_count("window: stride", options.stride, 1);
  if (size > kAll / options.stride) {
    raise<ValueError>("window: size {} and stride {} reach too far", size, options.stride);
  }
  return Dataset(pipeline_of(dataset::batches_of(*pipeline_,
                                                 {.size = size,
                                                  .shift = shift,
                                                  .stride = options.stride,
                                                  .drop_remainder = options.drop_remainder},
                                                 "window")));
}

Dataset Dataset::map(std::function<Batch(Batch)> fn, MapOptions options,
                     std::source_location site) const {
  const tenure::detail::UserLine line(site);
  tenure::detail::check_function("map", fn, site);
  constexpr int kMostThreads = 1024;
  const int calls = options.num_parallel_calls;
  if (calls < 1 || calls > kMostThreads) {
    raise<ValueError>("map: num_parallel_calls must be between 1 and {}: {}", kMostThreads, calls);
  }
  dataset::Mapping mapping{std::move(fn), site};
  RecipePtr<Batch> elements = dataset::elements_of(*pipeline_);
  if (calls == 1) {
    return Dataset(pipeline_of(dataset::map_of(std::move(elements), std::move(mapping))));
  }
  const auto threads = static_cast<std::size_t>(calls);
  return Dataset(
      pipeline_of(dataset::ahead_of(std::move(elements), {.op = "map",
                                                          .count = threads,
                                                          .threads = threads,
                                                          .in_order = options.deterministic,
                                                          .map = std::move(mapping)})));
}

Dataset Dataset::flat_map(std::function<Dataset(Batch)> fn, std::source_location site) const {
  tenure::detail::check_function("flat_map", fn, site);
  return Dataset(pipeline_of(dataset::interleaved_of("flat_map", dataset::elements_of(*pipeline_),
                                                     std::move(fn), {.cycle_length = 1}, site)));
}

Dataset Dataset::interleave(std::function<Dataset(Batch)> fn, InterleaveOptions options,
                            std::source_location site) const {
  const tenure::detail::UserLine line(site);
  tenure::detail::check_function("interleave", fn, site);
  check_count("interleave: cycle_length", options.cycle_length, 1);
  check_count("interleave: block_length", options.block_length, 1);
  return Dataset(pipeline_of(dataset::interleaved_of("interleave", dataset::elements_of(*pipeline_),
                                                     std::move(fn), options, site)));
}

Dataset Dataset::enumerate(std::int64_t start) const {
  return Dataset(pipeline_of(dataset::enumerated_of(dataset::elements_of(*pipeline_), start)));
}

Dataset Dataset::cache(std::source_location site) const {
  const tenure::detail::UserLine line(site);
  dataset::check_ends(dataset::size_of(*pipeline_), "cache", "cache() before repeat().");
  return Dataset(pipeline_of(dataset::cached_of(dataset::elements_of(*pipeline_), site)));
}

Dataset Dataset::filter(std::function<bool(const Batch&)> keep, std::source_location site) const {
  tenure::detail::check_function("filter", keep, site);
  return Dataset(
      pipeline_of(dataset::filter_of(dataset::elements_of(*pipeline_), std::move(keep))));
}

Dataset Dataset::concatenate(const Dataset& other) const {
  return Dataset(pipeline_of(dataset::concatenation_of(dataset::elements_of(*pipeline_),
                                                       dataset::elements_of(*other.pipeline_))));
}

Dataset Dataset::unbatch() const {
  return Dataset(pipeline_of(dataset::unbatched_of(dataset::elements_of(*pipeline_))));
}

Dataset Dataset::repeat(std::int64_t times, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  if (times != kForever) check_count("repeat: times", times, 0);
  return Dataset(chosen<dataset::Repeated>(*pipeline_, times));
}

Dataset Dataset::take(std::int64_t count, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  check_count("take: count", count, 0);
  return Dataset(chosen<dataset::Portion>(*pipeline_, std::int64_t{0}, count));
}

Dataset Dataset::skip(std::int64_t count, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  check_count("skip: count", count, 0);
  return Dataset(chosen<dataset::Portion>(*pipeline_, count, kAll));
}

Dataset Dataset::prefetch(std::int64_t count, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  check_count("prefetch: count", count, 1);
  return Dataset(pipeline_of(
      dataset::ahead_of(dataset::elements_of(*pipeline_),
                        {.op = "prefetch", .count = static_cast<std::size_t>(count), .map = {}})));
}

std::optional<std::int64_t> Dataset::size() const {
  const auto size = dataset::size_of(*pipeline_);
  return size == dataset::kEndless ? std::nullopt : size;
}

DatasetIterator Dataset::iterate(std::source_location site) const {
  return iterate(epochs_->fetch_add(1, std::memory_order_relaxed), site);
}

DatasetIterator Dataset::iterate(std::uint64_t epoch, std::source_location site) const {
  const dataset::OwnWork own_work;
  const tenure::detail::CallScope call("iterate", site);
  RecipePtr<Batch> recipe = dataset::elements_of(*pipeline_);
  dataset::StreamPtr<Batch> stream = recipe->open(epoch);
  return DatasetIterator(std::make_unique<dataset::Run>(std::move(recipe), std::move(stream)));
}

}  // namespace tenure::nn
