// Runs fused programs (ops/fused.h), tile by tile.
//
// Where every input covers the result or is one value, a tile is any piece of it. An input that
// broadcasts otherwise makes rows: along one, it advances or is one value. Long rows are cut into
// tiles, and inputs are read where they lie. Of short rows a tile holds several, and inputs that
// broadcast are written out into a slot of their own first; a row that starts again with every row
// of the result needs this only once.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "ops/fused.h"

namespace tenure::cpu {
namespace {

using ops::FusedProgram;
using ops::FusedStep;
using ops::Location;

constexpr std::int64_t kMaxTile = 2048;     // elements
constexpr std::int64_t kTileUnit = 64;      // of which a tile has a multiple
constexpr std::int64_t kTileBytes = 20480;  // that all operands of a tile have together
constexpr std::int64_t kSlotGap = 128;  // between slots, so that they do not share addresses' ends
constexpr double kCacheSpeedup = 3;  // of a loop in the first cache: so much more is worth a thread
constexpr std::size_t kRoomBytes = 48 * 1024;
constexpr std::size_t kMaxLocations = 256;
constexpr int kMaxAxes = 63;

// Not cleared when made: there are many, and few are used.
struct Axis {
  std::int64_t size;
  std::array<std::int64_t, FusedProgram::kMaxInputs> step;  // in bytes; 0 where it repeats
};

struct Step {
  void (*run)(const Run&) noexcept;
  std::array<Location, ops::kMaxLoopInputs> src;
  Location dst;
  std::uint8_t dst_size;
  std::uint8_t inputs;
  std::uint8_t stepped;  // none: the result is one value
  bool fills;            // which becomes all of a result
};

// A program with its operands, the same for all threads.
class Plan {
 public:
  Plan(const FusedProgram& program, std::span<const ops::KernelView> in,
       std::span<const ops::KernelView> out)
      : program_(program), in_(in), out_(out), numel_(program.shape.numel()) {
    if (numel_ == 0) return;
    std::array<bool, kMaxLocations> steps{};
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::int64_t packed = packed_numel(in[i]);
      if (packed == numel_) {
        steps[i] = true;
      } else if (packed != 1) {
        broadcast_[broadcasts_++] = i;
      }
      flat_[i] = steps[i];
    }
    if (broadcasts_ > 0) find_axes();
    choose_tile();
    for (std::size_t b = 0; b < broadcasts_; ++b) {
      steps[broadcast_[b]] = !by_rows_ || axes_[0].step[b] != 0;
      starts_again_[b] = !by_rows_ && axes_[0].step[b] != 0 &&
                         std::all_of(axes_.begin() + 1, axes_.begin() + rank_,
                                     [&](const Axis& axis) { return axis.step[b] == 0; });
      all_start_again_ = all_start_again_ && starts_again_[b];
    }
    add_steps(steps);
  }

  std::int64_t numel() const { return numel_; }
  // Elements that are worth a thread.
  std::int64_t grain() const {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(grain_));
  }
  // Elements [begin, end) of the results; the first of them to `first`, if that is given.
  void run(std::int64_t begin, std::int64_t end, std::byte* first = nullptr) const noexcept;

 private:
  class Cursor;

  // Axes longer than 1, merged where no input that broadcasts tells them apart; innermost first.
  void find_axes() {
    const Shape& shape = program_.shape;
    for (int behind = 0; behind < shape.rank(); ++behind) {
      Axis axis;
      axis.size = shape[shape.rank() - 1 - behind];
      if (axis.size == 1) continue;
      bool continues = rank_ > 0;
      for (std::size_t b = 0; b < broadcasts_; ++b) {
        const ops::KernelView& in = in_[broadcast_[b]];
        const int at = in.shape->rank() - 1 - behind;
        const bool repeats = at < 0 || (*in.shape)[at] == 1;
        axis.step[b] = repeats ? 0 : (*in.strides)[at] * program_.input_sizes[broadcast_[b]];
        if (continues) {
          const Axis& inner = axes_[rank_ - 1];
          continues = axis.step[b] == inner.step[b] * inner.size;
        }
      }
      if (continues) {
        axes_[rank_ - 1].size *= axis.size;
      } else {
        axes_[rank_++] = axis;
      }
    }
  }

