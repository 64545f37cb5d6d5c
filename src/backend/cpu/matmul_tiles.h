// The matrix product C = A B of float32 and float64 on one thread; matmul.cpp calls it for every
// piece it cuts a product into.
//
// C is computed in register tiles of a few rows and two vectors of columns: each step along k loads
// two vectors of B, broadcasts one element of every row of A, and multiplies and adds. Only reuse
// from cache makes that fast, so k is cut into blocks of kBlockDepth and n into kBlockColumns: a
// block of B stays in the second cache while the rows of A pass over it, a tile's rows of A stay in
// the first. B is packed first, into panels two vectors wide: where its columns are what lies
// together, and where enough rows of A pass over it to pay for that. A B whose rows lie whole pages
// apart, as those of every power of two from 1024 on, fits no cache otherwise: its rows evict each
// other. Rows of A that do are copied to the stack, a tile at a time.
//
// Every element of C is summed in the order of k within a block of k, and then in the order of the
// blocks. So its bits depend neither on the tile it fell into nor on how the product was cut.
//
// Few rows times a transposed B are the exception: there k runs along the vectors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tenure::cpu {

// How B is read. Part of a product's result, so it is chosen for a whole product, not for a piece.
enum class ReadB : std::uint8_t { in_place, packed, by_dots };

template <class T>
struct Product {
  const T* a;  // element (i, p) is a[i * a_row + p * a_col]
  std::int64_t a_row;
  std::int64_t a_col;
  const T* b;  // element (p, j) is b[p * b_row + j * b_col]; one of the two strides is 1
  std::int64_t b_row;
  std::int64_t b_col;
  T* c;  // element (i, j) is c[i * c_row + j]
  std::int64_t c_row;
  std::int64_t m;  // all three are positive
  std::int64_t n;
  std::int64_t k;
  ReadB read_b;
  T* panels;                // panel_bytes of room if B is packed
  bool accumulate = false;  // add to C; not by dots
};

// Of B, what stays in the second cache. The depth is the same everywhere: bits depend on it.
std::int64_t block_columns();
template <class T>
inline constexpr std::int64_t kBlockDepth = 2048 / static_cast<std::int64_t>(sizeof(T));

// Column ranges given to different threads should start at multiples of this: two vectors.
template <class T>
inline constexpr std::int64_t kTileColumns = 128 / static_cast<std::int64_t>(sizeof(T));

// Columns of B that are packed at once: few where few rows of A pass over them.
template <class T>
std::int64_t packed_columns(const Product<T>& product) {
  return product.m < 128 ? 2 * kTileColumns<T> : block_columns();
}

// Room for the largest block of B that is packed at once, by this product or a piece of it.
template <class T>
std::size_t panel_bytes(const Product<T>& product) {
  const std::int64_t tiles = (product.n + kTileColumns<T> - 1) / kTileColumns<T>;
  const std::int64_t columns = std::min(packed_columns(product), tiles * kTileColumns<T>);
  const std::int64_t depth = std::min(kBlockDepth<T>, product.k);
  return static_cast<std::size_t>(columns * depth) * sizeof(T);
}

// Whether so many rows pay for packing a B whose rows lie as C's do. The result is the same.
template <class T>
bool pays_for_packing(const Product<T>& product) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if (product.read_b != ReadB::in_place) return false;
  const bool collides = product.b_row * kSize % 4096 == 0;
  return product.m >= (collides ? 8 : 32) && product.k * product.n * kSize >= 256 * 1024;
}

template <class T>
ReadB how_to_read_b(const Product<T>& product) {
  if (product.b_col == 1) return ReadB::in_place;
  const bool long_dots = product.k * static_cast<std::int64_t>(sizeof(T)) >= 256;
  return product.m <= (long_dots ? 24 : 4) ? ReadB::by_dots : ReadB::packed;
}

void multiply_tiles(const Product<float>& product) noexcept;
void multiply_tiles(const Product<double>& product) noexcept;
void multiply_dots(const Product<float>& product) noexcept;  // matmul_dots.cpp
void multiply_dots(const Product<double>& product) noexcept;

template <class T>
void multiply(const Product<T>& product) noexcept {
  product.read_b == ReadB::by_dots ? multiply_dots(product) : multiply_tiles(product);
}

}  // namespace tenure::cpu
