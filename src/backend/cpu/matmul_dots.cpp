// A few rows times a transposed B: dot products along k, in tiles of rows of A and columns of B.
#include <algorithm>

#include "backend/cpu/highway_targets.h"
#include "backend/cpu/matmul_tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/matmul_dots.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kDotRows = 4;  // of a tile, which is four columns wide

template <class T>
struct DotArgs {
  const T* a;  // element (i, p) is a[i * a_row + p]
  std::int64_t a_row;
  const T* b;  // element (p, j) is b[p + j * b_col]
  std::int64_t b_col;
  T* c;
  std::int64_t c_row;
  std::int64_t k;
  bool accumulate;  // add to C
};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// The sum of a vector's 16-byte blocks, as one.
template <class D>
HWY_INLINE auto add_blocks(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) == 16) {
    return v;
  } else {
    const hn::Half<D> half;
    return add_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}
#endif

// Stores the sum of each of four vectors.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_sums(D d, const hn::Vec<D> (&v)[4], T* dst, bool accumulate) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  // Adds the halves of each 16-byte block, one vector's beside another's, until a block holds one
  // number of each vector; then adds the blocks.
  const auto fold = [](auto d2, auto a, auto b) HWY_ATTR {
    return hn::Add(hn::InterleaveLower(d2, a, b), hn::InterleaveUpper(d2, a, b));
  };
  const hn::FixedTag<T, 16 / sizeof(T)> block;
  const auto store = [&](auto sum, T* to) HWY_ATTR {
    hn::StoreU(accumulate ? hn::Add(hn::LoadU(block, to), sum) : sum, block, to);
  };
  if constexpr (sizeof(T) == 4) {
    const hn::Repartition<double, D> pairs;
    const auto ab = hn::BitCast(pairs, fold(d, v[0], v[1]));
    const auto ef = hn::BitCast(pairs, fold(d, v[2], v[3]));
    const auto lower = hn::BitCast(d, hn::InterleaveLower(pairs, ab, ef));
    const auto upper = hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ef));
    store(add_blocks(d, hn::Add(lower, upper)), dst);
  } else {
    store(add_blocks(d, fold(d, v[0], v[1])), dst);
    store(add_blocks(d, fold(d, v[2], v[3])), dst + 2);
  }
#else
  for (int j = 0; j < 4; ++j) {
    const T sum = hn::GetLane(hn::SumOfLanes(d, v[j]));
    dst[j] = accumulate ? dst[j] + sum : sum;
  }
#endif
}

template <int R, int C, class T>
HWY_INLINE void dots(const DotArgs<T>& args) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vec sum[R][C];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < C; ++j) sum[i][j] = hn::Zero(d);
  }
  const auto step = [&](std::int64_t p, auto load) HWY_ATTR {
    Vec columns[C];
#pragma GCC unroll 16
    for (int j = 0; j < C; ++j) columns[j] = load(args.b + j * args.b_col + p);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Vec row = load(args.a + i * args.a_row + p);
#pragma GCC unroll 16
      for (int j = 0; j < C; ++j) sum[i][j] = hn::MulAdd(row, columns[j], sum[i][j]);
    }
  };
  std::int64_t p = 0;
  for (; p + lanes <= args.k; p += lanes) {
    step(p, [&](const T* src) HWY_ATTR { return hn::LoadU(d, src); });
  }
  if (p < args.k) {
    const auto rest = static_cast<std::size_t>(args.k - p);
    step(p, [&](const T* src) HWY_ATTR { return load_first(d, src, rest); });
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    T* dst = args.c + i * args.c_row;
    if constexpr (C == 4) {
      store_sums(d, sum[i], dst, args.accumulate);
    } else {
      static_assert(C == 1);
      const T result = hn::GetLane(hn::SumOfLanes(d, sum[i][0]));
      *dst = args.accumulate ? *dst + result : result;
    }
  }
}

template <int R, class T>
void row_of_dots(DotArgs<T> args, std::int64_t columns) {
  for (; columns >= 4; columns -= 4) {
    dots<R, 4>(args);
    args.b += 4 * args.b_col;
    args.c += 4;
  }
  for (; columns > 0; --columns) {
    dots<R, 1>(args);
    args.b += args.b_col;
    args.c += 1;
  }
}

template <class T>
void multiply_all(const Product<T>& product) {
  static_assert(kDotRows == 4);
  constexpr void (*kRows[])(DotArgs<T>, std::int64_t) = {row_of_dots<1, T>, row_of_dots<2, T>,
                                                         row_of_dots<3, T>, row_of_dots<4, T>};
  HWY_ALIGN T copy[kDotRows * kBlockDepth<T>];
  const std::int64_t tiles = (product.m + kDotRows - 1) / kDotRows;
  // Only what is copied has to be cut along k.
  const std::int64_t depth = product.a_col == 1 ? product.k : kBlockDepth<T>;
  const std::int64_t blocks = (product.k + depth - 1) / depth;
  // With several tiles of rows, as many columns at a time as fill half of the first cache.
  const std::int64_t block_columns =
      tiles == 1 ? product.n
                 : 4 * std::max<std::int64_t>(1, 2 * kBlockDepth<T> / std::min(product.k, depth));
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = block * product.k / blocks;
    const std::int64_t k = (block + 1) * product.k / blocks - first;
    for (std::int64_t column = 0; column < product.n; column += block_columns) {
      for (std::int64_t t = 0; t < tiles; ++t) {
        const std::int64_t row = t * product.m / tiles;
        const std::int64_t rows = (t + 1) * product.m / tiles - row;
        DotArgs<T> args{product.a + row * product.a_row + first * product.a_col,
                        product.a_row,
                        product.b + first + column * product.b_col,
                        product.b_col,
                        product.c + row * product.c_row + column,
                        product.c_row,
                        k,
                        block > 0};
        if (product.a_col != 1) {
          for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t p = 0; p < k; ++p) {
              copy[i * k + p] = args.a[i * product.a_row + p * product.a_col];
            }
          }
          args.a = copy;
          args.a_row = k;
        }
        kRows[rows - 1](args, std::min(block_columns, product.n - column));
      }
    }
  }
}

void dots_f32(const Product<float>& product) { multiply_all(product); }
void dots_f64(const Product<double>& product) { multiply_all(product); }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(dots_f32);
HWY_EXPORT(dots_f64);

void multiply_dots(const Product<float>& product) noexcept {
  HWY_DYNAMIC_DISPATCH(dots_f32)(product);
}
void multiply_dots(const Product<double>& product) noexcept {
  HWY_DYNAMIC_DISPATCH(dots_f64)(product);
}

}  // namespace tenure::cpu
#endif
