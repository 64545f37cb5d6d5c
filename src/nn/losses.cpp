#include "tenure/nn/losses.h"

#include <fmt/format.h>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/bounds.h"
#include "nn/loss_functions.h"
#include "nn/loss_spec.h"
#include "nn/parts.h"
#include "nn/widened.h"
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
                   .check_labels = {},
                   .activation = {},
                   .on_logits = {}})) {}

Loss::Loss(const char* name, std::source_location site) : Loss(std::string(name), site) {}
Loss::Loss(const std::string& name, std::source_location site)
    : Loss(detail::told_of(site, [&] { return detail::loss_named(name, detail::Unwritten()); })) {}

Tensor Loss::per_example(const Tensor& y_true, const Tensor& y_pred,
                         std::source_location site) const {
  const tenure::detail::CallScope scope("loss", site);
  try {
    return detail::widened(
        spec_->per_example(detail::widened(y_true, "y_true"), detail::widened(y_pred, "y_pred")),
        "loss");
  } catch (const ValueError&) {
    const bool traced = tenure::detail::context().trace != nullptr;
    if (spec_->check_labels && !traced) {
      spec_->check_labels(y_true, detail::shape_of(y_pred, "y_pred"));
    }
    throw;
  }
}

Tensor Loss::operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight,
                        const Tensor& mask, std::source_location site) const {
  const tenure::detail::CallScope scope("loss", site);
  Tensor values = per_example(y_true, y_pred, site);
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
void fields(Fields& visit, CategoricalGeneralizedCrossEntropyOptions& o) {
  TENURE_FIELDS(visit, o, q);
}
void fields(Fields& visit, DiceOptions& o) { visit("axis", Numbers{o.axis}); }
void fields(Fields& visit, TverskyOptions& o) {
  TENURE_FIELDS(visit, o, alpha, beta);
  visit("axis", Numbers{o.axis});
}
void fields(Fields& visit, CircleOptions& o) {
  TENURE_FIELDS(visit, o, gamma, margin, remove_diagonal);
}
void fields(Fields& visit, HuberOptions& o) { TENURE_FIELDS(visit, o, delta); }
void fields(Fields& visit, CosineSimilarityOptions& o) { TENURE_FIELDS(visit, o, axis); }

namespace {

// A loss with these options; per_example is still to be given.
template <class O>
LossSpec loss_spec(const char* class_name, const O& options) {
  return {.class_name = class_name,
          .name = options.name.empty() ? snake_case(class_name) : options.name,
          .settings = settings_of(options),
          .reduction = options.reduction,
          .per_example = {},
          .counts = {},
          .check_labels = {},
          .activation = {},
          .on_logits = {}};
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): .settings has it

// One whose formula takes y_true in y_pred's shape.
template <class O, class F>
LossSpec loss_spec(const char* class_name, O options, F formula) {
  LossSpec spec = loss_spec(class_name, options);
  spec.per_example = [name = spec.name, formula, options = std::move(options)](
                         const Tensor& y_true, const Tensor& y_pred) {
    const Pair pair = paired(name, y_true, y_pred);
    if constexpr (std::is_invocable_v<F, const Tensor&, const Tensor&>) {
      return formula(pair.y_true, pair.y_pred);
    } else {
      return formula(pair.y_true, pair.y_pred, options);
    }
  };
  return spec;
}

template <class O>
void check_smoothing(const char* loss, const O& options) {
  check_between(loss, "label_smoothing", options.label_smoothing, 0, 1);
}

// Refuses labels that are not below the number of classes, on the last axis of y_pred or this one.
auto labels_below(const std::string& name, int axis, std::optional<std::int64_t> ignored = {}) {
  return [=](const Tensor& y_true, const Shape& y_pred) {
    const std::int64_t classes = y_pred[axis];
    if (classes == kAny) return;
    if (const auto wrong = first_no_class(y_true, static_cast<double>(classes), ignored)) {
      raise<ValueError>(
          "{}: the label at position {} of the batch is {}, but there are {} classes in y_pred {}",
          name, wrong->position, wrong->value, classes, y_pred);
    }
  };
}

// An error of labels that are class numbers says what a loss of one-hot labels does with them.
void takes_one_hot(LossSpec& spec, const char* sparse_loss = nullptr) {
  spec.per_example = [=, inner = std::move(spec.per_example)](const Tensor& y_true,
                                                              const Tensor& y_pred) {
    const auto tell = [&](Error& error) {
      const Shape &truth = shape_of(y_true, "y_true"), &guess = shape_of(y_pred, "y_pred");
      const bool are_numbers = truth.rank() + 1 == guess.rank() ||
                               (truth.rank() == guess.rank() && truth.rank() > 0 && truth[-1] == 1);
      if (!are_numbers) return;
      const std::string one_hot = fmt::format("one_hot(y_true, {})", guess[-1]);
      error.advise(sparse_loss == nullptr
                       ? fmt::format("class numbers become rows by {}.", one_hot)
                       : fmt::format("class numbers are for the loss {}; they become rows by {}.",
                                     sparse_loss, one_hot));
    };
    return telling<ShapeError>(tell, [&] { return inner(y_true, y_pred); });
  };
}

// The same loss that stands for itself after the activation, where it does not already.
template <auto kMake, class O>
void can_do_without(LossSpec& spec, const char* activation, O options) {
  if (options.from_logits) return;
  options.from_logits = true;
  spec.activation = activation;
  spec.on_logits = [options] { return make<kMake>(options); };
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
  LossSpec spec = loss_spec("CategoricalHinge", std::move(o), detail::categorical_hinge);
  detail::takes_one_hot(spec);
  return LossAccess::make(std::move(spec));
}
Loss LogCosh(LossOptions o) {
  return LossAccess::make(loss_spec("LogCosh", std::move(o), detail::log_cosh));
}
Loss Huber(HuberOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  detail::check_above("Huber", "delta", o.delta, 0);
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

Loss BinaryCrossentropy(CrossentropyOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  detail::check_smoothing("BinaryCrossentropy", o);
  LossSpec spec = loss_spec("BinaryCrossentropy", o, detail::binary_crossentropy);
  detail::can_do_without<BinaryCrossentropy>(spec, "sigmoid", std::move(o));
  return LossAccess::make(std::move(spec));
}
Loss CategoricalCrossentropy(CrossentropyOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  detail::check_smoothing("CategoricalCrossentropy", o);
  LossSpec spec = loss_spec("CategoricalCrossentropy", o, detail::categorical_crossentropy);
  detail::takes_one_hot(spec, "sparse_categorical_crossentropy");
  if (o.axis == -1) detail::can_do_without<CategoricalCrossentropy>(spec, "softmax", std::move(o));
  return LossAccess::make(std::move(spec));
}
Loss BinaryFocalCrossentropy(BinaryFocalCrossentropyOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  detail::check_smoothing("BinaryFocalCrossentropy", o);
  detail::check_between("BinaryFocalCrossentropy", "alpha", o.alpha, 0, 1);
  detail::check_at_least("BinaryFocalCrossentropy", "gamma", o.gamma, 0.0);
  LossSpec spec = loss_spec("BinaryFocalCrossentropy", o, detail::binary_focal_crossentropy);
  detail::can_do_without<BinaryFocalCrossentropy>(spec, "sigmoid", std::move(o));
  return LossAccess::make(std::move(spec));
}
Loss CategoricalFocalCrossentropy(CategoricalFocalCrossentropyOptions o,
                                  std::source_location site) {
  const tenure::detail::UserLine line(site);
  detail::check_smoothing("CategoricalFocalCrossentropy", o);
  detail::check_at_least("CategoricalFocalCrossentropy", "alpha", o.alpha, 0.0);
  detail::check_at_least("CategoricalFocalCrossentropy", "gamma", o.gamma, 0.0);
  LossSpec spec =
      loss_spec("CategoricalFocalCrossentropy", o, detail::categorical_focal_crossentropy);
  detail::takes_one_hot(spec);
  if (o.axis == -1) {
    detail::can_do_without<CategoricalFocalCrossentropy>(spec, "softmax", std::move(o));
  }
  return LossAccess::make(std::move(spec));
}
Loss SparseCategoricalCrossentropy(SparseCrossentropyOptions o) {
  LossSpec spec = loss_spec("SparseCategoricalCrossentropy", o);
  spec.per_example = [o, name = spec.name](const Tensor& y_true, const Tensor& y_pred) {
    const detail::Pair pair = detail::paired_sparse(name, y_true, y_pred, o.axis);
    return detail::sparse_categorical_crossentropy(pair.y_true, pair.y_pred, o);
  };
  spec.check_labels = detail::labels_below(spec.name, o.axis, o.ignore_class);
  if (o.ignore_class) {
    spec.counts = [ignored = *o.ignore_class](const Tensor& values, const Tensor& y_true) {
      const Shape& shape = detail::shape_of(y_true, "y_true");
      const bool wider = shape.rank() > detail::shape_of(values, "loss").rank();
      const Tensor labels = wider ? squeeze(y_true, {-1}) : y_true;
      return cast(not_equal(labels, ignored), values.dtype());
    };
  }
  if (o.axis == -1) {
    detail::can_do_without<SparseCategoricalCrossentropy>(spec, "softmax", std::move(o));
  }
  return LossAccess::make(std::move(spec));
}

Loss CategoricalGeneralizedCrossEntropy(CategoricalGeneralizedCrossEntropyOptions o,
                                        std::source_location site) {
  const tenure::detail::UserLine line(site);
  if (!(o.q > 0 && o.q < 1)) {
    raise<ValueError>("CategoricalGeneralizedCrossEntropy: q must be above 0 and below 1: {}", o.q);
  }
  LossSpec spec = loss_spec("CategoricalGeneralizedCrossEntropy", o);
  spec.per_example = [o, name = spec.name](const Tensor& y_true, const Tensor& y_pred) {
    const detail::Pair pair = detail::paired_sparse(name, y_true, y_pred, -1);
    return detail::categorical_generalized_cross_entropy(pair.y_true, pair.y_pred, o);
  };
  spec.check_labels = detail::labels_below(spec.name, -1);
  return LossAccess::make(std::move(spec));
}
Loss CTC(LossOptions o) {
  LossSpec spec = loss_spec("CTC", o);
  spec.per_example = [name = spec.name](const Tensor& y_true, const Tensor& y_pred) {
    return detail::ctc(name, y_true, y_pred);
  };
  spec.check_labels = detail::labels_below(spec.name, -1);
  return LossAccess::make(std::move(spec));
}
Loss Dice(DiceOptions o) { return LossAccess::make(loss_spec("Dice", std::move(o), detail::dice)); }
Loss Tversky(TverskyOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  detail::check_at_least("Tversky", "alpha", o.alpha, 0.0);
  detail::check_at_least("Tversky", "beta", o.beta, 0.0);
  return LossAccess::make(loss_spec("Tversky", std::move(o), detail::tversky));
}
Loss Circle(CircleOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  detail::check_above("Circle", "gamma", o.gamma, 0);
  detail::check_between("Circle", "margin", o.margin, 0, 1);
  LossSpec spec = loss_spec("Circle", o);
  spec.per_example = [o, name = spec.name](const Tensor& y_true, const Tensor& y_pred) {
    const Shape& shape = detail::shape_of(y_pred, "y_pred");
    if (shape.rank() != 2) {
      raise<ShapeError>("{}: takes embeddings of shape [batch, features], was given {}", name,
                        shape);
    }
    const detail::Pair pair = detail::paired_sparse(name, y_true, y_pred, -1);
    return detail::circle(pair.y_true, pair.y_pred, o);
  };
  spec.counts = [](const Tensor& values, const Tensor&) {
    return cast(values > 0.0, values.dtype());
  };
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
    {"categorical_generalized_cross_entropy", made_by<CategoricalGeneralizedCrossEntropy>},
    {"ctc", made_by<CTC>},
    {"dice", made_by<Dice>},
    {"tversky", made_by<Tversky>},
    {"circle", made_by<Circle>},
    {"kl_divergence", made_by<KLDivergence>, " kld kullbackleiblerdivergence "},
    {"poisson", made_by<Poisson>},
    {"hinge", made_by<Hinge>},
    {"squared_hinge", made_by<SquaredHinge>},
    {"categorical_hinge", made_by<CategoricalHinge>},
    {"huber", made_by<Huber>, " huberloss "},
    {"log_cosh", made_by<LogCosh>, " logcosherror "},
    {"cosine_similarity", made_by<CosineSimilarity>, " cosine cosineproximity "},
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
