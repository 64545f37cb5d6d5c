#include "tenure/nn/losses.h"

#include "core/raise.h"
#include "memory/context.h"
#include "nn/loss_functions.h"
#include "nn/loss_spec.h"
#include "nn/parts.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn {

using detail::LossAccess;
using detail::LossSpec;

namespace {

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
                   .settings = {},
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
Loss::Loss(const std::string& name) : Loss(detail::loss_named(name, detail::Unwritten())) {}

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
  return detail::written([this](detail::Fields& visit) {
    LossOptions common{spec_->reduction, spec_->name};
    TENURE_FIELDS(visit, common, name, reduction);
    if (spec_->settings) spec_->settings(visit);
  });
}

std::optional<Loss> Loss::before(const std::string& activation) const {
  if (!spec_->on_logits || spec_->activation != activation) return std::nullopt;
  return spec_->on_logits();
}

// ---- The losses

namespace detail {

void fields(Fields&, LossOptions&) {}
void fields(Fields& visit, CrossentropyOptions& o) {
  TENURE_FIELDS(visit, o, from_logits, label_smoothing, axis);
}
void fields(Fields& visit, SparseCrossentropyOptions& o) {
  TENURE_FIELDS(visit, o, from_logits, ignore_class, axis);
}
void fields(Fields& visit, BinaryFocalCrossentropyOptions& o) {
  TENURE_FIELDS(visit, o, apply_class_balancing, alpha, gamma, from_logits, label_smoothing, axis);
}
void fields(Fields& visit, CategoricalFocalCrossentropyOptions& o) {
  TENURE_FIELDS(visit, o, alpha, gamma, from_logits, label_smoothing, axis);
}
void fields(Fields& visit, HuberOptions& o) { TENURE_FIELDS(visit, o, delta); }
void fields(Fields& visit, CosineSimilarityOptions& o) { TENURE_FIELDS(visit, o, axis); }

namespace {

// A loss with these options, whose formula takes y_true in y_pred's shape.
template <class O, class F>
LossSpec loss_spec(const char* class_name, O options, F formula) {
  const std::string full_name = options.name.empty() ? snake_case(class_name) : options.name;
  return {.class_name = class_name,
          .name = full_name,
          .settings = settings_of(options),
          .reduction = options.reduction,
          .per_example =
              [full_name, formula, options](const Tensor& y_true, const Tensor& y_pred) {
                const Pair pair = paired(full_name, y_true, y_pred);
                if constexpr (std::is_invocable_v<F, const Tensor&, const Tensor&>) {
                  return formula(pair.y_true, pair.y_pred);
                } else {
                  return formula(pair.y_true, pair.y_pred, options);
                }
              },
          .counts = {},
          .activation = {},
          .on_logits = {}};
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): .settings has it

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
  return LossAccess::make(loss_spec("MeanSquaredError", std::move(o), detail::mean_squared_error));
}
Loss MeanAbsoluteError(LossOptions o) {
  return LossAccess::make(
      loss_spec("MeanAbsoluteError", std::move(o), detail::mean_absolute_error));
}
Loss MeanAbsolutePercentageError(LossOptions o) {
  return LossAccess::make(loss_spec("MeanAbsolutePercentageError", std::move(o),
                                    detail::mean_absolute_percentage_error));
}
Loss MeanSquaredLogarithmicError(LossOptions o) {
  return LossAccess::make(loss_spec("MeanSquaredLogarithmicError", std::move(o),
                                    detail::mean_squared_logarithmic_error));
}
Loss KLDivergence(LossOptions o) {
  return LossAccess::make(loss_spec("KLDivergence", std::move(o), detail::kl_divergence));
}
Loss Poisson(LossOptions o) {
  return LossAccess::make(loss_spec("Poisson", std::move(o), detail::poisson));
}
Loss Hinge(LossOptions o) {
  return LossAccess::make(loss_spec("Hinge", std::move(o), detail::hinge));
}
Loss SquaredHinge(LossOptions o) {
  return LossAccess::make(loss_spec("SquaredHinge", std::move(o), detail::squared_hinge));
}
Loss CategoricalHinge(LossOptions o) {
  return LossAccess::make(loss_spec("CategoricalHinge", std::move(o), detail::categorical_hinge));
}
Loss LogCosh(LossOptions o) {
  return LossAccess::make(loss_spec("LogCosh", std::move(o), detail::log_cosh));
}
Loss Huber(HuberOptions o) {
  if (!(o.delta > 0)) raise<ValueError>("Huber: delta must be above 0: {}", o.delta);
  return LossAccess::make(
      loss_spec("Huber", std::move(o),
                [](const Tensor& y_true, const Tensor& y_pred, const HuberOptions& options) {
                  return detail::huber(y_true, y_pred, options.delta);
                }));
}
Loss CosineSimilarity(CosineSimilarityOptions o) {
  return LossAccess::make(loss_spec(
      "CosineSimilarity", std::move(o),
      [](const Tensor& y_true, const Tensor& y_pred, const CosineSimilarityOptions& options) {
        return -detail::cosine(y_true, y_pred, options.axis);
      }));
}

Loss BinaryCrossentropy(CrossentropyOptions o) {
  detail::check_smoothing("BinaryCrossentropy", o);
  LossSpec spec = loss_spec("BinaryCrossentropy", o, detail::binary_crossentropy);
  detail::can_do_without(spec, "sigmoid", std::move(o), BinaryCrossentropy);
  return LossAccess::make(std::move(spec));
}
Loss CategoricalCrossentropy(CrossentropyOptions o) {
  detail::check_smoothing("CategoricalCrossentropy", o);
  LossSpec spec = loss_spec("CategoricalCrossentropy", o, detail::categorical_crossentropy);
  if (o.axis == -1) detail::can_do_without(spec, "softmax", std::move(o), CategoricalCrossentropy);
  return LossAccess::make(std::move(spec));
}
Loss BinaryFocalCrossentropy(BinaryFocalCrossentropyOptions o) {
  detail::check_smoothing("BinaryFocalCrossentropy", o);
  LossSpec spec = loss_spec("BinaryFocalCrossentropy", o, detail::binary_focal_crossentropy);
  detail::can_do_without(spec, "sigmoid", std::move(o), BinaryFocalCrossentropy);
  return LossAccess::make(std::move(spec));
}
Loss CategoricalFocalCrossentropy(CategoricalFocalCrossentropyOptions o) {
  detail::check_smoothing("CategoricalFocalCrossentropy", o);
  LossSpec spec =
      loss_spec("CategoricalFocalCrossentropy", o, detail::categorical_focal_crossentropy);
  if (o.axis == -1) {
    detail::can_do_without(spec, "softmax", std::move(o), CategoricalFocalCrossentropy);
  }
  return LossAccess::make(std::move(spec));
}
Loss SparseCategoricalCrossentropy(SparseCrossentropyOptions o) {
  LossSpec spec =
      loss_spec("SparseCategoricalCrossentropy", o, detail::sparse_categorical_crossentropy);
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

constexpr Row<Loss> kLosses[] = {
    {"mean_squared_error", made_by<MeanSquaredError>, " mse "},
    {"mean_absolute_error", made_by<MeanAbsoluteError>, " mae "},
    {"mean_absolute_percentage_error", made_by<MeanAbsolutePercentageError>, " mape "},
    {"mean_squared_logarithmic_error", made_by<MeanSquaredLogarithmicError>, " msle "},
    {"binary_crossentropy", made_by<BinaryCrossentropy>, " bce "},
    {"categorical_crossentropy", made_by<CategoricalCrossentropy>},
    {"sparse_categorical_crossentropy", made_by<SparseCategoricalCrossentropy>},
    {"binary_focal_crossentropy", made_by<BinaryFocalCrossentropy>},
    {"categorical_focal_crossentropy", made_by<CategoricalFocalCrossentropy>},
    {"kl_divergence", made_by<KLDivergence>, " kld kullbackleiblerdivergence "},
    {"poisson", made_by<Poisson>},
    {"hinge", made_by<Hinge>},
    {"squared_hinge", made_by<SquaredHinge>},
    {"categorical_hinge", made_by<CategoricalHinge>},
    {"huber", made_by<Huber>, " huberloss "},
    {"log_cosh", made_by<LogCosh>},
    {"cosine_similarity", made_by<CosineSimilarity>, " cosineproximity "},
};

}  // namespace

std::optional<Loss> find_loss(const std::string& name, Fields& settings) {
  return find_named(kLosses, name, settings);
}
std::string loss_names() { return names_of(kLosses); }
Loss loss_named(const std::string& name, Fields&& settings) {
  return make_named("loss", kLosses, name, settings);
}

}  // namespace detail
}  // namespace tenure::nn
