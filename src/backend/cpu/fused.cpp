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

// An operand of which only the elements at hand have memory.
struct Elsewhere {
  std::size_t location = 0;
  std::byte* first = nullptr;  // of these; none: it lies where its view says
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
  std::size_t first_result() const { return program_.first_result(); }
  // Elements that are worth a thread.
  std::int64_t grain() const {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(grain_));
  }
  // Elements [begin, end) of the results.
  void run(std::int64_t begin, std::int64_t end, Elsewhere elsewhere = {}) const noexcept;

 private:
  class Cursor;
  class Operands;

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

// Where a thread finds each operand of the tile it is at.
class Plan::Operands {
 public:
  Operands(const Plan& plan, std::int64_t begin, std::int64_t end, Elsewhere elsewhere)
      : plan_(plan), cursor_(plan, begin) {
    const FusedProgram& program = plan.program_;
    for (std::size_t i = 0; i < plan.in_.size(); ++i) {
      at_[i] = plan.in_[i].data;
      if (plan.flat_[i]) at_[i] += begin * program.input_sizes[i];
    }
    for (std::size_t i = 0; i < program.numbers.size(); ++i) {
      at_[program.first_number() + i] = const_cast<std::byte*>(program.numbers[i].bytes.data());
    }
    for (std::size_t i = 0; i < plan.out_.size(); ++i) {
      result_size_[i] = static_cast<std::int64_t>(size_of(plan.out_[i].dtype));
      at_[program.first_result() + i] = plan.out_[i].data + begin * result_size_[i];
    }
    if (elsewhere.first != nullptr) at_[elsewhere.location] = elsewhere.first;
    for (std::size_t i = 0; i < program.slot_sizes.size(); ++i) {
      at_[program.first_slot() + i] = take(program.slot_sizes[i]);
    }
    if (!plan.by_rows_) make_wide(begin, end);
  }

  std::byte* operator[](Location location) const { return at_[location]; }

  // Brings inputs that broadcast to the next elements, and tells how many of these there are.
  std::int64_t prepare(std::int64_t left) {
    std::int64_t count = std::min(plan_.tile_, left);
    if (plan_.by_rows_) {
      count = std::min(count, cursor_.left_in_row());
      for (std::size_t b = 0; b < plan_.broadcasts_; ++b) {
        at_[plan_.broadcast_[b]] = const_cast<std::byte*>(cursor_.src(b));
      }
      cursor_.advance(count);
    } else if (!plan_.all_start_again_) {
      for (std::int64_t done = 0; done < count;) {
        const std::int64_t more = std::min(cursor_.left_in_row(), count - done);
        write_out(done, more);
        cursor_.advance(more);
        done += more;
      }
    }
    return count;
  }

  void advance(std::int64_t count) {
    for (std::size_t i = 0; i < plan_.in_.size(); ++i) {
      if (plan_.flat_[i]) at_[i] += count * plan_.program_.input_sizes[i];
    }
    for (std::size_t i = 0; i < plan_.out_.size(); ++i) {
      at_[plan_.program_.first_result() + i] += count * result_size_[i];
    }
  }

 private:
  std::byte* take(std::size_t size) {
    std::byte* slot = free_;
    free_ += (plan_.tile_ * static_cast<std::int64_t>(size) + 63) / 64 * 64 + kSlotGap;
    return slot;
  }

  // Slots for inputs that broadcast, of which those that start again are written but once.
  void make_wide(std::int64_t begin, std::int64_t end) {
    for (std::size_t b = 0; b < plan_.broadcasts_; ++b) {
      const std::size_t input = plan_.broadcast_[b];
      const std::size_t size = plan_.program_.input_sizes[input];
      wide_[b] = at_[input] = take(size);
      if (!plan_.starts_again_[b]) continue;
      const std::int64_t row = plan_.axes_[0].size;
      repeat_row(wide_[b], plan_.in_[input].data, row, begin % row,
                 std::min(plan_.tile_, end - begin), size);
    }
  }

  void write_out(std::int64_t done, std::int64_t count) {
    for (std::size_t b = 0; b < plan_.broadcasts_; ++b) {
      if (plan_.starts_again_[b]) continue;
      const std::size_t size = plan_.program_.input_sizes[plan_.broadcast_[b]];
      std::byte* to = wide_[b] + done * static_cast<std::int64_t>(size);
      if (plan_.axes_[0].step[b] == 0) {
        fill(to, cursor_.src(b), count, size);
      } else {
        std::memcpy(to, cursor_.src(b), static_cast<std::size_t>(count) * size);
      }
    }
  }

  const Plan& plan_;
  Cursor cursor_;
  alignas(64) std::array<std::byte, kRoomBytes> room_;
  std::byte* free_ = room_.data();
  std::array<std::byte*, kMaxLocations> at_;
  std::array<std::int64_t, FusedProgram::kMaxResults> result_size_;
  std::array<std::byte*, FusedProgram::kMaxInputs> wide_;
};