  // As many elements as leave all that a tile touches in the cache; whole rows, if they are short.
  void choose_tile() {
    std::int64_t bytes = 0;
    for (const std::uint8_t size : program_.slot_sizes) bytes += size;
    for (const DType dtype : program_.results) bytes += static_cast<std::int64_t>(size_of(dtype));
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (packed_numel(in_[i]) != 1) bytes += program_.input_sizes[i];
    }
    const std::int64_t units = kTileBytes / std::max<std::int64_t>(1, bytes) / kTileUnit;
    tile_ = std::clamp(units * kTileUnit, kTileUnit, kMaxTile);
    if (broadcasts_ == 0) return;
    const std::int64_t row = axes_[0].size;
    by_rows_ = row >= tile_ / 2;
    if (!by_rows_) tile_ = tile_ / row * row;
  }

  // Which operands advance is known beforehand: slots are written before they are read.
  void add_steps(std::array<bool, kMaxLocations>& advances) {
    double work = 0;
    for (const FusedStep& from : program_.steps) {
      Step& step = steps_[step_count_++];
      step = {from.loop.run,
              from.src,
              from.dst,
              from.loop.dst_size,
              static_cast<std::uint8_t>(from.loop.inputs),
              0,
              false};
      for (std::size_t i = 0; i < step.inputs; ++i) {
        if (advances[from.src[i]]) step.stepped |= static_cast<std::uint8_t>(1U << i);
      }
      step.fills = step.stepped == 0 && from.dst < program_.first_slot();
      advances[from.dst] = step.stepped != 0 || step.fills;
      work += 1 / static_cast<double>(from.loop.grain);
    }
    grain_ = kCacheSpeedup / work;
  }

  const FusedProgram& program_;
  std::span<const ops::KernelView> in_, out_;
  std::int64_t numel_;
  std::int64_t tile_ = 0;
  double grain_ = 1;
  bool by_rows_ = false;
  std::array<bool, FusedProgram::kMaxInputs> flat_;
  std::size_t broadcasts_ = 0;
  std::array<std::size_t, FusedProgram::kMaxInputs> broadcast_;  // the inputs that do otherwise
  std::array<bool, FusedProgram::kMaxInputs> starts_again_;
  bool all_start_again_ = true;
  std::size_t rank_ = 0;
  std::array<Axis, kMaxAxes> axes_;
  std::size_t step_count_ = 0;
  std::array<Step, FusedProgram::kMaxSteps> steps_;
};

// A place in the result: where in their memory the inputs that broadcast are.
class Plan::Cursor {
 public:
  Cursor(const Plan& plan, std::int64_t begin) : plan_(plan) {
    for (std::size_t b = 0; b < plan.broadcasts_; ++b) src_[b] = plan.in_[plan.broadcast_[b]].data;
    for (std::size_t a = 0; a < plan.rank_; ++a) {
      const Axis& axis = plan.axes_[a];
      index_[a] = begin % axis.size;
      begin /= axis.size;
      for (std::size_t b = 0; b < plan.broadcasts_; ++b) src_[b] += index_[a] * axis.step[b];
    }
  }
  std::int64_t left_in_row() const { return plan_.axes_[0].size - index_[0]; }
  const std::byte* src(std::size_t b) const { return src_[b]; }

  // Goes on by `count` elements, at most to the row's end.
  void advance(std::int64_t count) {
    const Axis& row = plan_.axes_[0];
    index_[0] += count;
    for (std::size_t b = 0; b < plan_.broadcasts_; ++b) src_[b] += count * row.step[b];
    if (index_[0] < row.size) return;
    index_[0] = 0;
    for (std::size_t b = 0; b < plan_.broadcasts_; ++b) src_[b] -= row.size * row.step[b];
    for (std::size_t a = 1; a < plan_.rank_; ++a) {
      const Axis& axis = plan_.axes_[a];
      for (std::size_t b = 0; b < plan_.broadcasts_; ++b) src_[b] += axis.step[b];
      if (++index_[a] < axis.size) return;
      for (std::size_t b = 0; b < plan_.broadcasts_; ++b) src_[b] -= axis.size * axis.step[b];
      index_[a] = 0;
    }
  }

 private:
  const Plan& plan_;
  std::array<std::int64_t, kMaxAxes> index_;
  std::array<const std::byte*, FusedProgram::kMaxInputs> src_;
};

template <class T>
void fill(std::byte* dst, const std::byte* value, std::int64_t count) {
  T one;
  std::memcpy(&one, value, sizeof one);
  std::fill_n(reinterpret_cast<T*>(dst), count, one);
}

void fill(std::byte* dst, const std::byte* value, std::int64_t count, std::size_t size) {
  switch (size) {
    case 1:
      return fill<std::uint8_t>(dst, value, count);
    case 2:
      return fill<std::uint16_t>(dst, value, count);
    case 4:
      return fill<std::uint32_t>(dst, value, count);
    default:
      return fill<std::uint64_t>(dst, value, count);
  }
}

