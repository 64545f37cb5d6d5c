// Ragged tensors: splits are checked and followed from the outermost axis inwards.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backend/cpu/index_view.h"
#include "backend/cpu/kernels.h"
#include "ops/segment_attrs.h"
#include "tenure/sparse.h"

namespace tenure::cpu {
namespace {

constexpr std::int64_t kMostSplits = std::numeric_limits<std::int32_t>::max();

// Splits that ascend from 0 or more and do not point past `rows`; otherwise it complains.
bool check_splits(const ops::KernelArgs& args, const IndexView& splits, std::int64_t rows) {
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < splits.size(); ++i) {
    if (splits[i] < last) {
      args.complain(i == 0 ? "split {0} at position {1} is negative"
                           : "split {0} at position {1} is below {2}, the one before it",
                    splits[i], i, last);
      return false;
    }
    last = splits[i];
  }
  if (last > rows) args.complain("the last split {0} points past {1} rows", last, rows);
  return last <= rows;
}

void measure_rows(const ops::KernelArgs& args, std::span<std::int64_t> sizes) noexcept {
  const std::size_t levels = args.in.size() - 1;
  const IndexView indices(args.in[levels]);
  const std::int64_t values = args.attrs.as<ops::RaggedRowsAttrs>().rows;
  std::ranges::fill(sizes, 0);
  for (std::size_t level = 0; level < levels; ++level) {
    const std::int64_t rows =
        level + 1 < levels ? IndexView(args.in[level + 1]).size() - 1 : values;
    if (!check_splits(args, IndexView(args.in[level]), rows)) return;
    sizes[1 + level] = 1;
  }
  const std::int64_t rows = IndexView(args.in[0]).size() - 1;
  for (std::int64_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= rows) {
      args.complain("index {0} at position {1} is out of range for {2} rows", indices[i], i, rows);
      return;
    }
    std::int64_t begin = indices[i], end = begin + 1;
    for (std::size_t level = 0; level < levels; ++level) {
      const IndexView splits(args.in[level]);
      sizes[1 + level] += end - begin;
      begin = splits[begin];
      end = splits[end];
    }
    sizes[0] += end - begin;
  }
}

void gather_rows(const ops::KernelArgs& args) noexcept {
  const std::size_t levels = args.in.size() - 1;
  const ops::KernelView& indices_view = args.in[levels];
  const IndexView indices(indices_view);
  const Shape& shape = *indices_view.shape;
  const auto outer = static_cast<std::size_t>(std::max(shape.rank() - 1, 0));
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < outer; ++i) {
    rows *= shape[static_cast<int>(i)];
    const std::int64_t length = shape[static_cast<int>(i) + 1];
    for (std::int64_t row = 0; row <= rows; ++row) {
      store_index(args.out[1 + i], row, row * length);
    }
  }
  // A level's splits are written from `written` on, each a length more than the one before it.
  const std::size_t dropped = shape.rank() == 0 ? 1 : 0;
  for (std::size_t level = dropped; level < levels; ++level) {
    const ops::KernelView& out = args.out[1 + outer + level - dropped];
    std::int64_t written = 1, total = 0;
    store_index(out, 0, 0);
    for (std::int64_t i = 0; i < indices.size(); ++i) {
      std::int64_t begin = indices[i], end = begin + 1;
      for (std::size_t above = 0; above < level; ++above) {
        const IndexView splits(args.in[above]);
        begin = splits[begin];
        end = splits[end];
      }
      const IndexView splits(args.in[level]);
      for (std::int64_t row = begin; row < end; ++row) {
        total += splits[row + 1] - splits[row];
        store_index(out, written++, total);
      }
    }
  }
  auto* sources = args.out[0].as<std::int64_t>();
  for (std::int64_t i = 0; i < indices.size(); ++i) {
    std::int64_t begin = indices[i], end = begin + 1;
    for (std::size_t level = 0; level < levels; ++level) {
      const IndexView splits(args.in[level]);
      begin = splits[begin];
      end = splits[end];
    }
    for (; begin < end; ++begin) *sources++ = begin;
  }
}

