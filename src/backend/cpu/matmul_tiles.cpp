#include "backend/cpu/matmul_tiles.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "backend/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/matmul_tiles.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

// Rows of a tile two vectors wide: as many as leave registers for B and the broadcast element.
#if HWY_TARGET == HWY_AVX3
constexpr int kTileRows = 14;
#elif HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 6;
#else
constexpr int kTileRows = 4;
#endif

// Up to so many rows, tiles are wider: B is read once, and reading it in longer stretches is
// faster.
constexpr int kWideRows = kTileRows / 2;

// Between the columns of a copy of a transposed A's tile.
constexpr std::int64_t kCopyStride = 16;
static_assert(kTileRows <= kCopyStride);

template <class T>
struct TileArgs {
  const T* a;
  std::int64_t a_row;
  std::int64_t a_col;
  const T* b;
  std::int64_t b_row;
  T* c;
  std::int64_t c_row;
  std::int64_t k;
  bool accumulate;  // add to C, which holds the sum over the blocks of k before this one
};

// A tile of R rows and V vectors. With kPartial, V is 1 and only `columns` of its lanes exist.
template <int R, int V, bool kPartial, class T>
HWY_INLINE void tile(const TileArgs<T>& args, std::size_t columns) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto load = [&](const T* src) HWY_ATTR { return load_lanes<kPartial>(d, src, columns); };
  Vec sum[R][V];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[i][v] = hn::Zero(d);
  }
  const T* HWY_RESTRICT a = args.a;
  const T* HWY_RESTRICT b = args.b;
  const std::int64_t a_row = args.a_row;
  for (std::int64_t p = 0; p < args.k; ++p) {
    Vec row[V];
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) row[v] = load(b + v * lanes);
    const T* element = a;
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Vec factor = hn::Set(d, *element);
      element += a_row;
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[i][v] = hn::MulAdd(factor, row[v], sum[i][v]);
    }
    a += args.a_col;
    b += args.b_row;
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    T* dst = args.c + i * args.c_row;
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      T* to = dst + v * lanes;
      Vec result = sum[i][v];
      if (args.accumulate) result = hn::Add(load(to), result);
      store_lanes<kPartial>(d, result, to, columns);
    }
  }
}

template <int R, int V, class T>
void full_tile(const TileArgs<T>& args) {
  tile<R, V, false>(args, 0);
}
template <int R, class T>
void partial_tile(const TileArgs<T>& args, std::size_t columns) {
  tile<R, 1, true>(args, columns);
}

template <class T>
using FullTile = void (*)(const TileArgs<T>&);
template <class T>
using PartialTile = void (*)(const TileArgs<T>&, std::size_t);

template <class T>
struct Tiles {  // entry r - 1 has r rows
  std::array<FullTile<T>, kTileRows> full;
  std::array<PartialTile<T>, kTileRows> partial;
  std::array<FullTile<T>, kWideRows> wide;  // four vectors
};

template <class T>
constexpr Tiles<T> kTiles =
    []<int... r, int... w>(std::integer_sequence<int, r...>, std::integer_sequence<int, w...>) {
      return Tiles<T>{
          {&full_tile<r + 1, 2, T>...}, {&partial_tile<r + 1, T>...}, {&full_tile<w + 1, 4, T>...}};
    }(std::make_integer_sequence<int, kTileRows>(), std::make_integer_sequence<int, kWideRows>());

// The rows of A that the next tiles read, fetched while these are computed: some with each pair of
// vectors of B. Where rows lie far apart, the processor does not see them coming.
template <class T>
struct RowsAhead {
  const T* row = nullptr;
  std::int64_t distance = 0;
  std::int64_t elements = 0;  // of a row
  std::int64_t rows = 0;
  std::int64_t at_once = 0;

  void fetch() {
    for (std::int64_t i = std::min(rows, at_once); i > 0; --i) {
      constexpr auto kLine = 64 / static_cast<std::int64_t>(sizeof(T));
      for (std::int64_t p = 0; p < elements; p += kLine) __builtin_prefetch(row + p, 0, 2);
      row += distance;
      --rows;
    }
  }
};

// Rows of C that one tile covers, times all columns of B's block. `panel` is the distance between
// pairs of vectors of B.
template <class T>
void row_of_tiles(TileArgs<T> args, int rows, std::int64_t columns, std::int64_t panel,
                  RowsAhead<T> ahead) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const auto index = static_cast<std::size_t>(rows - 1);
  if (rows <= kWideRows && panel == 2 * lanes) {
    for (; columns >= 4 * lanes; columns -= 4 * lanes) {
      kTiles<T>.wide[index](args);
      args.b += 4 * lanes;
      args.c += 4 * lanes;
    }
  }
  for (; columns >= 2 * lanes; columns -= 2 * lanes) {
    ahead.fetch();
    kTiles<T>.full[index](args);
    args.b += panel;
    args.c += 2 * lanes;
  }
  for (; columns > 0; columns -= lanes) {
    kTiles<T>.partial[index](args, static_cast<std::size_t>(std::min(columns, lanes)));
    args.b += lanes;
    args.c += lanes;
  }
}