// Writes a row of `row` elements again and again, from element `first` of it on.
void repeat_row(std::byte* dst, const std::byte* src, std::int64_t row, std::int64_t first,
                std::int64_t count, std::size_t size) {
  const auto bytes = [size](std::int64_t elements) {
    return static_cast<std::size_t>(elements) * size;
  };
  const std::int64_t tail = std::min(row - first, count);
  std::memcpy(dst, src + bytes(first), bytes(tail));
  std::memcpy(dst + bytes(tail), src, bytes(std::min(first, count - tail)));
  for (std::int64_t done = row; done < count;) {
    const std::int64_t more = std::min(done, count - done);
    std::memcpy(dst + bytes(done), dst, bytes(more));
    done += more;
  }
}

void Plan::run(std::int64_t begin, std::int64_t end, std::byte* first) const noexcept {
  alignas(64) std::array<std::byte, kRoomBytes> room;
  std::byte* free = room.data();
  const auto take = [&](std::size_t size) {
    std::byte* slot = free;
    free += (tile_ * static_cast<std::int64_t>(size) + 63) / 64 * 64 + kSlotGap;
    return slot;
  };
  std::array<std::byte*, kMaxLocations> at;
  for (std::size_t i = 0; i < in_.size(); ++i) {
    at[i] = in_[i].data;
    if (flat_[i]) at[i] += begin * program_.input_sizes[i];
  }
  for (std::size_t i = 0; i < program_.numbers.size(); ++i) {
    at[program_.first_number() + i] = const_cast<std::byte*>(program_.numbers[i].bytes.data());
  }
  std::array<std::int64_t, FusedProgram::kMaxResults> result_size{};
  for (std::size_t i = 0; i < out_.size(); ++i) {
    result_size[i] = static_cast<std::int64_t>(size_of(out_[i].dtype));
    at[program_.first_result() + i] = out_[i].data + begin * result_size[i];
  }
  if (first != nullptr) at[program_.first_result()] = first;
  for (std::size_t i = 0; i < program_.slot_sizes.size(); ++i) {
    at[program_.first_slot() + i] = take(program_.slot_sizes[i]);
  }
  std::array<std::byte*, FusedProgram::kMaxInputs> wide;
  if (!by_rows_) {
    for (std::size_t b = 0; b < broadcasts_; ++b) {
      const std::size_t size = program_.input_sizes[broadcast_[b]];
      wide[b] = at[broadcast_[b]] = take(size);
      if (starts_again_[b]) {
        repeat_row(wide[b], in_[broadcast_[b]].data, axes_[0].size, begin % axes_[0].size,
                   std::min(tile_, end - begin), size);
      }
    }
  }
  Cursor cursor(*this, begin);
  for (std::int64_t pos = begin; pos < end;) {
    std::int64_t count = std::min(tile_, end - pos);
    if (by_rows_) {
      count = std::min(count, cursor.left_in_row());
      for (std::size_t b = 0; b < broadcasts_; ++b) {
        at[broadcast_[b]] = const_cast<std::byte*>(cursor.src(b));
      }
      cursor.advance(count);
    } else if (!all_start_again_) {
      for (std::int64_t done = 0; done < count;) {
        const std::int64_t more = std::min(cursor.left_in_row(), count - done);
        for (std::size_t b = 0; b < broadcasts_; ++b) {
          if (starts_again_[b]) continue;
          const std::size_t size = program_.input_sizes[broadcast_[b]];
          std::byte* to = wide[b] + done * static_cast<std::int64_t>(size);
          if (axes_[0].step[b] == 0) {
            fill(to, cursor.src(b), more, size);
          } else {
            std::memcpy(to, cursor.src(b), static_cast<std::size_t>(more) * size);
          }
        }
        cursor.advance(more);
        done += more;
      }
    }
    for (const Step& step : std::span(steps_).first(step_count_)) {
      Run run{
          {at[step.src[0]], at[step.src[1]], at[step.src[2]]}, at[step.dst], count, step.stepped};
      if (step.stepped == 0) {
        run.count = 1;
        run.stepped = (1U << step.inputs) - 1;
      }
      step.run(run);
      if (step.fills) fill(run.dst, run.dst, count, step.dst_size);
    }
    pos += count;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (flat_[i]) at[i] += count * program_.input_sizes[i];
    }
    for (std::size_t i = 0; i < out_.size(); ++i) {
      at[program_.first_result() + i] += count * result_size[i];
    }
  }
}

