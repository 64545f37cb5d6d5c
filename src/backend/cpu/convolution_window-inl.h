// Filling tables of pointers for convolutions, and rows of tiles.
#include <cstdint>
#include <utility>

#include "backend/cpu/convolution_walk.h"
#include "backend/cpu/lanes-inl.h"
#include "backend/cpu/vector_math-inl.h"
#include "hwy/highway.h"

#if defined(TENURE_BACKEND_CPU_CONVOLUTION_WINDOW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_BACKEND_CPU_CONVOLUTION_WINDOW_INL_H
#undef TENURE_BACKEND_CPU_CONVOLUTION_WINDOW_INL_H
#else
#define TENURE_BACKEND_CPU_CONVOLUTION_WINDOW_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {

// table[t * kSize + i]: the address of channel `channel` of what tap first_tap + t reads for pixel
// i.
template <class T, int kSize>
HWY_INLINE void fill_table(const Walk<T>& walk, const Window<T, kSize>& window,
                           std::int64_t first_tap, std::int64_t taps, std::int64_t channel,
                           std::uintptr_t* HWY_RESTRICT table) {
  if (taps == 0) return;
  const Axis& planes = walk.axes[0];
  const Axis& rows = walk.axes[1];
  const Axis& columns = walk.axes[2];
  const std::uintptr_t* HWY_RESTRICT base = window.base.data();
  const std::int64_t* HWY_RESTRICT at = window.at[2].data();
  const std::uintptr_t zeros = reinterpret_cast<std::uintptr_t>(walk.zeros);
  const auto width = static_cast<std::uint64_t>(columns.src_size);
  constexpr std::uintptr_t kAllBits = ~std::uintptr_t{0};
  HWY_ALIGN std::uintptr_t in_row[kSize];  // all bits set where the tap's row is in the image
  for (std::int64_t tap = first_tap; tap < first_tap + taps;) {
    const std::int64_t row = tap / columns.taps;
    const std::int64_t down = row / rows.taps * planes.tap_step;
    const std::int64_t across = row % rows.taps * rows.tap_step;
    const auto depth = static_cast<std::uint64_t>(planes.src_size);
    const auto height = static_cast<std::uint64_t>(rows.src_size);
    TENURE_VECTORISE
    for (int i = 0; i < kSize; ++i) {
      const auto plane = static_cast<std::uint64_t>(window.at[0][i] + down);
      const auto line = static_cast<std::uint64_t>(window.at[1][i] + across);
      in_row[i] = (plane < depth ? kAllBits : 0) & (line < height ? kAllBits : 0);
    }
    const std::int64_t end = std::min(first_tap + taps, (row + 1) * columns.taps);
    for (; tap < end; ++tap) {
      const std::int64_t along = (tap - row * columns.taps) * columns.tap_step;
      const std::int64_t pixel = (down * rows.src_size + across) * columns.src_size + along;
      // Where the pixel is inside, zeros are added and taken away again.
      const std::uintptr_t offset =
          static_cast<std::uintptr_t>(pixel * walk.src_row + channel) * sizeof(T) - zeros;
      TENURE_VECTORISE
      for (int i = 0; i < kSize; ++i) {
        const bool inside = static_cast<std::uint64_t>(at[i] + along) < width;
        table[i] = zeros + ((base[i] + offset) & (inside ? in_row[i] : 0));
      }
      table += kSize;
    }
  }
}

// Whether pixels [first, first + count) of an axis and all their taps lie inside of the image.
HWY_INLINE bool inside(const Axis& axis, std::int64_t first, std::int64_t count) {
  const std::int64_t low = first * axis.step + axis.first;
  const std::int64_t high = low + (count - 1) * axis.step;
  const std::int64_t reach = (axis.taps - 1) * axis.tap_step;
  return low + std::min<std::int64_t>(0, reach) >= 0 &&
         high + std::max<std::int64_t>(0, reach) < axis.src_size;
}

// Goes through a walk's pixels, as many at a time as tiles take: what their taps read, and where
// they go.
template <class T>
class TilePixels {
 public:
  std::uintptr_t table[kMaxTaps * kTilePixels];
  T* dst[kTilePixels];

