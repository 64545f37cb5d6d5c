#include "backend/cpu/convolution_winograd.h"

#include "backend/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/convolution_winograd.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/convolution_window-inl.h"
#include "backend/cpu/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using Vec = hn::Vec<D>;

// One dimension of each transform; both are done by rows, then by columns.
struct FromSource {
  HWY_INLINE static void apply(const Vec (&s)[4], Vec (&place)[4]) {
    place[0] = hn::Sub(s[0], s[2]);
    place[1] = hn::Add(s[1], s[2]);
    place[2] = hn::Sub(s[2], s[1]);
    place[3] = hn::Sub(s[1], s[3]);
  }
};
struct FromFilter {
  HWY_INLINE static void apply(const Vec (&tap)[3], Vec (&place)[4]) {
    const Vec half = hn::Set(D(), 0.5f);
    const Vec ends = hn::Mul(half, hn::Add(tap[0], tap[2]));
    const Vec middle = hn::Mul(half, tap[1]);
    place[0] = tap[0];
    place[1] = hn::Add(ends, middle);
    place[2] = hn::Sub(ends, middle);
    place[3] = tap[2];
  }
};
struct ToResult {
  HWY_INLINE static void apply(const Vec (&place)[4], Vec (&pixel)[2]) {
    pixel[0] = hn::Add(place[0], hn::Add(place[1], place[2]));
    pixel[1] = hn::Sub(hn::Sub(place[1], place[2]), place[3]);
  }
};
// What has these for its transposes leads back: from a result's gradient, and to a filter's.
struct FromResult {
  HWY_INLINE static void apply(const Vec (&pixel)[2], Vec (&place)[4]) {
    place[0] = pixel[0];
    place[1] = hn::Add(pixel[0], pixel[1]);
    place[2] = hn::Sub(pixel[0], pixel[1]);
    place[3] = hn::Neg(pixel[1]);
  }
};
struct ToFilter {
  HWY_INLINE static void apply(const Vec (&place)[4], Vec (&tap)[3]) {
    const Vec half = hn::Set(D(), 0.5f);
    const Vec sum = hn::Mul(half, hn::Add(place[1], place[2]));
    tap[0] = hn::Add(place[0], sum);
    tap[1] = hn::Mul(half, hn::Sub(place[1], place[2]));
    tap[2] = hn::Add(sum, place[3]);
  }
};

template <class Transform, int kFrom, int kTo>
HWY_INLINE void transform(const Vec (&from)[kFrom][kFrom], Vec (&to)[kTo][kTo]) {
  Vec half_way[kTo][kFrom];
#pragma GCC unroll 4
  for (int column = 0; column < kFrom; ++column) {
    Vec in[kFrom];
    Vec out[kTo];
#pragma GCC unroll 4
    for (int row = 0; row < kFrom; ++row) in[row] = from[row][column];
    Transform::apply(in, out);
#pragma GCC unroll 4
    for (int row = 0; row < kTo; ++row) half_way[row][column] = out[row];
  }
#pragma GCC unroll 4
  for (int row = 0; row < kTo; ++row) Transform::apply(half_way[row], to[row]);
}

// Calls some.template operator()<partial>(first, lanes) for all vectors of [0, count).
template <class F>
HWY_INLINE void each_vector(std::int64_t count, const F& some) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  std::int64_t at = 0;
  for (; at + lanes <= count; at += lanes) some.template operator()<false>(at, 0);
  if (at < count) some.template operator()<true>(at, static_cast<std::size_t>(count - at));
}

// The same pixels in every row and column of a tile: where row i or column j of it lies in an
// image, and whether it does.
struct Lines {
  std::int64_t first;
  std::int64_t size;
  bool has(std::int64_t i) const {
    return static_cast<std::uint64_t>(first + i) < static_cast<std::uint64_t>(size);
  }
};

// What tile `tile` of an axis reads. Taps may go backwards.
Lines source_lines(const Axis& axis, std::int64_t tile) {
  return {2 * tile + axis.first + std::min<std::int64_t>(0, 2 * axis.tap_step), axis.src_size};
}

