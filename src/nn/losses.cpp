#include "tenure/nn/losses.h"

#include <fmt/format.h>

#include <array>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/loss_functions.h"
#include "nn/loss_spec.h"
#include "nn/parts.h"
#include "nn/training_parts.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn {

using detail::Json;
using detail::LossAccess;
using detail::LossSpec;

namespace {

constexpr std::array<const char*, 4> kReductions{"sum_over_batch_size", "sum", "none",
                                                 "mean_with_sample_weight"};

Reduction reduction_in(const Json& config) {
  const auto found = config.find("reduction");
  if (found == config.end()) return Reduction::sum_over_batch_size;
  if (found->is_null()) return Reduction::none;
  const std::string name = found->is_string() ? found->get<std::string>() : found->dump();
  if (name == "auto" || name == "mean") return Reduction::sum_over_batch_size;
  for (std::size_t i = 0; i < kReductions.size(); ++i) {
    if (name == kReductions[i]) return static_cast<Reduction>(i);
  }
  raise<ValueError>("loss: no such reduction: \"{}\" (there are: {})", name,
                    fmt::format("{}", fmt::join(kReductions, ", ")));
}

// Examples that count for nothing do not count in the mean either.
Tensor mean_of_valid(const Tensor& values, const Tensor& valid) {
  const Tensor part = mean(valid);
  return mean(values) / where(part > 0.0, part, 1.0);
}

}  // namespace

// ---- Loss

Loss::Loss(std::function<Tensor(Tensor, Tensor)> fn, std::string name, Reduction reduction)
    : spec_(std::make_shared<const LossSpec>(
          LossSpec{.class_name = {},
                   .name = name.empty() ? "loss" : std::move(name),
                   .config = Json::object(),
                   .reduction = reduction,
                   .per_example =
                       [fn = std::move(fn)](const Tensor& y_true, const Tensor& y_pred) {
                         const tenure::detail::CallbackScope callback;
                         return fn(y_true, y_pred);
                       },
                   .counts = {},
                   .activation = {},
                   .on_logits = {}})) {}

Loss::Loss(const char* name) : Loss(std::string(name)) {}
Loss::Loss(const std::string& name) : Loss(detail::loss_from_json(Json(name))) {}

Tensor Loss::per_example(const Tensor& y_true, const Tensor& y_pred,
                         std::source_location site) const {
  const tenure::detail::CallScope scope("loss", site);
  return spec_->per_example(y_true, y_pred);
}

Tensor Loss::operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight,
                        const Tensor& mask, std::source_location site) const {
  const tenure::detail::CallScope scope("loss", site);
  Tensor values = spec_->per_example(y_true, y_pred);
  Tensor valid = spec_->counts ? spec_->counts(values, y_true) : Tensor();
  if (mask.defined()) {
    const Tensor spread = detail::weights_for(name() + " (mask)", mask, values);
    valid = valid.defined() ? valid * spread : spread;
  }
  Tensor weights;
  if (sample_weight.defined()) {
    weights = detail::weights_for(name(), sample_weight, values);
    values = values * weights;
  }
  // Not multiplied: what a mask leaves out may be infinite.
  if (valid.defined()) values = where(valid > 0.0, values * valid, 0.0);
  switch (spec_->reduction) {
    case Reduction::none:
      return values;
    case Reduction::sum:
      return sum(values);
    case Reduction::sum_over_batch_size:
      return valid.defined() ? mean_of_valid(values, valid) : mean(values);
    case Reduction::mean_with_sample_weight:
      break;
  }
  if (!valid.defined() && !weights.defined()) return mean(values);
  Tensor factors = full_like(values, 1.0);
  if (valid.defined()) factors = factors * valid;
  if (weights.defined()) factors = factors * weights;
  return mean_of_valid(values, factors);
}

std::string Loss::name() const { return spec_->name; }
std::string Loss::class_name() const { return spec_->class_name; }
Reduction Loss::reduction() const { return spec_->reduction; }
std::string Loss::config() const {
  Json config{{"name", spec_->name},
              {"reduction", kReductions[static_cast<std::size_t>(spec_->reduction)]}};
  config.update(spec_->config);
  return config.dump();
}

