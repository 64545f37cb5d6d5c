// Convolutions of each channel by itself: vectors run along the channels.
//
// A line of pixels is taken from one end to the other. Pixels whose taps are all inside of the
// image are taken four at a time, and where a kernel is three or five wide, as most are, what one
// of them reads serves its neighbours: each vector of the source is read once for each row of the
// kernel. Pixels at the ends of a line sum the taps they have.
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
enum class Source : std::uint8_t {
  same,    // column j is the source's channel j
  spread,  // channel_of[j]
  summed,  // channels channel_of[j], + 1, ... as many as the multiplier says, each with its weight
};

// With kPartial the first of its lanes.
template <Source kSource, bool kPartial, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_source(D d, const T* src, std::int64_t column, const FirstLanes<D>& last,
                                  const void* channel_of) {
  if constexpr (kSource == Source::same) {
    return kPartial ? last.load(d, src + column) : hn::LoadU(d, src + column);
  } else {
    const hn::RebindToSigned<D> di;
    const auto* channels = static_cast<const hn::TFromD<decltype(di)>*>(channel_of);
    return hn::GatherIndex(d, src, hn::LoadU(di, channels + column));
  }
}

// Pixels that are taken at once where all taps are inside, and how many vectors of each.
constexpr int kAtOnce = 4;
#if HWY_TARGET == HWY_AVX3
constexpr int kAtOnceVectors = 2;
#else
constexpr int kAtOnceVectors = 1;
#endif

// Which taps of an axis lie in the image for one of its pixels.
struct Taps {
  std::int64_t first;
  std::int64_t count;
};
Taps taps_inside(const Axis& axis, std::int64_t pixel) {
  const std::int64_t at = pixel * axis.step + axis.first;
  const std::int64_t first = at < 0 ? ceil_div(-at, axis.tap_step) : 0;
  const std::int64_t end = std::min(axis.taps, ceil_div(axis.src_size - at, axis.tap_step));
  return first < end ? Taps{first, end - first} : Taps{0, 0};
}

// Pixels [first, end) of an axis have all their taps inside.
struct Inside {
  std::int64_t first;
  std::int64_t end;
};
Inside inside_of(const Axis& axis, std::int64_t from, std::int64_t to) {
  const std::int64_t reach = axis.first + (axis.taps - 1) * axis.tap_step;
  const std::int64_t first =
      std::max(from, ceil_div(std::max<std::int64_t>(0, -axis.first), axis.step));
  const std::int64_t room = axis.src_size - reach;
  const std::int64_t end = std::min(to, room > 0 ? ceil_div(room, axis.step) : 0);
  return first < end ? Inside{first, end} : Inside{to, to};
}

// The same sums, taps in the order in which they lie in the source.
Axis ascending(Axis axis) {
  if (axis.tap_step >= 0) return axis;
  axis.first += (axis.taps - 1) * axis.tap_step;
  axis.weight_first += (axis.taps - 1) * axis.weight_step;
  axis.tap_step = -axis.tap_step;
  axis.weight_step = -axis.weight_step;
  return axis;
}

// A line of a walk's pixels, and the rows of the kernel that lie in the image there. Distances are
// in elements. Addresses are integers, because those of padding point outside of the image.
template <class T>
struct Line {
  std::uintptr_t src;  // what the first of those rows reads with its tap 0, for the line's pixel 0
  const T* weights;    // of that tap
  T* dst;
  Taps planes, rows;
  std::int64_t src_plane, src_row, src_tap, src_pixel;
  std::int64_t weight_plane, weight_row, weight_tap;
  std::int64_t dst_pixel;
  Axis along;

