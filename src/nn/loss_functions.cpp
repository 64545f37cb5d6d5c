#include "nn/loss_functions.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "core/raise.h"
#include "memory/header.h"
#include "nn/eager_scope.h"
#include "tensor/access.h"
#include "tenure/activation.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn::detail {

const Shape& shape_of(const Tensor& tensor, const char* what) {
  return tenure::detail::checked(tensor, what).layout.shape;
}

Pair paired(const std::string& what, const Tensor& y_true, const Tensor& y_pred) {
  const Shape truth = shape_of(y_true, "y_true"), guess = shape_of(y_pred, "y_pred");
  Pair pair{y_true, y_pred};
  if (guess.rank() == truth.rank() + 1 && guess[-1] == 1) {
    if (truth.rank() <= 1) {
      pair.y_true = expand_dims(y_true, -1);
    } else {
      pair.y_pred = squeeze(y_pred, {-1});
    }
  } else if (truth.rank() == guess.rank() + 1 && truth[-1] == 1) {
    if (guess.rank() <= 1) {
      pair.y_pred = expand_dims(y_pred, -1);
    } else {
      pair.y_true = squeeze(y_true, {-1});
    }
  }
  if (shape_of(pair.y_true, "y_true") != shape_of(pair.y_pred, "y_pred")) {
    raise<ShapeError>("{}: y_true has shape {}, y_pred {}", what, truth, guess);
  }
  if (!is_floating(pair.y_pred.dtype())) pair.y_pred = cast(pair.y_pred, DType::float32);
  if (pair.y_true.dtype() != pair.y_pred.dtype()) {
    pair.y_true = cast(pair.y_true, pair.y_pred.dtype());
  }
  // The last axis is the one that formulas reduce.
  if (guess.rank() == 0) {
    pair.y_true = reshape(pair.y_true, {1});
    pair.y_pred = reshape(pair.y_pred, {1});
  }
  return pair;
}

Pair paired_sparse(const std::string& what, const Tensor& y_true, const Tensor& y_pred, int axis) {
  const Shape truth = shape_of(y_true, "y_true"), guess = shape_of(y_pred, "y_pred");
  const int at = axis < 0 ? axis + guess.rank() : axis;
  if (at < 0 || at >= guess.rank()) {
    raise<ShapeError>("{}: y_pred of shape {} has no axis {}", what, guess, axis);
  }
  Shape wanted;
  for (int i = 0; i < guess.rank(); ++i) {
    if (i != at) wanted.push_back(guess[i]);
  }
  Tensor labels = y_true;
  if (truth.rank() == guess.rank() && truth[-1] == 1) labels = squeeze(labels, {-1});
  if (shape_of(labels, "y_true") != wanted) {
    ShapeError error(
        describe("{}: y_true of shape {} is not one class number per row of y_pred, {}", what,
                 truth, guess));
    if (truth == guess) {
      error.advise(what == "sparse_categorical_crossentropy"
                       ? "one-hot labels are for the loss categorical_crossentropy; their class "
                         "numbers are arg_max(y_true, -1)."
                       : "the class numbers of one-hot labels are arg_max(y_true, -1).");
    }
    throw ShapeError(std::move(error));
  }
  if (labels.dtype() != DType::int32) labels = cast(labels, DType::int32);
  Tensor scores = is_floating(y_pred.dtype()) ? y_pred : cast(y_pred, DType::float32);
  if (at == guess.rank() - 1) return {std::move(labels), std::move(scores)};
  Axes order;
  for (int i = 0; i < guess.rank(); ++i) {
    if (i != at) order.push_back(i);
  }
  order.push_back(at);
  return {std::move(labels), transpose(scores, order)};
}

std::optional<NoClass> first_no_class(const Tensor& labels, double classes,
                                      std::optional<std::int64_t> ignored) {
  const EagerScope eager;
  const std::vector<double> values = cast(labels, DType::float64).to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double label = values[i];
    if (ignored && label == static_cast<double>(*ignored)) continue;
    if (!(label >= 0 && label < classes && label == std::floor(label))) return NoClass{i, label};
  }
  return std::nullopt;
}

