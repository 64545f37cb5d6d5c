#include "reference_sparse.h"

#include <algorithm>

#include "reference.h"

namespace tenure::testing {
namespace {

Shape from_axis(Shape head, const Shape& shape, int axis) {
  for (int i = axis; i < shape.rank(); ++i) head.push_back(shape[i]);
  return head;
}

std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }

// Row i of the positions, as an index; false if it is not one of `shape`.
Index index_of(const Array& indices, std::size_t i, const Shape& shape) {
  Index index;
  const auto rank = static_cast<std::size_t>(shape.rank());
  for (std::size_t j = 0; j < rank; ++j) index.push_back(whole(indices.data[i * rank + j]));
  return index;
}

std::size_t count_of(const Array& indices) {
  return indices.shape.rank() == 0 ? 1 : static_cast<std::size_t>(indices.shape[0]);
}

}  // namespace

Array segmented(const Array& x, const Array& ids, std::int64_t count, double start,
                const Fold& fold) {
  Array result{from_axis({count}, x.shape, ids.shape.rank()), {}};
  result.data.assign(static_cast<std::size_t>(result.shape.numel()), start);
  if (x.data.empty() || result.data.empty()) return result;
  const std::size_t width = x.data.size() / ids.data.size();
  for (std::size_t i = 0; i < ids.data.size(); ++i) {
    if (ids.data[i] < 0 || ids.data[i] >= static_cast<double>(count)) continue;
    for (std::size_t j = 0; j < width; ++j) {
      double& to = result.data[static_cast<std::size_t>(ids.data[i]) * width + j];
      to = fold(to, x.data[i * width + j]);
    }
  }
  return result;
}

Array segment_means(const Array& x, const Array& ids, std::int64_t count) {
  const auto plus = [](double a, double b) { return a + b; };
  Array result = segmented(x, ids, count, 0, plus);
  Array ones = x;
  std::ranges::fill(ones.data, 1.0);
  const Array counts = segmented(ones, ids, count, 0, plus);
  for (std::size_t i = 0; i < result.data.size(); ++i) {
    result.data[i] /= std::max(counts.data[i], 1.0);
  }
  return result;
}

Array rows_taken(const Array& rows, const Array& ids) {
  return filled(from_axis(ids.shape, rows.shape, 1), [&](const Index& index) {
    const auto rank = static_cast<std::ptrdiff_t>(ids.shape.rank());
    const double id = at(ids, Index(index.begin(), index.begin() + rank));
    if (id < 0 || id >= static_cast<double>(rows.shape[0])) return 0.0;
    Index from{whole(id)};
    from.insert(from.end(), index.begin() + rank, index.end());
    return at(rows, from);
  });
}

Array sparse_segmented(const Array& data, const Array& indices, const Array& ids, bool mean) {
  const std::int64_t count = ids.data.empty() ? 0 : whole(ids.data.back()) + 1;
  const Array taken = rows_taken(data, indices);
  if (mean) return segment_means(taken, ids, count);
  return segmented(taken, ids, count, 0, [](double a, double b) { return a + b; });
}

Array dense(const Array& indices, const Shape& shape, const Array& values, double otherwise) {
  Array result = filled(shape, [&](const Index&) { return otherwise; });
  for (std::size_t i = 0; i < count_of(indices); ++i) {
    at(result, index_of(indices, i, shape)) = values.data[values.shape.rank() == 0 ? 0 : i];
  }
  return result;
}

Array dense_grad(const Array& dy, const Array& indices) {
  const std::size_t count = count_of(indices);
  Array result{{static_cast<std::int64_t>(count)}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const Index index = index_of(indices, i, dy.shape);
    bool last = true;
    for (std::size_t j = i + 1; j < count; ++j) last &= index_of(indices, j, dy.shape) != index;
    result.data.push_back(last ? at(dy, index) : 0);
  }
  return result;
}

Arrays rows_filled(const Array& indices, const Array& values, const Shape& shape,
                   double otherwise) {
  const std::int64_t rank = indices.shape[1];
  Array places{{0, rank}, {}}, contents{{0}, {}}, empty{{shape[0]}, {}};
  Array moved{{indices.shape[0]}, std::vector<double>(count_of(indices))};
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    bool found = false;
    for (std::size_t i = 0; i < count_of(indices); ++i) {
      const Index index = index_of(indices, i, shape);
      if (index[0] != row) continue;
      found = true;
      moved.data[i] = static_cast<double>(contents.data.size());
      places.data.insert(places.data.end(), index.begin(), index.end());
      contents.data.push_back(values.data[i]);
    }
    empty.data.push_back(found ? 0 : 1);
    if (found) continue;
    places.data.push_back(static_cast<double>(row));
    places.data.resize(places.data.size() + static_cast<std::size_t>(rank - 1), 0);
    contents.data.push_back(otherwise);
  }
  places.shape[0] = contents.shape[0] = static_cast<std::int64_t>(contents.data.size());
  return {places, contents, empty, moved};
}

