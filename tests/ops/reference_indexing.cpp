#include "reference_indexing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenure::testing {
namespace {

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

std::vector<Index> whole(const Shape& shape) {
  std::vector<Index> places;
  for (const std::int64_t dim : shape) {
    places.emplace_back(size(dim));
    std::iota(places.back().begin(), places.back().end(), 0);
  }
  return places;
}

std::int64_t whole_number(double value) { return static_cast<std::int64_t>(value); }

bool before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

Index joined_index(const Index& a, const Index& b) {
  Index all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

Index part(const Index& index, int from, int to) {
  return Index(index.begin() + from, index.begin() + to);
}

Shape part(const Shape& shape, int from, int to) {
  return Shape(shape.dims().subspan(size(from), size(to - from)));
}

Shape joined_shape(const Shape& a, const Shape& b) {
  Shape all = a;
  for (const std::int64_t dim : b) all.push_back(dim);
  return all;
}

// Where in x the element lies that a gather puts at `index`.
Index gather_source(const Index& index, const Array& indices, int axis, int batch_dims) {
  const int behind = axis + indices.shape.rank() - batch_dims;
  const Index at_indices = joined_index(part(index, 0, batch_dims), part(index, axis, behind));
  Index from = part(index, 0, axis);
  from.push_back(whole_number(at(indices, at_indices)));
  return joined_index(from, part(index, behind, static_cast<int>(index.size())));
}

// Row `row` of the coordinates in the last axis.
Index coordinates(const Array& indices, std::int64_t row) {
  const std::int64_t depth = indices.shape[-1];
  Index place;
  for (std::int64_t i = 0; i < depth; ++i) {
    place.push_back(whole_number(indices.data[size(row * depth + i)]));
  }
  return place;
}

}  // namespace

Array picked(const Array& x, const std::vector<Index>& places) {
  Shape shape;
  for (const Index& along : places) shape.push_back(static_cast<std::int64_t>(along.size()));
  return filled(shape, [&](const Index& index) {
    Index from = index;
    for (std::size_t axis = 0; axis < from.size(); ++axis)
      from[axis] = places[axis][size(from[axis])];
    return at(x, from);
  });
}

Array reversed(const Array& x, const Axes& axes) {
  std::vector<Index> places = whole(x.shape);
  for (const std::int64_t axis : axes) {
    Index& along = places[size(axis < 0 ? axis + x.shape.rank() : axis)];
    std::reverse(along.begin(), along.end());
  }
  return picked(x, places);
}

Array tiled(const Array& x, const Shape& repeats) {
  std::vector<Index> places = whole(x.shape);
  for (int axis = 0; axis < repeats.rank(); ++axis) {
    Index& along = places[size(axis)];
    const Index once = along;
    along.clear();
    for (std::int64_t i = 0; i < repeats[axis]; ++i) along = joined_index(along, once);
  }
  return picked(x, places);
}

Array rolled(const Array& x, const Shape& shifts, const Axes& axes) {
  std::vector<Index> places = whole(x.shape);
  for (int i = 0; i < axes.rank(); ++i) {
    Index& along = places[size(axes[i] < 0 ? axes[i] + x.shape.rank() : axes[i])];
    const Index old = along;
    const auto dim = static_cast<std::int64_t>(old.size());
    for (std::int64_t to = 0; to < dim; ++to) {
      along[size(to)] = old[size(((to - shifts[i]) % dim + dim) % dim)];
    }
  }
  return picked(x, places);
}

Array padded(const Array& x, const Pads& pads, double value) {
  Shape shape = x.shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    shape[axis] += pads[size(axis)].first + pads[size(axis)].second;
  }
  return filled(shape, [&](Index index) {
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      index[axis] -= pads[axis].first;
      if (index[axis] < 0 || index[axis] >= x.shape[static_cast<int>(axis)]) return value;
    }
    return at(x, index);
  });
}

Array mirrored(const Array& x, const Pads& pads, bool with_edge) {
  std::vector<Index> places = whole(x.shape);
  for (std::size_t axis = 0; axis < places.size(); ++axis) {
    const std::int64_t dim = x.shape[static_cast<int>(axis)];
    Index& along = places[axis];
    along.clear();
    for (std::int64_t i = -pads[axis].first; i < dim + pads[axis].second; ++i) {
      const std::int64_t edge = with_edge ? 1 : 0;
      along.push_back(i < 0 ? -i - edge : i >= dim ? 2 * dim - 2 - i + edge : i);
    }
  }
  return picked(x, places);
}

Array cropped(const Array& x, const Pads& crops) {
  std::vector<Index> places = whole(x.shape);
  for (std::size_t axis = 0; axis < places.size(); ++axis) {
    Index& along = places[axis];
    along = Index(along.begin() + crops[axis].first, along.end() - crops[axis].second);
  }
  return picked(x, places);
}

Array stacked(const Arrays& parts, int axis) {
  Shape shape;
  for (int i = 0; i <= parts[0].shape.rank(); ++i) {
    if (i == axis) shape.push_back(static_cast<std::int64_t>(parts.size()));
    if (i < parts[0].shape.rank()) shape.push_back(parts[0].shape[i]);
  }
  return filled(shape, [&](Index index) {
    const std::size_t which = size(index[size(axis)]);
    index.erase(index.begin() + axis);
    return at(parts[which], index);
  });
}