  TilePixels(const Walk<T>& walk, std::int64_t first_tap, std::int64_t taps, std::int64_t channel)
      : walk_(walk), first_tap_(first_tap), taps_(taps), channel_(channel) {
    const auto& [planes, rows, columns] = walk.axes;
    for (std::int64_t t = 0; t < taps; ++t) {
      const std::int64_t row = (first_tap + t) / columns.taps;
      const std::int64_t pixels =
          (row / rows.taps * planes.tap_step * rows.src_size + row % rows.taps * rows.tap_step) *
              columns.src_size +
          (first_tap + t) % columns.taps * columns.tap_step;
      distance_[t] = static_cast<std::uintptr_t>(pixels * walk.src_row + channel) * sizeof(T);
    }
  }

  void start(std::int64_t first) {
    first_ = first;
    column_ = first % walk_.axes[2].count;
    start_line();
  }
  std::int64_t left_in_line() const { return walk_.axes[2].count - column_; }

  // The next `count`.
  void take(int count) {
    const Axis& columns = walk_.axes[2];
    if (!is_inside_ || count > left_in_line() || !inside(columns, column_, count)) {
      const Window<T, kTilePixels> window(walk_, first_, count);
      fill_table(walk_, window, first_tap_, taps_, channel_, table);
      std::copy_n(window.dst.data(), count, dst);
    } else {
      // No padding: every tap reads at the same distance from every pixel.
      const std::uintptr_t src =
          src_line_ +
          static_cast<std::uintptr_t>((column_ * columns.step + columns.first) * walk_.src_row) *
              sizeof(T);
      const auto step = static_cast<std::uintptr_t>(columns.step * walk_.src_row) * sizeof(T);
      std::uintptr_t* HWY_RESTRICT to = table;
      for (std::int64_t t = 0; t < taps_; ++t, to += kTilePixels) {
        const std::uintptr_t at = src + distance_[t];
        TENURE_VECTORISE
        for (int i = 0; i < kTilePixels; ++i) to[i] = at + static_cast<std::uintptr_t>(i) * step;
      }
      T* pixel = dst_line_ + column_ * columns.dst_step * walk_.dst_row;
      for (int i = 0; i < count; ++i, pixel += columns.dst_step * walk_.dst_row) dst[i] = pixel;
    }
    first_ += count;
    column_ += count;
    if (column_ >= columns.count) {
      column_ %= columns.count;
      start_line();
    }
  }

 private:
  void start_line() {
    const auto& [planes, rows, columns] = walk_.axes;
    const std::int64_t line = first_ / columns.count;
    const std::int64_t row = line % rows.count;
    const std::int64_t plane = line / rows.count % planes.count;
    const std::int64_t image = line / rows.count / planes.count;
    is_inside_ = inside(rows, row, 1) && inside(planes, plane, 1);
    const std::int64_t src_line =
        (image * planes.src_size + plane * planes.step + planes.first) * rows.src_size +
        row * rows.step + rows.first;
    src_line_ =
        reinterpret_cast<std::uintptr_t>(walk_.src) +
        static_cast<std::uintptr_t>(src_line * columns.src_size * walk_.src_row) * sizeof(T);
    const std::int64_t dst_line =
        (image * planes.dst_size + planes.dst_first + plane * planes.dst_step) * rows.dst_size +
        rows.dst_first + row * rows.dst_step;
    dst_line_ = walk_.dst + (dst_line * columns.dst_size + columns.dst_first) * walk_.dst_row;
  }

  const Walk<T>& walk_;
  std::int64_t first_tap_;
  std::int64_t taps_;
  std::int64_t channel_;
  std::uintptr_t distance_[kMaxTaps];  // in bytes, from where a pixel's tap 0 reads
  std::int64_t first_ = 0;
  std::int64_t column_ = 0;
  bool is_inside_ = false;  // this line's taps, but for those beyond its ends
  std::uintptr_t src_line_ = 0;
  T* dst_line_ = nullptr;
};