// Whether a tile's part of A is worth a copy: where its elements share few cache sets.
template <class T>
bool copies_a(const Product<T>& product) {
  if (product.n <= 3 * kTileColumns<T>) return false;
  if (product.a_col == 1) return product.a_row * static_cast<std::int64_t>(sizeof(T)) % 4096 == 0;
  return product.a_row == 1 && product.k > 128;
}

template <class T>
void copy_a(TileArgs<T>& args, int rows, T* HWY_RESTRICT dst) {
  const T* HWY_RESTRICT src = args.a;
  if (args.a_col == 1) {
    const std::int64_t stride = kBlockDepth<T> + 64 / static_cast<std::int64_t>(sizeof(T));
    for (int i = 0; i < rows; ++i) {
      std::memcpy(dst + i * stride, src + i * args.a_row,
                  static_cast<std::size_t>(args.k) * sizeof(T));
    }
    args.a_row = stride;
  } else {
    const hn::ScalableTag<T> d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (std::int64_t p = 0; p < args.k; ++p) {
      for (int i = 0; i < rows; i += lanes) {
        const auto count = static_cast<std::size_t>(std::min(lanes, rows - i));
        hn::Store(load_first(d, src + p * args.a_col + i, count), d, dst + p * kCopyStride + i);
      }
    }
    args.a_row = 1;
    args.a_col = kCopyStride;
  }
  args.a = dst;
}

// dst[p * dst_row + j] = src[j * src_col + p] for four columns j (two of float64) and as many p.
template <class T>
HWY_INLINE void transpose_square(const T* HWY_RESTRICT src, std::int64_t src_col,
                                 T* HWY_RESTRICT dst, std::int64_t dst_row) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) == 4) {
    const hn::FixedTag<T, 4> d;
    const auto a = hn::LoadU(d, src);
    const auto b = hn::LoadU(d, src + src_col);
    const auto e = hn::LoadU(d, src + 2 * src_col);
    const auto f = hn::LoadU(d, src + 3 * src_col);
    const auto ab_lower = hn::InterleaveLower(d, a, b);
    const auto ab_upper = hn::InterleaveUpper(d, a, b);
    const auto ef_lower = hn::InterleaveLower(d, e, f);
    const auto ef_upper = hn::InterleaveUpper(d, e, f);
    hn::StoreU(hn::ConcatLowerLower(d, ef_lower, ab_lower), d, dst);
    hn::StoreU(hn::ConcatUpperUpper(d, ef_lower, ab_lower), d, dst + dst_row);
    hn::StoreU(hn::ConcatLowerLower(d, ef_upper, ab_upper), d, dst + 2 * dst_row);
    hn::StoreU(hn::ConcatUpperUpper(d, ef_upper, ab_upper), d, dst + 3 * dst_row);
  } else {
    const hn::FixedTag<T, 2> d;
    const auto a = hn::LoadU(d, src);
    const auto b = hn::LoadU(d, src + src_col);
    hn::StoreU(hn::InterleaveLower(d, a, b), d, dst);
    hn::StoreU(hn::InterleaveUpper(d, a, b), d, dst + dst_row);
  }
#else
  constexpr int kSide = 16 / sizeof(T);
  for (int j = 0; j < kSide; ++j) {
    for (int p = 0; p < kSide; ++p) dst[p * dst_row + j] = src[j * src_col + p];
  }
#endif
}

// dst[p * width + j] = src[j * src_col + p] for `columns` of j, at most `width`.
template <class T>
void pack_panel(const T* HWY_RESTRICT src, std::int64_t src_col, std::int64_t k,
                std::int64_t columns, T* HWY_RESTRICT dst, std::int64_t width) {
  constexpr std::int64_t kSide = 16 / static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t whole_k = k / kSide * kSide;
  const std::int64_t whole_columns = columns / kSide * kSide;
  for (std::int64_t line = 0; line < whole_k; line += kLine) {
    const std::int64_t end = std::min(whole_k, line + kLine);
    for (std::int64_t j = 0; j < whole_columns; j += kSide) {
      for (std::int64_t p = line; p < end; p += kSide) {
        transpose_square(src + j * src_col + p, src_col, dst + p * width + j, width);
      }
    }
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t p = j < whole_columns ? whole_k : 0; p < k; ++p) {
      dst[p * width + j] = src[j * src_col + p];
    }
  }
}

constexpr std::int64_t kRowsAtOnce = 16;

