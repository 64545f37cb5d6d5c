// Recurrent layers forward: the loop over time inside the kernel.
//
// Samples do not depend on each other, so threads divide the batch and never wait for each other.
// Inputs are multiplied with the kernel some steps ahead, as many as stay in the second cache; a
// step then is one product of the state with packed weights (recurrent_tiles-inl.h), whose sums
// become gates and the next state while they are at hand.
#include <algorithm>
#include <cstring>
#include <span>

#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/matmul_tiles.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/recurrent_layout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/recurrent.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/recurrent_tiles-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

using ops::RecurrentKind;

constexpr std::int64_t kAheadElements = 64 * 1024;  // of products of inputs
constexpr std::int64_t kWorthPacking = 8;           // how often weights are read

template <class T>
struct Forward {
  const ops::RecurrentAttrs& attrs;
  RecurrentSizes sizes;
  const T *x, *kernel, *recurrent, *bias, *state, *cell;
  const std::uint8_t* mask;
  T *sequence, *last, *last_state, *last_cell, *states, *gates, *cells;
  // Scratch.
  std::int64_t ahead;  // steps
  bool packs;
  T *weights, *candidate_weights, *zeros, *projected, *two_states, *two_cells, *reset_state;
  std::size_t scratch_bytes;
  Panels<T> panels, candidate_panels;

  explicit Forward(const ops::KernelArgs& args)
      : attrs(args.attrs.as<ops::RecurrentAttrs>()), sizes(args) {
    const ops::RecurrentInputs in(attrs);
    x = operand<T>(args.in, in.x);
    kernel = operand<T>(args.in, in.kernel);
    recurrent = operand<T>(args.in, in.recurrent);
    bias = operand<T>(args.in, in.bias);
    state = operand<T>(args.in, in.state);
    cell = operand<T>(args.in, in.cell);
    mask = operand<std::uint8_t>(args.in, in.mask);
    const ops::RecurrentOutputs out(attrs);
    sequence = operand<T>(args.out, out.sequence);
    last = operand<T>(args.out, out.output);
    last_state = operand<T>(args.out, out.state);
    last_cell = operand<T>(args.out, out.cell);
    states = operand<T>(args.out, out.states);
    gates = operand<T>(args.out, out.gates);
    cells = operand<T>(args.out, out.cells);

    const std::int64_t per_step = sizes.batch * sizes.columns;
    ahead = std::clamp<std::int64_t>(per_step == 0 ? 1 : kAheadElements / per_step, 1, sizes.steps);
    const std::int64_t tiles = (sizes.batch + kStepRows - 1) / kStepRows;
    packs = sizes.units % lanes_of<T>() != 0 || sizes.steps * tiles >= kWorthPacking;
    ScratchParts parts(args.scratch);
    const std::int64_t rows = sizes.batch * sizes.units;
    weights =
        parts.take<T>(packs ? panel_elements<T>(sizes.units, sizes.units, gate_vectors()) : 0);
    candidate_weights =
        parts.take<T>(packs && resets_first() ? panel_elements<T>(sizes.units, sizes.units, 0) : 0);
    zeros = parts.take<T>(sizes.units);
    projected = parts.take<T>(ahead * per_step);
    two_states = parts.take<T>(keeps_states() ? 0 : 2 * rows);
    two_cells = parts.take<T>(attrs.is_lstm() && !attrs.training ? 2 * rows : 0);
    reset_state = parts.take<T>(resets_first() ? rows : 0);
    scratch_bytes = parts.bytes();
  }

  bool resets_first() const { return attrs.kind == RecurrentKind::gru && !attrs.reset_after; }
  // Of the first product of a step; 0 where it has no gates.
  int gate_vectors() const {
    return attrs.kind == RecurrentKind::simple_rnn ? 0 : resets_first() ? 2 : attrs.gates();
  }
  bool sequence_is_states() const { return attrs.sequence && !attrs.mask; }
  bool keeps_states() const {
    const ops::RecurrentOutputs out(attrs);
    return sequence_is_states() || out.states >= 0;
  }