// The partitions of a tensor's ragged axes, without the one that only says how many rows there are.
class Partitions {
 public:
  explicit Partitions(const ops::KernelArgs& args)
      : args_(args), types_(args.attrs.as<ops::RaggedSourcesAttrs>().types) {
    sized_ = is(0, RowPartition::first_dim_size) ? 1 : 0;
    const IndexView first(args.in[0]);
    rows_ = sized_ != 0 ? first[0] : first.size() - 1;
  }
  int count() const { return types_.rank() - sized_; }
  std::int64_t rows() const { return rows_; }  // of the outermost axis
  bool has_splits(int level) const { return is(level + sized_, RowPartition::row_splits); }
  IndexView operator[](int level) const {
    return IndexView(args_.in[static_cast<std::size_t>(level) + static_cast<std::size_t>(sized_)]);
  }
  // The elements of one row, as [begin, end).
  std::pair<std::int64_t, std::int64_t> elements(int level, std::int64_t row) const {
    const IndexView partition = (*this)[level];
    if (!has_splits(level)) return {partition.first_from(row), partition.first_from(row + 1)};
    if (row + 1 >= partition.size()) return {0, 0};
    return {partition[row], partition[row + 1]};
  }
  // How many elements the rows of a level have together.
  std::int64_t total(int level) const {
    const IndexView partition = (*this)[level];
    return has_splits(level) ? partition[partition.size() - 1] : partition.size();
  }

 private:
  bool is(int i, RowPartition type) const { return types_[i] == static_cast<std::int64_t>(type); }

  const ops::KernelArgs& args_;
  const Axes& types_;
  int sized_;
  std::int64_t rows_;
};

bool check_row_ids(const ops::KernelArgs& args, const IndexView& ids, std::int64_t rows) {
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < last || ids[i] >= rows) {
      args.complain(ids[i] < last ? "row id {0} at position {1} is below {2}"
                                  : "row id {0} at position {1} is out of range for {2} rows",
                    ids[i], i, ids[i] < last ? last : rows);
      return false;
    }
    last = ids[i];
  }
  return true;
}

std::int64_t longest_row(const Partitions& partitions, int level) {
  const IndexView partition = partitions[level];
  std::int64_t longest = 0;
  if (partitions.has_splits(level)) {
    for (std::int64_t i = 1; i < partition.size(); ++i) {
      longest = std::max(longest, partition[i] - partition[i - 1]);
    }
    return longest;
  }
  for (std::int64_t i = 0, first = 0; i < partition.size(); ++i) {
    if (partition[i] != partition[first]) first = i;
    longest = std::max(longest, i + 1 - first);
  }
  return longest;
}

void measure_sources(const ops::KernelArgs& args, std::span<std::int64_t> sizes) noexcept {
  const auto& attrs = args.attrs.as<ops::RaggedSourcesAttrs>();
  const Partitions partitions(args);
  std::int64_t rows = partitions.rows();
  if (rows < 0) {
    args.complain("a negative number of rows: {0}", rows);
    return;
  }
  sizes[0] = attrs.shape[0] >= 0 ? attrs.shape[0] : rows;
  for (int level = 0; level < partitions.count(); ++level) {
    const IndexView partition = partitions[level];
    if (partitions.has_splits(level)) {
      if (partition.size() - 1 > rows) {
        args.complain("partition {0} splits {1} rows, but there are {2}", level,
                      partition.size() - 1, rows);
        return;
      }
      if (!check_splits(args, partition, std::numeric_limits<std::int64_t>::max())) return;
    } else if (!check_row_ids(args, partition, rows)) {
      return;
    }
    rows = partitions.total(level);
    const std::int64_t wanted = attrs.shape[level + 1];
    sizes[static_cast<std::size_t>(level) + 1] =
        wanted >= 0 ? wanted : longest_row(partitions, level);
  }
  if (rows > attrs.rows) {
    args.complain("the partitions have {0} rows of values, but there are {1}", rows, attrs.rows);
  }
}