Tensor weights_for(const std::string& what, const Tensor& weights, const Tensor& values) {
  const Shape weight_shape = shape_of(weights, "sample_weight"),
              value_shape = shape_of(values, "loss");
  Tensor spread = weights.dtype() == values.dtype() ? weights : cast(weights, values.dtype());
  int rank = weight_shape.rank();
  if (rank == value_shape.rank() + 1 && weight_shape[-1] == 1) {
    spread = squeeze(spread, {-1});
    --rank;
  }
  for (; rank < value_shape.rank() && weight_shape.rank() > 0; ++rank) {
    spread = expand_dims(spread, -1);
  }
  const Shape shape = shape_of(spread, "sample_weight");
  if (value_shape.rank() == 0 && shape.rank() > 0) {
    raise<ShapeError>(
        "{}: is one number for the whole batch, which weights of shape {} cannot weigh: it should "
        "give one for each example (of Keras's losses that have it, set .axis to the axes after "
        "the batch)",
        what, weight_shape);
  }
  bool fits = shape.rank() <= value_shape.rank();
  for (int i = 0; fits && i < shape.rank(); ++i) fits = shape[i] == value_shape[i] || shape[i] == 1;
  if (!fits) {
    raise<ShapeError>("{}: weights of shape {} do not fit values of shape {}", what, weight_shape,
                      value_shape);
  }
  return spread;
}

Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred) {
  return mean(square(y_pred - y_true), {-1});
}

Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred) {
  return mean(abs(y_pred - y_true), {-1});
}

Tensor mean_absolute_percentage_error(const Tensor& y_true, const Tensor& y_pred) {
  return mean(abs((y_true - y_pred) / maximum(abs(y_true), kFuzz)), {-1}) * 100.0;
}

Tensor mean_squared_logarithmic_error(const Tensor& y_true, const Tensor& y_pred) {
  return mean(square(log1p(maximum(y_pred, kFuzz)) - log1p(maximum(y_true, kFuzz))), {-1});
}

Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor truth = clip(y_true, kFuzz, 1.0);
  return sum(truth * log(truth / clip(y_pred, kFuzz, 1.0)), {-1});
}

Tensor poisson(const Tensor& y_true, const Tensor& y_pred) {
  return mean(y_pred - y_true * log(y_pred + kFuzz), {-1});
}

namespace {

// Labels of 0 and 1 as -1 and 1; others as they are.
Tensor hinge_labels(const Tensor& y_true) {
  const Tensor binary = all(logical_or(equal(y_true, 0.0), equal(y_true, 1.0)));
  return where(binary, y_true * 2.0 - 1.0, y_true);
}

Tensor smoothed(const Tensor& y_true, double smoothing, double classes) {
  return smoothing == 0 ? y_true : y_true * (1 - smoothing) + smoothing / classes;
}

double classes_of(const Tensor& y_pred, int axis) {
  const Shape& shape = shape_of(y_pred, "y_pred");
  return static_cast<double>(shape[axis]);
}

// Rows that add up to 1, away from 0 and 1.
Tensor as_probabilities(const Tensor& y_pred, int axis) {
  return clip(y_pred / sum(y_pred, {axis}, {.keep_dims = true}), kFuzz, 1 - kFuzz);
}

// Per element. Of logits: log(1 + exp(x)) - x y.
Tensor binary_elements(const Tensor& y_true, const Tensor& y_pred, bool from_logits) {
  if (from_logits) return softplus(y_pred) - y_pred * y_true;
  const Tensor p = clip(y_pred, kFuzz, 1 - kFuzz);
  return -(y_true * log(p) + (1.0 - y_true) * log(1.0 - p));
}

}  // namespace

Tensor hinge(const Tensor& y_true, const Tensor& y_pred) {
  return mean(maximum(1.0 - hinge_labels(y_true) * y_pred, 0.0), {-1});
}

Tensor squared_hinge(const Tensor& y_true, const Tensor& y_pred) {
  return mean(square(maximum(1.0 - hinge_labels(y_true) * y_pred, 0.0)), {-1});
}

Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor right = sum(y_true * y_pred, {-1}), wrong = max((1.0 - y_true) * y_pred, {-1});
  return maximum(wrong - right + 1.0, 0.0);
}

Tensor huber(const Tensor& y_true, const Tensor& y_pred, double delta) {
  const Tensor error = abs(y_pred - y_true);
  // Half the square up to delta, then along the tangent.
  const Tensor near = minimum(error, delta);
  return mean(near * (error - near * 0.5), {-1});
}

Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor error = y_pred - y_true;
  return mean(error + softplus(error * -2.0) - std::numbers::ln2, {-1});
}

Tensor cosine(const Tensor& y_true, const Tensor& y_pred, int axis) {
  constexpr double kSmallest = 1e-12;
  const auto unit = [axis](const Tensor& x) {
    return x * rsqrt(maximum(sum(square(x), {axis}, {.keep_dims = true}), kSmallest));
  };
  return sum(unit(y_true) * unit(y_pred), {axis});
}

Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                           const CrossentropyOptions& o) {
  return mean(binary_elements(smoothed(y_true, o.label_smoothing, 2), y_pred, o.from_logits),
              {o.axis});
}

Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                const CrossentropyOptions& o) {
  const Tensor truth = smoothed(y_true, o.label_smoothing, classes_of(y_pred, o.axis));
  const Tensor logs =
      o.from_logits ? log_softmax(y_pred, o.axis) : log(as_probabilities(y_pred, o.axis));
  return -sum(truth * logs, {o.axis});
}

