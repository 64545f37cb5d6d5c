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

template <int R, int V, bool kPartial, class T>
HWY_NOINLINE void tile(const TileArgs<T>& args, int pixel, std::int64_t column, std::size_t count) {
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
      for (int v = 0; v < V; ++v) row[v] = load(weights, v);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        const Vec factor = hn::Set(d, src[i][c]);
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) sum[i][v] = hn::MulAdd(factor, row[v], sum[i][v]);
      }
      weights += weight_row;
    }
  }
  if (args.accumulate) {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) {
        sum[i][v] = hn::Add(load(args.dst[pixel + i] + column, v), sum[i][v]);
      }
    }
  }
  if (args.ending != nullptr) end_sums<R, V, kPartial>(d, *args.ending, column, last, sum);
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    T* dst = args.dst[pixel + i] + column;
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) store_of<V, kPartial>(d, sum[i][v], dst, v, last);
  }
}

template <class T>
void run_item(const Walk<T>& walk, std::int64_t item) {
  walk_item(walk, item,
            []<int R, int V, bool kPartial>(const TileArgs<T>& args, int pixel, std::int64_t column,
                                            std::size_t count)
                HWY_ATTR { tile<R, V, kPartial>(args, pixel, column, count); });
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