// The same of a B whose rows lie as C's do: dst[p * width + j] = src[p * src_row + j].
template <class T>
void copy_panel(const T* HWY_RESTRICT src, std::int64_t src_row, std::int64_t k,
                std::int64_t columns, T* HWY_RESTRICT dst, std::int64_t width) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (columns == width) {
    for (std::int64_t p = 0; p < k; ++p) {
      __builtin_prefetch(src + kRowsAtOnce * src_row, 0, 2);
      const auto left = hn::LoadU(d, src), right = hn::LoadU(d, src + lanes);
      hn::StoreU(left, d, dst);
      hn::StoreU(right, d, dst + lanes);
      src += src_row;
      dst += width;
    }
  } else {
    for (std::int64_t p = 0; p < k; ++p) {
      std::memcpy(dst + p * width, src + p * src_row,
                  static_cast<std::size_t>(columns) * sizeof(T));
    }
  }
}

// A block of B as panels two vectors wide, each k rows high.
template <class T>
void pack_b(const T* HWY_RESTRICT b, std::int64_t b_row, std::int64_t b_col, std::int64_t k,
            std::int64_t columns, T* HWY_RESTRICT dst) {
  const std::int64_t width = 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  if (b_col == 1) {  // a few rows at a time, so that they are fetched as they lie
    for (std::int64_t p = 0; p < k; p += kRowsAtOnce) {
      const std::int64_t rows = std::min(kRowsAtOnce, k - p);
      for (std::int64_t j = 0; j < columns; j += width) {
        copy_panel(b + p * b_row + j, b_row, rows, std::min(width, columns - j),
                   dst + j * k + p * width, width);
      }
    }
  } else {
    for (std::int64_t j = 0; j < columns; j += width) {
      pack_panel(b + j * b_col, b_col, k, std::min(width, columns - j), dst + j * k, width);
    }
  }
}

template <class T>
void multiply_all(const Product<T>& product) {
  HWY_ALIGN T copy[kCopyStride * kBlockDepth<T>];
  const std::int64_t width = 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const bool pack = product.read_b == ReadB::packed;
  const bool copy_rows = copies_a(product);
  const std::int64_t row_tiles = (product.m + kTileRows - 1) / kTileRows;
  const std::int64_t blocks = (product.k + kBlockDepth<T> - 1) / kBlockDepth<T>;
  // A single row of tiles reads every block of B once.
  const std::int64_t at_once = pack             ? packed_columns(product)
                               : row_tiles == 1 ? product.n
                                                : block_columns();
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = block * product.k / blocks;
    const std::int64_t k = (block + 1) * product.k / blocks - first;
    for (std::int64_t column = 0; column < product.n; column += at_once) {
      const std::int64_t columns = std::min(at_once, product.n - column);
      const T* b = product.b + first * product.b_row + column * product.b_col;
      if (pack) pack_b(b, product.b_row, product.b_col, k, columns, product.panels);
      for (std::int64_t t = 0; t < row_tiles; ++t) {
        const std::int64_t row = t * product.m / row_tiles;
        const int rows = static_cast<int>((t + 1) * product.m / row_tiles - row);
        TileArgs<T> args{product.a + row * product.a_row + first * product.a_col,
                         product.a_row,
                         product.a_col,
                         pack ? product.panels : b,
                         pack ? width : product.b_row,
                         product.c + row * product.c_row + column,
                         product.c_row,
                         k,
                         block > 0 || product.accumulate};
        RowsAhead<T> ahead;
        if (copy_rows) {
          if (product.a_col == 1 && t + 1 < row_tiles) {
            const std::int64_t pairs = std::max<std::int64_t>(1, columns / width);
            const std::int64_t next = (t + 2) * product.m / row_tiles - row - rows;
            ahead = {args.a + rows * args.a_row, args.a_row, k, next, next / pairs + 1};
          }
          copy_a(args, rows, copy);
        }
        row_of_tiles(args, rows, columns, pack ? width * k : width, ahead);
      }
    }
  }
}

void tiles_f32(const Product<float>& product) { multiply_all(product); }
void tiles_f64(const Product<double>& product) { multiply_all(product); }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

std::int64_t block_columns() {
  static const std::int64_t columns = [] {
    const long second_cache = sysconf(_SC_LEVEL2_CACHE_SIZE);  // 0 where it is not known
    return second_cache >= 2 * 1024 * 1024 ? 512 : 256;
  }();
  return columns;
}

HWY_EXPORT(tiles_f32);
HWY_EXPORT(tiles_f64);

void multiply_tiles(const Product<float>& product) noexcept {
  HWY_DYNAMIC_DISPATCH(tiles_f32)(product);
}
void multiply_tiles(const Product<double>& product) noexcept {
  HWY_DYNAMIC_DISPATCH(tiles_f64)(product);
}

}  // namespace tenure::cpu
#endif
