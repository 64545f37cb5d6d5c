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

}  // namespace dataset

namespace {

void check_count(const char* what, std::int64_t count, std::int64_t least) {
  if (count < least) raise<ValueError>("{}: at least {}, not {}", what, least, count);
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

std::uint64_t draw_seed() {
  tenure::detail::RandomState& random = *tenure::detail::context().random;
  const std::uint64_t drawn = random.next.fetch_add(1, std::memory_order_relaxed);
  return dataset::mix(random.seed.load(std::memory_order_relaxed)) + drawn;
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
  if (run_ == nullptr) raise<ValueError>("next: the iterator is empty (moved from)");
  const dataset::OwnWork own_work;
  const tenure::detail::CallScope call("next", site);
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

Dataset Dataset::from_source(std::shared_ptr<const ExampleSource> source) {
  if (source == nullptr) raise<ValueError>("from_source: no source");
  Pipeline pipeline;
  pipeline.examples = dataset::all_examples(*source);
  pipeline.source = std::move(source);
  return Dataset(std::move(pipeline));
}

Dataset Dataset::from_generator(std::function<Generator()> open, std::optional<std::int64_t> size) {
  if (!open) raise<ValueError>("from_generator: an empty function");
  if (size) check_count("from_generator: size", *size, 0);
  return Dataset(pipeline_of(dataset::generator_of(std::move(open), size)));
}

Dataset Dataset::from_elements(const std::vector<Batch>& elements, std::source_location site) {
  const tenure::detail::CallScope call("from_range", site);
  return Dataset(pipeline_of(dataset::saved_elements(elements, site)));
}

Dataset Dataset::shuffle(std::int64_t buffer, ShuffleOptions options) const {
  check_count("shuffle: buffer", buffer, 1);
  const std::uint64_t seed = options.seed ? *options.seed : draw_seed();
  return Dataset(chosen<dataset::Shuffled>(*pipeline_, buffer, seed, options.each_epoch));
}

Dataset Dataset::batch(std::int64_t size, BatchOptions options) const {
  check_count("batch: size", size, 1);
  return Dataset(pipeline_of(dataset::batches_of(*pipeline_, size, options.drop_remainder)));
}

Dataset Dataset::map(std::function<Batch(Batch)> fn) const {
  if (!fn) raise<ValueError>("map: an empty function");
  return Dataset(pipeline_of(dataset::map_of(dataset::elements_of(*pipeline_), std::move(fn))));
}

Dataset Dataset::filter(std::function<bool(const Batch&)> keep) const {
  if (!keep) raise<ValueError>("filter: an empty function");
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

Dataset Dataset::repeat(std::int64_t times) const {
  if (times != kForever) check_count("repeat: times", times, 0);
  return Dataset(chosen<dataset::Repeated>(*pipeline_, times));
}

Dataset Dataset::take(std::int64_t count) const {
  check_count("take: count", count, 0);
  return Dataset(chosen<dataset::Portion>(*pipeline_, std::int64_t{0}, count));
}

Dataset Dataset::skip(std::int64_t count) const {
  check_count("skip: count", count, 0);
  return Dataset(chosen<dataset::Portion>(*pipeline_, count, kAll));
}

Dataset Dataset::prefetch(std::int64_t count) const {
  check_count("prefetch: count", count, 1);
  return Dataset(pipeline_of(dataset::prefetch_of(dataset::elements_of(*pipeline_), count)));
}

std::optional<std::int64_t> Dataset::size() const {
  return pipeline_->examples != nullptr ? pipeline_->examples->size() : pipeline_->elements->size();
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
