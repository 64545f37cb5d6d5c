// A contiguous tensor as [outer, count, inner], with `count` along one axis, cut into pieces of
// work that hold whole lines along it: one line, or up to kTile neighbouring columns.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/parallel.h"
#include "tenure/shape.h"

namespace tenure::cpu {

struct AxisLayout {
  static constexpr std::int64_t kTile = 256;

  std::int64_t outer = 1;
  std::int64_t count = 1;
  std::int64_t inner = 1;

  AxisLayout(const Shape& shape, int axis) : count(shape[axis]) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }

  std::int64_t numel() const { return outer * count * inner; }

  // Calls fn(offset of the first element, columns) for each piece; from `serial` elements on, on
  // several threads.
  template <class F>
  void each_piece(std::int64_t serial, F&& fn) const {
    if (numel() == 0) return;
    const std::int64_t tiles = (inner + kTile - 1) / kTile;
    const auto piece = [&](std::int64_t index) {
      const std::int64_t column = index % tiles * kTile;
      fn(index / tiles * count * inner + column, std::min(kTile, inner - column));
    };
    if (numel() < serial) {
      for (std::int64_t i = 0; i < outer * tiles; ++i) piece(i);
    } else {
      parallel_each(outer * tiles, piece);
    }
  }
};

}  // namespace tenure::cpu
