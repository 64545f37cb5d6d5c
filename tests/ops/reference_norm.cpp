#include "reference_norm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenure::testing {
namespace {

bool given(const Array& values) { return !values.data.empty(); }

long double dot_of(const Line& a, const Line& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0L);
}

// Values of the normalised axes, at each place of `shape`.
Array at_axes(const Array& values, const Shape& shape, const Axes& axes) {
  return filled(shape, [&](const Index& index) {
    Index own;
    for (const std::int64_t axis : axes) own.push_back(index[static_cast<std::size_t>(axis)]);
    return at(values, own);
  });
}

Array applied(Array x, const Array& scale, const Array& offset) {
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    if (given(scale)) x.data[i] *= scale.data[i];
    if (given(offset)) x.data[i] += offset.data[i];
  }
  return x;
}

Array at_features_if(const Array& values, const Shape& shape, int axis) {
  return given(values) ? at_features(values, shape, axis) : Array{};
}

Array at_axes_if(const Array& values, const Shape& shape, const Axes& axes) {
  return given(values) ? at_axes(values, shape, axes) : Array{};
}

}  // namespace

Array batch_normed(const Array& x, const Array& mean, const Array& variance, const Array& scale,
                   const Array& offset, int axis, double epsilon) {
  const Array means = at_features(mean, x.shape, axis);
  const Array variances = at_features(variance, x.shape, axis);
  Array result = x;
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    result.data[i] = (x.data[i] - means.data[i]) / std::sqrt(variances.data[i] + epsilon);
  }
  return applied(std::move(result), at_features_if(scale, x.shape, axis),
                 at_features_if(offset, x.shape, axis));
}

Array batch_mean(const Array& x, int axis) {
  return reduced_by(x, all_but(axis, x.shape), false, mean_of);
}

Array batch_variance(const Array& x, int axis) {
  return reduced_by(x, all_but(axis, x.shape), false, variance_of);
}

Array batch_gradient(const Arrays& in, int axis, double epsilon, int result) {
  const Shape& shape = in[1].shape;
  const Axes others = all_but(axis, shape);
  // Everything at each place, so that a line holds all that belongs to a feature.
  Arrays wide{in[0], in[1]};
  for (std::size_t i = 2; i < in.size(); ++i) wide.push_back(at_features(in[i], shape, axis));
  const auto results_of = [&](const std::vector<Line>& lines) {
    const Line &dy = lines[0], &x = lines[1];
    const auto n = static_cast<long double>(x.size());
    if (x.empty()) return Line{};
    const long double mean = lines[2][0], variance = lines[3][0] + epsilon;
    const long double scale = lines.size() > 6 ? lines[6][0] : 1;
    const long double deviation = std::sqrt(variance);
    Line centred;
    for (const long double each : x) centred.push_back(each - mean);
    const long double product = dot_of(dy, centred), total = sum_of(dy);
    Line line;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double own =
          scale / deviation * (dy[i] - total / n - centred[i] * product / variance / n);
      const long double dx = own + lines[4][0] / n + 2 * centred[i] * lines[5][0] / n;
      line.push_back(result == 0 ? dx : result == 1 ? product / deviation : total);
    }
    return line;
  };
  const Array all = lines_by(wide, others, results_of);
  if (result == 0) return all;
  return reduced_by(all, others, false,
                    [](const Line& line) { return line.empty() ? 0 : line.front(); });
}

Array layer_normed(const Array& x, const Array& scale, const Array& offset, const Axes& axes,
                   double epsilon) {
  return applied(
      lines_by({x}, axes,
               [&](const std::vector<Line>& lines) { return normalised(lines[0], epsilon); }),
      at_axes_if(scale, x.shape, axes), at_axes_if(offset, x.shape, axes));
}