// The four by four pixels of a tile's source, of zeros where they lie outside.
struct SourceTile {
  const float* pixel[4][4];

  SourceTile(const Walk<float>& walk, std::int64_t image, std::int64_t down, std::int64_t across) {
    const Lines rows = source_lines(walk.axes[1], down);
    const Lines columns = source_lines(walk.axes[2], across);
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::int64_t line = (image * rows.size + rows.first + i) * columns.size + columns.first;
      for (std::int64_t j = 0; j < 4; ++j) {
        pixel[i][j] =
            rows.has(i) && columns.has(j) ? walk.src + (line + j) * walk.src_row : walk.zeros;
      }
    }
  }
};

// Calls fn(tile, down, across) for the tiles of a block.
template <class F>
HWY_INLINE void each_tile(const Winograd::Block& block, const F& fn) {
  for (std::int64_t i = 0; i < block.rows; ++i) {
    for (std::int64_t j = 0; j < block.columns; ++j) {
      fn(i * block.columns + j, block.down + i, block.across + j);
    }
  }
}

void read_source(const Winograd& winograd, const Winograd::Block& block, float* places) {
  const D d;
  const Walk<float>& walk = winograd.walk();
  const std::int64_t place = winograd.source_place();
  each_tile(block, [&](std::int64_t tile, std::int64_t down, std::int64_t across) HWY_ATTR {
    const SourceTile source(walk, block.image, down, across);
    float* const row = places + tile * walk.depth;
    each_vector(walk.depth, [&]<bool kPartial>(std::int64_t at, std::size_t lanes) HWY_ATTR {
      Vec pixels[4][4];
      Vec out[4][4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          pixels[i][j] = load_lanes<kPartial>(d, source.pixel[i][j] + at, lanes);
        }
      }
      transform<FromSource>(pixels, out);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          store_lanes<kPartial>(d, out[i][j], row + (i * 4 + j) * place + at, lanes);
        }
      }
    });
  });
}

// False if a sum is not finite.
bool write_result(const Winograd& winograd, const Winograd::Block& block, const float* places) {
  const D d;
  const Walk<float>& walk = winograd.walk();
  const auto& [planes, rows, columns] = walk.axes;
  const std::int64_t place = winograd.result_place();
  Vec doubt = hn::Zero(d);
  each_tile(block, [&](std::int64_t tile, std::int64_t down, std::int64_t across) HWY_ATTR {
    const bool two_rows = 2 * down + 1 < rows.count;
    const bool two_columns = 2 * across + 1 < columns.count;
    const float* const row = places + tile * walk.columns;
    float* const pixel =
        walk.dst +
        ((block.image * rows.count + 2 * down) * columns.count + 2 * across) * walk.dst_row;
    const std::int64_t line = columns.count * walk.dst_row;
    each_vector(walk.columns, [&]<bool kPartial>(std::int64_t at, std::size_t lanes) HWY_ATTR {
      Vec in[4][4];
      Vec result[2][2];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          in[i][j] = load_lanes<kPartial>(d, row + (i * 4 + j) * place + at, lanes);
        }
      }
      transform<ToResult>(in, result);
      Vec sum[4][1] = {{result[0][0]}, {result[0][1]}, {result[1][0]}, {result[1][1]}};
      const Vec all = hn::Add(hn::Add(sum[0][0], sum[1][0]), hn::Add(sum[2][0], sum[3][0]));
      doubt = hn::MulAdd(all, hn::Zero(d), doubt);
      end_sums<4, 1, kPartial>(d, walk.ending, at, FirstLanes(d, lanes), sum);
      float* const dst = pixel + at;
      store_lanes<kPartial>(d, sum[0][0], dst, lanes);
      if (two_columns) store_lanes<kPartial>(d, sum[1][0], dst + walk.dst_row, lanes);
      if (!two_rows) return;
      store_lanes<kPartial>(d, sum[2][0], dst + line, lanes);
      if (two_columns) store_lanes<kPartial>(d, sum[3][0], dst + line + walk.dst_row, lanes);
    });
  });
  return hn::AllTrue(d, hn::Eq(doubt, hn::Zero(d)));
}