std::optional<Loss> Loss::before(const std::string& activation) const {
  if (!spec_->on_logits || spec_->activation != activation) return std::nullopt;
  return spec_->on_logits();
}

// ---- The losses

namespace detail {

template <class V>
void fields(V&, LossOptions&) {}
template <class V>
void fields(V& visit, CrossentropyOptions& o) {
  visit("from_logits", o.from_logits);
  visit("label_smoothing", o.label_smoothing);
  visit("axis", o.axis);
}
template <class V>
void fields(V& visit, SparseCrossentropyOptions& o) {
  visit("from_logits", o.from_logits);
  visit("ignore_class", o.ignore_class);
  visit("axis", o.axis);
}
template <class V>
void fields(V& visit, BinaryFocalCrossentropyOptions& o) {
  visit("apply_class_balancing", o.apply_class_balancing);
  visit("alpha", o.alpha);
  visit("gamma", o.gamma);
  visit("from_logits", o.from_logits);
  visit("label_smoothing", o.label_smoothing);
  visit("axis", o.axis);
}
template <class V>
void fields(V& visit, CategoricalFocalCrossentropyOptions& o) {
  visit("alpha", o.alpha);
  visit("gamma", o.gamma);
  visit("from_logits", o.from_logits);
  visit("label_smoothing", o.label_smoothing);
  visit("axis", o.axis);
}
template <class V>
void fields(V& visit, HuberOptions& o) {
  visit("delta", o.delta);
}
template <class V>
void fields(V& visit, CosineSimilarityOptions& o) {
  visit("axis", o.axis);
}

namespace {

// A loss with these options, whose formula takes y_true in y_pred's shape.
template <class O, class F>
LossSpec loss_spec(const char* class_name, const char* name, O options, F formula) {
  ConfigWriter writer;
  fields(writer, options);
  const std::string own = options.name.empty() ? name : options.name;
  return {.class_name = class_name,
          .name = own,
          .config = writer.take(),
          .reduction = options.reduction,
          .per_example =
              [own, formula, options](const Tensor& y_true, const Tensor& y_pred) {
                const Pair pair = paired(own, y_true, y_pred);
                if constexpr (std::is_invocable_v<F, const Tensor&, const Tensor&>) {
                  return formula(pair.y_true, pair.y_pred);
                } else {
                  return formula(pair.y_true, pair.y_pred, options);
                }
              },
          .counts = {},
          .activation = {},
          .on_logits = {}};
}

template <class O>
void check_smoothing(const char* loss, const O& options) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    raise<ValueError>("{}: label_smoothing must be between 0 and 1: {}", loss,
                      options.label_smoothing);
  }
}

// The same loss that stands for itself after the activation, where it does not already.
template <class O>
void can_do_without(LossSpec& spec, const char* activation, O options, Loss (*make)(O)) {
  if (options.from_logits) return;
  options.from_logits = true;
  spec.activation = activation;
  spec.on_logits = [options, make] { return make(options); };
}

}  // namespace
}  // namespace detail

using detail::loss_spec;