Array layer_gradient(const Arrays& in, int axes, double epsilon, int result) {
  const Array &dy = in[0], &x = in[1];
  const int rank = x.shape.rank();
  Axes inner, outer;
  for (int axis = 0; axis < rank; ++axis) (axis < rank - axes ? outer : inner).push_back(axis);
  if (result == 2) return reduced_by(dy, outer, false, sum_of);
  const Array z = layer_normed(x, {}, {}, inner, epsilon);
  if (result == 1) return reduced_by(applied(dy, z, {}), outer, false, sum_of);
  const Array h = applied(dy, in.size() > 2 ? at_axes(in[2], x.shape, inner) : Array{}, {});
  return lines_by({h, z, x}, inner, [&](const std::vector<Line>& lines) {
    const auto n = static_cast<long double>(lines[0].size());
    const long double deviation = std::sqrt(variance_of(lines[2]) + epsilon);
    const long double mean = sum_of(lines[0]) / n, product = dot_of(lines[0], lines[1]) / n;
    Line line;
    for (std::size_t i = 0; i < lines[0].size(); ++i) {
      line.push_back((lines[0][i] - mean - lines[1][i] * product) / deviation);
    }
    return line;
  });
}

Array rms_normed(const Array& x, const Array& scale, const Axes& axes, double epsilon) {
  const Array result = lines_by({x}, axes, [&](const std::vector<Line>& lines) {
    Line line = lines[0];
    const auto n = static_cast<long double>(line.size());
    const long double root = std::sqrt(dot_of(line, line) / n + epsilon);
    for (long double& each : line) each /= root;
    return line;
  });
  return applied(result, at_axes_if(scale, x.shape, axes), {});
}

Array group_normed(const Array& x, const Array& scale, const Array& offset, std::int64_t groups,
                   int axis, double epsilon) {
  const int feature = axis < 0 ? axis + x.shape.rank() : axis;
  Shape split;
  Axes over;
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (i == feature) split.push_back(groups);
    if (i != 0) over.push_back(split.rank());
    split.push_back(i == feature ? x.shape[i] / groups : x.shape[i]);
  }
  const Array normal = layer_normed(reshaped(x, split), {}, {}, over, epsilon);
  return applied(reshaped(normal, x.shape), at_features_if(scale, x.shape, axis),
                 at_features_if(offset, x.shape, axis));
}

namespace {

// For each element of a line: the sum of value(j) over its neighbours.
Line around(const Line& line, std::int64_t radius) {
  Line sums(line.size());
  const auto count = static_cast<std::int64_t>(line.size());
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < count; ++j) {
      if (std::abs(i - j) <= radius) {
        sums[static_cast<std::size_t>(i)] += line[static_cast<std::size_t>(j)];
      }
    }
  }
  return sums;
}

Line energies(const Line& x, const LocalResponseOptions& options) {
  Line squares;
  for (const long double each : x) squares.push_back(each * each);
  Line sums = around(squares, options.depth_radius);
  for (long double& each : sums) each = options.bias + options.alpha * each;
  return sums;
}

}  // namespace

Array local_response_of(const Array& x, const LocalResponseOptions& options) {
  return lines_by({x}, normal(Axes{-1}, x.shape), [&](const std::vector<Line>& lines) {
    Line line = lines[0];
    const Line energy = energies(line, options);
    for (std::size_t i = 0; i < line.size(); ++i) {
      line[i] /= std::pow(energy[i], static_cast<long double>(options.beta));
    }
    return line;
  });
}

Array local_response_gradient(const Arrays& in, const LocalResponseOptions& options) {
  return lines_by(in, normal(Axes{-1}, in[0].shape), [&](const std::vector<Line>& lines) {
    const Line &dy = lines[0], &x = lines[1];
    const Line energy = energies(x, options);
    const auto beta = static_cast<long double>(options.beta);
    Line flow, line;
    for (std::size_t i = 0; i < x.size(); ++i) {
      flow.push_back(dy[i] * x[i] * std::pow(energy[i], -beta - 1));
    }
    const Line sums = around(flow, options.depth_radius);
    for (std::size_t i = 0; i < x.size(); ++i) {
      line.push_back(dy[i] * std::pow(energy[i], -beta) -
                     2 * options.alpha * beta * x[i] * sums[i]);
    }
    return line;
  });
}

Array l2_normalized(const Array& x, const Axes& axes, double epsilon) {
  return lines_by({x}, axes, [&](const std::vector<Line>& lines) {
    Line line = lines[0];
    const long double size =
        std::sqrt(std::max<long double>(dot_of(line, line), static_cast<long double>(epsilon)));
    for (long double& each : line) each /= size;
    return line;
  });
}

}  // namespace tenure::testing