// Tap (row, column) of the filter, in the order in which taps read the source.
const float* tap_of(const Walk<float>& walk, int row, int column) {
  const int i = walk.axes[1].tap_step < 0 ? 2 - row : row;
  const int j = walk.axes[2].tap_step < 0 ? 2 - column : column;
  return walk.weights + (i * 3 + j) * walk.weight_tap;
}

void read_filter(const Winograd& winograd, std::int64_t first, std::int64_t last, float* places) {
  const D d;
  const Walk<float>& walk = winograd.walk();
  const std::int64_t place = winograd.filter_place();
  for (std::int64_t channel = first; channel < last; ++channel) {
    float* const row = places + channel * walk.columns;
    each_vector(walk.columns, [&]<bool kPartial>(std::int64_t at, std::size_t lanes) HWY_ATTR {
      Vec taps[3][3];
      Vec out[4][4];
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
          taps[i][j] =
              load_lanes<kPartial>(d, tap_of(walk, i, j) + channel * walk.weight_row + at, lanes);
        }
      }
      transform<FromFilter>(taps, out);
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          store_lanes<kPartial>(d, out[i][j], row + (i * 4 + j) * place + at, lanes);
        }
      }
    });
  }
}

// The gradient of a block's result, whose rows are the walk's pixels.
void read_gradient(const Winograd& winograd, const Winograd::Block& block, const float* dy,
                   std::int64_t dy_row, float* places) {
  const D d;
  const Walk<float>& walk = winograd.walk();
  const auto& [planes, rows, columns] = walk.axes;
  const std::int64_t place = winograd.result_place();
  each_tile(block, [&](std::int64_t tile, std::int64_t down, std::int64_t across) HWY_ATTR {
    const bool two_rows = 2 * down + 1 < rows.count;
    const bool two_columns = 2 * across + 1 < columns.count;
    const std::int64_t pixel = (block.image * rows.count + 2 * down) * columns.count + 2 * across;
    float* const row = places + tile * walk.columns;
    each_vector(walk.columns, [&]<bool kPartial>(std::int64_t at, std::size_t lanes) HWY_ATTR {
      const auto load = [&](std::int64_t i) HWY_ATTR {
        return load_lanes<kPartial>(d, dy + (pixel + i) * dy_row + at, lanes);
      };
      Vec pixels[2][2] = {{load(0), hn::Zero(d)}, {hn::Zero(d), hn::Zero(d)}};
      if (two_columns) pixels[0][1] = load(1);
      if (two_rows) pixels[1][0] = load(columns.count);
      if (two_rows && two_columns) pixels[1][1] = load(columns.count + 1);
      Vec out[4][4];
      transform<FromResult>(pixels, out);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          store_lanes<kPartial>(d, out[i][j], row + (i * 4 + j) * place + at, lanes);
        }
      }
    });
  });
}

