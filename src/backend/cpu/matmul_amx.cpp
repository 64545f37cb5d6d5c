// The matrix unit multiplies tiles: 16 rows of A, 32 deep, with as many columns of B, into 16 x 16
// float32 sums. A block of C is 32 x 32, in four tiles that stay in the unit from the first k to
// the last, so that sums are rounded to bfloat16 once; two tiles of A and two of B pass through for
// each 32 of k.
//
// B is rearranged first, by all threads, into panels 32 columns wide in which two neighbours of a
// column lie side by side, as the unit wants them. Then each piece of work, a range of rows and a
// range of panels, rearranges its rows of A into tiles, as many as stay in the second cache, and
// multiplies. Zeros fill up what the sizes leave of a tile.
#include "backend/cpu/matmul_amx.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/highway_targets.h"
#include "backend/cpu/matmul_stack.h"
#include "backend/cpu/parallel.h"
#include "core/half.h"
#include "hwy/targets.h"
#include "ops/arithmetic.h"
#include "ops/op_def.h"

#define TENURE_AMX __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw")))

namespace tenure::cpu {
namespace {

using Half = std::uint16_t;  // the bits of a bfloat16
using HalfStack = Stack<Half>;

constexpr std::int64_t kEdge = 32;  // rows and columns of a block of C, and a step along k
constexpr std::int64_t kTile = kEdge * kEdge;     // elements of A or B that a block takes in a step
constexpr std::int64_t kNearBytes = 1024 * 1024;  // rows of A in the second cache
constexpr std::int64_t kLeastRows = 16;
constexpr std::int64_t kLeastWork = 32 * 32 * 32;
constexpr std::int64_t kWorthAPiece = 1 << 23;  // multiply-adds
constexpr std::int64_t kMostRounds = 4;         // of pieces for each thread

ops::Kernel other_kernel;  // of products that are too small

bool machine_has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBf16 = 1U << 22, kTiles = 1U << 24;
  if ((d & kBf16) == 0 || (d & kTiles) == 0) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // the kernel's names for both
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// How a call is cut. Bits do not depend on it.
struct Blocks {
  std::int64_t depth;   // steps of kEdge along k
  std::int64_t panels;  // of B
  std::int64_t rows;    // blocks of rows of C that a piece has
  std::int64_t row_ranges, panel_ranges;
  std::int64_t b_items;  // matrices of B
  std::size_t panel_bytes, a_bytes, seat_bytes;

  Blocks(const HalfStack& stack, std::int64_t threads) {
    const Product<Half>& p = stack.product;
    depth = ceil_div(p.k, kEdge);
    panels = ceil_div(p.n, kEdge);
    b_items = items_of(*stack.b->shape);
    const std::int64_t all_rows = ceil_div(p.m, kEdge);
    const std::int64_t work = stack.items * p.m * p.n * p.k;
    const std::int64_t pieces =
        std::clamp<std::int64_t>(work / kWorthAPiece, 1, kMostRounds * threads);
    const auto tile_bytes = static_cast<std::int64_t>(kTile * sizeof(Half));
    const std::int64_t near = std::max<std::int64_t>(1, kNearBytes / (depth * tile_bytes));
    rows = std::min(near, ceil_div(stack.items * all_rows, pieces));
    rows = std::min(rows, all_rows);
    row_ranges = ceil_div(all_rows, rows);
    panel_ranges = std::clamp<std::int64_t>(ceil_div(pieces, stack.items * row_ranges), 1, panels);
    panel_bytes = static_cast<std::size_t>(depth * tile_bytes);
    a_bytes = static_cast<std::size_t>(rows) * panel_bytes;
    seat_bytes = a_bytes + kTile * sizeof(float);
  }
  std::int64_t pieces(const HalfStack& stack) const {
    return stack.items * row_ranges * panel_ranges;
  }
  std::size_t b_bytes() const { return static_cast<std::size_t>(b_items * panels) * panel_bytes; }
};

// A panel of B: for each pair along k, the pairs of its 32 columns.
void pack_panel(const Product<Half>& p, const Half* b, std::int64_t panel, std::int64_t depth,
                Half* dst) {
  const std::int64_t first = panel * kEdge, columns = std::min(kEdge, p.n - first);
  b += first * p.b_col;
  auto* to = reinterpret_cast<std::uint32_t*>(dst);
  const std::int64_t pairs = p.k / 2;
  if (columns < kEdge || depth * kEdge != p.k) {
    std::memset(dst, 0, static_cast<std::size_t>(depth * kTile) * sizeof(Half));
  }
  if (p.b_col == 1) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const Half* even = b + 2 * pair * p.b_row;
      const Half* odd = even + p.b_row;
      std::uint32_t* row = to + pair * kEdge;
      TENURE_VECTORISE
      for (std::int64_t j = 0; j < columns; ++j) {
        row[j] = even[j] | static_cast<std::uint32_t>(odd[j]) << 16;
      }
    }
  } else {
    for (std::int64_t j = 0; j < columns; ++j) {
      const Half* column = b + j * p.b_col;
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        to[pair * kEdge + j] = column[2 * pair * p.b_row] |
                               static_cast<std::uint32_t>(column[(2 * pair + 1) * p.b_row]) << 16;
      }
    }
  }
  if (p.k % 2 != 0) {
    for (std::int64_t j = 0; j < columns; ++j) {
      to[pairs * kEdge + j] = b[(p.k - 1) * p.b_row + j * p.b_col];
    }
  }
}

