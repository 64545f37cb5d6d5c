// References for ops that work along axes: functions of the elements of a line, in long double.
#pragma once

#include <functional>
#include <vector>

#include "reference.h"

namespace tenure::testing {

using Line = std::vector<long double>;

// Not negative, in order; all of them when there are none.
Axes normal(const std::optional<Axes>& axes, const Shape& shape);
// All but one.
Axes all_but(int axis, const Shape& shape);

// fn of the elements that make each result, in row-major order.
Array reduced_by(const Array& x, const Axes& axes, bool keep_dims,
                 const std::function<long double(const Line&)>& fn);
// Lines along `axes` of inputs of one shape; fn gives the result's line.
Array lines_by(const Arrays& in, const Axes& axes,
               const std::function<Line(const std::vector<Line>&)>& fn);

long double mean_of(const Line& line);
long double variance_of(const Line& line);
long double sum_of(const Line& line);
// Minus the mean, over the root of the variance plus epsilon.
Line normalised(const Line& line, double epsilon);

Array norm_of(const Array& x, const NormOptions& options);

// One value per feature, at each place of `shape`.
Array at_features(const Array& values, const Shape& shape, int axis);

Array running(const Array& x, int axis, bool product, ScanOptions options);
// y[i] = term[i] + factor[i] y[i - 1], of factors and terms; `lagged`: with the factor before.
Array recurred(const Arrays& in, int axis, bool reverse, bool lagged);
Array softmax_of(const Array& x, int axis, bool logarithm);
// Of the result and its gradient.
Array softmax_gradient_of(const Arrays& in, int axis, bool logarithm);

}  // namespace tenure::testing