bool write_filter(const Winograd& winograd, const FilterSum<float>& sum, std::int64_t first,
                  std::int64_t last, const float* places) {
  const D d;
  const Walk<float>& walk = winograd.walk();
  const std::int64_t place = winograd.filter_place();
  Vec doubt = hn::Zero(d);
  for (std::int64_t channel = first; channel < last; ++channel) {
    const float* const row = places + channel * walk.columns;
    each_vector(walk.columns, [&]<bool kPartial>(std::int64_t at, std::size_t lanes) HWY_ATTR {
      Vec in[4][4];
      Vec taps[3][3];
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          in[i][j] = load_lanes<kPartial>(d, row + (i * 4 + j) * place + at, lanes);
        }
      }
      transform<ToFilter>(in, taps);
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
          doubt = hn::MulAdd(taps[i][j], hn::Zero(d), doubt);
          store_lanes<kPartial>(d, taps[i][j],
                                sum.dst + ((i * 3 + j) * walk.depth + channel) * sum.dst_row + at,
                                lanes);
        }
      }
    });
  }
  return hn::AllTrue(d, hn::Eq(doubt, hn::Zero(d)));
}

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {
namespace {

HWY_EXPORT(read_source);
HWY_EXPORT(write_result);
HWY_EXPORT(read_filter);
HWY_EXPORT(read_gradient);
HWY_EXPORT(write_filter);

constexpr std::int64_t kLeastChannels = 32;
constexpr std::int64_t kLeastTiles = 36;  // of an image, to pay for the filter's places
constexpr std::int64_t kBlockTiles = 48;  // wanted: eight rows of register tiles
constexpr std::int64_t kLeastBlockTiles = 24;
constexpr std::int64_t kBlockElements = 192 * 1024;  // in places of a block
constexpr std::int64_t kLeastSumElements = 32 * 64;  // of a filter, for each of its taps
constexpr std::int64_t kMostSumElements = 128 * 128;

std::int64_t tiles_along(const Axis& axis) { return ceil_div(axis.count, 2); }

// Three taps beside each other, all pixels of the result.
bool suits_axis(const Axis& axis) {
  return axis.taps == 3 && axis.step == 1 && (axis.tap_step == 1 || axis.tap_step == -1) &&
         axis.weight_first == 0 && axis.weight_step == 1 && axis.dst_first == 0 &&
         axis.dst_step == 1 && axis.dst_size == axis.count;
}

// The rows of `src` times `weights`, each row being a tile.
Walk<float> tile_rows(std::int64_t tiles, const float* src, std::int64_t depth, float* dst,
                      std::int64_t columns, const float* weights) {
  Walk<float> rows{.batch = 1,
                   .axes = {},
                   .kernel = {1, 1, 1},
                   .src = src,
                   .src_row = depth,
                   .dst = dst,
                   .dst_row = columns,
                   .weights = weights,
                   .weight_tap = 0,
                   .weight_row = columns,
                   .depth = depth,
                   .columns = columns,
                   .zeros = nullptr};
  Axis& line = rows.axes[2];
  line.count = line.src_size = line.dst_size = tiles;
  rows.block_pixels = tiles;
  rows.block_columns = columns;
  return rows;
}

}  // namespace

bool Winograd::suits(const Walk<float>& walk) {
  const auto& [planes, rows, columns] = walk.axes;
  return planes.taps == 1 && planes.step == 1 && planes.first == 0 && planes.dst_step == 1 &&
         planes.count == planes.src_size && planes.count == planes.dst_size && suits_axis(rows) &&
         suits_axis(columns) && walk.depth >= kLeastChannels && walk.columns >= kLeastChannels &&
         tiles_along(rows) * tiles_along(columns) >= kLeastTiles;
}

bool Winograd::suits(const FilterSum<float>& sum) {
  const std::int64_t elements = sum.walk.depth * sum.walk.columns;
  return suits(sum.walk) && elements >= kLeastSumElements && elements <= kMostSumElements;
}

Winograd::Winograd(const Walk<float>& walk)
    : walk_(walk),
      images_(walk.batch * walk.axes[0].count),
      down_(tiles_along(walk.axes[1])),
      across_(tiles_along(walk.axes[2])) {
  const std::int64_t most = std::clamp(kBlockElements / (kPlaces * (walk.depth + walk.columns)),
                                       kLeastBlockTiles, kBlockTiles);
  blocks_across_ = ceil_div(across_, most);
  block_across_ = ceil_div(across_, blocks_across_);
  blocks_down_ = ceil_div(down_, std::max<std::int64_t>(1, most / block_across_));
  block_down_ = ceil_div(down_, blocks_down_);
}

Winograd::Block Winograd::block(std::int64_t index) const {
  const std::int64_t i = index / blocks_across_ % blocks_down_;
  const std::int64_t j = index % blocks_across_;
  const std::int64_t down = i * down_ / blocks_down_;
  const std::int64_t across = j * across_ / blocks_across_;
  return {.image = index / blocks_across_ / blocks_down_,
          .down = down,
          .across = across,
          .rows = (i + 1) * down_ / blocks_down_ - down,
          .columns = (j + 1) * across_ / blocks_across_ - across};
}

Walk<float> Winograd::pixels_of(const Block& block) const {
  Walk<float> pixels = walk_;
  auto& [planes, rows, columns] = pixels.axes;
  pixels.src += block.image * rows.src_size * columns.src_size * pixels.src_row;
  pixels.dst += block.image * rows.dst_size * columns.dst_size * pixels.dst_row;
  pixels.batch = 1;
  planes.count = planes.src_size = planes.dst_size = 1;
  const auto take = [](Axis& axis, std::int64_t tile, std::int64_t tiles) {
    const std::int64_t first = 2 * tile;
    axis.count = std::min(2 * tiles, axis.count - first);
    axis.first += first;
    axis.dst_first += first;
  };
  take(rows, block.down, block.rows);
  take(columns, block.across, block.columns);
  pixels.finish = nullptr;
  pixels.block_pixels = pixels.pixels();
  pixels.block_columns = pixels.columns;
  return pixels;
}

void winograd_filter(const Winograd& winograd, std::int64_t first, std::int64_t last,
                     float* places) noexcept {
  HWY_DYNAMIC_DISPATCH(read_filter)(winograd, first, last, places);
}

void winograd_block(const Winograd& winograd, std::int64_t index, const float* filter,
                    float* scratch) noexcept {
  const Walk<float>& walk = winograd.walk();
  const Winograd::Block block = winograd.block(index);
  float* const source = scratch;
  float* const result = scratch + kPlaces * winograd.source_place();
  HWY_DYNAMIC_DISPATCH(read_source)(winograd, block, source);
  for (std::int64_t place = 0; place < kPlaces; ++place) {
    walk_tiles(tile_rows(block.tiles(), source + place * winograd.source_place(), walk.depth,
                         result + place * winograd.result_place(), walk.columns,
                         filter + place * winograd.filter_place()),
               0);
  }
  const Walk<float> pixels = winograd.pixels_of(block);
  if (!HWY_DYNAMIC_DISPATCH(write_result)(winograd, block, result)) walk_tiles(pixels, 0);
  if (walk.finish == nullptr) return;
  const auto& [planes, rows, columns] = pixels.axes;
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const std::int64_t line = block.image * rows.dst_size + rows.dst_first + row;
    const std::int64_t first = line * columns.dst_size + columns.dst_first;
    (*walk.finish)(first* walk.dst_row, (first + columns.count) * walk.dst_row);
  }
}

