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

// What a place of the table says. Addresses are integers there because vectors pick among them.
template <class T>
HWY_INLINE const T* pointer_to(std::uintptr_t address) {
  return reinterpret_cast<const T*>(address);  // NOLINT(performance-no-int-to-ptr): as above
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