Array indices_reshaped(const Array& indices, const Shape& from, const Shape& to) {
  Array result{{indices.shape[0], to.rank()}, {}};
  Shape filled_in = to;
  for (std::int64_t& dim : filled_in) {
    if (dim == -1) dim = from.numel() / -to.numel();
  }
  for (std::size_t i = 0; i < count_of(indices); ++i) {
    auto flat = static_cast<std::int64_t>(position(from, index_of(indices, i, from)));
    Index index(static_cast<std::size_t>(to.rank()));
    for (int axis = to.rank() - 1; axis >= 0; --axis) {
      index[static_cast<std::size_t>(axis)] = flat % filled_in[axis];
      flat /= filled_in[axis];
    }
    result.data.insert(result.data.end(), index.begin(), index.end());
  }
  return result;
}

Nest nested(const Splits& splits) {
  std::vector<Nest> items(static_cast<std::size_t>(splits.back().back()));
  for (std::size_t row = 0; row < items.size(); ++row) {
    items[row].row = static_cast<std::int64_t>(row);
  }
  for (std::size_t level = splits.size(); level-- > 0;) {
    std::vector<Nest> rows(splits[level].size() - 1);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::int64_t i = splits[level][row]; i < splits[level][row + 1]; ++i) {
        rows[row].items.push_back(items[static_cast<std::size_t>(i)]);
      }
    }
    items = rows;
  }
  return {items};
}

Splits splits_of(const Nest& nest, std::size_t levels) {
  Splits splits;
  std::vector<Nest> rows = nest.items;
  for (std::size_t level = 0; level < levels; ++level) {
    std::vector<Nest> next;
    splits.push_back({0});
    for (const Nest& row : rows) {
      next.insert(next.end(), row.items.begin(), row.items.end());
      splits.back().push_back(static_cast<std::int64_t>(next.size()));
    }
    rows = next;
  }
  return splits;
}

std::vector<std::int64_t> leaves(const Nest& nest) {
  if (nest.row >= 0) return {nest.row};
  std::vector<std::int64_t> rows;
  for (const Nest& item : nest.items) {
    const std::vector<std::int64_t> own = leaves(item);
    rows.insert(rows.end(), own.begin(), own.end());
  }
  return rows;
}

Nest gathered(const Nest& nest, const Array& indices) {
  if (indices.shape.rank() == 0) return nest.items[static_cast<std::size_t>(indices.data[0])];
  Nest result;
  const auto rows = static_cast<std::size_t>(indices.shape[0]);
  for (std::size_t i = 0; i < rows; ++i) {
    Array part{Shape(indices.shape.dims().subspan(1)), {}};
    const auto size = static_cast<std::ptrdiff_t>(indices.data.size() / rows);
    const auto first = indices.data.begin() + static_cast<std::ptrdiff_t>(i) * size;
    part.data.assign(first, first + size);
    result.items.push_back(gathered(nest, part));
  }
  return result;
}

Array padded(const Nest& nest, const Shape& shape, const Array& values, const Array& otherwise) {
  const int ragged = shape.rank() - values.shape.rank() + 1;  // axes, the first included
  return filled(shape, [&](const Index& index) {
    const Nest* place = &nest;
    for (int axis = 0; axis < ragged; ++axis) {
      const auto i = static_cast<std::size_t>(index[static_cast<std::size_t>(axis)]);
      if (i >= place->items.size()) {
        if (otherwise.data.size() == 1) return otherwise.data[0];
        const Index rest(index.begin() + ragged, index.end());
        return at(broadcasted(otherwise, Shape(values.shape.dims().subspan(1))), rest);
      }
      place = &place->items[i];
    }
    Index from{place->row};
    from.insert(from.end(), index.begin() + ragged, index.end());
    return at(values, from);
  });
}

Array among_top(const Array& scores, const Array& targets, std::int64_t k) {
  Array result{targets.shape, {}};
  const auto classes = static_cast<std::size_t>(scores.shape[-1]);
  for (std::size_t row = 0; row < targets.data.size(); ++row) {
    std::vector<std::size_t> order;
    for (std::size_t c = 0; c < classes; ++c) order.push_back(c);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return scores.data[row * classes + a] > scores.data[row * classes + b];
    });
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(k);
    const bool found =
        targets.data[row] >= 0 &&
        std::find(order.begin(), end, static_cast<std::size_t>(targets.data[row])) != end;
    result.data.push_back(found ? 1 : 0);
  }
  return result;
}

Array confusions(const Arrays& in, std::int64_t classes) {
  Array result{{classes, classes}, {}};
  result.data.resize(static_cast<std::size_t>(classes * classes));
  for (std::size_t i = 0; i < in[0].data.size(); ++i) {
    const double label = in[0].data[i], guess = in[1].data[i];
    const auto most = static_cast<double>(classes);
    if (label < 0 || label >= most || guess < 0 || guess >= most) continue;
    result.data[static_cast<std::size_t>(label * most + guess)] +=
        in.size() > 2 ? in[2].data[i] : 1;
  }
  return result;
}

Array vector_of(const std::vector<std::int64_t>& values) {
  return {{static_cast<std::int64_t>(values.size())}, {values.begin(), values.end()}};
}

Tensor index_tensor(const std::vector<std::int64_t>& values, DType dtype) {
  return to_tensor(vector_of(values), dtype);
}

}  // namespace tenure::testing
