// Losses: what training makes small. By Keras name, as an object, or as a function of your own
// from (y_true, y_pred) to one value per example.
//
//   model.compile({.optimizer = "adam", .loss = {"mse"}});
//   nn::Loss smoothed = nn::CategoricalCrossentropy({.from_logits = true, .label_smoothing = 0.1});
//   nn::Loss own([](Tensor y, Tensor p) { return mean(abs(y - p), {-1}); });
//
// Names: mean_squared_error (mse), mean_absolute_error (mae), mean_absolute_percentage_error
// (mape), mean_squared_logarithmic_error (msle), binary_crossentropy, categorical_crossentropy,
// sparse_categorical_crossentropy, binary_focal_crossentropy, categorical_focal_crossentropy,
// categorical_generalized_cross_entropy, ctc, dice, tversky, circle, kl_divergence (kld), poisson,
// hinge, squared_hinge, categorical_hinge, huber, log_cosh, cosine_similarity.
//
// Crossentropies of probabilities keep 1e-7 away from 0 and 1, and have no gradient beyond: those
// of logits are exact everywhere. `before` gives the latter for a model that ends in a softmax or a
// sigmoid, so that it can be trained on what that is given.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>

#include "tenure/callable.h"
#include "tenure/export.h"
#include "tenure/handle.h"
#include "tenure/nn/parts.h"
#include "tenure/nn/sizes.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"

namespace tenure::nn {

enum class Reduction {
  sum_over_batch_size,  // the mean; over what a mask leaves, where there is one
  mean = sum_over_batch_size,
  sum,
  none,                     // one value per example
  mean_with_sample_weight,  // the weighted mean
};
extern template struct TENURE_API Choice<Reduction>;

namespace detail {
struct LossSpec;
struct LossAccess;
}  // namespace detail

class TENURE_API Loss {
 public:
  Loss(const char* name, std::source_location site = std::source_location::current());
  Loss(const std::string& name, std::source_location site = std::source_location::current());
  // One value per example (all axes but the last), which are then averaged.
  template <class F>
    requires(!std::same_as<F, Loss>) && std::is_invocable_r_v<Tensor, F, Tensor, Tensor>
  Loss(F fn, std::string name = {}, std::source_location site = std::source_location::current())
      : Loss(std::function<Tensor(Tensor, Tensor)>(
                 tenure::detail::checked_function("loss", std::move(fn), site)),
             std::move(name), Reduction()) {}

  // A scalar, unless the reduction is none. Weights are per example (or per value, for sequences
  // and images); a mask leaves out what it is false for. Shapes other than y_pred's are a
  // ShapeError, but for a last axis of size 1, which either may lack.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {},
                    const Tensor& mask = {},
                    std::source_location site = std::source_location::current()) const;
  Tensor per_example(const Tensor& y_true, const Tensor& y_pred,
                     std::source_location site = std::source_location::current()) const;
  std::string name() const;        // "mean_squared_error"
  std::string class_name() const;  // "MeanSquaredError"; empty for a function of yours
  std::string config() const;
  Reduction reduction() const;
  // The same loss of what the activation ("softmax", "sigmoid") is given, where it has a form that
  // is exact for all values; none otherwise.
  std::optional<Loss> before(const std::string& activation) const;

 private:
  friend struct detail::LossAccess;
  Loss(std::function<Tensor(Tensor, Tensor)> fn, std::string name, Reduction reduction);
  explicit Loss(std::shared_ptr<const detail::LossSpec> spec) : spec_(std::move(spec)) {}
  tenure::detail::Held<std::shared_ptr<const detail::LossSpec>, "Loss"> spec_;
};

