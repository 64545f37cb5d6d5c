#include "nn/fit_data.h"

#include <algorithm>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/bounds.h"
#include "nn/dataset_stream.h"
#include "nn/model_state.h"
#include "tensor/access.h"

namespace tenure::nn::detail {

void check_defined(const char* op, std::span<const Tensor> tensors, std::source_location site) {
  if (tenure::detail::context().trace != nullptr) return;  // there they may be captured
  for (const Tensor& each : tensors) {
    if (each.defined()) const tenure::detail::Pin pin(each, op, site);
  }
}
void check_defined(const char* op, const Tensor& x, const Tensor& y, std::source_location site) {
  check_defined(op, {&x, 1}, site);
  check_defined(op, {&y, 1}, site);
}

namespace {

using Size = std::optional<std::int64_t>;

// Where none is given: what makes so many steps of the examples, if that is said.
std::int64_t batch_size_of(Size given, std::int64_t examples, std::int64_t steps) {
  constexpr std::int64_t kBatchSize = 32;
  if (given) return *given;
  return steps > 0 ? std::max<std::int64_t>(1, (examples + steps - 1) / steps) : kBatchSize;
}

void check_batch_size(const char* what, const char* option, Size size) {
  if (size && *size < 1) raise<ValueError>("{}: {} must be positive: {}", what, option, *size);
}

// Of the examples of a batch, from one to the next.
bool has_state(const Model& model) {
  ModelBase& base = ModelAccess::base(model);
  const Structure* structure = structure_of(base);
  if (structure == nullptr) return keeps_rows(base, kAny);
  return std::ranges::any_of(structure->inputs, [&](const Node& input) {
    const Shape& shape = input.shape();
    return shape.rank() > 0 && shape[0] != kAny && keeps_rows(base, shape[0]);
  });
}

// A state is per example of a batch: all of them are to have the same number.
void check_batches(const Model& model, const Dataset& examples, std::int64_t batch_size,
                   const char* what) {
  const Size size = examples.size();
  if (!size || *size % batch_size == 0 || !has_state(model)) return;
  raise<ValueError>(
      "{}: {} examples do not make whole batches of {}, and {} keeps a state per example of a "
      "batch: leave {} out, or use another batch_size",
      what, *size, batch_size, layer_text(ModelAccess::base(model)), *size % batch_size);
}

Dataset in_batches(const Model& model, const Dataset& examples, Size batch_size, const char* what,
                   std::int64_t steps = 0) {
  const std::int64_t size = batch_size_of(batch_size, examples.size().value_or(0), steps);
  check_batches(model, examples, size, what);
  return examples.batch(size);
}

// The first `steps` batches; 0: all.
Dataset limited(const Dataset& batches, std::int64_t steps, const char* what, const char* option) {
  check_at_least<std::int64_t>(what, option, steps, 0);
  if (steps == 0) {
    dataset::check_ends(dataset::DatasetAccess::size(batches), what,
                        fmt::format("say how many batches are taken, as {} = 100.", option));
    return batches;
  }
  if (const Size size = batches.size(); size && *size < steps) {
    throw ValueError(
        describe("{}: {} {} is more than there are batches: {}", what, option, steps, *size)
            .told({}, "leave it out to take them all, or repeat() the dataset."));
  }
  return batches.take(steps);
}

// A dataset that was given as it is.
void check_dataset(const Model& model, const Dataset& batches, Size batch_size, const char* what) {
  if (batch_size) {
    raise<ValueError>("{}: batch_size {} is for tensors: of a dataset, give dataset.batch({})",
                      what, *batch_size, *batch_size);
  }
  // Of a model that knows its inputs, the first batch tells by its rank.
  if (!dataset::DatasetAccess::has_single_examples(batches) ||
      structure_of(ModelAccess::base(model)) != nullptr) {
    return;
  }
  throw ValueError(describe("{}: the dataset gives single examples, not batches", what)
                       .told({}, "give it in batches: dataset.batch(32)."));
}

void check_weights(const Tensor& sample_weight, const char* what) {
  if (!sample_weight.defined()) return;
  raise<ValueError>("{}: sample_weight is for tensors: a dataset's batches have their own", what);
}

// ---- fit

void check_validation(const FitOptions& options) {
  check_part("fit", "validation_split", options.validation_split);
  check_at_least("fit", "validation_freq", options.validation_freq, 1);
  check_at_least<std::int64_t>("fit", "validation_steps", options.validation_steps, 0);
  check_batch_size("fit", "validation_batch_size", options.validation_batch_size);
  const bool splits = options.validation_split > 0;
  if (options.validation && splits) {
    raise<ValueError>("fit: validation_split {} beside validation: give one of them",
                      options.validation_split);
  }
  if (options.validation || splits) return;
  const auto refuse = [](const char* option, std::int64_t value) {
    raise<ValueError>("fit: {} {} without a validation: give validation or validation_split",
                      option, value);
  };
  if (options.validation_freq != 1) refuse("validation_freq", options.validation_freq);
  if (options.validation_steps > 0) refuse("validation_steps", options.validation_steps);
  if (const Size size = options.validation_batch_size) refuse("validation_batch_size", *size);
}

void check_options(const FitOptions& options) {
  check_at_least("fit", "epochs", options.epochs, 0);
  check_at_least("fit", "initial_epoch", options.initial_epoch, 0);
  check_batch_size("fit", "batch_size", options.batch_size);
  check_validation(options);
}

std::optional<Dataset> validation_data(const Model& model, const Dataset& validation,
                                       const FitOptions& options) {
  Dataset batches = validation;
  const Size own = options.validation_batch_size;
  if (dataset::DatasetAccess::has_single_examples(validation)) {
    batches = in_batches(model, validation, own ? own : options.batch_size, "fit");
  } else if (own) {
    raise<ValueError>(
        "fit: validation_batch_size {}, but validation comes in batches: leave one of them out",
        *own);
  }
  return limited(batches, options.validation_steps, "fit", "validation_steps");
}

void check_shuffle(const Model& model, const FitOptions& options) {
  if (!options.shuffle.value_or(false) || !has_state(model)) return;
  raise<ValueError>(
      "fit: shuffle: {} keeps a state from batch to batch, which follow each other: leave it out",
      layer_text(ModelAccess::base(model)));
}

}  // namespace

FitData fit_data(const Model& model, const std::vector<Tensor>& x, const std::vector<Tensor>& y,
                 const FitOptions& options, std::source_location site) {
  check_options(options);
  check_shuffle(model, options);
  Dataset examples = Dataset::from_tensors(x, y, options.sample_weight, site);
  std::optional<Dataset> validation = options.validation;
  if (options.validation_split > 0) {
    const std::int64_t size = examples.size().value_or(0);
    const auto kept =
        static_cast<std::int64_t>(static_cast<double>(size) * (1 - options.validation_split));
    if (kept == 0 || kept == size) {
      raise<ValueError>("fit: validation_split {} of {} examples leaves none to {}",
                        options.validation_split, size, kept == 0 ? "train on" : "validate on");
    }
    validation = examples.skip(kept);
    examples = examples.take(kept);
  }
  if (validation) validation = validation_data(model, *validation, options);
  if (options.shuffle.value_or(!has_state(model))) examples = examples.shuffle();
  Dataset batches = in_batches(model, examples, options.batch_size, "fit", options.steps_per_epoch);
  (void)limited(batches, options.steps_per_epoch, "fit", "steps_per_epoch");
  return {std::move(batches), std::move(validation)};
}

FitData fit_data(const Model& model, const Dataset& batches, const FitOptions& options) {
  check_options(options);
  if (options.validation_split > 0) {
    raise<ValueError>(
        "fit: validation_split {} is of tensors: of a dataset, give .validation = dataset.skip(n), "
        "and train on dataset.take(n)",
        options.validation_split);
  }
  check_weights(options.sample_weight, "fit");
  check_dataset(model, batches, options.batch_size, "fit");
  if (options.shuffle.value_or(false)) {
    raise<ValueError>(
        "fit: shuffle is for tensors: a dataset comes in its own order: dataset.shuffle()");
  }
  (void)limited(batches, options.steps_per_epoch, "fit", "steps_per_epoch");
  std::optional<Dataset> validation;
  if (options.validation) validation = validation_data(model, *options.validation, options);
  return {batches, std::move(validation)};
}

Dataset evaluated_data(const Model& model, const std::vector<Tensor>& x,
                       const std::vector<Tensor>& y, const EvaluateOptions& options,
                       std::source_location site) {
  check_batch_size("evaluate", "batch_size", options.batch_size);
  const Dataset examples = Dataset::from_tensors(x, y, options.sample_weight, site);
  return limited(in_batches(model, examples, options.batch_size, "evaluate", options.steps),
                 options.steps, "evaluate", "steps");
}

Dataset evaluated_data(const Model& model, const Dataset& batches, const EvaluateOptions& options) {
  check_weights(options.sample_weight, "evaluate");
  check_dataset(model, batches, options.batch_size, "evaluate");
  return limited(batches, options.steps, "evaluate", "steps");
}

std::int64_t predicted_batch(const Model& model, const std::vector<Tensor>& x,
                             const PredictOptions& options, std::source_location site) {
  if (x.empty()) raise<ValueError>("predict: no inputs were given");
  check_batch_size("predict", "batch_size", options.batch_size);
  for (const Tensor& each : x) {
    if (each.rank() == 0) raise<ShapeError>("predict: an input has no axis of examples: []");
    if (each.dim(0) != x.front().dim(0)) {
      raise<ShapeError>("predict: inputs have different numbers of examples: {} and {}",
                        x.front().dim(0), each.dim(0));
    }
  }
  const std::int64_t examples = x.front().dim(0);
  const std::int64_t size = batch_size_of(options.batch_size, examples, options.steps);
  if (options.steps == 0 && examples <= size) return size;
  const Dataset all = Dataset::from_tensors(x, {}, {}, site);
  if (examples > size) check_batches(model, all, size, "predict");
  (void)limited(all.batch(size), options.steps, "predict", "steps");
  return size;
}

Dataset predicted_data(const Model& model, const Dataset& batches, const PredictOptions& options) {
  check_dataset(model, batches, options.batch_size, "predict");
  return limited(batches, options.steps, "predict", "steps");
}

}  // namespace tenure::nn::detail