  // States and cells after a step; -1 is before the first.
  Rows<T> states_after(std::int64_t step) const {
    if (step < 0) return initial(state);
    if (sequence_is_states()) return {sequence + step * sizes.units, sizes.steps * sizes.units};
    const std::int64_t rows = sizes.batch * sizes.units;
    return {states != nullptr ? states + step * rows : two_states + step % 2 * rows, sizes.units};
  }
  Rows<T> cells_after(std::int64_t step) const {
    if (step < 0) return initial(cell);
    const std::int64_t rows = sizes.batch * sizes.units;
    return {cells != nullptr ? cells + step * rows : two_cells + step % 2 * rows, sizes.units};
  }
  Rows<T> initial(const T* first) const {
    if (first == nullptr) return {zeros, 0};
    return {const_cast<T*>(first), sizes.units};  // only read
  }
  Rows<T> gates_of(std::int64_t step) const {
    const std::int64_t stride = attrs.kept_gates() * sizes.units;
    return {gates == nullptr ? nullptr : gates + step * sizes.batch * stride, stride};
  }
  // The products of the inputs of a step that is `i` ahead.
  Rows<T> projected_at(std::int64_t i) const {
    return {projected + i * sizes.columns, ahead * sizes.columns};
  }

  void pack_weights() {
    const std::int64_t units = sizes.units, columns = sizes.columns;
    panels = {recurrent, units, units, gate_vectors(), columns};
    candidate_panels = {recurrent + 2 * units, units, units, 0, columns};
    if (!packs) return;
    panels = pack(recurrent, columns, units, units, gate_vectors(), weights);
    if (resets_first()) {
      candidate_panels = pack(recurrent + 2 * units, columns, units, units, 0, candidate_weights);
    }
  }

  // The inputs' products of rows [begin, end) and `count` steps.
  void project(std::int64_t begin, std::int64_t end, std::int64_t step, std::int64_t count) const {
    const std::int64_t features = sizes.features, rows = end - begin;
    if (features == 0) {
      std::fill(projected + begin * ahead * sizes.columns, projected + end * ahead * sizes.columns,
                T{0});
      return;
    }
    Product<T> p{.a = nullptr,
                 .a_row = attrs.backwards ? -features : features,
                 .a_col = 1,
                 .b = kernel,
                 .b_row = sizes.columns,
                 .b_col = 1,
                 .c = nullptr,
                 .c_row = sizes.columns,
                 .m = count,
                 .n = sizes.columns,
                 .k = features,
                 .read_b = ReadB::in_place,
                 .panels = nullptr};
    if (count >= rows) {
      for (std::int64_t row = begin; row < end; ++row) {
        p.a = x + sizes.place(row, step, attrs.backwards) * features;
        p.c = projected_at(0)[row];
        multiply_tiles(p);
      }
      return;
    }
    p.a_row = sizes.steps * features;
    p.c_row = ahead * sizes.columns;
    p.m = rows;
    for (std::int64_t i = 0; i < count; ++i) {
      p.a = x + sizes.place(begin, step + i, attrs.backwards) * features;
      p.c = projected_at(i)[begin];
      multiply_tiles(p);
    }
  }

  // Gate g of a row of products or biases.
  template <class P>
  HWY_INLINE auto input(const P& part, const T* row, int g, std::int64_t unit) const {
    const auto products = part.load(row + g * sizes.units + unit);
    if (bias == nullptr) return products;
    return hn::Add(products, part.load(bias + g * sizes.units + unit));
  }

  struct Step {
    std::int64_t begin, end;
    Rows<T> inputs, before, after, cells_before, cells_after, gates;
  };

  void simple_step(const Step& s) const {
    const hn::ScalableTag<T> d;
    const std::int64_t lanes = lanes_of<T>();
    const auto finish = [&](std::int64_t row, int rows, std::int64_t unit, int vectors,
                            const T* sums) HWY_ATTR {
      for (int i = 0; i < rows; ++i) {
        for (int v = 0; v < vectors; ++v, sums += lanes) {
          const std::int64_t at = unit + v * lanes;
          const Part<decltype(d)> part{d, sizes.units - at};
          const auto total = hn::Add(hn::Load(d, sums), input(part, s.inputs[row + i], 0, at));
          part.store(activate(d, attrs.activation, total), s.after[row + i] + at);
        }
      }
    };
    multiply_step(panels, s.before, s.begin, s.end, finish);
  }