Loss MeanSquaredError(LossOptions o) {
  return LossAccess::make(loss_spec("MeanSquaredError", "mean_squared_error", std::move(o),
                                    detail::mean_squared_error));
}
Loss MeanAbsoluteError(LossOptions o) {
  return LossAccess::make(loss_spec("MeanAbsoluteError", "mean_absolute_error", std::move(o),
                                    detail::mean_absolute_error));
}
Loss MeanAbsolutePercentageError(LossOptions o) {
  return LossAccess::make(loss_spec("MeanAbsolutePercentageError", "mean_absolute_percentage_error",
                                    std::move(o), detail::mean_absolute_percentage_error));
}
Loss MeanSquaredLogarithmicError(LossOptions o) {
  return LossAccess::make(loss_spec("MeanSquaredLogarithmicError", "mean_squared_logarithmic_error",
                                    std::move(o), detail::mean_squared_logarithmic_error));
}
Loss KLDivergence(LossOptions o) {
  return LossAccess::make(
      loss_spec("KLDivergence", "kl_divergence", std::move(o), detail::kl_divergence));
}
Loss Poisson(LossOptions o) {
  return LossAccess::make(loss_spec("Poisson", "poisson", std::move(o), detail::poisson));
}
Loss Hinge(LossOptions o) {
  return LossAccess::make(loss_spec("Hinge", "hinge", std::move(o), detail::hinge));
}
Loss SquaredHinge(LossOptions o) {
  return LossAccess::make(
      loss_spec("SquaredHinge", "squared_hinge", std::move(o), detail::squared_hinge));
}
Loss CategoricalHinge(LossOptions o) {
  return LossAccess::make(
      loss_spec("CategoricalHinge", "categorical_hinge", std::move(o), detail::categorical_hinge));
}
Loss LogCosh(LossOptions o) {
  return LossAccess::make(loss_spec("LogCosh", "log_cosh", std::move(o), detail::log_cosh));
}
Loss Huber(HuberOptions o) {
  if (!(o.delta > 0)) raise<ValueError>("Huber: delta must be above 0: {}", o.delta);
  return LossAccess::make(
      loss_spec("Huber", "huber", std::move(o),
                [](const Tensor& y_true, const Tensor& y_pred, const HuberOptions& options) {
                  return detail::huber(y_true, y_pred, options.delta);
                }));
}
Loss CosineSimilarity(CosineSimilarityOptions o) {
  return LossAccess::make(loss_spec(
      "CosineSimilarity", "cosine_similarity", std::move(o),
      [](const Tensor& y_true, const Tensor& y_pred, const CosineSimilarityOptions& options) {
        return -detail::cosine(y_true, y_pred, options.axis);
      }));
}

Loss BinaryCrossentropy(CrossentropyOptions o) {
  detail::check_smoothing("BinaryCrossentropy", o);
  LossSpec spec =
      loss_spec("BinaryCrossentropy", "binary_crossentropy", o, detail::binary_crossentropy);
  detail::can_do_without(spec, "sigmoid", std::move(o), BinaryCrossentropy);
  return LossAccess::make(std::move(spec));
}
Loss CategoricalCrossentropy(CrossentropyOptions o) {
  detail::check_smoothing("CategoricalCrossentropy", o);
  LossSpec spec = loss_spec("CategoricalCrossentropy", "categorical_crossentropy", o,
                            detail::categorical_crossentropy);
  if (o.axis == -1) detail::can_do_without(spec, "softmax", std::move(o), CategoricalCrossentropy);
  return LossAccess::make(std::move(spec));
}
Loss BinaryFocalCrossentropy(BinaryFocalCrossentropyOptions o) {
  detail::check_smoothing("BinaryFocalCrossentropy", o);
  LossSpec spec = loss_spec("BinaryFocalCrossentropy", "binary_focal_crossentropy", o,
                            detail::binary_focal_crossentropy);
  detail::can_do_without(spec, "sigmoid", std::move(o), BinaryFocalCrossentropy);
  return LossAccess::make(std::move(spec));
}
Loss CategoricalFocalCrossentropy(CategoricalFocalCrossentropyOptions o) {
  detail::check_smoothing("CategoricalFocalCrossentropy", o);
  LossSpec spec = loss_spec("CategoricalFocalCrossentropy", "categorical_focal_crossentropy", o,
                            detail::categorical_focal_crossentropy);
  if (o.axis == -1) {
    detail::can_do_without(spec, "softmax", std::move(o), CategoricalFocalCrossentropy);
  }
  return LossAccess::make(std::move(spec));
}
Loss SparseCategoricalCrossentropy(SparseCrossentropyOptions o) {
  LossSpec spec = loss_spec("SparseCategoricalCrossentropy", "sparse_categorical_crossentropy", o,
                            detail::sparse_categorical_crossentropy);
  spec.per_example = [o, name = spec.name](const Tensor& y_true, const Tensor& y_pred) {
    const detail::Pair pair = detail::paired_sparse(name, y_true, y_pred, o.axis);
    return detail::sparse_categorical_crossentropy(pair.y_true, pair.y_pred, o);
  };
  if (o.ignore_class) {
    spec.counts = [ignored = *o.ignore_class](const Tensor& values, const Tensor& y_true) {
      const Shape& shape = detail::shape_of(y_true, "y_true");
      const bool wider = shape.rank() > detail::shape_of(values, "loss").rank();
      const Tensor labels = wider ? squeeze(y_true, {-1}) : y_true;
      return cast(not_equal(labels, ignored), values.dtype());
    };
  }
  if (o.axis == -1) {
    detail::can_do_without(spec, "softmax", std::move(o), SparseCategoricalCrossentropy);
  }
  return LossAccess::make(std::move(spec));
}

