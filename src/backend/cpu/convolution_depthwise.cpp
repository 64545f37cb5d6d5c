// Convolutions of each channel by itself: vectors run along the channels.
//
// With a channel multiplier, column j of y belongs to channel j / multiplier of x; the source is
// then gathered by a table of those channels.
#include "backend/cpu/convolution_walk.h"
#include "backend/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/convolution_depthwise.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/convolution_window-inl.h"
#include "backend/cpu/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

// How a column finds its elements of the source.
enum class Columns : std::uint8_t {
  same,    // column j is the source's channel j
  spread,  // channel_of[j]
  summed,  // channels channel_of[j], + 1, ... as many as the multiplier says, each with its weight
};

// `count` lanes: all of them unless kPartial.
template <Columns kColumns, bool kPartial, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_source(D d, const T* src, std::int64_t column, std::size_t count,
                                  const void* channel_of) {
  if constexpr (kColumns == Columns::same) {
    return kPartial ? load_first(d, src + column, count) : hn::LoadU(d, src + column);
  } else {
    const hn::RebindToSigned<D> di;
    const auto* channels = static_cast<const hn::TFromD<decltype(di)>*>(channel_of);
    return hn::GatherIndex(d, src, hn::LoadU(di, channels + column));
  }
}

template <Columns kColumns, int R, int V, bool kPartial, class T>
HWY_NOINLINE void depthwise_tile(const TileArgs<T>& args, int pixel, std::int64_t column,
                                 std::size_t count) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto load = [&](const T* src, int v)
                        HWY_ATTR { return load_of<V, kPartial>(d, src, v, count); };
  const auto source = [&](const T* src, int v) HWY_ATTR {
    return kPartial && v == V - 1
               ? load_source<kColumns, true>(d, src, column + v * lanes, count, args.channel_of)
               : load_source<kColumns, false>(d, src, column + v * lanes, count, args.channel_of);
  };
  Vec sum[R][V];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    const T* dst = args.dst[pixel + i] + column;
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      sum[i][v] = args.accumulate ? load(dst, v) : hn::Zero(d);
    }
  }
  constexpr bool kSummed = kColumns == Columns::summed;
  const std::int64_t multiplier = kSummed ? args.multiplier : 1;
  for (std::int64_t t = 0; t < args.taps; ++t) {
    const std::uintptr_t* table = args.table + t * kTilePixels + pixel;
    for (std::int64_t m = 0; m < multiplier; ++m) {
      Vec weights[V];
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) {
        if constexpr (kSummed) {
          weights[v] = source(args.weights[t] + m, v);
        } else {
          weights[v] = load(args.weights[t] + column, v);
        }
      }
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        const T* pixel_src = pointer_to<T>(table[i]) + m;
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) {
          sum[i][v] = hn::MulAdd(source(pixel_src, v), weights[v], sum[i][v]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    T* dst = args.dst[pixel + i] + column;
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      Vec result = sum[i][v];
      if (args.bias != nullptr) result = hn::Add(result, load(args.bias + column, v));
      store_of<V, kPartial>(d, result, dst, v, count);
    }
  }
}

// A row of single vectors.
template <class T, class F>
HWY_INLINE void cover_vectors(int rows, std::int64_t columns, const F& tile) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  std::int64_t column = 0;
  for (; columns - column >= lanes; column += lanes) cover_rows<1, false>(rows, column, 0, tile);
  if (column < columns) {
    cover_rows<1, true>(rows, column, static_cast<std::size_t>(columns - column), tile);
  }
}

template <Columns kColumns, class T>
void run_item(const Walk<T>& walk, std::int64_t item) {
  walk_item(walk, item,
            []<int R, int V, bool kPartial>(const TileArgs<T>& args, int pixel, std::int64_t column,
                                            std::size_t count)
                HWY_ATTR { depthwise_tile<kColumns, R, V, kPartial>(args, pixel, column, count); });
}

template <class T>
struct DepthwiseFilterArgs {
  const std::uintptr_t* table;  // kChunkPixels for each tap
  const void* channel_of;
  const T* dy;
  std::int64_t dy_row;
  std::int64_t pixels;
  T* dst;
  std::int64_t dst_row;
  bool accumulate;
};

template <Columns kColumns, int R, bool kPartial, class T>
HWY_NOINLINE void depthwise_filter_tile(const DepthwiseFilterArgs<T>& args, int tap,
                                        std::int64_t column, std::size_t count) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const auto load = [&](const T* src) HWY_ATTR {
    return kPartial ? load_first(d, src, count) : hn::LoadU(d, src);
  };
  Vec sum[R];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) sum[i] = hn::Zero(d);
  const std::uintptr_t* table = args.table + tap * kChunkPixels;
  const T* dy = args.dy + column;
  for (std::int64_t p = 0; p < args.pixels; ++p) {
    const Vec factor = load(dy);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Vec src = load_source<kColumns, kPartial>(
          d, pointer_to<T>(table[std::int64_t{i} * kChunkPixels + p]), column, count,
          args.channel_of);
      sum[i] = hn::MulAdd(src, factor, sum[i]);
    }
    dy += args.dy_row;
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    T* dst = args.dst + (tap + i) * args.dst_row + column;
    const Vec result = args.accumulate ? hn::Add(load(dst), sum[i]) : sum[i];
    store_lanes<kPartial>(d, result, dst, count);
  }
}