  void lstm_step(const Step& s) const {
    const hn::ScalableTag<T> d;
    const std::int64_t lanes = lanes_of<T>(), units = sizes.units;
    const auto finish = [&](std::int64_t row, int rows, std::int64_t unit, int,
                            const T* sums) HWY_ATTR {
      const Part<decltype(d)> part{d, units - unit};
      for (int i = 0; i < rows; ++i, sums += 4 * lanes) {
        const T* inputs = s.inputs[row + i];
        const auto total = [&](int g) HWY_ATTR {
          return hn::Add(hn::Load(d, sums + g * lanes), input(part, inputs, g, unit));
        };
        const auto in = activate(d, attrs.gate_activation, total(0));
        const auto forget = activate(d, attrs.gate_activation, total(1));
        const auto candidate = activate(d, attrs.activation, total(2));
        const auto out = activate(d, attrs.gate_activation, total(3));
        const auto old = part.load(s.cells_before[row + i] + unit);
        const auto now = hn::MulAdd(forget, old, hn::Mul(in, candidate));
        part.store(now, s.cells_after[row + i] + unit);
        part.store(hn::Mul(out, activate(d, attrs.activation, now)), s.after[row + i] + unit);
        if (s.gates.data == nullptr) continue;
        T* kept = s.gates[row + i] + unit;
        part.store(in, kept);
        part.store(forget, kept + units);
        part.store(candidate, kept + 2 * units);
        part.store(out, kept + 3 * units);
      }
    };
    multiply_step(panels, s.before, s.begin, s.end, finish);
  }

  // z h + (1 - z) candidate
  template <class V>
  static HWY_INLINE V mixed(V z, V h, V candidate) {
    const hn::ScalableTag<T> d;
    return hn::MulAdd(z, h, hn::Mul(hn::Sub(hn::Set(d, 1), z), candidate));
  }

  void gru_after_step(const Step& s) const {
    const hn::ScalableTag<T> d;
    const std::int64_t lanes = lanes_of<T>(), units = sizes.units;
    const T* inner_bias = bias == nullptr ? nullptr : bias + 3 * units;
    const auto finish = [&](std::int64_t row, int rows, std::int64_t unit, int,
                            const T* sums) HWY_ATTR {
      const Part<decltype(d)> part{d, units - unit};
      for (int i = 0; i < rows; ++i, sums += 3 * lanes) {
        const T* inputs = s.inputs[row + i];
        const auto inner = [&](int g) HWY_ATTR {
          const auto sum = hn::Load(d, sums + g * lanes);
          if (inner_bias == nullptr) return sum;
          return hn::Add(sum, part.load(inner_bias + g * units + unit));
        };
        const auto z =
            activate(d, attrs.gate_activation, hn::Add(inner(0), input(part, inputs, 0, unit)));
        const auto r =
            activate(d, attrs.gate_activation, hn::Add(inner(1), input(part, inputs, 1, unit)));
        const auto q = inner(2);
        const auto candidate =
            activate(d, attrs.activation, hn::MulAdd(r, q, input(part, inputs, 2, unit)));
        part.store(mixed(z, part.load(s.before[row + i] + unit), candidate),
                   s.after[row + i] + unit);
        if (s.gates.data == nullptr) continue;
        T* kept = s.gates[row + i] + unit;
        part.store(z, kept);
        part.store(r, kept + units);
        part.store(candidate, kept + 2 * units);
        part.store(q, kept + 3 * units);
      }
    };
    multiply_step(panels, s.before, s.begin, s.end, finish);
  }

  // The reset gate comes before the candidate's product, so a step has two.
  void gru_before_step(const Step& s) const {
    const hn::ScalableTag<T> d;
    const std::int64_t lanes = lanes_of<T>(), units = sizes.units;
    const Rows<T> reset{reset_state, units};
    // Where nothing is kept, z takes the place of its input's product.
    const Rows<T> kept = s.gates.data != nullptr ? s.gates : s.inputs;
    const auto gates_done = [&](std::int64_t row, int rows, std::int64_t unit, int,
                                const T* sums) HWY_ATTR {
      const Part<decltype(d)> part{d, units - unit};
      for (int i = 0; i < rows; ++i, sums += 2 * lanes) {
        const auto gate = [&](int g) HWY_ATTR {
          const auto total =
              hn::Add(hn::Load(d, sums + g * lanes), input(part, s.inputs[row + i], g, unit));
          return activate(d, attrs.gate_activation, total);
        };
        const auto z = gate(0), r = gate(1);
        part.store(z, kept[row + i] + unit);
        part.store(r, kept[row + i] + units + unit);
        part.store(hn::Mul(r, part.load(s.before[row + i] + unit)), reset[row + i] + unit);
      }
    };
    const auto finish = [&](std::int64_t row, int rows, std::int64_t unit, int vectors,
                            const T* sums) HWY_ATTR {
      for (int i = 0; i < rows; ++i) {
        for (int v = 0; v < vectors; ++v, sums += lanes) {
          const std::int64_t at = unit + v * lanes;
          const Part<decltype(d)> part{d, units - at};
          const auto total = hn::Add(hn::Load(d, sums), input(part, s.inputs[row + i], 2, at));
          const auto candidate = activate(d, attrs.activation, total);
          const auto z = part.load(kept[row + i] + at);
          part.store(mixed(z, part.load(s.before[row + i] + at), candidate), s.after[row + i] + at);
          if (s.gates.data != nullptr) part.store(candidate, kept[row + i] + 2 * units + at);
        }
      }
    };
    multiply_step(panels, s.before, s.begin, s.end, gates_done);
    multiply_step(candidate_panels, reset, s.begin, s.end, finish);
  }

