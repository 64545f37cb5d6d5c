// Sparse tensors: elements are moved to and from positions, in the positions' order.
#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backend/cpu/copy.h"
#include "backend/cpu/index_view.h"
#include "backend/cpu/kernels.h"
#include "ops/segment_attrs.h"

namespace tenure::cpu {
namespace {

// The position as an offset into a row-major tensor of `shape`, or -1 after a complaint.
std::int64_t flat_position(const ops::KernelArgs& args, const IndexView& indices, std::int64_t i,
                           const Shape& shape) {
  std::int64_t flat = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t at = indices[i * shape.rank() + axis];
    if (at < 0 || at >= shape[axis]) {
      args.complain("index {0} at position {1} is out of range for axis {2}", at, i, axis);
      return -1;
    }
    flat = flat * shape[axis] + at;
  }
  return flat;
}

bool check_positions(const ops::KernelArgs& args, const IndexView& indices, std::int64_t count,
                     const Shape& shape) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (flat_position(args, indices, i, shape) < 0) return false;
  }
  return true;
}

std::int64_t count_of(const ops::KernelView& indices) {
  return indices.shape->rank() == 0 ? 1 : (*indices.shape)[0];
}

void to_dense(const ops::KernelArgs& args) noexcept {
  const Shape& shape = *args.out[0].shape;
  const IndexView indices(args.in[0]);
  const std::int64_t count = count_of(args.in[0]);
  if (!check_positions(args, indices, count, shape)) return;
  const std::size_t size = size_of(args.out[0].dtype);
  std::byte* dst = args.out[0].data;
  const std::byte* src = args.in[1].data;
  const std::size_t step = args.in[1].shape->rank() == 0 ? 0 : size;
  copy_strided(dst, {1}, args.in[2].data, {0}, {shape.numel()}, size);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t to = flat_position(args, indices, i, shape);
    std::memcpy(dst + static_cast<std::size_t>(to) * size, src + static_cast<std::size_t>(i) * step,
                size);
  }
}

std::size_t taken_bytes(const ops::KernelArgs& args) noexcept {
  return static_cast<std::size_t>(args.in[0].numel());
}

void to_dense_grad(const ops::KernelArgs& args) noexcept {
  const Shape& shape = *args.in[0].shape;
  const IndexView indices(args.in[1]);
  const std::int64_t count = count_of(args.in[1]);
  if (!check_positions(args, indices, count, shape)) return;
  const std::size_t size = size_of(args.out[0].dtype);
  std::byte* taken = args.scratch;
  if (shape.numel() > 0) std::memset(taken, 0, static_cast<std::size_t>(shape.numel()));
  for (std::int64_t i = count; i-- > 0;) {
    const std::int64_t from = flat_position(args, indices, i, shape);
    std::byte* dst = args.out[0].data + static_cast<std::size_t>(i) * size;
    if (taken[from] == std::byte{0}) {
      std::memcpy(dst, args.in[0].data + static_cast<std::size_t>(from) * size, size);
      taken[from] = std::byte{1};
    } else {
      std::memset(dst, 0, size);
    }
  }
}

// Per row: where its values begin in the result.
std::size_t row_bytes(const ops::KernelArgs& args) noexcept {
  const std::int64_t rows = args.attrs.as<ops::ShapeAttrs>().shape[0];
  return static_cast<std::size_t>(rows + 1) * sizeof(std::int64_t);
}

// Fills in the beginnings and returns how many values the result has; -1 after a complaint.
std::int64_t row_starts(const ops::KernelArgs& args) {
  const std::int64_t rows = args.attrs.as<ops::ShapeAttrs>().shape[0];
  const IndexView indices(args.in[0]);
  const std::int64_t count = (*args.in[0].shape)[0], rank = (*args.in[0].shape)[1];
  auto* starts = reinterpret_cast<std::int64_t*>(args.scratch);
  std::fill_n(starts, rows + 1, std::int64_t{0});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = indices[i * rank];
    if (row < 0 || row >= rows) {
      args.complain("row {0} at position {1} is out of range for {2} rows", row, i, rows);
      return -1;
    }
    ++starts[row + 1];
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    starts[row + 1] = starts[row] + std::max<std::int64_t>(starts[row + 1], 1);
  }
  return starts[rows];
}

void measure_rows(const ops::KernelArgs& args, std::span<std::int64_t> sizes) noexcept {
  sizes[0] = row_starts(args);
}

void fill_rows(const ops::KernelArgs& args) noexcept {
  const std::int64_t rows = args.attrs.as<ops::ShapeAttrs>().shape[0];
  const IndexView indices(args.in[0]);
  const std::int64_t count = (*args.in[0].shape)[0], rank = (*args.in[0].shape)[1];
  const std::size_t size = size_of(args.in[1].dtype);
  const std::int64_t total = row_starts(args);
  auto* next = reinterpret_cast<std::int64_t*>(args.scratch);
  // Every place holds the default of its row until a value comes.
  std::byte* values = args.out[1].data;
  copy_strided(values, {1}, args.in[2].data, {0}, {total}, size);
  for (std::int64_t row = 0; row < rows; ++row) {
    args.out[2].as<std::uint8_t>()[row] = 1;
    for (std::int64_t at = next[row]; at < next[row + 1]; ++at) {
      for (std::int64_t j = 0; j < rank; ++j) {
        store_index(args.out[0], at * rank + j, j == 0 ? row : 0);
      }
    }
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = indices[i * rank];
    const std::int64_t at = next[row]++;
    args.out[2].as<std::uint8_t>()[row] = 0;
    for (std::int64_t j = 1; j < rank; ++j) {
      store_index(args.out[0], at * rank + j, indices[i * rank + j]);
    }
    std::memcpy(values + static_cast<std::size_t>(at) * size,
                args.in[1].data + static_cast<std::size_t>(i) * size, size);
    store_index(args.out[3], i, at);
  }
}

void reshape(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::SparseReshapeAttrs>();
  const IndexView indices(args.in[0]);
  const std::int64_t count = (*args.in[0].shape)[0];
  const int rank = attrs.to.rank();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t flat = flat_position(args, indices, i, attrs.from);
    if (flat < 0) return;
    for (int axis = rank - 1; axis >= 0; --axis) {
      store_index(args.out[0], i * rank + axis, flat % attrs.to[axis]);
      flat /= attrs.to[axis];
    }
  }
}

constexpr auto kMoving = []<std::size_t... i>(std::index_sequence<i...>) {
  return std::array{
      ops::KernelRow{"sparse_to_dense", static_cast<DType>(i), to_dense}...,
      ops::KernelRow{"sparse_to_dense_grad", static_cast<DType>(i), to_dense_grad, taken_bytes}...,
      ops::KernelRow{"sparse_fill_empty_rows", static_cast<DType>(i), fill_rows, row_bytes,
                     measure_rows}...,
      ops::KernelRow{"sparse_reshape", DType::int32, reshape},
      ops::KernelRow{"sparse_reshape", DType::int64, reshape}};
}(std::make_index_sequence<kDTypeCount>());

}  // namespace

std::span<const ops::KernelRow> sparse_kernels() { return kMoving; }

}  // namespace tenure::cpu
