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
// kl_divergence (kld), poisson, hinge, squared_hinge, categorical_hinge, huber, log_cosh,
// cosine_similarity.
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

#include "tenure/export.h"
#include "tenure/handle.h"
#include "tenure/nn/parts.h"
#include "tenure/tensor.h"

namespace tenure::nn {

enum class Reduction {
  sum_over_batch_size,  // the mean; over what a mask leaves, where there is one
  sum,
  none,                     // one value per example
  mean_with_sample_weight,  // the weighted mean
};

namespace detail {
struct LossSpec;
struct LossAccess;
}  // namespace detail

class TENURE_API Loss {
 public:
  Loss(const char* name);
  Loss(const std::string& name);
  // One value per example (all axes but the last), which are then averaged.
  template <class F>
    requires(!std::same_as<F, Loss>) && std::is_invocable_r_v<Tensor, F, Tensor, Tensor>
  Loss(F fn, std::string name = {})
      : Loss(std::function<Tensor(Tensor, Tensor)>(std::move(fn)), std::move(name), {}) {}

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
  Reduction reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;  // that much of each label is spread over all classes
  int axis = -1;               // of the classes
  Reduction reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
struct SparseCrossentropyOptions {
  bool from_logits = false;
  std::optional<std::int64_t> ignore_class = {};  // a label that counts for nothing
  int axis = -1;
  Reduction reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
struct BinaryFocalCrossentropyOptions {
  bool apply_class_balancing = false;  // by alpha
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  int axis = -1;
  Reduction reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
struct CategoricalFocalCrossentropyOptions {
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  int axis = -1;
  Reduction reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
struct HuberOptions {
  double delta = 1;  // errors above it count linearly
  Reduction reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
struct CosineSimilarityOptions {
  int axis = -1;
  Reduction reduction = Reduction::sum_over_batch_size;
  std::string name = {};
};
TENURE_API Loss MeanSquaredError(LossOptions options = {});
TENURE_API Loss MeanAbsoluteError(LossOptions options = {});
TENURE_API Loss MeanAbsolutePercentageError(LossOptions options = {});
TENURE_API Loss MeanSquaredLogarithmicError(LossOptions options = {});
TENURE_API Loss BinaryCrossentropy(CrossentropyOptions options = {});
TENURE_API Loss CategoricalCrossentropy(CrossentropyOptions options = {});
TENURE_API Loss SparseCategoricalCrossentropy(SparseCrossentropyOptions options = {});
TENURE_API Loss BinaryFocalCrossentropy(BinaryFocalCrossentropyOptions options = {});
TENURE_API Loss CategoricalFocalCrossentropy(CategoricalFocalCrossentropyOptions options = {});
TENURE_API Loss KLDivergence(LossOptions options = {});
TENURE_API Loss Poisson(LossOptions options = {});
TENURE_API Loss Hinge(LossOptions options = {});
TENURE_API Loss SquaredHinge(LossOptions options = {});
TENURE_API Loss CategoricalHinge(LossOptions options = {});
TENURE_API Loss Huber(HuberOptions options = {});
TENURE_API Loss LogCosh(LossOptions options = {});
// Minus the cosine, so that it is lowest for vectors of one direction.
TENURE_API Loss CosineSimilarity(CosineSimilarityOptions options = {});

}  // namespace tenure::nn