// ---- By name and from files

namespace detail {

namespace {

template <class O, Loss (*kMake)(O)>
Loss loss_as(const Json& config) {
  O options;
  ConfigReader reader(config, "loss");
  fields(reader, options);
  reader("name", options.name);
  options.reduction = reduction_in(config);
  return kMake(std::move(options));
}

struct LossRow {
  const char* name;
  const char* other_names;  // each between spaces
  Loss (*make)(const Json& config);
};
constexpr LossRow kLosses[] = {
    {"mean_squared_error", " mse ", loss_as<LossOptions, MeanSquaredError>},
    {"mean_absolute_error", " mae ", loss_as<LossOptions, MeanAbsoluteError>},
    {"mean_absolute_percentage_error", " mape ", loss_as<LossOptions, MeanAbsolutePercentageError>},
    {"mean_squared_logarithmic_error", " msle ", loss_as<LossOptions, MeanSquaredLogarithmicError>},
    {"binary_crossentropy", " bce ", loss_as<CrossentropyOptions, BinaryCrossentropy>},
    {"categorical_crossentropy", "", loss_as<CrossentropyOptions, CategoricalCrossentropy>},
    {"sparse_categorical_crossentropy", "",
     loss_as<SparseCrossentropyOptions, SparseCategoricalCrossentropy>},
    {"binary_focal_crossentropy", "",
     loss_as<BinaryFocalCrossentropyOptions, BinaryFocalCrossentropy>},
    {"categorical_focal_crossentropy", "",
     loss_as<CategoricalFocalCrossentropyOptions, CategoricalFocalCrossentropy>},
    {"kl_divergence", " kld kullbackleiblerdivergence ", loss_as<LossOptions, KLDivergence>},
    {"poisson", "", loss_as<LossOptions, Poisson>},
    {"hinge", "", loss_as<LossOptions, Hinge>},
    {"squared_hinge", "", loss_as<LossOptions, SquaredHinge>},
    {"categorical_hinge", "", loss_as<LossOptions, CategoricalHinge>},
    {"huber", " huberloss ", loss_as<HuberOptions, Huber>},
    {"log_cosh", "", loss_as<LossOptions, LogCosh>},
    {"cosine_similarity", " cosineproximity ", loss_as<CosineSimilarityOptions, CosineSimilarity>},
};

}  // namespace

std::optional<Loss> find_loss(const std::string& name, const Json& config) {
  const std::string plain = plain_name(name);
  for (const LossRow& row : kLosses) {
    if (plain_name(row.name) == plain ||
        std::string_view(row.other_names).find(" " + plain + " ") != std::string_view::npos) {
      return row.make(config);
    }
  }
  return std::nullopt;
}

std::string loss_names() {
  std::string names;
  for (const LossRow& row : kLosses) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  return names;
}

Loss loss_from_json(const Json& json) {
  auto [name, config] = named_config(json, "loss");
  // How Keras writes a loss that was given as a function.
  if (name == "LossFunctionWrapper" && config.contains("fn") && config["fn"].is_string()) {
    name = config["fn"].get<std::string>();
  }
  std::optional<Loss> loss = find_loss(name, config);
  if (!loss) raise<ValueError>("loss: no such one: \"{}\" (there are: {})", name, loss_names());
  return *std::move(loss);
}

Json to_json(const Loss& loss) {
  if (loss.class_name().empty()) {
    raise<UnsupportedError>("loss \"{}\": a function of your own cannot be written to a file",
                            loss.name());
  }
  return {{"class_name", loss.class_name()}, {"config", Json::parse(loss.config())}};
}

}  // namespace detail
}  // namespace tenure::nn
