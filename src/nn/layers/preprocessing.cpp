// Normalization and Discretization: how to prepare data, learned from it before training.
#include "tenure/nn/preprocessing_layers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "memory/context.h"
#include "memory/text.h"
#include "nn/eager_scope.h"
#include "nn/layers/categories.h"
#include "nn/layers/common.h"
#include "nn/layers/quantiles.h"
#include "nn/precision.h"
#include "tensor/assign.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/math.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace detail {

namespace {

// Numbers that are null in files where there are none.
void numbers_field(Fields& visit, const char* key, std::vector<double>& numbers) {
  std::optional<std::vector<double>> given;
  if (!numbers.empty()) given = numbers;
  visit(key, given);
  numbers = given.value_or(std::vector<double>());
}

}  // namespace

void fields(Fields& visit, NormalizationOptions& o) {
  visit("axis", Numbers{o.axis});
  numbers_field(visit, "mean", o.mean);
  numbers_field(visit, "variance", o.variance);
  TENURE_FIELDS(visit, o, invert);
}

void fields(Fields& visit, DiscretizationOptions& o) {
  numbers_field(visit, "bin_boundaries", o.bin_boundaries);
  TENURE_FIELDS(visit, o, num_bins, epsilon, output_mode);
}

namespace {

// Calls `take` with parts of the data, one after the other; `base` is built for them.
void each_part(LayerBase& base, const Tensor& data, std::source_location site,
               const std::function<void(const Tensor& part)>& take) {
  constexpr std::int64_t kElements = std::int64_t{1} << 20;
  const Spec spec = spec_of(data);
  if (spec.shape.rank() == 0 || spec.shape.numel() == 0) {
    raise<ValueError>("adapt: {}: there is nothing in data of {}", layer_text(base), spec.shape);
  }
  ensure_built(base, {spec}, site, {data});
  const std::int64_t count = spec.shape[0], each = spec.shape.numel() / count;
  const std::int64_t rows = std::max<std::int64_t>(1, kElements / each);
  for (std::int64_t at = 0; at < count; at += rows) {
    Shape begin = Shape::filled(spec.shape.rank(), 0), size = spec.shape;
    begin[0] = at;
    size[0] = std::min(rows, count - at);
    take(slice(data, begin, size));
  }
}

void each_part(LayerBase& base, const Dataset& data, std::source_location site,
               const std::function<void(const Tensor& part)>& take) {
  DatasetIterator pass = data.iterate(site);
  bool is_empty = true;
  while (std::optional<Batch> batch = pass.next(site)) {
    if (batch->x.size() != 1) {
      raise<ValueError>("adapt: {} takes one input, the batches of the dataset have {}",
                        layer_text(base), batch->x.size());
    }
    each_part(base, batch->x[0], site, take);
    is_empty = false;
  }
  if (is_empty) raise<ValueError>("adapt: {}: the dataset is empty", layer_text(base));
}

template <class L, class D>
void adapt(const Layer& layer, const D& data, std::source_location site) {
  const EagerScope eager;
  const tenure::detail::CallScope call("adapt", site);
  check_alive(LayerAccess::base(layer), site, "adapt");
  L& base = static_cast<L&>(LayerAccess::base(layer));
  base.check_adaptable();
  typename L::Learned learned = base.begin_adapting();
  each_part(base, data, site, [&](const Tensor& part) { base.learn(learned, part); });
  base.keep(learned, site);
}

// ---- Normalization

// Of parts, by the formula of Chan, Golub and LeVeque.
struct RunningMoments {
  double count = 0;
  Tensor mean, squares;  // of the distances from the mean

  void add(const Tensor& part, const Axes& axes) {
    const Tensor values = cast(part, DType::float64);
    auto [part_mean, part_variance] = moments(values, axes);
    const double elements = static_cast<double>(values.shape().numel() / part_mean.shape().numel());
    Tensor part_squares = part_variance * elements;
    if (count == 0) {
      mean = part_mean;
      squares = part_squares;
    } else {
      const Tensor apart = part_mean - mean;
      const double all = count + elements;
      squares = squares + part_squares + square(apart) * (count * elements / all);
      mean = mean + apart * (elements / all);
    }
    count += elements;
  }
};

class FeatureNormalization final : public ConfiguredLayer<NormalizationOptions> {
 public:
  using Learned = RunningMoments;

  explicit FeatureNormalization(NormalizationOptions options)
      : ConfiguredLayer(std::move(options)) {
    if (options_.mean.empty() != options_.variance.empty()) {
      raise<ValueError>("Normalization: mean and variance must be given both, or neither");
    }
    for (const double variance : options_.variance) {
      check_at_least("Normalization", "variance", variance, 0.0);
    }
  }
  const char* class_name() const override { return "Normalization"; }
  bool passes_mask() const override { return true; }
  bool casts_inputs() const override { return false; }