  // Line `index` of a walk whose axes ascend.
  Line(const Walk<T>& walk, std::int64_t index) : along(walk.axes[2]) {
    const auto& [depth, height, width] = walk.axes;
    const std::int64_t row = index % height.count;
    const std::int64_t plane = index / height.count % depth.count;
    const std::int64_t image = index / height.count / depth.count;
    planes = taps_inside(depth, plane);
    rows = taps_inside(height, row);
    const std::int64_t line = width.src_size * walk.src_row;
    src_plane = depth.tap_step * height.src_size * line;
    src_row = height.tap_step * line;
    src_tap = width.tap_step * walk.src_row;
    src_pixel = width.step * walk.src_row;
    const std::int64_t at =
        ((image * depth.src_size + plane * depth.step + depth.first) * height.src_size +
         row * height.step + height.first) *
            line +
        width.first * walk.src_row + planes.first * src_plane + rows.first * src_row;
    src = reinterpret_cast<std::uintptr_t>(walk.src) + static_cast<std::uintptr_t>(at) * sizeof(T);
    const std::int64_t height_weights = walk.kernel[2] * walk.weight_tap;
    weight_plane = depth.weight_step * walk.kernel[1] * height_weights;
    weight_row = height.weight_step * height_weights;
    weight_tap = width.weight_step * walk.weight_tap;
    weights = walk.weights +
              (depth.weight_first * walk.kernel[1] + height.weight_first) * height_weights +
              width.weight_first * walk.weight_tap + planes.first * weight_plane +
              rows.first * weight_row;
    dst_pixel = width.dst_step * walk.dst_row;
    const std::int64_t dst_line =
        (image * depth.dst_size + depth.dst_first + plane * depth.dst_step) * height.dst_size +
        height.dst_first + row * height.dst_step;
    dst = walk.dst + (dst_line * width.dst_size + width.dst_first) * walk.dst_row;
  }

  // What a tap of a pixel reads in the first row of the kernel.
  const T* src_of(std::int64_t pixel, std::int64_t tap) const {
    const std::int64_t at = pixel * src_pixel + tap * src_tap;
    return pointer_to<T>(src + static_cast<std::uintptr_t>(at) * sizeof(T));
  }

  // Calls fn(src, weights) for every row of the kernel, given those of the first.
  template <class F>
  HWY_INLINE void each_row(const T* first_src, const T* first_weights, const F& fn) const {
    for (std::int64_t plane = 0; plane < planes.count; ++plane) {
      const T* row_src = first_src + plane * src_plane;
      const T* row_weights = first_weights + plane * weight_plane;
      for (std::int64_t row = rows.count; row > 0; --row) {
        fn(row_src, row_weights);
        row_src += src_row;
        row_weights += weight_row;
      }
    }
  }
};

// Where a tile's columns begin, and how many of its last vector there are if that is partial.
struct Place {
  std::int64_t column;
  std::size_t lanes;
};

// Calls tile.template operator()<vectors, partial>(place) to cover columns [first, last).
template <int V, class T, class F>
HWY_INLINE void cover_columns(std::int64_t first, std::int64_t last, const F& tile) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (; last - first >= V * lanes; first += V * lanes) {
    tile.template operator()<V, false>(Place{first, 0});
  }
  if constexpr (V > 1) {
    cover_columns<V / 2, T>(first, last, tile);
  } else if (first < last) {
    tile.template operator()<1, true>(Place{first, static_cast<std::size_t>(last - first)});
  }
}

// Some columns of a walk.
template <class T>
struct Columns {
  const Walk<T>& walk;
  std::int64_t first;
  std::int64_t last;
};

template <int R, int V, bool kPartial, class T, class D>
HWY_INLINE void write(D d, const Ending<T>& ending, const Line<T>& line, T* HWY_RESTRICT dst,
                      std::int64_t column, const FirstLanes<D>& last, hn::Vec<D> (&sum)[R][V]) {
  end_sums<R, V, kPartial>(d, ending, column, last, sum);
  dst += column;
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i, dst += line.dst_pixel) {
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) store_of<V, kPartial>(d, sum[i][v], dst, v, last);
  }
}

// R pixels with some of the taps along the line.
template <Source kSource, int R, class T>
HWY_NOINLINE void some_taps(const Columns<T>& columns, const Line<T>& line, std::int64_t pixel,
                            Taps taps) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Walk<T>& walk = columns.walk;
  const T* first_src = line.src_of(pixel, taps.first);
  const T* first_weights = line.weights + taps.first * line.weight_tap;
  T* dst = line.dst + pixel * line.dst_pixel;
  constexpr bool kSummed = kSource == Source::summed;
  const std::int64_t multiplier = kSummed ? walk.multiplier : 1;
  const auto tile = [&]<int V, bool kPartial>(Place place) HWY_ATTR {
    const FirstLanes last(d, place.lanes);
    const auto source = [&](const T* src, int v) HWY_ATTR {
      const std::int64_t column = place.column + v * lanes;
      return kPartial && v == V - 1
                 ? load_source<kSource, true>(d, src, column, last, walk.channel_of)
                 : load_source<kSource, false>(d, src, column, last, walk.channel_of);
    };
    Vec sum[R][V];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[i][v] = hn::Zero(d);
    }
    line.each_row(first_src, first_weights, [&](const T* src, const T* weights) HWY_ATTR {
      for (std::int64_t t = 0; t < taps.count; ++t) {
        for (std::int64_t m = 0; m < multiplier; ++m) {
          Vec factor[V];
#pragma GCC unroll 16
          for (int v = 0; v < V; ++v) {
            factor[v] = kSummed ? source(weights + m, v)
                                : load_of<V, kPartial>(d, weights + place.column, v, last);
          }
#pragma GCC unroll 16
          for (int i = 0; i < R; ++i) {
#pragma GCC unroll 16
            for (int v = 0; v < V; ++v) {
              sum[i][v] = hn::MulAdd(source(src + m + i * line.src_pixel, v), factor[v], sum[i][v]);
            }
          }
        }
        src += line.src_tap;
        weights += line.weight_tap;
      }
    });
    write<R, V, kPartial>(d, walk.ending, line, dst, place.column, last, sum);
  };
  constexpr int kVectors = kSource == Source::same ? (R == 1 ? 2 : 1) * kAtOnceVectors : 1;
  cover_columns<kVectors, T>(columns.first, columns.last, tile);
}

