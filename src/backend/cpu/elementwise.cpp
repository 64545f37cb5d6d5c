#include "backend/cpu/elementwise.h"

#include <algorithm>
#include <cstring>

namespace tenure::cpu {
namespace {

// An axis of size 1 is no axis, and the output of a tensor that fits into memory has fewer elements
// than 2^63, so this is enough for any rank.
constexpr int kMaxAxes = 63;

struct Axis {
  std::int64_t size;
  std::array<std::int64_t, kMaxElementwiseInputs> step;  // in bytes; 0 where the input repeats
};

// Axes that are longer than 1 and do not continue each other, the innermost first.
struct Walk {
  int rank = 0;
  std::array<Axis, kMaxAxes> axes;
  std::array<const std::byte*, kMaxElementwiseInputs> src;
};

// Writes the first element of dst to the `count - 1` after it.
void repeat(std::byte* dst, std::int64_t count, std::size_t size) {
  const auto total = static_cast<std::size_t>(count) * size;
  for (std::size_t done = size; done < total;) {
    const std::size_t more = std::min(done, total - done);
    std::memcpy(dst + done, dst, more);
    done += more;
  }
}

void run_one(const RunLoop& loop, const Run& run) {
  if (run.stepped != 0) {
    loop.run(run);
  } else {
    loop.run({run.src, run.dst, 1, loop.all_stepped()});
    repeat(run.dst, run.count, loop.dst_size);
  }
}

std::int64_t step_of(const ops::KernelView& in, int axes_behind, std::int64_t size) {
  const int axis = in.shape->rank() - 1 - axes_behind;
  if (axis < 0 || (*in.shape)[axis] == 1) return 0;
  return (*in.strides)[axis] * size;
}

Walk plan_walk(const RunLoop& loop, const ops::KernelArgs& args) {
  Walk walk;
  const Shape& shape = *args.out[0].shape;
  for (std::size_t i = 0; i < static_cast<std::size_t>(loop.inputs); ++i) {
    walk.src[i] = args.in[i].data;
  }
  for (int behind = 0; behind < shape.rank(); ++behind) {
    Axis axis{shape[shape.rank() - 1 - behind], {}};
    if (axis.size == 1) continue;
    bool continues = walk.rank > 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(loop.inputs); ++i) {
      axis.step[i] = step_of(args.in[i], behind, loop.src_size[i]);
      if (continues) {
        const Axis& inner = walk.axes[static_cast<std::size_t>(walk.rank - 1)];
        continues = axis.step[i] == inner.step[i] * inner.size;
      }
    }
    if (continues) {
      walk.axes[static_cast<std::size_t>(walk.rank - 1)].size *= axis.size;
    } else {
      walk.axes[static_cast<std::size_t>(walk.rank++)] = axis;
    }
  }
  return walk;
}

// A row added to every row of a matrix is the common broadcast, and a short row makes short runs.
// Writing such a row several times into `Tile` makes one long row of several.
constexpr std::int64_t kTileElements = 512;
struct Tile {
  alignas(64) std::array<std::array<std::byte, kTileElements * sizeof(double)>,
                         kMaxElementwiseInputs> bytes;
};

bool repeats_rows(const RunLoop& loop, const Walk& walk) {
  if (walk.rank != 2 || walk.axes[0].size > kTileElements / 4) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(loop.inputs); ++i) {
    const std::int64_t step = walk.axes[0].step[i], row_step = walk.axes[1].step[i];
    const bool goes_on = row_step == step * walk.axes[0].size;
    const bool starts_again = row_step == 0 && step != 0;
    if (!goes_on && !starts_again) return false;
  }
  return true;
}

void widen_rows(const RunLoop& loop, Walk& walk, Tile& tile) {
  Axis& row = walk.axes[0];
  Axis& rows = walk.axes[1];
  const std::int64_t copies = std::min(kTileElements / row.size, rows.size);
  const std::int64_t wide = row.size * copies;
  for (std::size_t i = 0; i < static_cast<std::size_t>(loop.inputs); ++i) {
    if (rows.step[i] == row.step[i] * row.size) {
      rows.step[i] = row.step[i] * wide;
      continue;
    }
    std::byte* bytes = tile.bytes[i].data();
    const auto row_bytes = static_cast<std::size_t>(row.size * row.step[i]);
    std::memcpy(bytes, walk.src[i], row_bytes);
    repeat(bytes, copies, row_bytes);
    walk.src[i] = bytes;
  }
  row.size = wide;
  rows.size = (rows.size + copies - 1) / copies;  // the last may be shorter: the range ends it
}

// The elements [begin, end) of the output, counted in row-major order.
template <std::size_t inputs>
void walk_range(const RunLoop& loop, const Walk& walk, std::byte* dst, std::int64_t begin,
                std::int64_t end) {
  const auto rank = static_cast<std::size_t>(walk.rank);
  std::array<std::int64_t, kMaxAxes> index;
  Run run{walk.src, dst + begin * loop.dst_size, 0, 0};
  std::int64_t rest = begin;
  for (std::size_t a = 0; a < rank; ++a) {
    index[a] = rest % walk.axes[a].size;
    rest /= walk.axes[a].size;
    for (std::size_t i = 0; i < inputs; ++i) run.src[i] += index[a] * walk.axes[a].step[i];
  }
  const Axis& row = walk.axes[0];
  for (std::size_t i = 0; i < inputs; ++i) run.stepped |= row.step[i] == 0 ? 0U : 1U << i;
  run.count = std::min(row.size - index[0], end - begin);

  for (std::int64_t left = end - begin;;) {
    run_one(loop, run);
    left -= run.count;
    if (left == 0) return;
    run.dst += run.count * loop.dst_size;
    run.count = std::min(row.size, left);
    // Only the first run of a range starts within a row.
    for (std::size_t i = 0; i < inputs; ++i) run.src[i] -= index[0] * row.step[i];
    index[0] = 0;
    for (std::size_t a = 1; a < rank; ++a) {
      const Axis& axis = walk.axes[a];
      for (std::size_t i = 0; i < inputs; ++i) run.src[i] += axis.step[i];
      if (++index[a] < axis.size) break;
      for (std::size_t i = 0; i < inputs; ++i) run.src[i] -= axis.size * axis.step[i];
      index[a] = 0;
    }
  }
}

using WalkFn = void (*)(const RunLoop&, const Walk&, std::byte*, std::int64_t, std::int64_t);
constexpr WalkFn kWalkRange[] = {walk_range<1>, walk_range<2>, walk_range<3>};

}  // namespace

void run_flat(const RunLoop& loop, const Run& run) noexcept {
  parallel_for(run.count, loop.grain, [&](std::int64_t begin, std::int64_t end) {
    Run part = run;
    for (std::size_t i = 0; i < static_cast<std::size_t>(loop.inputs); ++i) {
      if ((run.stepped >> i & 1U) != 0) part.src[i] += begin * loop.src_size[i];
    }
    part.dst += begin * loop.dst_size;
    part.count = end - begin;
    run_one(loop, part);
  });
}

void run_broadcast(const RunLoop& loop, const ops::KernelArgs& args) noexcept {
  Walk walk = plan_walk(loop, args);
  Tile tile;
  if (repeats_rows(loop, walk)) widen_rows(loop, walk, tile);
  parallel_for(args.out[0].numel(), loop.grain, [&](std::int64_t begin, std::int64_t end) {
    kWalkRange[loop.inputs - 1](loop, walk, args.out[0].data, begin, end);
  });
}

}  // namespace tenure::cpu