  void build(const Shape& input) override {
    kept_ = Axes();
    for (const std::int64_t axis : options_.axis) kept_.push_back(axis_of(input, axis));
    std::ranges::sort(kept_);
    rank_ = input.rank();
    if (kept_.rank() > 0 && kept_[0] == 0) {
      raise<ShapeError>("works along axis 0: that is the batch");
    }
    const Shape sizes = places(input);
    if (is_given()) {
      check_given("mean", options_.mean, sizes);
      check_given("variance", options_.variance, sizes);
      return;
    }
    const DType dtype = options_.dtype;
    mean_ = add_weight("mean", sizes, {.initializer = "zeros", .trainable = false, .dtype = dtype});
    variance_ =
        add_weight("variance", sizes, {.initializer = "ones", .trainable = false, .dtype = dtype});
    // Keras has it too, and never counts.
    add_weight("count", {}, {.initializer = "zeros", .trainable = false, .dtype = DType::int32});
  }

  Tensor call(const Tensor& x, const Call&) override {
    const NoComputing in_its_own_dtype;  // data are not rounded before they are prepared
    check_rank(x.shape(), rank_);
    check_places(x.shape());
    const Tensor values = cast(x, options_.dtype);
    const Tensor mean = along(options_.mean, mean_, x.shape());
    const Tensor deviation = maximum(sqrt(along(options_.variance, variance_, x.shape())), kLeast);
    return options_.invert ? values * deviation + mean : (values - mean) / deviation;
  }

  void check_adaptable() const {
    if (!is_given()) return;
    raise<ValueError>("adapt: {} was given its mean and variance: leave them out to learn them",
                      layer_text(*this));
  }
  Learned begin_adapting() const { return {}; }
  void learn(Learned& learned, const Tensor& part) const {
    Axes axes;
    for (int axis = 0; axis < part.rank(); ++axis) {
      if (std::ranges::find(kept_, axis) == kept_.end()) axes.push_back(axis);
    }
    if (part.rank() != rank_ || places(part.shape()) != mean_.shape()) {
      raise<ShapeError>(
          "adapt: {} is for inputs of rank {} with {} places along the axes {}, was "
          "given data of {}",
          layer_text(*this), rank_, mean_.shape(), options_.axis, part.shape());
    }
    learned.add(part, axes);
  }
  void keep(const Learned& learned, std::source_location site) {
    const std::vector<Variable> weights{mean_, variance_};
    const std::vector<Tensor> values{cast(learned.mean, options_.dtype),
                                     cast(learned.squares / learned.count, options_.dtype)};
    tenure::detail::assign_all(weights, values, site, "adapt");
  }

 private:
  static constexpr double kLeast = 1e-7;  // Keras's

  bool is_given() const { return !options_.mean.empty(); }

  // How many there are along the axes that have a mean and a variance for each.
  Shape places(const Shape& input) const {
    Shape sizes;
    for (const std::int64_t axis : kept_) sizes.push_back(input[static_cast<int>(axis)]);
    return sizes;
  }
  void check_places(const Shape& input) const {
    if (is_given()) {
      check_given("mean", options_.mean, places(input));
      check_given("variance", options_.variance, places(input));
    } else if (places(input) != mean_.shape()) {
      raise<ShapeError>("has a mean for each of {} along the axes {}, was given {}", mean_.shape(),
                        options_.axis, input);
    }
  }

  void check_given(const char* what, const std::vector<double>& numbers, const Shape& sizes) const {
    const auto count = static_cast<std::int64_t>(numbers.size());
    if (count == 1 || count == sizes.numel()) return;
    raise<ShapeError>("was given {} numbers as {}, for {} along the axes {}", count, what, sizes,
                      options_.axis);
  }

  // What was given or learned, in a shape that broadcasts to the input's.
  Tensor along(const std::vector<double>& given, const Variable& learned,
               const Shape& input) const {
    Shape shape = Shape::filled(rank_, 1);
    const bool is_one = given.size() == 1;
    for (const std::int64_t axis : kept_) {
      if (!is_one) shape[static_cast<int>(axis)] = input[static_cast<int>(axis)];
    }
    if (given.empty()) return reshape(learned, shape);
    return cast(tensor(given, shape), options_.dtype);
  }

  Axes kept_;
  int rank_ = 0;
  Variable mean_, variance_;
};

// ---- Discretization

class DiscretizationLayer final : public ConfiguredLayer<DiscretizationOptions> {
 public:
  using Learned = Quantiles;