void run_fused(const ops::KernelArgs& args) noexcept {
  const Plan plan(args.attrs.as<ops::FusedAttrs>().program, args.in, args.out);
  if (plan.numel() == 0) return;
  parallel_for(plan.numel(), plan.grain(),
               [&](std::int64_t begin, std::int64_t end) { plan.run(begin, end); });
}

const ops::Kernel& producer_of(const ops::FinishedAttrs& attrs, const ops::KernelArgs& args) {
  const ops::OpDef& op = *attrs.producer;
  const DType dtype = op.dispatch_on == ops::OpDef::kOutput0
                          ? args.out[0].dtype
                          : args.in[static_cast<std::size_t>(op.dispatch_on)].dtype;
  return ops::kernel_table(DeviceType::cpu).find(op.index, dtype);
}

ops::KernelArgs args_of_producer(const ops::FinishedAttrs& attrs, const ops::KernelArgs& args) {
  ops::KernelArgs inner = args;
  inner.in = args.in.first(attrs.producer_inputs);
  inner.attrs = attrs.attrs.ref();
  return inner;
}

void run_finished(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::FinishedAttrs>();
  std::array<ops::KernelView, FusedProgram::kMaxInputs> in;
  in[0] = args.out[0];
  std::ranges::copy(args.in.subspan(attrs.producer_inputs), in.begin() + 1);
  const Plan plan(attrs.program, std::span(in).first(attrs.program.inputs), args.out);
  ops::KernelArgs inner = args_of_producer(attrs, args);
  inner.epilogue = {[](const void* context, std::int64_t begin, std::int64_t end) noexcept {
                      static_cast<const Plan*>(context)->run(begin, end);
                    },
                    &plan};
  producer_of(attrs, args).run(inner);
}

std::size_t finished_scratch_bytes(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::FinishedAttrs>();
  const ops::Kernel& producer = producer_of(attrs, args);
  if (producer.scratch_bytes == nullptr) return 0;
  return producer.scratch_bytes(args_of_producer(attrs, args));
}

ops::WantedForm wanted_by_producer(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::FinishedAttrs>();
  const ops::Kernel& producer = producer_of(attrs, args);
  if (producer.wanted_form == nullptr) return {};
  return producer.wanted_form(args_of_producer(attrs, args));
}

// The reduction as it sees itself: of a tensor that is not there.
class Reduction {
 public:
  explicit Reduction(const ops::KernelArgs& args)
      : attrs_(args.attrs.as<ops::ReducedAttrs>()),
        strides_(contiguous_strides(attrs_.program.shape)),
        in_{nullptr, &attrs_.program.shape, &strides_, attrs_.program.results[0]},
        kernel_(ops::kernel_table(DeviceType::cpu).find(attrs_.reducer->index, in_.dtype)),
        args_(args) {
    args_.in = {&in_, 1};
    args_.attrs = attrs_.attrs.ref();
    args_.prologue = {[](const void*, std::int64_t, std::int64_t, std::byte*) noexcept {}, nullptr};
  }
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  std::size_t scratch_bytes() const {
    return kernel_.scratch_bytes != nullptr ? kernel_.scratch_bytes(args_) : 0;
  }
  void run(std::span<const ops::KernelView> operands) {
    const Plan plan(attrs_.program, operands, {&in_, 1});
    args_.prologue = {
        [](const void* context, std::int64_t begin, std::int64_t end, std::byte* dst) noexcept {
          static_cast<const Plan*>(context)->run(begin, end, dst);
        },
        &plan};
    kernel_.run(args_);
  }

 private:
  const ops::ReducedAttrs& attrs_;
  Strides strides_;
  ops::KernelView in_;
  const ops::Kernel& kernel_;
  ops::KernelArgs args_;
};

void run_reduced(const ops::KernelArgs& args) noexcept { Reduction(args).run(args.in); }

std::size_t reduced_scratch_bytes(const ops::KernelArgs& args) noexcept {
  return Reduction(args).scratch_bytes();
}

// Programs are made of loops of any dtype; the result's picks a row, and all rows are the same.
constexpr auto kRows = [] {
  std::array<ops::KernelRow, 3 * kDTypeCount> rows{};
  std::size_t next = 0;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    rows[next++] = {"fused", dtype, &run_fused};
    rows[next++] = {.op = "finished",
                    .dtype = dtype,
                    .run = &run_finished,
                    .scratch_bytes = &finished_scratch_bytes,
                    .wanted_form = &wanted_by_producer};
    rows[next++] = {"reduced", dtype, &run_reduced, &reduced_scratch_bytes};
  }
  return rows;
}();

}  // namespace

std::span<const ops::KernelRow> fused_kernels() { return kRows; }

}  // namespace tenure::cpu
