#include "reference.h"

#include <algorithm>
#include <cmath>

namespace tenure::testing {
namespace {

// Where in an array of `shape` the element lies that broadcasting puts at `index`.
std::size_t narrowed_position(const Index& index, const Shape& shape) {
  const std::size_t extra = index.size() - static_cast<std::size_t>(shape.rank());
  std::int64_t at = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t own = index[extra + static_cast<std::size_t>(axis)];
    at = at * shape[axis] + (shape[axis] == 1 ? 0 : own);
  }
  return static_cast<std::size_t>(at);
}

}  // namespace

bool contains(const Axes& axes, std::int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Shape without(const Shape& shape, const Axes& axes, bool keep_dims) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!contains(axes, axis)) {
      result.push_back(shape[axis]);
    } else if (keep_dims) {
      result.push_back(1);
    }
  }
  return result;
}

Array permuted(const Array& x, const Axes& axes) {
  Shape shape = x.shape;
  for (int i = 0; i < axes.rank(); ++i) shape[i] = x.shape[static_cast<int>(axes[i])];
  return filled(shape, [&](const Index& index) {
    Index from = index;
    for (int i = 0; i < axes.rank(); ++i) {
      from[static_cast<std::size_t>(axes[i])] = index[static_cast<std::size_t>(i)];
    }
    return at(x, from);
  });
}

Array sliced(const Array& x, const Shape& begin, const Shape& size, const Shape& step) {
  return filled(size, [&](const Index& index) {
    Index from = index;
    for (int i = 0; i < size.rank(); ++i) {
      std::int64_t& place = from[static_cast<std::size_t>(i)];
      place = begin[i] + place * step[i];
    }
    return at(x, from);
  });
}

Array unsliced(const Array& x, const Shape& shape, const Shape& begin, const Shape& step) {
  Array result = filled(shape, [](const Index&) { return 0.0; });
  each_index(x.shape, [&](const Index& index) {
    Index to = index;
    for (int i = 0; i < shape.rank(); ++i) {
      std::int64_t& place = to[static_cast<std::size_t>(i)];
      place = begin[i] + place * step[i];
    }
    at(result, to) = at(x, index);
  });
  return result;
}

Array broadcasted(const Array& x, const Shape& shape) {
  return filled(shape,
                [&](const Index& index) { return x.data[narrowed_position(index, x.shape)]; });
}

Array reshaped(const Array& x, const Shape& shape) { return {shape, x.data}; }

Array joined(const Arrays& parts, int axis) {
  Shape shape = parts[0].shape;
  for (std::size_t i = 1; i < parts.size(); ++i) shape[axis] += parts[i].shape[axis];
  return filled(shape, [&](const Index& index) {
    Index from = index;
    std::int64_t& place = from[static_cast<std::size_t>(axis)];
    std::size_t part = 0;
    while (place >= parts[part].shape[axis]) place -= parts[part++].shape[axis];
    return at(parts[part], from);
  });
}

Array multiplied(const Array& a, const Array& b, bool transpose_a, bool transpose_b) {
  const auto batch = [](const Shape& shape) {
    return Shape(shape.dims().first(static_cast<std::size_t>(shape.rank()) - 2));
  };
  const Shape batch_a = batch(a.shape), batch_b = batch(b.shape);
  const Shape stack = common_shape({{batch_a, {}}, {batch_b, {}}});
  const std::int64_t m = a.shape[transpose_a ? -1 : -2], k = a.shape[transpose_a ? -2 : -1];
  const std::int64_t n = b.shape[transpose_b ? -2 : -1];
  Array result{stack, {}};
  result.shape.push_back(m);
  result.shape.push_back(n);
  each_index(stack, [&](const Index& index) {
    const auto first = [&](const Array& x, const Shape& own) {
      return x.data.data() +
             static_cast<std::int64_t>(narrowed_position(index, own)) * x.shape[-2] * x.shape[-1];
    };
    const double *left = first(a, batch_a), *right = first(b, batch_b);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          sum += left[transpose_a ? p * m + i : i * k + p] *
                 right[transpose_b ? j * k + p : p * n + j];
        }
        result.data.push_back(sum);
      }
    }
  });
  return result;
}

Shape common_shape(const Arrays& inputs) {
  Shape shape;
  for (const Array& input : inputs) {
    const int rank = std::max(shape.rank(), input.shape.rank());
    Shape wider = Shape::filled(rank, 1);
    for (int back = 1; back <= rank; ++back) {
      for (const Shape& each : {shape, input.shape}) {
        if (back <= each.rank() && each[-back] != 1) wider[-back] = each[-back];
      }
    }
    shape = wider;
  }
  return shape;
}

Reference elementwise(std::function<double(const std::vector<double>&)> fn) {
  return [fn = std::move(fn)](const Arrays& inputs) {
    std::vector<double> elements(inputs.size());
    return filled(common_shape(inputs), [&](const Index& index) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        elements[i] = inputs[i].data[narrowed_position(index, inputs[i].shape)];
      }
      return fn(elements);
    });
  };
}

Array folded(const Array& x, const Axes& axes, bool keep_dims, double start,
             const std::function<long double(long double, long double)>& fold) {
  const Shape shape = without(x.shape, axes, keep_dims);
  std::vector<long double> totals(static_cast<std::size_t>(shape.numel()), start);
  Index to;
  each_index(x.shape, [&](const Index& index) {
    to.clear();
    for (int axis = 0; axis < x.shape.rank(); ++axis) {
      if (!contains(axes, axis)) {
        to.push_back(index[static_cast<std::size_t>(axis)]);
      } else if (keep_dims) {
        to.push_back(0);
      }
    }
    long double& total = totals[position(shape, to)];
    total = fold(total, at(x, index));
  });
  return {shape, std::vector<double>(totals.begin(), totals.end())};
}

Array place_of_largest(const Array& x, int axis) {
  return filled(without(x.shape, {axis}, false), [&](const Index& index) {
    Index from = index;
    from.insert(from.begin() + axis, 0);
    std::int64_t& place = from[static_cast<std::size_t>(axis)];
    std::int64_t best = 0;
    double largest = at(x, from);
    for (place = 1; place < x.shape[axis]; ++place) {
      if (at(x, from) > largest) {
        largest = at(x, from);
        best = place;
      }
    }
    return static_cast<double>(best);
  });
}

long double larger(long double a, long double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

}  // namespace tenure::testing
