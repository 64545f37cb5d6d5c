// The formulas of losses, and how labels and predictions are brought to one shape. All of them give
// one value per example; those that are not sparse take y_true in y_pred's shape and dtype.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "tenure/nn/losses.h"
#include "tenure/tensor.h"

namespace tenure::nn::detail {

inline constexpr double kFuzz = 1e-7;  // Keras's epsilon

const Shape& shape_of(const Tensor& tensor, const char* what);  // that the trace knows

// Either may lack a last axis of size 1; y_true takes y_pred's dtype. A ShapeError that names both
// shapes where they differ otherwise.
struct Pair {
  Tensor y_true, y_pred;
};
Pair paired(const std::string& what, const Tensor& y_true, const Tensor& y_pred);
// For labels that are class numbers, one per row of y_pred: without a last axis of size 1, in
// int32.
Pair paired_sparse(const std::string& what, const Tensor& y_true, const Tensor& y_pred, int axis);

// The first label that is no class number, and which. Reads the labels: not for symbols of a trace.
struct NoClass {
  std::size_t position;
  double value;
};
std::optional<NoClass> first_no_class(const Tensor& labels,
                                      double classes = std::numeric_limits<double>::infinity(),
                                      std::optional<std::int64_t> ignored = {});

// Weights (or a mask) spread over the values of a loss: of its rank, with axes of size 1 after the
// ones that they have.
Tensor weights_for(const std::string& what, const Tensor& weights, const Tensor& values);

Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred);
Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred);
Tensor mean_absolute_percentage_error(const Tensor& y_true, const Tensor& y_pred);
Tensor mean_squared_logarithmic_error(const Tensor& y_true, const Tensor& y_pred);
Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred);
Tensor poisson(const Tensor& y_true, const Tensor& y_pred);
Tensor hinge(const Tensor& y_true, const Tensor& y_pred);
Tensor squared_hinge(const Tensor& y_true, const Tensor& y_pred);
Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred);
Tensor huber(const Tensor& y_true, const Tensor& y_pred, double delta);
Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred);
Tensor cosine(const Tensor& y_true, const Tensor& y_pred, int axis);  // 1 for one direction
Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                           const CrossentropyOptions& options);
Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                const CrossentropyOptions& options);
Tensor sparse_categorical_crossentropy(const Tensor& labels, const Tensor& y_pred,
                                       const SparseCrossentropyOptions& options);
Tensor binary_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                 const BinaryFocalCrossentropyOptions& options);
Tensor categorical_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                      const CategoricalFocalCrossentropyOptions& options);
Tensor categorical_generalized_cross_entropy(
    const Tensor& labels, const Tensor& y_pred,
    const CategoricalGeneralizedCrossEntropyOptions& options);
Tensor dice(const Tensor& y_true, const Tensor& y_pred, const DiceOptions& options);
Tensor tversky(const Tensor& y_true, const Tensor& y_pred, const TverskyOptions& options);
Tensor circle(const Tensor& labels, const Tensor& y_pred, const CircleOptions& options);
Tensor ctc(const std::string& what, const Tensor& labels, const Tensor& y_pred);

}  // namespace tenure::nn::detail