struct LossOptions {
  Choice<Reduction> reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;  // that much of each label is spread over all classes
  int axis = -1;               // of the classes
  Choice<Reduction> reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
struct SparseCrossentropyOptions {
  bool from_logits = false;
  std::optional<std::int64_t> ignore_class = {};  // a label that counts for nothing
  Choice<Reduction> reduction = Reduction::sum_over_batch_size;
  int axis = -1;
  std::string name = {};
};
struct BinaryFocalCrossentropyOptions {
  bool apply_class_balancing = false;  // by alpha
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  int axis = -1;
  Choice<Reduction> reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
struct CategoricalFocalCrossentropyOptions {
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  int axis = -1;
  Choice<Reduction> reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
struct CategoricalGeneralizedCrossEntropyOptions {
  double q = 0.5;  // between 0 (the crossentropy) and 1 (the absolute error, deaf to wrong labels)
  Choice<Reduction> reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
struct DiceOptions {
  Choice<Reduction> reduction = Reduction::sum_over_batch_size;
  std::string name = {};
  AxisList axis = {};  // summed over; none: over all, so that there is one number for the batch
};
struct TverskyOptions {
  double alpha = 0.5;  // weighs what is true and was not predicted,
  double beta = 0.5;   // and this what was predicted and is not true
  Choice<Reduction> reduction = Reduction::sum_over_batch_size;
  std::string name = {};
  AxisList axis = {};
};
struct CircleOptions {
  double gamma = 80;            // scales the loss
  double margin = 0.4;          // what similarities may lack
  bool remove_diagonal = true;  // an example is not its own neighbour
  Choice<Reduction> reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
struct HuberOptions {
  double delta = 1;  // errors above it count linearly
  Choice<Reduction> reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
struct CosineSimilarityOptions {
  int axis = -1;
  Choice<Reduction> reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
TENURE_API Loss MeanSquaredError(LossOptions options = {});
TENURE_API Loss MeanAbsoluteError(LossOptions options = {});
TENURE_API Loss MeanAbsolutePercentageError(LossOptions options = {});
TENURE_API Loss MeanSquaredLogarithmicError(LossOptions options = {});
TENURE_API Loss BinaryCrossentropy(CrossentropyOptions options = {},
                                   std::source_location site = std::source_location::current());
TENURE_API Loss CategoricalCrossentropy(
    CrossentropyOptions options = {}, std::source_location site = std::source_location::current());
TENURE_API Loss SparseCategoricalCrossentropy(SparseCrossentropyOptions options = {});
TENURE_API Loss
BinaryFocalCrossentropy(BinaryFocalCrossentropyOptions options = {},
                        std::source_location site = std::source_location::current());
TENURE_API Loss
CategoricalFocalCrossentropy(CategoricalFocalCrossentropyOptions options = {},
                             std::source_location site = std::source_location::current());
// (1 - p^q) / q of the probability p of the right class (Zhang and Sabuncu, 2018). Labels are class
// numbers, [batch] or [batch, 1].
TENURE_API Loss
CategoricalGeneralizedCrossEntropy(CategoricalGeneralizedCrossEntropyOptions options = {},
                                   std::source_location site = std::source_location::current());
// Of logits [batch, steps, classes] and labels [batch, length], summed over all ways in which the
// steps can spell the labels (Graves et al., 2006). Class 0 is the blank: among the labels it is
// padding, wherever it stands. Infinite, with no gradient, where there are too few steps: as many
// as labels, and one more between two that are equal.
TENURE_API Loss CTC(LossOptions options = {});
// 1 - 2 |both| / (|y_true| + |y_pred|), of what overlaps.
TENURE_API Loss Dice(DiceOptions options = {});
// 1 - |both| / (|both| + alpha |y_true only| + beta |y_pred only|); by default that of Dice.
TENURE_API Loss Tversky(TverskyOptions options = {},
                        std::source_location site = std::source_location::current());
// Of embeddings [batch, features] of length 1 and class numbers [batch]: those of one class are to
// be near, those of two far (Sun et al., 2020). Examples whose loss is 0 do not count in the mean.
TENURE_API Loss Circle(CircleOptions options = {},
                       std::source_location site = std::source_location::current());
TENURE_API Loss KLDivergence(LossOptions options = {});
TENURE_API Loss Poisson(LossOptions options = {});
TENURE_API Loss Hinge(LossOptions options = {});
TENURE_API Loss SquaredHinge(LossOptions options = {});
TENURE_API Loss CategoricalHinge(LossOptions options = {});
TENURE_API Loss Huber(HuberOptions options = {},
                      std::source_location site = std::source_location::current());
TENURE_API Loss LogCosh(LossOptions options = {});
// Minus the cosine, so that it is lowest for vectors of one direction.
TENURE_API Loss CosineSimilarity(CosineSimilarityOptions options = {});

}  // namespace tenure::nn