template <Columns kColumns, class T>
void run_units(const FilterSum<T>& sum, std::int64_t first_unit, std::int64_t last_unit,
               std::int64_t first, std::int64_t last) {
  const Walk<T>& walk = sum.walk;
  const std::int64_t lines = ceil_div(walk.columns, kLineElements<T>);
  const std::int64_t groups = ceil_div(walk.taps(), kUnitTaps);
  std::uintptr_t table[kUnitTaps * kChunkPixels];
  for (std::int64_t at = first; at < last; at += kChunkPixels) {
    const std::int64_t pixels = std::min<std::int64_t>(kChunkPixels, last - at);
    const Window<T, kChunkPixels> window(walk, at, pixels);
    for (std::int64_t unit = first_unit; unit < last_unit;) {
      const std::int64_t group = unit / lines;
      const std::int64_t first_tap = group * walk.taps() / groups;
      const int taps = static_cast<int>((group + 1) * walk.taps() / groups - first_tap);
      fill_table(walk, window, first_tap, taps, 0, table);
      const std::int64_t column = unit % lines * kLineElements<T>;
      const std::int64_t end = std::min(last_unit, (group + 1) * lines);
      const std::int64_t columns = std::min(walk.columns - column, (end - unit) * kLineElements<T>);
      const DepthwiseFilterArgs<T> args{
          table,       walk.channel_of, sum.dy + at * sum.dy_row,
          sum.dy_row,  pixels,          sum.dst + first_tap * sum.dst_row,
          sum.dst_row, at > first};
      cover_vectors<T>(
          taps, columns,
          [&args, column]<int R, int V, bool kPartial>(int row, std::int64_t to, std::size_t count)
              HWY_ATTR {
                depthwise_filter_tile<kColumns, R, kPartial>(args, row, column + to, count);
              });
      unit = end;
    }
  }
}

template <class T>
void any_item(const Walk<T>& walk, std::int64_t item) {
  walk.multiplier == 1 ? run_item<Columns::same>(walk, item)
                       : run_item<Columns::spread>(walk, item);
}
template <class T>
void any_units(const FilterSum<T>& sum, std::int64_t first_unit, std::int64_t last_unit,
               std::int64_t first, std::int64_t last) {
  sum.walk.multiplier == 1 ? run_units<Columns::same>(sum, first_unit, last_unit, first, last)
                           : run_units<Columns::spread>(sum, first_unit, last_unit, first, last);
}

void items_f32(const Walk<float>& walk, std::int64_t item) { any_item(walk, item); }
void items_f64(const Walk<double>& walk, std::int64_t item) { any_item(walk, item); }
void sums_f32(const Walk<float>& walk, std::int64_t item) { run_item<Columns::summed>(walk, item); }
void sums_f64(const Walk<double>& walk, std::int64_t item) {
  run_item<Columns::summed>(walk, item);
}
void units_f32(const FilterSum<float>& sum, std::int64_t first_unit, std::int64_t last_unit,
               std::int64_t first, std::int64_t last) {
  any_units(sum, first_unit, last_unit, first, last);
}
void units_f64(const FilterSum<double>& sum, std::int64_t first_unit, std::int64_t last_unit,
               std::int64_t first, std::int64_t last) {
  any_units(sum, first_unit, last_unit, first, last);
}

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(items_f32);
HWY_EXPORT(items_f64);
HWY_EXPORT(sums_f32);
HWY_EXPORT(sums_f64);
HWY_EXPORT(units_f32);
HWY_EXPORT(units_f64);

void depthwise_tiles(const Walk<float>& walk, std::int64_t item) noexcept {
  HWY_DYNAMIC_DISPATCH(items_f32)(walk, item);
}
void depthwise_tiles(const Walk<double>& walk, std::int64_t item) noexcept {
  HWY_DYNAMIC_DISPATCH(items_f64)(walk, item);
}
void depthwise_sums(const Walk<float>& walk, std::int64_t item) noexcept {
  HWY_DYNAMIC_DISPATCH(sums_f32)(walk, item);
}
void depthwise_sums(const Walk<double>& walk, std::int64_t item) noexcept {
  HWY_DYNAMIC_DISPATCH(sums_f64)(walk, item);
}
void depthwise_filter(const FilterSum<float>& sum, std::int64_t first_unit, std::int64_t last_unit,
                      std::int64_t first, std::int64_t last) noexcept {
  HWY_DYNAMIC_DISPATCH(units_f32)(sum, first_unit, last_unit, first, last);
}
void depthwise_filter(const FilterSum<double>& sum, std::int64_t first_unit, std::int64_t last_unit,
                      std::int64_t first, std::int64_t last) noexcept {
  HWY_DYNAMIC_DISPATCH(units_f64)(sum, first_unit, last_unit, first, last);
}

}  // namespace tenure::cpu
#endif
