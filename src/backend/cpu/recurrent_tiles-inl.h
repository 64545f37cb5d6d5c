// What the time loops of recurrent kernels are made of: products of a few rows with weights that
// are read again at every step, and activations.
//
// Weights are packed once a call into panels: for a block of units (one vector), the columns that
// are needed together (the gates of those units, or up to four such blocks) lie side by side for
// each row of the weights, so that a step reads them from end to end. A tile of a few rows and one
// panel is summed in registers, in the order of the weights' rows, so that its bits do not depend
// on the rows around it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "hwy/highway.h"
#include "tenure/recurrent.h"

#if defined(TENURE_BACKEND_CPU_RECURRENT_TILES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_BACKEND_CPU_RECURRENT_TILES_INL_H
#undef TENURE_BACKEND_CPU_RECURRENT_TILES_INL_H
#else
#define TENURE_BACKEND_CPU_RECURRENT_TILES_INL_H
#endif

#include "backend/cpu/lanes-inl.h"
#include "backend/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {

// Rows of a tile four vectors wide.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kStepRows = 6;
#else
inline constexpr int kStepRows = 2;
#endif
inline constexpr int kPanelVectors = 4;

template <class T>
HWY_INLINE std::int64_t lanes_of() {
  return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
}

template <class D, class V>
HWY_INLINE V activate(D d, Activation activation, V x) {
  using T = hn::TFromD<D>;
  switch (activation) {
    case Activation::tanh:
      return HWY_NAMESPACE::tanh(d, x);
    case Activation::sigmoid:
      return HWY_NAMESPACE::sigmoid(d, x);
    case Activation::relu:
      return at_least(d, x, 0);
    case Activation::hard_sigmoid: {
      const V slope = hn::Set(d, static_cast<T>(0.2)), middle = hn::Set(d, static_cast<T>(0.5));
      return at_least(d, at_most(d, hn::MulAdd(x, slope, middle), 1), 0);
    }
    default:  // linear
      break;
  }
  return x;
}

// dy times the activation's derivative where its value is y.
template <class D, class V>
HWY_INLINE V deactivate(D d, Activation activation, V y, V dy) {
  using T = hn::TFromD<D>;
  const V zero = hn::Zero(d), one = hn::Set(d, 1);
  switch (activation) {
    case Activation::tanh:
      return hn::Mul(dy, hn::NegMulAdd(y, y, one));
    case Activation::sigmoid:
      return hn::Mul(dy, hn::Mul(y, hn::Sub(one, y)));
    case Activation::relu:
      return hn::IfThenElseZero(hn::Gt(y, zero), dy);
    case Activation::hard_sigmoid:
      return hn::IfThenElseZero(hn::And(hn::Gt(y, zero), hn::Lt(y, one)),
                                hn::Mul(dy, hn::Set(d, static_cast<T>(0.2))));
    default:  // linear
      break;
  }
  return dy;
}

// One vector of a row of which `left` elements remain.
template <class D, class T = hn::TFromD<D>>
struct Part {
  D d;
  std::int64_t left;
  HWY_INLINE bool is_whole() const { return left >= static_cast<std::int64_t>(hn::Lanes(d)); }
  HWY_INLINE hn::Vec<D> load(const T* src) const {
    return is_whole() ? hn::LoadU(d, src) : load_first(d, src, static_cast<std::size_t>(left));
  }
  HWY_INLINE void store(hn::Vec<D> v, T* dst) const {
    if (is_whole()) {
      hn::StoreU(v, d, dst);
    } else {
      store_first(d, v, dst, static_cast<std::size_t>(left));
    }
  }
};

// Calls fn(part, first) for each vector of `count` elements.
template <class T, class F>
HWY_INLINE void each_part(std::int64_t count, F&& fn) {
  const hn::ScalableTag<T> d;
  for (std::int64_t first = 0; first < count; first += lanes_of<T>()) {
    fn(Part<decltype(d)>{d, count - first}, first);
  }
}

template <class T>
struct StepTile {
  const T* a;  // rows of the left matrix
  std::int64_t a_row;
  const T* w;  // element (p, v) of the panel is the vector at w[p * w_row + v * w_vector]
  std::int64_t w_row;
  std::int64_t w_vector;
  std::int64_t k;
  T* dst;  // [rows][vectors][lanes]
};

template <int R, int V, class T>
void step_tile(const StepTile<T>& args) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const auto lanes = lanes_of<T>();
  Vec sum[R][V];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[i][v] = hn::Zero(d);
  }
  const T* HWY_RESTRICT a = args.a;
  const T* HWY_RESTRICT w = args.w;
  const std::int64_t a_row = args.a_row, w_row = args.w_row, w_vector = args.w_vector;
  for (std::int64_t p = 0; p < args.k; ++p) {
    Vec row[V];
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) row[v] = hn::LoadU(d, w + v * w_vector);
    const T* element = a + p;
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Vec factor = hn::Set(d, *element);
      element += a_row;
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[i][v] = hn::MulAdd(factor, row[v], sum[i][v]);
    }
    w += w_row;
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) hn::Store(sum[i][v], d, args.dst + (i * V + v) * lanes);
  }
}

template <class T>
using StepTileFn = void (*)(const StepTile<T>&);

