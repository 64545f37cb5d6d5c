// Matrix products of stacks of matrices: how one is cut into the pieces that threads compute.
//
// A stack times one matrix is a single product with more rows. What is left is cut by items of the
// stack, or each item by rows and columns, into equal pieces: as many as threads can use, or a few
// times that where they are large, so that a thread that is held up is helped. A piece is computed
// alone, in scratch of its thread's, so threads never wait for each other. Where a piece ends does
// not change a bit of the result.
//
// An epilogue follows on each piece's rows, some at a time, or on the whole where pieces are ranges
// of columns. Where the result has no memory, pieces are ranges of rows, and a thread makes some
// rows at a time in its scratch; all of them, if B must be packed.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/matmul_stack.h"
#include "backend/cpu/matmul_tiles.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/transposed.h"
#include "ops/attrs.h"

namespace tenure::cpu {
namespace {

constexpr std::int64_t kWorthAThread = 8192;  // multiply-adds of 64-byte vectors
constexpr std::int64_t kWorthARound = 64 * kWorthAThread;
constexpr std::int64_t kMostRounds = 4;  // of pieces for each thread
constexpr double kWorthFewerRounds = 0.92;
constexpr std::int64_t kNearBytes = 512 * 1024;

// Rows after which an epilogue follows: as many as stay in the cache, but not so few that fetching
// B again for the next ones would show.
constexpr std::int64_t kEpilogueBytes = 64 * 1024;
constexpr std::int64_t kLeastEpilogueRows = 48;

constexpr std::int64_t kRowsAtOnce = 12;  // of a result that has no memory

// How each item is cut.
struct Cut {
  std::int64_t rows = 1;     // ranges of rows
  std::int64_t columns = 1;  // ranges of columns
  std::int64_t slots = 1;    // of scratch, and threads that can work at once
  std::int64_t pieces() const { return rows * columns; }
};

template <class T>
Cut cut(const Stack<T>& stack, std::int64_t slots) {
  const Product<T>& p = stack.product;
  constexpr std::int64_t kLanes = 64 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t work = stack.items * p.m * ceil_div(p.n, kLanes) * p.k;
  slots = std::min(slots, work / kWorthAThread);
  if (slots <= 1) return {};
  Cut best{.slots = slots};
  if (stack.items % slots == 0 || stack.items >= 4 * slots) return best;
  const std::int64_t units = ceil_div(p.n, kTileColumns<T>);
  const std::int64_t block_units = block_columns() / kTileColumns<T>;
  // In multiply-adds of two vectors: fetching a column of B costs about as much as multiplying it
  // by three rows, and packing it as much as two more, or five more if it lies across. A row of an
  // A that is in no near cache costs as much as one vector of columns, for each block of columns.
  const std::int64_t column = (p.read_b == ReadB::packed ? 8 : pays_for_packing(p) ? 5 : 3) * p.k;
  const bool far = p.m * p.k * static_cast<std::int64_t>(sizeof(T)) > kNearBytes;
  const auto cost_of = [&](std::int64_t rows, std::int64_t columns) {
    const std::int64_t height = ceil_div(p.m, rows), width = ceil_div(units, columns);
    // Rows of A that several ranges of columns read are fetched anew by each, which shows where k
    // is short.
    const std::int64_t row = p.k + (columns > 1 ? 16 : 0);
    const std::int64_t fetches = far ? height * p.k * ceil_div(width, block_units) : 0;
    return static_cast<double>(width * (height * row + column) + fetches);
  };
  double least = 0;
  const std::int64_t most_rounds =
      std::clamp<std::int64_t>(work / (slots * kWorthARound), 1, kMostRounds);
  for (std::int64_t rounds = most_rounds; rounds >= 1; rounds /= 2) {
    const std::int64_t pieces = slots * rounds;
    // Fewer rounds have to be worth it.
    double least_here = rounds == most_rounds ? 0 : least * kWorthFewerRounds;
    for (std::int64_t columns = std::min(pieces, units); columns >= 1; --columns) {
      if (pieces % columns != 0) continue;
      const std::int64_t rows = std::min(p.m, pieces / columns);
      const double cost = cost_of(rows, columns) * static_cast<double>(rounds);
      if (least_here == 0 || cost < least_here) {
        least = least_here = cost;
        best = {rows, columns, slots};
      }
    }
  }
  return best;
}

// One product whose rows are whole rows of the results, of which the first is element `begin`.
template <class T>
void multiply_rows(Product<T> p, std::int64_t begin, const ops::Epilogue& epilogue) {
  const auto row_bytes = p.n * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t most = !epilogue || p.read_b == ReadB::packed
                                ? p.m
                                : std::max(kLeastEpilogueRows, kEpilogueBytes / row_bytes);
  for (std::int64_t left = p.m; left > 0; left -= p.m) {
    p.m = std::min(left, most);
    multiply(p);
    if (epilogue) epilogue(begin, begin + p.m * p.n);
    begin += p.m * p.n;
    p.a += p.m * p.a_row;
    p.c += p.m * p.c_row;
  }
}

template <class T>
void multiply_piece(const Stack<T>& stack, const Cut& cut, std::int64_t index, T* panels,
                    const ops::Epilogue& epilogue) {
  Product<T> p = stack.product;
  const std::int64_t range = index % (cut.rows * cut.columns);
  const std::int64_t item = index / (cut.rows * cut.columns);
  const std::int64_t row = range / cut.columns;
  const std::int64_t column = range % cut.columns;
  const std::int64_t units = ceil_div(p.n, kTileColumns<T>);
  const std::int64_t first_row = row * p.m / cut.rows;
  const std::int64_t first_column = column * units / cut.columns * kTileColumns<T>;
  const std::int64_t last_column = (column + 1) * units / cut.columns * kTileColumns<T>;
  p.c += item * p.m * p.n + first_row * p.c_row + first_column;
  p.a += offset_of(*stack.a, *stack.out, item) + first_row * p.a_row;
  p.b += offset_of(*stack.b, *stack.out, item) + first_column * p.b_col;
  p.m = (row + 1) * p.m / cut.rows - first_row;
  p.n = std::min(p.n, last_column) - first_column;
  p.panels = panels;
  if (panels != nullptr && pays_for_packing(p)) p.read_b = ReadB::packed;
  multiply_rows(p, item * stack.product.m * stack.product.n + first_row * p.c_row,
                cut.columns == 1 ? epilogue : ops::Epilogue());
}

// How a product whose result has no memory is made, whatever number of threads there will be.
template <class T>
struct InPieces {
  std::int64_t slots;  // threads, each of which has a range of rows of all items
  std::int64_t rows;   // that one makes at once
  std::size_t panel_room, slot_bytes;