  explicit DiscretizationLayer(DiscretizationOptions options)
      : ConfiguredLayer(std::move(options)) {
    const DiscretizationOptions& o = options_;
    if (o.bin_boundaries.empty() && !o.num_bins) {
      raise<ValueError>("Discretization: give it bin_boundaries, or num_bins to adapt");
    }
    if (o.num_bins) {
      check_at_least("Discretization", "num_bins", *o.num_bins, std::int64_t{2});
      if (static_cast<std::int64_t>(o.bin_boundaries.size()) >= *o.num_bins) {
        raise<ValueError>("Discretization: {} bin_boundaries make more than {} bins",
                          o.bin_boundaries.size(), *o.num_bins);
      }
    }
    const bool known =
        std::ranges::none_of(o.bin_boundaries, [](double x) { return std::isnan(x); });
    if (!known || !std::ranges::is_sorted(o.bin_boundaries)) {
      raise<ValueError>("Discretization: bin_boundaries must ascend: {}",
                        fmt::format("{}", fmt::join(o.bin_boundaries, ", ")));
    }
    if (!(o.epsilon > 0 && o.epsilon < 1)) {
      raise<ValueError>("Discretization: epsilon must be above 0 and below 1: {}", o.epsilon);
    }
    check_output_mode("Discretization", o.output_mode, "int");
  }
  const char* class_name() const override { return "Discretization"; }

  void build(const Shape&) override {
    if (!options_.num_bins) return;
    boundaries_ = LayerAccess::add_record(*this, "bin_boundaries", {count()}, dtype_);
    boundaries_.assign(padded(options_.bin_boundaries));
  }

  Tensor call(const Tensor& x, const Call&) override {
    if (tenure::detail::context().trace == nullptr && boundaries().empty()) {
      raise<ValueError>("{} has no boundaries yet: adapt it first", layer_text(*this));
    }
    const NoComputing in_its_own_dtype;
    const Tensor limits = options_.num_bins ? boundaries_.read() : padded(options_.bin_boundaries);
    const Tensor values = cast(x, dtype_);
    const Tensor found = reshape(upper_bound(limits, reshape(values, {-1})), x.shape());
    // NaN lies beyond all of them, as NumPy sorts it.
    const Tensor bins =
        where(equal(values, values), found, full({}, static_cast<double>(count()), found.dtype()));
    if (options_.output_mode == "int") return bins;
    return encoded(bins, options_.output_mode, count() + 1, options_.dtype);
  }

  // As a file should have it: with what was learned.
  std::string config() const override {
    DiscretizationOptions options = options_;
    options.name = name();
    options.trainable = trainable();
    options.bin_boundaries = boundaries();
    return written([&](Fields& visit) { layer_fields(visit, options); });
  }

  std::vector<double> boundaries() const {
    if (!options_.num_bins || !boundaries_.defined()) return options_.bin_boundaries;
    const EagerScope eager;
    std::vector<double> numbers = cast(boundaries_, DType::float64).to_vector<double>();
    std::erase(numbers, kNone);
    return numbers;
  }

  void check_adaptable() const {
    if (options_.num_bins) return;
    raise<ValueError>("adapt: {} was given its bin_boundaries: give it num_bins to learn them",
                      layer_text(*this));
  }
  Learned begin_adapting() const { return Quantiles(options_.epsilon); }
  void learn(Learned& learned, const Tensor& part) const {
    learned.add(cast(part, DType::float32).to_vector<float>());
  }
  void keep(const Learned& learned, std::source_location site) {
    const std::vector<Variable> records{boundaries_};
    const std::vector<Tensor> values{padded(learned.boundaries(*options_.num_bins))};
    tenure::detail::assign_all(records, values, site, "adapt");
  }

 private:
  // Fills up where the data have fewer quantiles than there are bins: nothing lies beyond it.
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  std::int64_t count() const {
    return options_.num_bins ? *options_.num_bins - 1
                             : static_cast<std::int64_t>(options_.bin_boundaries.size());
  }
  Tensor padded(std::vector<double> numbers) const {
    numbers.resize(static_cast<std::size_t>(count()), kNone);
    return cast(tensor(numbers), dtype_);
  }

  const DType own_ = options_.dtype;
  const DType dtype_ = is_floating(own_) ? own_ : DType::float32;
  Variable boundaries_;  // where they are learned
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(Normalization, NormalizationOptions, FeatureNormalization)
TENURE_DEFINE_LAYER(Discretization, DiscretizationOptions, DiscretizationLayer)

void Normalization::adapt(const Tensor& data, std::source_location site) const {
  detail::adapt<detail::FeatureNormalization>(*this, data, site);
}
void Normalization::adapt(const Dataset& data, std::source_location site) const {
  detail::adapt<detail::FeatureNormalization>(*this, data, site);
}

void Discretization::adapt(const Tensor& data, std::source_location site) const {
  detail::adapt<detail::DiscretizationLayer>(*this, data, site);
}
void Discretization::adapt(const Dataset& data, std::source_location site) const {
  detail::adapt<detail::DiscretizationLayer>(*this, data, site);
}
std::vector<double> Discretization::bin_boundaries() const {
  return static_cast<detail::DiscretizationLayer&>(detail::LayerAccess::base(*this)).boundaries();
}

std::span<const detail::LayerRow> detail::preprocessing_layers() {
  return rows_of<Normalization, Discretization>();
}

}  // namespace tenure::nn