// kAtOnce pixels, kStep apart, that have kTaps neighbouring taps each.
template <int kTaps, int kStep, class T>
HWY_NOINLINE void all_taps(const Columns<T>& columns, const Line<T>& line, std::int64_t pixel) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const T* first_src = line.src_of(pixel, 0);
  T* dst = line.dst + pixel * line.dst_pixel;
  const auto tile = [&]<int V, bool kPartial>(Place place) HWY_ATTR {
    const FirstLanes last(d, place.lanes);
    Vec sum[kAtOnce][V];
#pragma GCC unroll 16
    for (int i = 0; i < kAtOnce; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[i][v] = hn::Zero(d);
    }
    line.each_row(first_src + place.column, line.weights + place.column,
                  [&](const T* src, const T* weights) HWY_ATTR {
                    Vec factor[kTaps][V];
#pragma GCC unroll 16
                    for (int t = 0; t < kTaps; ++t) {
#pragma GCC unroll 16
                      for (int v = 0; v < V; ++v) {
                        factor[t][v] =
                            load_of<V, kPartial>(d, weights + t * line.weight_tap, v, last);
                      }
                    }
#pragma GCC unroll 16
                    for (int x = 0; x < (kAtOnce - 1) * kStep + kTaps; ++x, src += line.src_tap) {
                      Vec value[V];
#pragma GCC unroll 16
                      for (int v = 0; v < V; ++v)
                        value[v] = loaded_first(load_of<V, kPartial>(d, src, v, last));
#pragma GCC unroll 16
                      for (int i = 0; i < kAtOnce; ++i) {
                        const int t = x - i * kStep;
                        if (t < 0 || t >= kTaps) continue;
#pragma GCC unroll 16
                        for (int v = 0; v < V; ++v)
                          sum[i][v] = hn::MulAdd(value[v], factor[t][v], sum[i][v]);
                      }
                    }
                  });
    write<kAtOnce, V, kPartial>(d, columns.walk.ending, line, dst, place.column, last, sum);
  };
  cover_columns<kAtOnceVectors, T>(columns.first, columns.last, tile);
}

// kAtOnce pixels, all taps of which are inside.
template <Source kSource, class T>
HWY_INLINE void whole_pixels(const Columns<T>& columns, const Line<T>& line, std::int64_t pixel) {
  const Axis& along = line.along;
  if (kSource == Source::same && along.tap_step == 1) {
    if (along.taps == 3 && along.step == 1) return all_taps<3, 1>(columns, line, pixel);
    if (along.taps == 3 && along.step == 2) return all_taps<3, 2>(columns, line, pixel);
    if (along.taps == 5 && along.step == 1) return all_taps<5, 1>(columns, line, pixel);
    if (along.taps == 5 && along.step == 2) return all_taps<5, 2>(columns, line, pixel);
  }
  some_taps<kSource, kAtOnce>(columns, line, pixel, {0, along.taps});
}

// Pixels [from, to) of a line.
template <Source kSource, class T>
void part_of_line(const Columns<T>& columns, const Line<T>& line, std::int64_t from,
                  std::int64_t to) {
  const auto one = [&](std::int64_t pixel) HWY_ATTR {
    some_taps<kSource, 1>(columns, line, pixel, taps_inside(line.along, pixel));
  };
  Inside inside = inside_of(line.along, from, to);
  if (inside.end - inside.first < kAtOnce) inside = {to, to};
  if ((inside.end - inside.first) % kAtOnce == 1) --inside.end;
  for (std::int64_t pixel = from; pixel < inside.first; ++pixel) one(pixel);
  for (std::int64_t pixel = inside.first; pixel < inside.end; pixel += kAtOnce) {
    // The last ones may be some of those before.
    whole_pixels<kSource>(columns, line, std::min(pixel, inside.end - kAtOnce));
  }
  for (std::int64_t pixel = inside.end; pixel < to; ++pixel) one(pixel);
}