Array gathered(const Array& x, const Array& indices, int axis, int batch_dims) {
  const Shape middle = part(indices.shape, batch_dims, indices.shape.rank());
  const Shape shape = joined_shape(joined_shape(part(x.shape, 0, axis), middle),
                                   part(x.shape, axis + 1, x.shape.rank()));
  return filled(shape, [&](const Index& index) {
    return at(x, gather_source(index, indices, axis, batch_dims));
  });
}

Array gathered_back(const Array& dy, const Array& indices, const Shape& shape, int axis,
                    int batch_dims) {
  Array result = filled(shape, [](const Index&) { return 0.0; });
  each_index(dy.shape, [&](const Index& index) {
    at(result, gather_source(index, indices, axis, batch_dims)) += at(dy, index);
  });
  return result;
}

Array gathered_nd(const Array& x, const Array& indices) {
  const int rows = indices.shape.rank() - 1;
  const auto depth = static_cast<int>(indices.shape[-1]);
  const Shape shape =
      joined_shape(part(indices.shape, 0, rows), part(x.shape, depth, x.shape.rank()));
  return filled(shape, [&](const Index& index) {
    const auto row =
        static_cast<std::int64_t>(position(part(indices.shape, 0, rows), part(index, 0, rows)));
    return at(x, joined_index(coordinates(indices, row),
                              part(index, rows, static_cast<int>(index.size()))));
  });
}

Array scattered(Array into, const Array& indices, const Array& updates, Combine combine) {
  const int rows = indices.shape.rank() - 1;
  each_index(updates.shape, [&](const Index& index) {
    const auto row =
        static_cast<std::int64_t>(position(part(indices.shape, 0, rows), part(index, 0, rows)));
    double& element = at(into, joined_index(coordinates(indices, row),
                                            part(index, rows, static_cast<int>(index.size()))));
    element = combine(element, at(updates, index));
  });
  return into;
}

Array taken_along(const Array& x, const Array& indices, int axis) {
  return filled(indices.shape, [&](const Index& index) {
    Index from = index;
    from[size(axis)] = whole_number(at(indices, index));
    return at(x, from);
  });
}

Array one_hot_of(const Array& indices, std::int64_t depth, int axis, double on, double off) {
  Shape shape;
  for (int i = 0; i <= indices.shape.rank(); ++i) {
    if (i == axis) shape.push_back(depth);
    if (i < indices.shape.rank()) shape.push_back(indices.shape[i]);
  }
  return filled(shape, [&](Index index) {
    const auto place = static_cast<double>(index[size(axis)]);
    index.erase(index.begin() + axis);
    return at(indices, index) == place ? on : off;
  });
}

Array places_of_true(const Array& x) {
  Array result{{0, x.shape.rank()}, {}};
  each_index(x.shape, [&](const Index& index) {
    if (at(x, index) == 0) return;
    ++result.shape[0];
    for (const std::int64_t i : index) result.data.push_back(static_cast<double>(i));
  });
  return result;
}

Array masked(const Array& x, const Array& mask, int axis) {
  const int behind = axis + mask.shape.rank();
  const Array places = places_of_true(mask);
  const Shape shape = joined_shape(joined_shape(part(x.shape, 0, axis), {places.shape[0]}),
                                   part(x.shape, behind, x.shape.rank()));
  return filled(shape, [&](const Index& index) {
    const Index chosen = coordinates(places, index[size(axis)]);
    return at(x, joined_index(joined_index(part(index, 0, axis), chosen),
                              part(index, axis + 1, static_cast<int>(index.size()))));
  });
}

Array order_of(const Array& x, int axis, bool descending) {
  Array result = x;
  Shape rows = x.shape;
  rows[axis] = std::min<std::int64_t>(rows[axis], 1);
  each_index(rows, [&](const Index& row) {
    const auto value = [&](std::int64_t i) {
      Index from = row;
      from[size(axis)] = i;
      return at(x, from);
    };
    Index order(size(x.shape[axis]));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return descending ? before(value(b), value(a)) : before(value(a), value(b));
    });
    for (std::size_t i = 0; i < order.size(); ++i) {
      Index to = row;
      to[size(axis)] = static_cast<std::int64_t>(i);
      at(result, to) = static_cast<double>(order[i]);
    }
  });
  return result;
}

Array first_places(const Array& x, std::int64_t k, bool largest) {
  const int last = x.shape.rank() - 1;
  Shape shape = x.shape;
  shape[last] = k;
  return sliced(order_of(x, last, largest), Shape::filled(last + 1, 0), shape,
                Shape::filled(last + 1, 1));
}