void Plan::run(std::int64_t begin, std::int64_t end, Elsewhere elsewhere) const noexcept {
  Operands operands(*this, begin, end, elsewhere);
  for (std::int64_t at = begin, count = 0; at < end; at += count) {
    count = operands.prepare(end - at);
    for (const Step& step : std::span(steps_).first(step_count_)) {
      Run run{{operands[step.src[0]], operands[step.src[1]], operands[step.src[2]]},
              operands[step.dst],
              count,
              step.stepped};
      if (step.stepped == 0) {
        run.count = 1;
        run.stepped = (1U << step.inputs) - 1;
      }
      step.run(run);
      if (step.fills) fill(run.dst, run.dst, count, step.dst_size);
    }
    operands.advance(count);
  }
}

void run_fused(const ops::KernelArgs& args) noexcept {
  const Plan plan(args.attrs.as<ops::FusedAttrs>().program, args.in, args.out);
  if (plan.numel() == 0) return;
  parallel_for(plan.numel(), plan.grain(),
               [&](std::int64_t begin, std::int64_t end) { plan.run(begin, end); });
}

void follow_with_fused(const ops::KernelArgs& args, std::size_t operand, ops::KernelFn producer,
                       ops::KernelArgs of_producer) noexcept {
  struct Following {
    Plan plan;
    std::size_t operand;
  };
  const Following following{{args.attrs.as<ops::FusedAttrs>().program, args.in, args.out}, operand};
  of_producer.epilogue = {
      [](const void* context, std::int64_t begin, std::int64_t end, std::byte* piece) noexcept {
        const auto& [plan, location] = *static_cast<const Following*>(context);
        plan.run(begin, end, {location, piece});
      },
      &following};
  producer(of_producer);
}

// Both kernels of a finished node, and what each is given.
class Finished {
 public:
  explicit Finished(const ops::KernelArgs& args)
      : attrs_(args.attrs.as<ops::FinishedAttrs>()),
        strides_(contiguous_strides(attrs_.shape)),
        result_{attrs_.host ? args.out[*attrs_.host].data : nullptr, &attrs_.shape, &strides_,
                attrs_.dtype},
        of_producer_(args),
        of_follower_(args) {
    of_producer_.in = args.in.first(attrs_.producer_inputs);
    of_producer_.out = {&result_, 1};
    of_producer_.attrs = attrs_.producer_attrs.ref();
    of_producer_.in_pieces = !attrs_.host;
    const auto others = args.in.subspan(attrs_.producer_inputs);
    std::ranges::copy(others.first(attrs_.operand), in_.begin());
    in_[attrs_.operand] = result_;
    std::ranges::copy(others.subspan(attrs_.operand), in_.begin() + attrs_.operand + 1);
    of_follower_.in = std::span(in_).first(others.size() + 1);
    of_follower_.attrs = attrs_.follower_attrs.ref();
  }
  Finished(const Finished&) = delete;
  Finished& operator=(const Finished&) = delete;

  void run() const {
    kernel_of(*attrs_.follower, of_follower_)
        .follow(of_follower_, attrs_.operand, producer().run, of_producer_);
  }
  std::size_t scratch_bytes() const {
    const ops::ScratchFn bytes = producer().scratch_bytes;
    return bytes != nullptr ? bytes(of_producer_) : 0;
  }
  ops::WantedForm wanted_form() const {
    const ops::WantedFormFn wanted = producer().wanted_form;
    return wanted != nullptr ? wanted(of_producer_) : ops::WantedForm();
  }

 private:
  static const ops::Kernel& kernel_of(const ops::OpDef& op, const ops::KernelArgs& args) {
    const DType dtype = op.dispatch_on == ops::OpDef::kOutput0
                            ? args.out[0].dtype
                            : args.in[static_cast<std::size_t>(op.dispatch_on)].dtype;
    return ops::kernel_table(DeviceType::cpu).find(op.index, dtype);
  }
  const ops::Kernel& producer() const { return kernel_of(*attrs_.producer, of_producer_); }

  const ops::FinishedAttrs& attrs_;
  Strides strides_;
  ops::KernelView result_;  // the producer's
  std::array<ops::KernelView, FusedProgram::kMaxInputs> in_;
  ops::KernelArgs of_producer_, of_follower_;
};

void run_finished(const ops::KernelArgs& args) noexcept { Finished(args).run(); }

std::size_t finished_scratch_bytes(const ops::KernelArgs& args) noexcept {
  return Finished(args).scratch_bytes();
}

ops::WantedForm wanted_by_producer(const ops::KernelArgs& args) noexcept {
  return Finished(args).wanted_form();
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
          const auto& of_program = *static_cast<const Plan*>(context);
          of_program.run(begin, end, {of_program.first_result(), dst});
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
    rows[next++] = {.op = "fused", .dtype = dtype, .run = &run_fused, .follow = &follow_with_fused};
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
