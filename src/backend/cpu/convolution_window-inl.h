// Filling tables of pointers for convolutions, and rows of tiles.
#include <cstdint>
#include <utility>

#include "backend/cpu/convolution_walk.h"
#include "backend/cpu/lanes-inl.h"
#include "hwy/highway.h"

#if defined(TENURE_BACKEND_CPU_CONVOLUTION_WINDOW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_BACKEND_CPU_CONVOLUTION_WINDOW_INL_H
#undef TENURE_BACKEND_CPU_CONVOLUTION_WINDOW_INL_H
#else
#define TENURE_BACKEND_CPU_CONVOLUTION_WINDOW_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {

// table[i]: the address of channel `channel` of what the tap reads for pixel i.
template <class T, int kSize>
HWY_INLINE void fill_table(const Walk<T>& walk, const Window<T, kSize>& window, const Tap<T>& tap,
                           std::int64_t channel, std::uintptr_t* HWY_RESTRICT table) {
  std::int64_t distance[3];
  std::int64_t pixel = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    distance[a] = tap.distance(a);
    pixel = pixel * walk.axes[a].src_size + distance[a];
  }
  const auto size0 = static_cast<std::uint64_t>(walk.axes[0].src_size);
  const auto size1 = static_cast<std::uint64_t>(walk.axes[1].src_size);
  const auto size2 = static_cast<std::uint64_t>(walk.axes[2].src_size);
  const std::uintptr_t offset =
      static_cast<std::uintptr_t>(pixel * walk.src_row + channel) * sizeof(T);
  const std::uintptr_t zeros = reinterpret_cast<std::uintptr_t>(walk.zeros);
  const std::int64_t* HWY_RESTRICT at0 = window.at[0].data();
  const std::int64_t* HWY_RESTRICT at1 = window.at[1].data();
  const std::int64_t* HWY_RESTRICT at2 = window.at[2].data();
  const std::uintptr_t* HWY_RESTRICT base = window.base.data();
  const std::int64_t d0 = distance[0], d1 = distance[1], d2 = distance[2];
  TENURE_VECTORISE
  for (int i = 0; i < kSize; ++i) {
    const bool inside = (static_cast<std::uint64_t>(at0[i] + d0) < size0) &
                        (static_cast<std::uint64_t>(at1[i] + d1) < size1) &
                        (static_cast<std::uint64_t>(at2[i] + d2) < size2);
    table[i] = inside ? base[i] + offset : zeros;
  }
}

// Vectors of a tile's columns: with six rows, as many as leave registers for the other operands.
#if HWY_TARGET == HWY_AVX3
constexpr int kTileVectors = 4;
#else
constexpr int kTileVectors = 2;
#endif
constexpr int kTileRows = 6;

// Calls tile.template operator()<rows, vectors, partial>(first_row, first_column, lanes) to cover
// `rows` x `columns`; only the last vector of a row may be partial.
template <int V, bool kPartial, class F>
HWY_INLINE void cover_rows(int rows, std::int64_t column, std::size_t lanes, const F& tile) {
  const int parts = (rows + kTileRows - 1) / kTileRows;
  for (int part = 0; part < parts; ++part) {
    const int first = part * rows / parts;
    switch ((part + 1) * rows / parts - first) {
      case 1:
        tile.template operator()<1, V, kPartial>(first, column, lanes);
        break;
      case 2:
        tile.template operator()<2, V, kPartial>(first, column, lanes);
        break;
      case 3:
        tile.template operator()<3, V, kPartial>(first, column, lanes);
        break;
      case 4:
        tile.template operator()<4, V, kPartial>(first, column, lanes);
        break;
      case 5:
        tile.template operator()<5, V, kPartial>(first, column, lanes);
        break;
      default:
        tile.template operator()<6, V, kPartial>(first, column, lanes);
        break;
    }
  }
}

template <class T, class F>
HWY_INLINE void cover(int rows, std::int64_t columns, const F& tile) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  std::int64_t column = 0;
#if HWY_TARGET == HWY_AVX3
  for (; columns - column >= 4 * lanes; column += 4 * lanes)
    cover_rows<4, false>(rows, column, 0, tile);
#endif
  for (; columns - column >= 2 * lanes; column += 2 * lanes)
    cover_rows<2, false>(rows, column, 0, tile);
  for (; columns - column >= lanes; column += lanes) cover_rows<1, false>(rows, column, 0, tile);
  if (column < columns) {
    cover_rows<1, true>(rows, column, static_cast<std::size_t>(columns - column), tile);
  }
}

}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