// Writes what stands in the elements of one row, and of theirs, from `place` on.
void place_row(const Partitions& partitions, const Shape& shape, int level, std::int64_t row,
               std::int64_t place, std::int64_t* sources) {
  if (level == partitions.count()) {
    sources[place] = row;
    return;
  }
  const std::int64_t width = shape[level + 1];
  const auto [begin, end] = partitions.elements(level, row);
  const std::int64_t count = std::min(end - begin, width);
  for (std::int64_t i = 0; i < count; ++i) {
    place_row(partitions, shape, level + 1, begin + i, place * width + i, sources);
  }
}

void find_sources(const ops::KernelArgs& args) noexcept {
  const Partitions partitions(args);
  const Shape& shape = *args.out[0].shape;
  auto* sources = args.out[0].as<std::int64_t>();
  std::fill_n(sources, args.out[0].numel(), std::int64_t{-1});
  if (args.out[0].numel() == 0) return;
  const std::int64_t rows = std::min(partitions.rows(), shape[0]);
  for (std::int64_t row = 0; row < rows; ++row) place_row(partitions, shape, 0, row, row, sources);
}

template <class T>
struct Ranges {
  const ops::KernelArgs& args;
  T at(std::size_t input, std::int64_t row) const {
    return args.in[input].as<T>()[args.in[input].shape->rank() == 0 ? 0 : row];
  }
  // How many values a row has; -1 for a step of 0 or too many.
  std::int64_t size(std::int64_t row) const {
    const T start = at(0, row), limit = at(1, row), delta = at(2, row);
    if (delta == 0) return -1;
    if ((delta > 0 && limit < start) || (delta < 0 && limit > start)) return 0;
    const double count = std::ceil(std::abs(
        (static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta)));
    return count <= static_cast<double>(kMostSplits) ? static_cast<std::int64_t>(count) : -1;
  }
};

template <class T>
void measure_range(const ops::KernelArgs& args, std::span<std::int64_t> sizes) noexcept {
  const Ranges<T> ranges{args};
  const std::int64_t rows = args.out[0].numel() - 1;
  sizes[0] = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t size = ranges.size(row);
    if (size < 0) {
      args.complain(ranges.at(2, row) == 0 ? "the delta of row {0} is 0"
                                           : "row {0} has more values than int32 counts",
                    row);
      return;
    }
    sizes[0] += size;
    if (sizes[0] > kMostSplits) {
      args.complain("more values than int32 counts by row {0}", row);
      return;
    }
  }
}

template <class T>
void range(const ops::KernelArgs& args) noexcept {
  const Ranges<T> ranges{args};
  auto* splits = args.out[0].as<std::int32_t>();
  T* values = args.out[1].as<T>();
  const std::int64_t rows = args.out[0].numel() - 1;
  splits[0] = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t size = ranges.size(row);
    const T start = ranges.at(0, row), delta = ranges.at(2, row);
    splits[row + 1] = splits[row] + static_cast<std::int32_t>(size);
    for (std::int64_t i = 0; i < size; ++i) *values++ = start + static_cast<T>(i) * delta;
  }
}

template <class T>
constexpr ops::KernelRow range_row() {
  return {"ragged_range", dtype_of<T>, range<T>, nullptr, measure_range<T>};
}

}  // namespace

std::span<const ops::KernelRow> ragged_kernels() {
  static constexpr ops::KernelRow rows[] = {
      {"ragged_rows", DType::int32, gather_rows, nullptr, measure_rows},
      {"ragged_rows", DType::int64, gather_rows, nullptr, measure_rows},
      {"ragged_sources", DType::int32, find_sources, nullptr, measure_sources},
      {"ragged_sources", DType::int64, find_sources, nullptr, measure_sources},
      range_row<float>(),
      range_row<double>(),
      range_row<std::int32_t>(),
      range_row<std::int64_t>(),
  };
  return rows;
}

}  // namespace tenure::cpu