// Columns are taken as many at a time as leave their weights, and the rows of the source that a
// line reads, in the first cache while lines pass; but so many that what lies together is read
// together.
constexpr std::int64_t kCacheBytes = 24 * 1024;
constexpr std::int64_t kLeastLines = 2;

template <Source kSource, class T>
void run_item(const Walk<T>& descending, std::int64_t item) {
  Walk<T> walk = descending;
  for (Axis& axis : walk.axes) axis = ascending(axis);
  const std::int64_t column_blocks = ceil_div(walk.columns, walk.block_columns);
  const std::int64_t column = item % column_blocks * walk.block_columns;
  const std::int64_t columns = std::min(walk.block_columns, walk.columns - column);
  const Axis& width = walk.axes[2];
  const std::int64_t elements =
      walk.taps() + walk.axes[1].taps * std::min(width.src_size, width.count * width.step);
  const std::int64_t most =
      std::max<std::int64_t>(kLeastLines, kCacheBytes / (64 * std::max<std::int64_t>(1, elements)));
  const std::int64_t lines = ceil_div(columns, kLineElements<T>);
  const std::int64_t parts = ceil_div(lines, most);
  const std::int64_t begin = item / column_blocks * walk.block_pixels;
  const std::int64_t end = std::min(walk.pixels(), begin + walk.block_pixels);
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = column + part * lines / parts * kLineElements<T>;
    const std::int64_t last =
        column + std::min(columns, (part + 1) * lines / parts * kLineElements<T>);
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t start = at / width.count * width.count;
      const std::int64_t to = std::min(end, start + width.count);
      part_of_line<kSource>(Columns<T>{walk, first, last}, Line<T>(walk, start / width.count),
                            at - start, to - start);
      at = to;
    }
  }
  if (walk.finish != nullptr) (*walk.finish)(begin* walk.dst_row, end* walk.dst_row);
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

template <Source kSource, int R, bool kPartial, class T>
HWY_NOINLINE void depthwise_filter_tile(const DepthwiseFilterArgs<T>& args, int tap,
                                        std::int64_t column, std::size_t count) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const FirstLanes last(d, count);
  const auto load = [&](const T* src)
                        HWY_ATTR { return kPartial ? last.load(d, src) : hn::LoadU(d, src); };
  Vec sum[R];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) sum[i] = hn::Zero(d);
  const std::uintptr_t* table = args.table + tap * kChunkPixels;
  const T* dy = args.dy + column;
  for (std::int64_t p = 0; p < args.pixels; ++p) {
    const Vec factor = load(dy);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Vec src = load_source<kSource, kPartial>(
          d, pointer_to<T>(table[std::int64_t{i} * kChunkPixels + p]), column, last,
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

template <Source kSource, class T>
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
      cover_vectors<T>(taps, columns,
                       [&args, column]<int R, int V, bool kPartial>(int row, std::int64_t to,
                                                                    std::size_t count) HWY_ATTR {
                         depthwise_filter_tile<kSource, R, kPartial>(args, row, column + to, count);
                       });
      unit = end;
    }
  }
}

template <class T>
void any_item(const Walk<T>& walk, std::int64_t item) {
  walk.multiplier == 1 ? run_item<Source::same>(walk, item) : run_item<Source::spread>(walk, item);
}
template <class T>
void any_units(const FilterSum<T>& sum, std::int64_t first_unit, std::int64_t last_unit,
               std::int64_t first, std::int64_t last) {
  sum.walk.multiplier == 1 ? run_units<Source::same>(sum, first_unit, last_unit, first, last)
                           : run_units<Source::spread>(sum, first_unit, last_unit, first, last);
}

void items_f32(const Walk<float>& walk, std::int64_t item) { any_item(walk, item); }
void items_f64(const Walk<double>& walk, std::int64_t item) { any_item(walk, item); }
void sums_f32(const Walk<float>& walk, std::int64_t item) { run_item<Source::summed>(walk, item); }
void sums_f64(const Walk<double>& walk, std::int64_t item) { run_item<Source::summed>(walk, item); }
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