template <class T>  // entry (rows - 1) * kPanelVectors + vectors - 1
constexpr std::array<StepTileFn<T>, kStepRows * kPanelVectors> kStepTiles =
    []<int... i>(std::integer_sequence<int, i...>) {
      return std::array<StepTileFn<T>, kStepRows * kPanelVectors>{
          &step_tile<i / kPanelVectors + 1, i % kPanelVectors + 1, T>...};
    }(std::make_integer_sequence<int, kStepRows * kPanelVectors>());

// Weights as panels: packed, or where they lie if they are read too seldom for packing to pay.
template <class T>
struct Panels {
  const T* data = nullptr;
  std::int64_t k = 0;      // rows
  std::int64_t units = 0;  // columns, or columns of each gate
  int gates = 0;           // that a panel has of one block of units; 0: it has four blocks
  std::int64_t row = 0;    // between rows where the weights lie in place; 0: packed

  std::int64_t blocks_at_once() const { return gates != 0 ? 1 : kPanelVectors; }
  int vectors(std::int64_t block) const {
    const std::int64_t blocks = (units + lanes_of<T>() - 1) / lanes_of<T>();
    return gates != 0 ? gates
                      : static_cast<int>(std::min<std::int64_t>(kPanelVectors, blocks - block));
  }
};

// How many elements panels take.
template <class T>
std::int64_t panel_elements(std::int64_t k, std::int64_t units, int gates) {
  const std::int64_t lanes = lanes_of<T>();
  return (units + lanes - 1) / lanes * lanes * std::max(1, gates) * k;
}

// Element (p, g * units + u) of the weights is src[p * src_row + g * units + u].
template <class T>
Panels<T> pack(const T* src, std::int64_t src_row, std::int64_t k, std::int64_t units, int gates,
               T* HWY_RESTRICT dst) {
  Panels<T> panels{dst, k, units, gates, 0};
  const std::int64_t lanes = lanes_of<T>();
  for (std::int64_t block = 0; block * lanes < units; block += panels.blocks_at_once()) {
    const int vectors = panels.vectors(block);
    for (std::int64_t p = 0; p < k; ++p) {
      for (int v = 0; v < vectors; ++v, dst += lanes) {
        const std::int64_t unit = (gates != 0 ? block : block + v) * lanes;
        const std::int64_t count = std::min(lanes, units - unit);
        std::memcpy(dst, src + p * src_row + (gates != 0 ? v * units : 0) + unit,
                    static_cast<std::size_t>(count) * sizeof(T));
        std::fill(dst + count, dst + lanes, T{0});
      }
    }
  }
  return panels;
}

// The same of transposed weights without gates: element (p, u) is src[u * src_row + p]. A vector of
// a panel is filled from end to end, which takes no more lines of src at a time than it has lanes.
template <class T>
Panels<T> pack_transposed(const T* src, std::int64_t src_row, std::int64_t k, std::int64_t units,
                          T* HWY_RESTRICT dst) {
  const Panels<T> panels{dst, k, units, 0, 0};
  const std::int64_t lanes = lanes_of<T>();
  for (std::int64_t block = 0; block * lanes < units; block += panels.blocks_at_once()) {
    const int vectors = panels.vectors(block);
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t unit = (block + v) * lanes;
      const std::int64_t count = std::min(lanes, units - unit);
      const T* from = src + unit * src_row;
      for (std::int64_t p = 0; p < k; ++p) {
        T* to = dst + (p * vectors + v) * lanes;
        for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * src_row + p];
        std::fill(to + count, to + lanes, T{0});
      }
    }
    dst += k * vectors * lanes;
  }
  return panels;
}

// Multiplies rows [begin, end) of `a` with the panels. For each tile it calls finish(row, rows,
// unit, vectors, sums): sums[(i * vectors + v) * lanes] are those of row + i.
template <class T, class Rows, class F>
void multiply_step(const Panels<T>& panels, const Rows& a, std::int64_t begin, std::int64_t end,
                   F&& finish) {
  HWY_ALIGN T sums[kStepRows * kPanelVectors * hn::MaxLanes(hn::ScalableTag<T>())];
  const std::int64_t lanes = lanes_of<T>(), rows = end - begin;
  const std::int64_t tiles = (rows + kStepRows - 1) / kStepRows;
  const T* packed = panels.data;
  for (std::int64_t block = 0; block * lanes < panels.units; block += panels.blocks_at_once()) {
    const int vectors = panels.vectors(block);
    StepTile<T> tile{.a = nullptr,
                     .a_row = a.stride,
                     .w = packed,
                     .w_row = vectors * lanes,
                     .w_vector = lanes,
                     .k = panels.k,
                     .dst = sums};
    if (panels.row != 0) {
      tile.w = panels.data + block * lanes;
      tile.w_row = panels.row;
      if (panels.gates != 0) tile.w_vector = panels.units;
    }
    packed += panels.k * vectors * lanes;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t row = begin + t * rows / tiles;
      const auto count = static_cast<int>(begin + (t + 1) * rows / tiles - row);
      tile.a = a[row];
      kStepTiles<T>[static_cast<std::size_t>((count - 1) * kPanelVectors + vectors - 1)](tile);
      finish(row, count, block * lanes, vectors, static_cast<const T*>(sums));
    }
  }
}

}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
