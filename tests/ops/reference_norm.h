// What normalisations should give, in long double. An empty array stands for a scale of 1 or an
// offset of 0.
#pragma once

#include "reference_lines.h"

namespace tenure::testing {

Array batch_normed(const Array& x, const Array& mean, const Array& variance, const Array& scale,
                   const Array& offset, int axis, double epsilon);
// Of a batch, per feature.
Array batch_mean(const Array& x, int axis);
Array batch_variance(const Array& x, int axis);
// Result 0, 1 or 2 of batch_norm_grad, of its inputs: dy, x, mean, variance, the gradients of mean
// and variance, and the scale if there is one.
Array batch_gradient(const Arrays& in, int axis, double epsilon, int result);

Array layer_normed(const Array& x, const Array& scale, const Array& offset, const Axes& axes,
                   double epsilon);
// Result 0, 1 or 2 of layer_norm_grad, of dy, x and the scale if there is one.
Array layer_gradient(const Arrays& in, int axes, double epsilon, int result);
Array rms_normed(const Array& x, const Array& scale, const Axes& axes, double epsilon);
Array group_normed(const Array& x, const Array& scale, const Array& offset, std::int64_t groups,
                   int axis, double epsilon);
Array local_response_of(const Array& x, const LocalResponseOptions& options);
// Of dy and x.
Array local_response_gradient(const Arrays& in, const LocalResponseOptions& options);
Array l2_normalized(const Array& x, const Axes& axes, double epsilon);

}  // namespace tenure::testing