void winograd_filter_blocks(const Winograd& winograd, const FilterSum<float>& sum,
                            std::int64_t first, std::int64_t last, float* places,
                            float* scratch) noexcept {
  const Walk<float>& walk = winograd.walk();
  float* const source = scratch;
  float* const result = scratch + kPlaces * winograd.source_place();
  for (std::int64_t index = first; index < last; ++index) {
    const Winograd::Block block = winograd.block(index);
    HWY_DYNAMIC_DISPATCH(read_source)(winograd, block, source);
    HWY_DYNAMIC_DISPATCH(read_gradient)(winograd, block, sum.dy, sum.dy_row, result);
    for (std::int64_t place = 0; place < kPlaces; ++place) {
      const FilterSum<float> product{
          .walk = tile_rows(block.tiles(), source + place * winograd.source_place(), walk.depth,
                            nullptr, walk.columns, nullptr),
          .dy = result + place * winograd.result_place(),
          .dy_row = walk.columns,
          .dst = places + place * winograd.filter_place(),
          .dst_row = walk.columns,
          .accumulate = index > first};
      filter_tiles(product, 0, filter_units(product), 0, block.tiles());
    }
  }
}

bool winograd_filter_sums(const Winograd& winograd, const FilterSum<float>& sum, std::int64_t first,
                          std::int64_t last, const float* places) noexcept {
  return HWY_DYNAMIC_DISPATCH(write_filter)(winograd, sum, first, last, places);
}

}  // namespace tenure::cpu
#endif
