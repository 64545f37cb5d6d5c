// Convolutions over all channels, as products of matrices whose left one is read through a table.
//
// A register tile is up to six pixels and four vectors of output channels (two where there are few
// registers). For each tap and channel it loads the weights' vectors, broadcasts an element of each
// pixel, and multiplies and adds. Weights are read where they lie. Taps and channels are cut into
// blocks so that a block of weights stays in the second cache while pixels pass over it; every sum
// runs in the order of taps and channels within a block, then of blocks, so that its bits do not
// depend on how the pixels are cut.
#include "backend/cpu/convolution_walk.h"
#include "backend/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/convolution_tiles.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/convolution_window-inl.h"
#include "backend/cpu/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

// Rows of weights in a block.
template <class T>
constexpr std::int64_t kWeightRows = 3072 / static_cast<std::int64_t>(sizeof(T));

template <class T>
struct TileArgs {
  const std::uintptr_t* table;  // kTilePixels for each tap
  const T* const* weights;      // of each tap
  std::int64_t weight_row;
  std::int64_t taps;
  std::int64_t channels;
  T* const* dst;    // of each pixel
  bool accumulate;  // add to what the blocks before this one have summed
};

template <int R, int V, bool kPartial, class T>
HWY_NOINLINE void tile(const TileArgs<T>& args, int pixel, std::int64_t column, std::size_t count) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto load = [&](const T* src) HWY_ATTR { return load_lanes<kPartial>(d, src, count); };
  Vec sum[R][V];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[i][v] = hn::Zero(d);
  }
  const std::int64_t channels = args.channels;
  const std::int64_t weight_row = args.weight_row;
  for (std::int64_t t = 0; t < args.taps; ++t) {
    const std::uintptr_t* table = args.table + t * kTilePixels + pixel;
    const T* src[R];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) src[i] = pointer_to<T>(table[i]);
    const T* HWY_RESTRICT weights = args.weights[t] + column;
    for (std::int64_t c = 0; c < channels; ++c) {
      Vec row[V];
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) row[v] = load(weights + v * lanes);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        const Vec factor = hn::Set(d, src[i][c]);
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) sum[i][v] = hn::MulAdd(factor, row[v], sum[i][v]);
      }
      weights += weight_row;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    T* dst = args.dst[pixel + i] + column;
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      Vec result = sum[i][v];
      if (args.accumulate) result = hn::Add(load(dst + v * lanes), result);
      store_lanes<kPartial>(d, result, dst + v * lanes, count);
    }
  }
}

// The blocks that taps and channels are cut into: some taps with all channels, or one with some.
template <class T>
struct Blocks {
  explicit Blocks(const Walk<T>& walk) : taps(walk.taps()), depth(walk.depth) {
    if (depth == 0) taps = 0;
    if (taps == 0) return;
    cuts = ceil_div(depth, kWeightRows<T>);
    const std::int64_t most =
        cuts > 1 ? 1 : std::min(kMaxTaps, std::max<std::int64_t>(1, kWeightRows<T> / depth));
    tap_ranges = ceil_div(taps, most);
  }
  std::int64_t count() const { return tap_ranges * cuts; }
  std::int64_t taps;
  std::int64_t depth;
  std::int64_t tap_ranges = 1;
  std::int64_t cuts = 1;
};

template <class T>
void run_item(const Walk<T>& walk, std::int64_t item) {
  const std::int64_t column_blocks = ceil_div(walk.columns, kBlockWidth);
  const std::int64_t column = item % column_blocks * kBlockWidth;
  const std::int64_t columns = std::min(kBlockWidth, walk.columns - column);
  const std::int64_t begin = item / column_blocks * kBlockPixels;
  const std::int64_t end = std::min(walk.pixels(), begin + kBlockPixels);
  const Blocks<T> blocks(walk);
  std::uintptr_t table[kMaxTaps * kTilePixels];
  const T* weights[kMaxTaps];
  for (std::int64_t block = 0; block < blocks.count(); ++block) {
    const std::int64_t range = block / blocks.cuts;
    const std::int64_t cut = block % blocks.cuts;
    const std::int64_t first_tap = range * blocks.taps / blocks.tap_ranges;
    const std::int64_t taps = (range + 1) * blocks.taps / blocks.tap_ranges - first_tap;
    const std::int64_t channel = cut * blocks.depth / blocks.cuts;
    const std::int64_t channels = (cut + 1) * blocks.depth / blocks.cuts - channel;
    if (taps > 0) {
      Tap<T> tap(walk, first_tap);
      for (std::int64_t t = 0; t < taps; ++t, tap.next()) {
        weights[t] = tap.weights() + channel * walk.weight_row + column;
      }
    }
    for (std::int64_t first = begin; first < end; first += kTilePixels) {
      const int pixels = static_cast<int>(std::min<std::int64_t>(kTilePixels, end - first));
      Window<T, kTilePixels> window(walk, first, pixels);
      fill_table(walk, window, first_tap, taps, channel, table);
      for (int i = 0; i < pixels; ++i) window.dst[static_cast<std::size_t>(i)] += column;
      const TileArgs<T> args{table,    weights,           walk.weight_row, taps,
                             channels, window.dst.data(), block > 0};
      cover<T>(pixels, columns,
               [&args]<int R, int V, bool kPartial>(int row, std::int64_t at, std::size_t count)
                   HWY_ATTR { tile<R, V, kPartial>(args, row, at, count); });
    }
  }
}

void tiles_f32(const Walk<float>& walk, std::int64_t item) { run_item(walk, item); }
void tiles_f64(const Walk<double>& walk, std::int64_t item) { run_item(walk, item); }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(tiles_f32);
HWY_EXPORT(tiles_f64);

void walk_tiles(const Walk<float>& walk, std::int64_t item) noexcept {
  HWY_DYNAMIC_DISPATCH(tiles_f32)(walk, item);
}
void walk_tiles(const Walk<double>& walk, std::int64_t item) noexcept {
  HWY_DYNAMIC_DISPATCH(tiles_f64)(walk, item);
}

}  // namespace tenure::cpu
#endif