Tensor sparse_categorical_crossentropy(const Tensor& labels, const Tensor& y_pred,
                                       const SparseCrossentropyOptions& o) {
  Tensor at = labels, counts;
  if (o.ignore_class) {
    counts = not_equal(labels, *o.ignore_class);
    at = labels * cast(counts, labels.dtype());
  }
  const Tensor logs = o.from_logits ? log_softmax(y_pred) : log(as_probabilities(y_pred, -1));
  Tensor loss = -squeeze(take_along_axis(logs, expand_dims(at, -1), -1), {-1});
  return counts.defined() ? loss * cast(counts, loss.dtype()) : loss;
}

Tensor binary_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                 const BinaryFocalCrossentropyOptions& o) {
  const Tensor truth = smoothed(y_true, o.label_smoothing, 2);
  const Tensor p = clip(o.from_logits ? sigmoid(y_pred) : y_pred, kFuzz, 1 - kFuzz);
  const Tensor right = truth * p + (1.0 - truth) * (1.0 - p);
  Tensor loss = pow(1.0 - right, o.gamma) * binary_elements(truth, y_pred, o.from_logits);
  if (o.apply_class_balancing) {
    loss = loss * (truth * o.alpha + (1.0 - truth) * (1 - o.alpha));
  }
  return mean(loss, {o.axis});
}

Tensor categorical_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                      const CategoricalFocalCrossentropyOptions& o) {
  const Tensor truth = smoothed(y_true, o.label_smoothing, classes_of(y_pred, o.axis));
  const Tensor p = as_probabilities(o.from_logits ? softmax(y_pred, o.axis) : y_pred, o.axis);
  const Tensor logs = o.from_logits ? log_softmax(y_pred, o.axis) : log(p);
  return sum(pow(1.0 - p, o.gamma) * truth * logs, {o.axis}) * -o.alpha;
}

Tensor categorical_generalized_cross_entropy(const Tensor& labels, const Tensor& y_pred,
                                             const CategoricalGeneralizedCrossEntropyOptions& o) {
  const Tensor right = squeeze(take_along_axis(y_pred, expand_dims(labels, -1), -1), {-1});
  return (1.0 - pow(maximum(right, kFuzz), o.q)) / o.q;
}

namespace {

Tensor sum_over(const Tensor& x, const Axes& axes) {
  return axes.rank() == 0 ? sum(x) : sum(x, axes);
}

}  // namespace

Tensor dice(const Tensor& y_true, const Tensor& y_pred, const DiceOptions& o) {
  const Tensor both = sum_over(y_true * y_pred, o.axis);
  return 1.0 - both * 2.0 / (sum_over(y_true, o.axis) + sum_over(y_pred, o.axis) + kFuzz);
}

Tensor tversky(const Tensor& y_true, const Tensor& y_pred, const TverskyOptions& o) {
  const Tensor both = sum_over(y_true * y_pred, o.axis);
  const Tensor missed = sum_over(y_true * (1.0 - y_pred), o.axis);
  const Tensor wrong = sum_over(y_pred * (1.0 - y_true), o.axis);
  return 1.0 - both / (both + missed * o.alpha + wrong * o.beta + kFuzz);
}

Tensor circle(const Tensor& labels, const Tensor& y_pred, const CircleOptions& o) {
  constexpr double kNobody = -1e30;  // the exponent of whoever is no neighbour
  const Tensor distance = maximum(1.0 - matmul(y_pred, y_pred, {.transpose_b = true}), 0.0);
  const Tensor same = equal(expand_dims(labels, 1), expand_dims(labels, 0));
  Tensor near = same;
  if (o.remove_diagonal) {
    const Tensor number = cumsum(ones_like(labels));
    near = logical_and(same, not_equal(expand_dims(number, 1), expand_dims(number, 0)));
  }
  const Tensor pull = (distance + o.margin) * (distance - o.margin) * o.gamma;
  const Tensor push = maximum(1 + o.margin - distance, 0.0) * (1 - o.margin - distance) * o.gamma;
  return softplus(logsumexp(where(near, pull, kNobody), {1}) +
                  logsumexp(where(same, kNobody, push), {1}));
}

}  // namespace tenure::nn::detail