// What a place of the table says. Addresses are integers there because vectors pick among them.
template <class T>
HWY_INLINE const T* pointer_to(std::uintptr_t address) {
  return reinterpret_cast<const T*>(address);  // NOLINT(performance-no-int-to-ptr): as above
}

// Vector v of a tile's V, of which the last may be partial.
template <int V, bool kPartial, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_of(D d, const T* src, int v, const FirstLanes<D>& last) {
  const T* at = src + v * static_cast<std::int64_t>(hn::Lanes(d));
  return kPartial && v == V - 1 ? last.load(d, at) : hn::LoadU(d, at);
}
template <int V, bool kPartial, class D, class T = hn::TFromD<D>>
HWY_INLINE void store_of(D d, hn::Vec<D> vector, T* dst, int v, const FirstLanes<D>& last) {
  T* at = dst + v * static_cast<std::int64_t>(hn::Lanes(d));
  kPartial&& v == V - 1 ? last.store(d, vector, at) : hn::StoreU(vector, d, at);
}

// Makes the sums of a tile what is written, its first column being `column`.
template <int R, int V, bool kPartial, class D, class T = hn::TFromD<D>>
HWY_INLINE void end_sums(D d, const Ending<T>& ending, std::int64_t column,
                         const FirstLanes<D>& last, hn::Vec<D> (&sum)[R][V]) {
  if (ending.bias != nullptr) {
    const T* bias = ending.bias + column;
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      const hn::Vec<D> addend = load_of<V, kPartial>(d, bias, v, last);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) sum[i][v] = hn::Add(sum[i][v], addend);
    }
  }
  if (!ending.relu) return;
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[i][v] = at_most(d, relu(d, sum[i][v]), ending.most);
  }
}

// Vectors of a tile's columns: with six rows, as many as leave registers for the other operands.
// Tiles of fewer vectors have more rows: their sums wait for each other otherwise.
#if HWY_TARGET == HWY_AVX3
constexpr int kTileVectors = 4;
constexpr int kHighVectors = 2;
#else
constexpr int kTileVectors = 2;
constexpr int kHighVectors = 1;
#endif
constexpr int kTileRows = 6;

// Calls tile.template operator()<rows, vectors, partial>(first_row, first_column, lanes) to cover
// `rows` x `columns`, with up to kMostRows in tiles that may be high; only the last vector of a row
// may be partial.
template <int kMostRows, int V, bool kPartial, class F>
HWY_INLINE void cover_rows(int rows, std::int64_t column, std::size_t lanes, const F& tile) {
  constexpr int kMost = V <= kHighVectors ? kMostRows : kTileRows;
  const int parts = (rows + kMost - 1) / kMost;
  for (int part = 0; part < parts; ++part) {
    const int first = part * rows / parts;
    const int count = (part + 1) * rows / parts - first;
    const auto try_rows = [&]<int... R>(std::integer_sequence<int, R...>) HWY_ATTR {
      (void)((count == R + 1 &&
              (tile.template operator()<R + 1, V, kPartial>(first, column, lanes), true)) ||
             ...);
    };
    try_rows(std::make_integer_sequence<int, kMost>());
  }
}

template <class T, int kMostRows, class F>
HWY_INLINE void cover(int rows, std::int64_t columns, const F& tile) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  std::int64_t column = 0;
  for (; columns - column >= kTileVectors * lanes; column += kTileVectors * lanes) {
    cover_rows<kMostRows, kTileVectors, false>(rows, column, 0, tile);
  }
#if HWY_TARGET == HWY_AVX3
  if (columns - column == 2 * lanes) return cover_rows<kMostRows, 2, false>(rows, column, 0, tile);
  const std::int64_t vectors = ceil_div(columns - column, lanes);
  const auto last = static_cast<std::size_t>(columns - column - (vectors - 1) * lanes);
  if (vectors == 1) cover_rows<kMostRows, 1, true>(rows, column, last, tile);
  if (vectors == 2) cover_rows<kMostRows, 2, true>(rows, column, last, tile);
  if (vectors == 3) cover_rows<kMostRows, 3, true>(rows, column, last, tile);
  if (vectors == 4) cover_rows<kMostRows, 4, true>(rows, column, last, tile);