  explicit InPieces(const Stack<T>& stack) {
    const Product<T>& p = stack.product;
    constexpr std::int64_t kLanes = 64 / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t all_rows = stack.items * p.m;
    const std::int64_t work = all_rows * ceil_div(p.n, kLanes) * p.k;
    slots = std::clamp<std::int64_t>(work / kWorthAThread, 1, std::min(max_slots(), all_rows));
    const bool packs = p.read_b == ReadB::packed;
    rows = std::min(ceil_div(all_rows, slots), packs ? p.m : kRowsAtOnce);
    panel_room = packs ? panel_bytes(p) : 0;
    const auto bytes = static_cast<std::size_t>(rows * p.n) * sizeof(T) + panel_room;
    slot_bytes = (bytes + 63) / 64 * 64;
  }
};

// Rows [begin, end) of all items.
template <class T>
void multiply_in_pieces(const Stack<T>& stack, const InPieces<T>& pieces, std::byte* room,
                        std::int64_t begin, std::int64_t end, const ops::Epilogue& epilogue) {
  Product<T> p = stack.product;
  p.panels = reinterpret_cast<T*>(room);
  p.c = reinterpret_cast<T*>(room + pieces.panel_room);
  p.c_row = p.n;
  for (std::int64_t row = begin; row < end; row += p.m) {
    const std::int64_t item = row / stack.product.m, first = row % stack.product.m;
    p.m = std::min({pieces.rows, end - row, stack.product.m - first});
    p.a = stack.product.a + offset_of(*stack.a, *stack.out, item) + first * p.a_row;
    p.b = stack.product.b + offset_of(*stack.b, *stack.out, item);
    if (p.k > 0) {
      multiply(p);
    } else {
      std::fill_n(p.c, p.m * p.n, T{0});
    }
    epilogue(row * p.n, (row + p.m) * p.n, reinterpret_cast<std::byte*>(p.c));
  }
}

// B in the form that packed_b() asks for.
template <class T>
void read_form(Product<T>& p, const std::byte* form) {
  p.b = reinterpret_cast<const T*>(form);
  p.b_row = p.n;
  p.b_col = 1;
  p.read_b = ReadB::in_place;
}

template <class T>
void matmul_float(const ops::KernelArgs& args) noexcept {
  Stack<T> stack = stack_of<T>(args);
  Product<T>& p = stack.product;
  if (stack.items == 0 || p.m == 0 || p.n == 0) return;
  if (p.k == 0 && !args.in_pieces) {
    std::memset(p.c, 0, static_cast<std::size_t>(stack.items * p.m * p.n) * sizeof(T));
    if (args.epilogue) args.epilogue(0, args.out[0].numel());
    return;
  }
  p.read_b = how_to_read_b(p);
  if (args.form != nullptr) read_form(p, args.form);
  if (args.in_pieces) {
    const InPieces<T> pieces(stack);
    const std::int64_t rows = stack.items * p.m;
    const std::int64_t slots = std::min<std::int64_t>(pieces.slots, num_threads());
    // Where B must be packed, each range of rows packs it.
    const std::int64_t ranges =
        slots * (p.read_b == ReadB::packed
                     ? 1
                     : std::clamp<std::int64_t>(rows / (slots * kRowsAtOnce), 1, kMostRounds));
    parallel_seated(ranges, slots, [&](std::int64_t range, std::int64_t seat) {
      multiply_in_pieces(stack, pieces,
                         args.scratch + static_cast<std::size_t>(seat) * pieces.slot_bytes,
                         range * rows / ranges, (range + 1) * rows / ranges, args.epilogue);
    });
    return;
  }
  p.panels = reinterpret_cast<T*>(args.scratch);
  const Cut c = cut(stack, std::min<std::int64_t>(max_slots(), num_threads()));
  parallel_seated(stack.items * c.pieces(), c.slots, [&](std::int64_t piece, std::int64_t seat) {
    T* panels = p.panels;
    if (panels != nullptr) panels += seat * static_cast<std::int64_t>(panel_bytes(p) / sizeof(T));
    multiply_piece(stack, c, piece, panels, args.epilogue);
  });
  if (args.epilogue && c.columns > 1) {
    parallel_for(args.out[0].numel(), kSerialMathElements,
                 [&](std::int64_t begin, std::int64_t end) { args.epilogue(begin, end); });
  }
}

template <class T>
std::size_t float_scratch_bytes(const ops::KernelArgs& args) noexcept {
  if (args.out[0].numel() == 0) return 0;
  Stack<T> stack = stack_of<T>(args);
  Product<T>& p = stack.product;
  p.read_b = how_to_read_b(p);
  if (args.in_pieces) {
    const InPieces<T> pieces(stack);
    return static_cast<std::size_t>(pieces.slots) * pieces.slot_bytes;
  }
  if (p.k == 0) return 0;
  if (args.form != nullptr) read_form(p, args.form);
  if (p.read_b != ReadB::packed && !pays_for_packing(p)) return 0;
  return static_cast<std::size_t>(cut(stack, max_slots()).slots) * panel_bytes(p);
}

// One B for all rows that would be packed: in that form it is read in place, with the same bits.
template <class T>
ops::WantedForm packed_b(const ops::KernelArgs& args) noexcept {
  const int columns = args.attrs.as<ops::MatmulAttrs>().transpose_b ? -2 : -1;
  if ((*args.in[1].strides)[columns] == 1) return {};  // the usual case
  const Stack<T> stack = stack_of<T>(args);
  const Product<T>& p = stack.product;
  const bool whole = stack.items == 1 && stack.b == &args.in[1] && p.b_row == 1 && p.b_col == p.k;
  if (!whole || args.out[0].numel() == 0 || p.k == 0 || how_to_read_b(p) != ReadB::packed) {
    return {};
  }
  return transposed<T>(1, 1, p.n, p.k);
}

// Rows [begin, end) of one product. Integers wrap, which only unsigned ones may.
template <class U>
void multiply_integers(const Product<U>& p, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const U* a = p.a + i * p.a_row;
    U* dst = p.c + i * p.c_row;
    const std::int64_t n = p.n;
    const std::int64_t k = p.k;
    if (p.b_col == 1) {
      std::fill_n(dst, n, U{0});
      for (std::int64_t q = 0; q < k; ++q) {
        const U factor = a[q * p.a_col];
        const U* row = p.b + q * p.b_row;
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j) dst[j] += factor * row[j];
      }
    } else {
      for (std::int64_t j = 0; j < n; ++j) {
        const U* column = p.b + j * p.b_col;
        U sum = 0;
        for (std::int64_t q = 0; q < k; ++q) sum += a[q * p.a_col] * column[q];
        dst[j] = sum;
      }
    }
  }
}

