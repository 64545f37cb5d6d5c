#include "reference_lines.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenure::testing {
namespace {

// For each line along `axes`: where its elements lie.
std::vector<std::vector<std::size_t>> lines_of(const Shape& shape, const Axes& axes) {
  const Shape kept = without(shape, axes, true);
  std::vector<std::vector<std::size_t>> lines(static_cast<std::size_t>(kept.numel()));
  each_index(shape, [&](const Index& index) {
    Index line = index;
    for (const std::int64_t axis : axes) line[static_cast<std::size_t>(axis)] = 0;
    lines[position(kept, line)].push_back(position(shape, index));
  });
  return lines;
}

Line elements(const Array& x, const std::vector<std::size_t>& places) {
  Line line;
  for (const std::size_t place : places) line.push_back(x.data[place]);
  return line;
}

}  // namespace

Axes normal(const std::optional<Axes>& axes, const Shape& shape) {
  Axes result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!axes || contains(*axes, axis) || contains(*axes, axis - shape.rank())) {
      result.push_back(axis);
    }
  }
  return result;
}

Axes all_but(int axis, const Shape& shape) {
  Axes others;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != (axis < 0 ? axis + shape.rank() : axis)) others.push_back(i);
  }
  return others;
}

Array reduced_by(const Array& x, const Axes& axes, bool keep_dims,
                 const std::function<long double(const Line&)>& fn) {
  Array result{without(x.shape, axes, keep_dims), {}};
  for (const auto& places : lines_of(x.shape, axes)) {
    result.data.push_back(static_cast<double>(fn(elements(x, places))));
  }
  return result;
}

Array lines_by(const Arrays& in, const Axes& axes,
               const std::function<Line(const std::vector<Line>&)>& fn) {
  Array result = in[0];
  for (const auto& places : lines_of(result.shape, axes)) {
    std::vector<Line> lines;
    for (const Array& each : in) lines.push_back(elements(each, places));
    const Line line = fn(lines);
    for (std::size_t i = 0; i < places.size(); ++i) {
      result.data[places[i]] = static_cast<double>(line[i]);
    }
  }
  return result;
}

long double sum_of(const Line& line) { return std::accumulate(line.begin(), line.end(), 0.0L); }

long double mean_of(const Line& line) {
  return sum_of(line) / static_cast<long double>(line.size());
}

long double variance_of(const Line& line) {
  const long double mean = mean_of(line);
  Line squares;
  for (const long double x : line) squares.push_back((x - mean) * (x - mean));
  return mean_of(squares);
}

Line normalised(const Line& line, double epsilon) {
  const long double mean = mean_of(line);
  const long double deviation = std::sqrt(variance_of(line) + epsilon);
  Line result;
  for (const long double x : line) result.push_back((x - mean) / deviation);
  return result;
}

Array norm_of(const Array& x, const NormOptions& options) {
  const double order = options.order.value_or(2);
  const auto folds_of = [](const Line& line, double way) {  // by sum, largest or smallest
    long double total = way == 0 ? 0 : std::abs(line.at(0));
    for (const long double each : line) {
      const long double size = std::abs(each);
      total = way == 0 ? total + size : way > 0 ? std::max(total, size) : std::min(total, size);
    }
    return total;
  };
  const Axes axes = normal(options.axes, x.shape);
  if (options.order && options.axes && axes.rank() == 2) {
    const int summed = order == 1 ? 0 : 1;
    const auto one = [&](int i) { return normal(Axes{(*options.axes)[i]}, x.shape); };
    const Array sums =
        reduced_by(x, one(summed), true, [&](const Line& line) { return folds_of(line, 0); });
    Array result = reduced_by(sums, one(1 - summed), true,
                              [&](const Line& line) { return folds_of(line, order); });
    result.shape = without(x.shape, axes, options.keep_dims);
    return result;
  }
  return reduced_by(x, axes, options.keep_dims, [&](const Line& line) -> long double {
    if (std::isinf(order)) return folds_of(line, order);
    long double total = 0;
    for (const long double each : line) {
      total += order == 0 ? (each != 0 ? 1 : 0) : std::pow(std::abs(each), order);
    }
    return order == 0 ? total : std::pow(total, 1 / static_cast<long double>(order));
  });
}

Array at_features(const Array& values, const Shape& shape, int axis) {
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + shape.rank() : axis);
  return filled(
      shape, [&](const Index& index) { return values.data[static_cast<std::size_t>(index[at])]; });
}

Array running(const Array& x, int axis, bool product, ScanOptions options) {
  return lines_by({x}, normal(Axes{axis}, x.shape), [&](const std::vector<Line>& in) {
    Line line = in[0];
    if (options.reverse) std::reverse(line.begin(), line.end());
    long double total = product ? 1 : 0;
    for (long double& each : line) {
      const long double before = total;
      total = product ? total * each : total + each;
      each = options.exclusive ? before : total;
    }
    if (options.reverse) std::reverse(line.begin(), line.end());
    return line;
  });
}

Array recurred(const Arrays& in, int axis, bool reverse, bool lagged) {
  return lines_by(in, normal(Axes{axis}, in[0].shape), [&](const std::vector<Line>& lines) {
    Line factor = lines[0], term = lines[1];
    if (reverse) std::reverse(factor.begin(), factor.end());
    if (reverse) std::reverse(term.begin(), term.end());
    for (std::size_t i = 1; i < term.size(); ++i) {
      term[i] += factor[lagged ? i - 1 : i] * term[i - 1];
    }
    if (reverse) std::reverse(term.begin(), term.end());
    return term;
  });
}

Array softmax_of(const Array& x, int axis, bool logarithm) {
  return lines_by({x}, normal(Axes{axis}, x.shape), [&](const std::vector<Line>& in) {
    Line line = in[0];
    if (line.empty()) return line;
    const long double largest = *std::max_element(line.begin(), line.end());
    long double total = 0;
    for (const long double each : line) total += std::exp(each - largest);
    for (long double& each : line) {
      each -= largest;
      each = logarithm ? each - std::log(total) : std::exp(each) / total;
    }
    return line;
  });
}

Array softmax_gradient_of(const Arrays& in, int axis, bool logarithm) {
  return lines_by(in, normal(Axes{axis}, in[0].shape), [&](const std::vector<Line>& lines) {
    const Line &y = lines[0], &dy = lines[1];
    long double total = 0;
    for (std::size_t i = 0; i < y.size(); ++i) total += logarithm ? dy[i] : y[i] * dy[i];
    Line line;
    for (std::size_t i = 0; i < y.size(); ++i) {
      line.push_back(logarithm ? dy[i] - std::exp(y[i]) * total : y[i] * (dy[i] - total));
    }
    return line;
  });
}

}  // namespace tenure::testing