#else
  for (; columns - column >= lanes; column += lanes)
    cover_rows<kMostRows, 1, false>(rows, column, 0, tile);
  if (column < columns) {
    cover_rows<kMostRows, 1, true>(rows, column, static_cast<std::size_t>(columns - column), tile);
  }
#endif
}

// The same with tiles of one vector.
template <class T, class F>
HWY_INLINE void cover_vectors(int rows, std::int64_t columns, const F& tile) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  std::int64_t column = 0;
  for (; columns - column >= lanes; column += lanes)
    cover_rows<kTileRows, 1, false>(rows, column, 0, tile);
  if (column < columns) {
    cover_rows<kTileRows, 1, true>(rows, column, static_cast<std::size_t>(columns - column), tile);
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
struct TileArgs {
  const std::uintptr_t* table;  // kTilePixels for each tap
  const T* const* weights;      // of each tap
  std::int64_t weight_row;
  std::int64_t taps;
  std::int64_t channels;
  T* const* dst;            // of each pixel
  bool accumulate;          // add to what the blocks before this one have summed
  const Ending<T>* ending;  // with the last block
};

// Elements that are finished at once: few enough to be in the first cache still.
inline constexpr std::int64_t kFinishElements = 4096;

// Piece `item` of a walk; tile.template operator()<rows, vectors, partial>(args, first_row,
// first_column, lanes) computes a tile.
template <class T, class F>
HWY_INLINE void walk_item(const Walk<T>& walk, std::int64_t item, const F& tile) {
  const std::int64_t column_blocks = ceil_div(walk.columns, walk.block_columns);
  const std::int64_t column = item % column_blocks * walk.block_columns;
  const std::int64_t columns = std::min(walk.block_columns, walk.columns - column);
  const std::int64_t begin = item / column_blocks * walk.block_pixels;
  const std::int64_t end = std::min(walk.pixels(), begin + walk.block_pixels);
  const std::int64_t line = walk.axes[2].count;
  const Blocks<T> blocks(walk);
  const T* weights[kMaxTaps];
  for (std::int64_t block = 0; block < blocks.count(); ++block) {
    const std::int64_t range = block / blocks.cuts;
    const std::int64_t cut = block % blocks.cuts;
    const std::int64_t first_tap = range * blocks.taps / blocks.tap_ranges;
    const std::int64_t taps = (range + 1) * blocks.taps / blocks.tap_ranges - first_tap;
    const std::int64_t channel = cut * blocks.depth / blocks.cuts;
    const std::int64_t channels = (cut + 1) * blocks.depth / blocks.cuts - channel;
    const bool is_last = block + 1 == blocks.count();
    if (taps > 0) {
      Tap<T> tap(walk, first_tap);
      for (std::int64_t t = 0; t < taps; ++t, tap.next()) {
        weights[t] = tap.weights() + channel * walk.weight_row;
      }
    }
    TilePixels<T> pixels(walk, first_tap, taps, channel);
    pixels.start(begin);
    std::int64_t finished = begin;
    for (std::int64_t first = begin; first < end;) {
      // Even parts of what is left of a long line, or of the piece.
      const std::int64_t left =
          line < 2 * kTilePixels ? end - first : std::min(end - first, pixels.left_in_line());
      const int count = static_cast<int>(ceil_div(left, ceil_div(left, kTilePixels)));
      pixels.take(count);
      const TileArgs<T> args{
          pixels.table, weights,    walk.weight_row, taps,
          channels,     pixels.dst, block > 0,       is_last ? &walk.ending : nullptr};
      const auto one = [&args, &tile, column]<int R, int V, bool kPartial>(
                           int row, std::int64_t at, std::size_t lanes) HWY_ATTR {
        tile.template operator()<R, V, kPartial>(args, row, column + at, lanes);
      };
      cover<T, 8>(count, columns, one);
      first += count;
      if (is_last && walk.finish != nullptr &&
          (first == end || (first - finished) * walk.dst_row >= kFinishElements)) {
        (*walk.finish)(finished* walk.dst_row, first* walk.dst_row);
        finished = first;
      }
    }
  }
}

}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