// 32 rows of A from `a` on, as tiles: for each step along k, the 32 elements of each row.
void pack_rows(const Product<Half>& p, const Half* a, std::int64_t rows, std::int64_t depth,
               Half* dst) {
  if (rows < kEdge || depth * kEdge != p.k) {
    std::memset(dst, 0, static_cast<std::size_t>(depth * kTile) * sizeof(Half));
  }
  for (std::int64_t step = 0; step < depth; ++step) {
    const std::int64_t count = std::min(kEdge, p.k - step * kEdge);
    for (std::int64_t i = 0; i < rows; ++i) {
      const Half* row = a + i * p.a_row + step * kEdge * p.a_col;
      Half* to = dst + step * kTile + i * kEdge;
      if (p.a_col == 1 && count == kEdge) {
        std::memcpy(to, row, kEdge * sizeof(Half));
      } else {
        for (std::int64_t q = 0; q < count; ++q) to[q] = row[q * p.a_col];
      }
    }
  }
}

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> row_bytes{64, 64, 64, 64, 64, 64, 64, 64};
  std::array<std::uint8_t, 16> rows{16, 16, 16, 16, 16, 16, 16, 16};
};

// C's block: tiles 0 and 1 its upper half, 2 and 3 its lower.
TENURE_AMX void multiply_block(const Half* a, const Half* b, std::int64_t depth, float* sums) {
  constexpr int kHalfEdge = kEdge / 2;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  asm volatile("" : : : "memory");  // the loads read what was packed
  for (std::int64_t step = 0; step < depth; ++step, a += kTile, b += kTile) {
    _tile_loadd(4, a, 64);
    _tile_loadd(6, b, 128);
    _tile_loadd(7, b + kEdge, 128);
    _tile_loadd(5, a + kHalfEdge * kEdge, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, 128);
  _tile_stored(1, sums + kHalfEdge, 128);
  _tile_stored(2, sums + kHalfEdge * kEdge, 128);
  _tile_stored(3, sums + kHalfEdge * kEdge + kHalfEdge, 128);
  asm volatile("" : : : "memory");
}

TENURE_AMX void multiply_piece(const HalfStack& stack, const Blocks& blocks, const Half* panels,
                               std::int64_t piece, std::byte* seat) {
  const Product<Half>& p = stack.product;
  const std::int64_t panel_range = piece % blocks.panel_ranges;
  const std::int64_t row_range = piece / blocks.panel_ranges % blocks.row_ranges;
  const std::int64_t item = piece / blocks.panel_ranges / blocks.row_ranges;
  const std::int64_t first_row = row_range * blocks.rows * kEdge;
  const std::int64_t last_row = std::min(p.m, first_row + blocks.rows * kEdge);
  auto* const tiles = reinterpret_cast<Half*>(seat);
  auto* const sums = reinterpret_cast<float*>(seat + blocks.a_bytes);
  const Half* const a = p.a + offset_of(*stack.a, *stack.out, item);
  const std::int64_t block_elements = blocks.depth * kTile;
  for (std::int64_t row = first_row; row < last_row; row += kEdge) {
    pack_rows(p, a + row * p.a_row, std::min(kEdge, last_row - row), blocks.depth,
              tiles + (row - first_row) / kEdge * block_elements);
  }
  const std::int64_t b_item = blocks.b_items == 1 ? 0 : item;
  const Half* const of_item = panels + b_item * blocks.panels * block_elements;
  Half* const c = p.c + item * p.m * p.n;
  const TileConfig config;
  _tile_loadconfig(&config);
  const std::int64_t last_panel = (panel_range + 1) * blocks.panels / blocks.panel_ranges;
  for (std::int64_t panel = panel_range * blocks.panels / blocks.panel_ranges; panel < last_panel;
       ++panel) {
    const std::int64_t column = panel * kEdge, columns = std::min(kEdge, p.n - column);
    for (std::int64_t row = first_row; row < last_row; row += kEdge) {
      multiply_block(tiles + (row - first_row) / kEdge * block_elements,
                     of_item + panel * block_elements, blocks.depth, sums);
      for (std::int64_t i = 0; i < std::min(kEdge, last_row - row); ++i) {
        Half* const to = c + (row + i) * p.c_row + column;
        const float* const from = sums + i * kEdge;
        TENURE_VECTORISE
        for (std::int64_t j = 0; j < columns; ++j) to[j] = bfloat16_bits(from[j]);
      }
    }
  }
  _tile_release();
}

// Whether the matrices of B follow each other as the results' items do, or there is one.
bool is_simple_stack(const HalfStack& stack) {
  return stack.b->dtype == DType::bfloat16 && stack.a->dtype == DType::bfloat16 &&
         (items_of(*stack.b->shape) == 1 || items_of(*stack.b->shape) == stack.items);
}

bool is_worth_it(const HalfStack& stack) {
  const Product<Half>& p = stack.product;
  return p.m >= kLeastRows && stack.items > 0 && p.m * p.n * p.k >= kLeastWork &&
         is_simple_stack(stack);
}

void run(const ops::KernelArgs& args) noexcept {
  const HalfStack stack = stack_of<Half>(args);
  if (!is_worth_it(stack)) {
    other_kernel.run(args);
    return;
  }
  const Product<Half>& p = stack.product;
  const std::int64_t threads = std::min<std::int64_t>(max_slots(), num_threads());
  const Blocks blocks(stack, threads);
  auto* const panels = reinterpret_cast<Half*>(args.scratch);
  parallel_each(blocks.b_items * blocks.panels, [&](std::int64_t index) {
    const std::int64_t item = index / blocks.panels;
    const Half* b = p.b + (blocks.b_items == 1 ? 0 : offset_of(*stack.b, *stack.out, item));
    pack_panel(p, b, index % blocks.panels, blocks.depth, panels + index * blocks.depth * kTile);
  });
  std::byte* const seats = args.scratch + blocks.b_bytes();
  parallel_seated(blocks.pieces(stack), threads, [&](std::int64_t piece, std::int64_t seat) {
    multiply_piece(stack, blocks, panels, piece,
                   seats + static_cast<std::size_t>(seat) * blocks.seat_bytes);
  });
}

// As many seats as the machine has threads, and for each the rows of the fewest pieces.
std::size_t scratch_bytes(const ops::KernelArgs& args) noexcept {
  const HalfStack stack = stack_of<Half>(args);
  if (!is_worth_it(stack)) return other_kernel.scratch_bytes(args);
  const Blocks most(stack, 1);
  return most.b_bytes() + static_cast<std::size_t>(max_slots()) * most.seat_bytes;
}

}  // namespace

void install_amx(ops::KernelTable& table) {
  const std::int64_t chosen = hwy::SupportedTargets();
  if ((chosen & HWY_AVX3) == 0 || !machine_has_amx()) return;
  const std::uint16_t matmul = ops::kMatmul.index;
  other_kernel = table.find(matmul, DType::bfloat16);
  table.install(matmul, DType::bfloat16, {.run = &run, .scratch_bytes = &scratch_bytes});
}

}  // namespace tenure::cpu

#else

namespace tenure::cpu {

void install_amx(ops::KernelTable&) {}

}  // namespace tenure::cpu

#endif