  void copy(T* dst, const T* src) const {
    std::memcpy(dst, src, static_cast<std::size_t>(sizes.units) * sizeof(T));
  }

  // Steps that are masked leave things as they were. Outputs before the first that is not are 0.
  void carry_over(const Step& s, std::int64_t step) const {
    for (std::int64_t row = s.begin; row < s.end; ++row) {
      const bool skipped = mask[sizes.place(row, step, attrs.backwards)] == 0;
      if (skipped) {
        copy(s.after[row], s.before[row]);
        if (attrs.is_lstm()) copy(s.cells_after[row], s.cells_before[row]);
      }
      if (sequence == nullptr) continue;
      T* out = sequence + (row * sizes.steps + step) * sizes.units;
      copy(out, !skipped ? s.after[row] : step > 0 ? out - sizes.units : zeros);
    }
  }

  bool is_all_masked(std::int64_t row) const {
    if (mask == nullptr) return false;
    const std::uint8_t* steps = mask + row * sizes.steps;
    return std::all_of(steps, steps + sizes.steps, [](std::uint8_t each) { return each == 0; });
  }

  void run(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t step = 0; step < sizes.steps; ++step) {
      if (step % ahead == 0) project(begin, end, step, std::min(ahead, sizes.steps - step));
      const Step s{begin,
                   end,
                   projected_at(step % ahead),
                   states_after(step - 1),
                   states_after(step),
                   cells_after(step - 1),
                   cells_after(step),
                   gates_of(step)};
      switch (attrs.kind) {
        case RecurrentKind::simple_rnn:
          simple_step(s);
          break;
        case RecurrentKind::lstm:
          lstm_step(s);
          break;
        case RecurrentKind::gru:
          resets_first() ? gru_before_step(s) : gru_after_step(s);
          break;
      }
      if (mask != nullptr) carry_over(s, step);
    }
    const Rows<T> final_states = states_after(sizes.steps - 1);
    for (std::int64_t row = begin; row < end; ++row) {
      copy(last_state + row * sizes.units, final_states[row]);
      copy(last + row * sizes.units, is_all_masked(row) ? zeros : final_states[row]);
      if (last_cell != nullptr) {
        copy(last_cell + row * sizes.units, cells_after(sizes.steps - 1)[row]);
      }
    }
  }
};

template <class T>
void forward(const ops::KernelArgs& args) noexcept {
  Forward<T> layer(args);
  const RecurrentSizes& sizes = layer.sizes;
  if (sizes.batch == 0) return;
  std::fill_n(layer.zeros, sizes.units, T{0});
  layer.pack_weights();
  const std::int64_t work = sizes.steps * sizes.columns * (sizes.units + sizes.features);
  const std::int64_t ranges = row_ranges(sizes.batch, work, num_threads());
  parallel_each(ranges, [&](std::int64_t i) {
    layer.run(i * sizes.batch / ranges, (i + 1) * sizes.batch / ranges);
  });
}

template <class T>
std::size_t forward_scratch(const ops::KernelArgs& args) noexcept {
  return Forward<T>(args).scratch_bytes;
}

std::span<const ops::KernelRow> recurrent_rows() {
  static constexpr ops::KernelRow rows[] = {
      {"simple_rnn", DType::float32, forward<float>, forward_scratch<float>},
      {"simple_rnn", DType::float64, forward<double>, forward_scratch<double>},
      {"gru", DType::float32, forward<float>, forward_scratch<float>},
      {"gru", DType::float64, forward<double>, forward_scratch<double>},
      {"lstm", DType::float32, forward<float>, forward_scratch<float>},
      {"lstm", DType::float64, forward<double>, forward_scratch<double>},
  };
  return rows;
}

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(recurrent_rows);

std::span<const ops::KernelRow> recurrent_kernels() {
  return HWY_DYNAMIC_DISPATCH(recurrent_rows)();
}

}  // namespace tenure::cpu
#endif