Differing differing(const Array& x, int axis) {
  const std::int64_t dim = x.shape[axis];
  const auto equal = [&](std::int64_t a, std::int64_t b) {
    bool same = true;
    each_index(x.shape, [&](const Index& index) {
      if (index[size(axis)] != a) return;
      Index other = index;
      other[size(axis)] = b;
      same = same && (at(x, index) == at(x, other) ||
                      (std::isnan(at(x, index)) && std::isnan(at(x, other))));
    });
    return same;
  };
  Differing result;
  result.inverse.shape = {dim};
  std::vector<Index> places = whole(x.shape);
  Index& kept = places[size(axis)];
  kept.clear();
  for (std::int64_t i = 0; i < dim; ++i) {
    std::size_t number = 0;
    while (number < kept.size() && !equal(kept[number], i)) ++number;
    if (number == kept.size()) kept.push_back(i);
    result.inverse.data.push_back(static_cast<double>(number));
  }
  result.values = picked(x, places);
  return result;
}

Array searched(const Array& sorted, const Array& values, bool right) {
  const std::int64_t dim = sorted.shape[-1];
  return filled(values.shape, [&](const Index& index) {
    const double value = at(values, index);
    Index row(index.begin(), index.end());
    if (sorted.shape.rank() == 1) row = {0};
    double place = 0;
    for (std::int64_t i = 0; i < dim; ++i) {
      row.back() = i;
      const double element = at(sorted, row);
      if (element < value || (right && element == value)) ++place;
    }
    return place;
  });
}

Array counted(const Array& x, const Array* weights, std::int64_t size_of_result, bool binary) {
  Shape shape = x.shape;
  shape[-1] = size_of_result;
  Array result = filled(shape, [](const Index&) { return 0.0; });
  each_index(x.shape, [&](const Index& index) {
    Index to = index;
    to.back() = whole_number(at(x, index));
    if (to.back() >= size_of_result) return;
    double& count = at(result, to);
    count = binary ? 1 : count + (weights != nullptr ? at(*weights, index) : 1);
  });
  return result;
}

Array binned(const Array& x, double low, double high, std::int64_t bins) {
  Array result{{bins}, std::vector<double>(size(bins))};
  for (const double value : x.data) {
    if (std::isnan(value)) continue;
    std::int64_t bin = 0;
    while (bin + 1 < bins && (value - low) * (static_cast<double>(bins) / (high - low)) >=
                                 static_cast<double>(bin + 1))
      ++bin;
    ++result.data[size(bin)];
  }
  return result;
}

Array space_to_batch(const Array& x, const Shape& block, const Pads& pads) {
  Pads all(size(x.shape.rank()));
  for (std::size_t i = 0; i < pads.size(); ++i) all[i + 1] = pads[i];
  const Array space = padded(x, all, 0);
  Shape shape = space.shape;
  shape[0] *= block.numel();
  for (int i = 0; i < block.rank(); ++i) shape[i + 1] /= block[i];
  return filled(shape, [&](Index index) {
    std::int64_t offset = index[0] / space.shape[0];  // within a block
    index[0] %= space.shape[0];
    for (int i = block.rank() - 1; i >= 0; --i) {
      std::int64_t& place = index[size(i + 1)];
      place = place * block[i] + offset % block[i];
      offset /= block[i];
    }
    return at(space, index);
  });
}

Array batch_to_space(const Array& x, const Shape& block, const Pads& crops) {
  Shape shape = x.shape;
  shape[0] /= block.numel();
  for (int i = 0; i < block.rank(); ++i) shape[i + 1] *= block[i];
  const Array space = filled(shape, [&](Index index) {
    std::int64_t offset = 0;
    for (int i = 0; i < block.rank(); ++i) {
      std::int64_t& place = index[size(i + 1)];
      offset = offset * block[i] + place % block[i];
      place /= block[i];
    }
    index[0] += offset * shape[0];
    return at(x, index);
  });
  Pads all(size(shape.rank()));
  for (std::size_t i = 0; i < crops.size(); ++i) all[i + 1] = crops[i];
  return cropped(space, all);
}

namespace {

Index pixel(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c, bool first) {
  return first ? Index{n, c, y, x} : Index{n, y, x, c};
}

}  // namespace

Array depth_to_pixels(const Array& in, std::int64_t block, bool first) {
  const int h = first ? 2 : 1, w = h + 1, c = first ? 1 : 3;
  Shape shape = in.shape;
  shape[h] *= block;
  shape[w] *= block;
  shape[c] /= block * block;
  return filled(shape, [&](const Index& to) {
    const std::int64_t y = to[size(h)], x = to[size(w)];
    const std::int64_t channel = (y % block * block + x % block) * shape[c] + to[size(c)];
    return at(in, pixel(to[0], y / block, x / block, channel, first));
  });
}

Array pixels_to_depth(const Array& in, std::int64_t block, bool first) {
  const int h = first ? 2 : 1, w = h + 1, c = first ? 1 : 3;
  Shape shape = in.shape;
  shape[h] /= block;
  shape[w] /= block;
  shape[c] *= block * block;
  return filled(shape, [&](const Index& to) {
    const std::int64_t offset = to[size(c)] / in.shape[c];
    return at(in, pixel(to[0], to[size(h)] * block + offset / block,
                        to[size(w)] * block + offset % block, to[size(c)] % in.shape[c], first));
  });
}

}  // namespace tenure::testing