template <class T>
void matmul_integer(const ops::KernelArgs& args) noexcept {
  using U = std::make_unsigned_t<T>;
  Stack<U> stack = stack_of<U>(args);
  const Product<U>& p = stack.product;
  if (stack.items == 0 || p.m == 0 || p.n == 0) return;
  const std::int64_t row_work = std::max<std::int64_t>(1, p.n * p.k);
  const std::int64_t grain = ceil_div(kSerialElements, row_work);
  parallel_for(stack.items * p.m, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t item = at / p.m;
      const std::int64_t first = at % p.m;
      const std::int64_t last = std::min(p.m, first + end - at);
      Product<U> piece = p;
      piece.a += offset_of(*stack.a, *stack.out, item);
      piece.b += offset_of(*stack.b, *stack.out, item);
      piece.c += item * p.m * p.n;
      multiply_integers(piece, first, last);
      at += last - first;
    }
  });
}

}  // namespace

std::span<const ops::KernelRow> matmul_kernels() {
  static constexpr ops::KernelRow rows[] = {
      {.op = "matmul",
       .dtype = DType::float32,
       .run = matmul_float<float>,
       .scratch_bytes = float_scratch_bytes<float>,
       .takes_epilogue = ops::TakesEpilogue::in_pieces,
       .wanted_form = packed_b<float>},
      {.op = "matmul",
       .dtype = DType::float64,
       .run = matmul_float<double>,
       .scratch_bytes = float_scratch_bytes<double>,
       .takes_epilogue = ops::TakesEpilogue::in_pieces,
       .wanted_form = packed_b<double>},
      {"matmul", DType::int32, matmul_integer<std::int32_t>},
      {"matmul", DType::int64, matmul_integer<std::int64_t>},
  };
  return rows;
}

}  // namespace tenure::cpu
