#include "reference_pooling.h"

#include <cmath>

namespace tenure::testing {
namespace {

bool has_batch(const Pooling& pooling, const Shape& x) {
  return x.rank() == pooling.window.rank() + 2;
}

int first_axis(const Pooling& pooling, const Shape& x) {
  return (has_batch(pooling, x) ? 1 : 0) + (pooling.options.channels_first ? 1 : 0);
}

std::int64_t entry(const Shape& list, int i, std::int64_t otherwise) {
  if (list.rank() == 0) return otherwise;
  return list.rank() == 1 ? list[0] : list[i];
}

struct Axis {
  std::int64_t count;   // of windows
  std::int64_t before;  // padding
};

Axis axis_of(const Pooling& pooling, const Shape& x, int i) {
  const auto& [strides, padding, dilations, rounding, channels_first] = pooling.options;
  const auto size = static_cast<double>(x[first_axis(pooling, x) + i]);
  const auto stride = static_cast<double>(entry(strides, i, pooling.window[i]));
  const auto dilation = static_cast<double>(entry(dilations, i, 1));
  const double reach = (static_cast<double>(pooling.window[i]) - 1) * dilation + 1;
  if (padding.kind == Padding::same) {
    const double count = std::ceil(size / stride);
    const double total = std::max(0.0, (count - 1) * stride + reach - size);
    return {static_cast<std::int64_t>(count), static_cast<std::int64_t>(std::floor(total / 2))};
  }
  const bool given = padding.kind == Padding::given;
  const auto before = static_cast<double>(given ? entry(padding.before, i, 0) : 0);
  const auto after = static_cast<double>(given ? entry(padding.after, i, 0) : 0);
  double count = (size - reach + before + after) / stride + 1;
  count = rounding == Rounding::up        ? std::ceil(count)
          : rounding == Rounding::nearest ? std::floor(count + 0.5)
                                          : std::floor(count);
  return {static_cast<std::int64_t>(count), static_cast<std::int64_t>(before)};
}

// Of the largest, the first of equals; none for NaN and minus infinity.
const Index* largest_of(const Array& x, const std::vector<Index>& taps) {
  const Index* best = nullptr;
  double value = -INFINITY;
  for (const Index& tap : taps) {
    if (!(at(x, tap) > value)) continue;
    value = at(x, tap);
    best = &tap;
  }
  return best;
}

}  // namespace

Shape pooled_shape(const Pooling& pooling, const Shape& x) {
  Shape shape = x;
  for (int i = 0; i < pooling.window.rank(); ++i) {
    shape[first_axis(pooling, x) + i] = axis_of(pooling, x, i).count;
  }
  return shape;
}

void each_window_tap(const Pooling& pooling, const Shape& x,
                     const std::function<void(const Index&, const std::vector<Tap>&)>& fn) {
  const int first = first_axis(pooling, x);
  each_index(pooled_shape(pooling, x), [&](const Index& index) {
    std::vector<Tap> taps;
    each_index(pooling.window, [&](const Index& offset) {
      Index tap = index;
      bool inside = true;
      for (int i = 0; i < pooling.window.rank(); ++i) {
        const auto axis = static_cast<std::size_t>(first + i);
        tap[axis] = index[axis] * entry(pooling.options.strides, i, pooling.window[i]) -
                    axis_of(pooling, x, i).before +
                    offset[static_cast<std::size_t>(i)] * entry(pooling.options.dilations, i, 1);
        inside = inside && tap[axis] >= 0 && tap[axis] < x[first + i];
      }
      if (inside) taps.push_back({tap, offset});
    });
    fn(index, taps);
  });
}

void each_window(const Pooling& pooling, const Shape& x,
                 const std::function<void(const Index&, const std::vector<Index>&)>& fn) {
  each_window_tap(pooling, x, [&](const Index& index, const std::vector<Tap>& taps) {
    std::vector<Index> places;
    for (const Tap& tap : taps) places.push_back(tap.at);
    fn(index, places);
  });
}

Array max_pooled(const Array& x, const Pooling& pooling, double nothing) {
  Array result{pooled_shape(pooling, x.shape), {}};
  each_window(pooling, x.shape, [&](const Index&, const std::vector<Index>& taps) {
    const Index* best = largest_of(x, taps);
    result.data.push_back(best != nullptr ? at(x, *best) : nothing);
  });
  return result;
}

Array avg_pooled(const Array& x, const Pooling& pooling) {
  Array result{pooled_shape(pooling, x.shape), {}};
  each_window(pooling, x.shape, [&](const Index&, const std::vector<Index>& taps) {
    double total = 0;
    for (const Index& tap : taps) total += at(x, tap);
    result.data.push_back(taps.empty() ? 0 : total / static_cast<double>(taps.size()));
  });
  return result;
}

Array places_of_largest(const Array& x, const Pooling& pooling, bool with_batch) {
  Array result{pooled_shape(pooling, x.shape), {}};
  const bool batched = has_batch(pooling, x.shape);
  each_window(pooling, x.shape, [&](const Index&, const std::vector<Index>& taps) {
    const Index* best = largest_of(x, taps);
    if (best == nullptr) {
      result.data.push_back(-1);
      return;
    }
    Index place = *best;
    if (batched && !with_batch) place[0] = 0;
    result.data.push_back(static_cast<double>(position(x.shape, place)));
  });
  return result;
}

Array max_pool_gradient(const Array& dy, const Array& x, const Pooling& pooling) {
  Array result = filled(x.shape, [](const Index&) { return 0.0; });
  each_window(pooling, x.shape, [&](const Index& index, const std::vector<Index>& taps) {
    if (const Index* best = largest_of(x, taps)) at(result, *best) += at(dy, index);
  });
  return result;
}

Array max_pool_picked(const Array& values, const Array& x, const Pooling& pooling) {
  Array result{pooled_shape(pooling, x.shape), {}};
  each_window(pooling, x.shape, [&](const Index&, const std::vector<Index>& taps) {
    const Index* best = largest_of(x, taps);
    result.data.push_back(best != nullptr ? at(values, *best) : 0);
  });
  return result;
}

Array avg_pool_gradient(const Array& dy, const Shape& x, const Pooling& pooling) {
  Array result = filled(x, [](const Index&) { return 0.0; });
  each_window(pooling, x, [&](const Index& index, const std::vector<Index>& taps) {
    for (const Index& tap : taps) {
      at(result, tap) += at(dy, index) / static_cast<double>(taps.size());
    }
  });
  return result;
}

PoolingOfShape draw_pooling(Dice& dice, int axes) {
  if (axes == 0) axes = static_cast<int>(dice.in(1, 3));
  PoolingOfShape drawn;
  PoolOptions& options = drawn.pooling.options;
  options.channels_first = dice.chance(0.4);
  const auto list = [&](std::int64_t least, std::int64_t most) {
    Shape result;
    const int count = dice.chance(0.3) ? 1 : axes;
    for (int i = 0; i < count; ++i) result.push_back(dice.in(least, most));
    return result;
  };
  for (int i = 0; i < axes; ++i) drawn.pooling.window.push_back(dice.in(1, 3));
  if (dice.chance(0.7)) options.strides = list(1, 3);
  if (dice.chance(0.4)) options.dilations = list(1, 3);
  switch (dice.in(0, 3)) {
    case 0:
      options.padding = Padding::same;
      break;
    case 1:
      options.padding = dice.in(0, 2);
      break;
    case 2:
      options.padding.kind = Padding::given;
      for (int i = 0; i < axes; ++i) {
        options.padding.before.push_back(dice.in(0, 2));
        options.padding.after.push_back(dice.in(0, 2));
      }
      break;
    default:
      break;
  }
  options.rounding = static_cast<Rounding>(dice.in(0, 2));
  const bool batched = dice.chance(0.7);
  const std::int64_t channels = dice.chance(0.1) ? dice.in(60, 75) : dice.in(1, 5);
  const std::int64_t batch = dice.chance(0.05) ? 0 : dice.in(1, 3);
  if (batched) drawn.x.push_back(batch);
  if (options.channels_first) drawn.x.push_back(channels);
  for (int i = 0; i < axes; ++i) {
    const std::int64_t dilation = entry(options.dilations, i, 1);
    const std::int64_t reach = (drawn.pooling.window[i] - 1) * dilation + 1;
    const bool same = options.padding.kind == Padding::same;
    drawn.x.push_back(same ? dice.in(dice.chance(0.05) ? 0 : 1, 5) : reach + dice.in(0, 3));
  }
  if (!options.channels_first) drawn.x.push_back(channels);
  return drawn;
}

}  // namespace tenure::testing
