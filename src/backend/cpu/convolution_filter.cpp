// The gradient of a convolution's filter: for each tap, the source pixels' channels times the
// output's gradient, summed over pixels.
//
// A unit is one tap, up to six channels of the source and four lines of columns; it is a register
// tile (or two) that runs over a chunk of pixels and adds to the filter. Threads take units, so
// they share nothing; all their units pass over one chunk while it is in the cache.
#include "backend/cpu/convolution_walk.h"
#include "backend/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/convolution_filter.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/convolution_window-inl.h"
#include "backend/cpu/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

template <class T>
struct FilterArgs {
  const std::uintptr_t* table;  // a source pixel each
  std::int64_t channel;
  const T* dy;
  std::int64_t dy_row;
  std::int64_t pixels;
  T* dst;
  std::int64_t dst_row;
  bool accumulate;
};

template <int R, int V, bool kPartial, class T>
HWY_NOINLINE void filter_tile(const FilterArgs<T>& args, int first, std::int64_t column,
                              std::size_t count) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const FirstLanes last(d, count);
  const auto load = [&](const T* src, int v)
                        HWY_ATTR { return load_of<V, kPartial>(d, src, v, last); };
  Vec sum[R][V];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[i][v] = hn::Zero(d);
  }
  const T* HWY_RESTRICT dy = args.dy + column;
  const std::int64_t channel = args.channel + first;
  const std::uintptr_t* HWY_RESTRICT table = args.table;
  for (std::int64_t p = 0; p < args.pixels; ++p) {
    const T* HWY_RESTRICT src = pointer_to<T>(table[p]) + channel;
    Vec row[V];
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) row[v] = load(dy, v);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Vec factor = hn::Set(d, src[i]);
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[i][v] = hn::MulAdd(factor, row[v], sum[i][v]);
    }
    dy += args.dy_row;
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    T* dst = args.dst + (first + i) * args.dst_row + column;
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      Vec result = sum[i][v];
      if (args.accumulate) result = hn::Add(load(dst, v), result);
      store_of<V, kPartial>(d, result, dst, v, last);
    }
  }
}

template <class T>
void run_units(const FilterSum<T>& sum, std::int64_t first_unit, std::int64_t last_unit,
               std::int64_t first, std::int64_t last) {
  const Walk<T>& walk = sum.walk;
  const std::int64_t column_tiles = ceil_div(walk.columns, kUnitColumns<T>);
  const std::int64_t row_tiles = ceil_div(walk.depth, kUnitRows);
  const std::int64_t per_tap = column_tiles * row_tiles;
  std::uintptr_t table[kChunkPixels];
  for (std::int64_t at = first; at < last; at += kChunkPixels) {
    const std::int64_t pixels = std::min<std::int64_t>(kChunkPixels, last - at);
    const Window<T, kChunkPixels> window(walk, at, pixels);
    for (std::int64_t unit = first_unit; unit < last_unit;) {
      const std::int64_t tap = unit / per_tap;
      fill_table(walk, window, tap, 1, 0, table);
      for (const std::int64_t end = std::min(last_unit, (tap + 1) * per_tap); unit < end; ++unit) {
        const std::int64_t tile = unit % per_tap / column_tiles;
        const std::int64_t column = unit % column_tiles * kUnitColumns<T>;
        const std::int64_t channel = tile * walk.depth / row_tiles;
        const int rows = static_cast<int>((tile + 1) * walk.depth / row_tiles - channel);
        const FilterArgs<T> args{table,
                                 channel,
                                 sum.dy + at * sum.dy_row + column,
                                 sum.dy_row,
                                 pixels,
                                 sum.dst + (tap * walk.depth + channel) * sum.dst_row + column,
                                 sum.dst_row,
                                 sum.accumulate || at > first};
        cover<T, kTileRows>(
            rows, std::min(kUnitColumns<T>, walk.columns - column),
            [&args]<int R, int V, bool kPartial>(int row, std::int64_t to, std::size_t count)
                HWY_ATTR { filter_tile<R, V, kPartial>(args, row, to, count); });
      }
    }
  }
}

void units_f32(const FilterSum<float>& sum, std::int64_t first_unit, std::int64_t last_unit,
               std::int64_t first, std::int64_t last) {
  run_units(sum, first_unit, last_unit, first, last);
}
void units_f64(const FilterSum<double>& sum, std::int64_t first_unit, std::int64_t last_unit,
               std::int64_t first, std::int64_t last) {
  run_units(sum, first_unit, last_unit, first, last);
}

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(units_f32);
HWY_EXPORT(units_f64);

void filter_tiles(const FilterSum<float>& sum, std::int64_t first_unit, std::int64_t last_unit,
                  std::int64_t first, std::int64_t last) noexcept {
  HWY_DYNAMIC_DISPATCH(units_f32)(sum, first_unit, last_unit, first, last);
}
void filter_tiles(const FilterSum<double>& sum, std::int64_t first_unit, std::int64_t last_unit,
                  std::int64_t first, std::int64_t last) noexcept {
  HWY_DYNAMIC_DISPATCH(units_f64)(sum, first_unit, last_unit, first, last);
}

}  // namespace tenure::cpu
#endif
