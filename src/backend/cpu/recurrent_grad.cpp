// Recurrent layers backward: the loop over time, from the last step to the first, some steps at a
// time.
//
// Of a chunk of steps, threads first divide the batch: each walks back through the steps of its
// samples and leaves the gradients of what entered the activations, beside the states and inputs
// that were multiplied with weights then. After that they divide the columns of the weights, and
// each adds the chunk's product to its columns of their gradients. So every sum runs over steps and
// samples in an order that depends on shapes alone, and scratch does not grow with time.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/matmul_tiles.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/recurrent_layout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/recurrent_grad.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/recurrent_tiles-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

using ops::RecurrentKind;

constexpr std::int64_t kChunkRows = 512;  // samples times steps

template <class T>
struct Backward {
  const ops::RecurrentGradAttrs& attrs;
  const ops::RecurrentAttrs& layer = attrs.forward;
  RecurrentSizes sizes;
  const T *x, *kernel, *recurrent, *state, *cell;
  const std::uint8_t* mask;
  const T *states, *gates, *cells, *d_sequence, *d_output, *d_state, *d_cell;
  T *dx, *d_kernel, *d_recurrent, *d_bias, *d_first_state, *d_first_cell;
  // Scratch. What a chunk has per step and sample lies in the order of samples, then steps.
  std::int64_t chunk;           // steps
  T *weights, *gate_weights;    // transposed
  T* turned_kernel;             // transposed
  T *zeros, *flow, *cell_flow;  // the gradients of a step's state and cell
  T* reset_flow;                // of r h, where the reset gate comes first
  T *d_inputs, *d_inner;        // of what enters activations: from inputs and from states
  T *old_states, *reset_states, *inputs;
  std::int64_t* first;  // the first step that is not masked, per sample
  std::size_t scratch_bytes;
  Panels<T> panels, gate_panels;

  explicit Backward(const ops::KernelArgs& args)
      : attrs(args.attrs.as<ops::RecurrentGradAttrs>()), sizes(args) {
    const ops::RecurrentInputs in(layer);
    x = operand<T>(args.in, in.x);
    kernel = operand<T>(args.in, in.kernel);
    recurrent = operand<T>(args.in, in.recurrent);
    state = operand<T>(args.in, in.state);
    cell = operand<T>(args.in, in.cell);
    mask = operand<std::uint8_t>(args.in, in.mask);
    const ops::RecurrentGradInputs more(attrs);
    states = operand<T>(args.in, more.states);
    gates = operand<T>(args.in, more.gates);
    cells = operand<T>(args.in, more.cells);
    d_sequence = operand<T>(args.in, more.d_sequence);
    d_output = operand<T>(args.in, more.d_output);
    d_state = operand<T>(args.in, more.d_state);
    d_cell = operand<T>(args.in, more.d_cell);
    const ops::RecurrentGradOutputs out(attrs);
    dx = operand<T>(args.out, out.x);
    d_kernel = operand<T>(args.out, out.kernel);
    d_recurrent = operand<T>(args.out, out.recurrent);
    d_bias = operand<T>(args.out, out.bias);
    d_first_state = operand<T>(args.out, out.state);
    d_first_cell = operand<T>(args.out, out.cell);

    const std::int64_t units = sizes.units, batch = sizes.batch;
    chunk = std::clamp<std::int64_t>(batch == 0 ? 1 : kChunkRows / batch, 1, sizes.steps);
    const std::int64_t rows = batch * chunk;
    ScratchParts parts(args.scratch);
    weights = parts.take<T>(panel_elements<T>(resets_first() ? units : sizes.columns, units, 0));
    gate_weights = parts.take<T>(resets_first() ? panel_elements<T>(2 * units, units, 0) : 0);
    turned_kernel = parts.take<T>(attrs.of_x ? sizes.columns * sizes.features : 0);
    zeros = parts.take<T>(units);
    flow = parts.take<T>(batch * units);
    cell_flow = parts.take<T>(layer.is_lstm() ? batch * units : 0);
    reset_flow = parts.take<T>(resets_first() ? batch * units : 0);
    d_inputs = parts.take<T>(rows * sizes.columns);
    d_inner = d_inputs;
    if (layer.two_biases()) d_inner = parts.take<T>(rows * sizes.columns);
    old_states = parts.take<T>(rows * units);
    reset_states = parts.take<T>(resets_first() ? rows * units : 0);
    inputs = parts.take<T>(attrs.of_kernel ? rows * sizes.features : 0);
    first = parts.take<std::int64_t>(layer.mask ? batch : 0);
    scratch_bytes = parts.bytes();
  }

  bool resets_first() const { return layer.kind == RecurrentKind::gru && !layer.reset_after; }

  void prepare() {
    const std::int64_t units = sizes.units, columns = sizes.columns;
    std::fill_n(zeros, units, T{0});
    if (resets_first()) {
      panels = pack_transposed(recurrent + 2 * units, columns, units, units, weights);
      gate_panels = pack_transposed(recurrent, columns, 2 * units, units, gate_weights);
    } else {
      panels = pack_transposed(recurrent, columns, columns, units, weights);
    }
    if (attrs.of_x) turn_kernel();
    const auto clear = [](T* gradient, std::int64_t count) {
      if (gradient != nullptr) std::fill_n(gradient, count, T{0});
    };
    clear(d_kernel, sizes.features * columns);
    clear(d_recurrent, units * columns);
    clear(d_bias, layer.two_biases() ? 2 * columns : columns);
    for (std::int64_t row = 0; row < sizes.batch; ++row) {
      if (mask != nullptr) {
        first[row] = 0;
        while (first[row] < sizes.steps && is_masked(row, first[row])) ++first[row];
      }
      const bool has_output = mask == nullptr || first[row] < sizes.steps;
      start(flow + row * units, d_state, has_output ? d_output : nullptr, row);
      if (layer.is_lstm()) start(cell_flow + row * units, d_cell, nullptr, row);
    }
  }

  // Some columns at a time, so that their lines stay in the cache.
  void turn_kernel() const {
    constexpr std::int64_t kAtOnce = 16;
    for (std::int64_t begin = 0; begin < sizes.columns; begin += kAtOnce) {
      const std::int64_t end = std::min(sizes.columns, begin + kAtOnce);
      for (std::int64_t i = 0; i < sizes.features; ++i) {
        for (std::int64_t j = begin; j < end; ++j) {
          turned_kernel[j * sizes.features + i] = kernel[i * sizes.columns + j];
        }
      }
    }
  }

  void start(T* dst, const T* a, const T* b, std::int64_t row) const {
    for (std::int64_t i = 0; i < sizes.units; ++i) {
      const std::int64_t at = row * sizes.units + i;
      dst[i] = (a == nullptr ? T{0} : a[at]) + (b == nullptr ? T{0} : b[at]);
    }
  }

  bool is_masked(std::int64_t row, std::int64_t step) const {
    return mask != nullptr && mask[sizes.place(row, step, layer.backwards)] == 0;
  }

  // A sample's state and cell before a step.
  const T* state_before(std::int64_t row, std::int64_t step) const {
    if (step == 0) return state == nullptr ? zeros : state + row * sizes.units;
    const bool batch_first = layer.sequence && !layer.mask;
    const std::int64_t at =
        batch_first ? row * sizes.steps + step - 1 : (step - 1) * sizes.batch + row;
    return states + at * sizes.units;
  }
  const T* cell_before(std::int64_t row, std::int64_t step) const {
    if (step == 0) return cell == nullptr ? zeros : cell + row * sizes.units;
    return cells + ((step - 1) * sizes.batch + row) * sizes.units;
  }
  const T* gates_of(std::int64_t row, std::int64_t step) const {
    return gates + (step * sizes.batch + row) * layer.kept_gates() * sizes.units;
  }

  // Some steps, all of which are before `end`.
  struct Chunk {
    std::int64_t begin, end;
    std::int64_t steps() const { return end - begin; }
    std::int64_t row(std::int64_t row, std::int64_t step) const {
      return row * steps() + step - begin;
    }
  };

  // What was multiplied with weights, gathered so that it lies as the chunk's gradients do.
  void gather(const Chunk& c, std::int64_t row) const {
    const std::int64_t units = sizes.units, features = sizes.features;
    for (std::int64_t step = c.begin; step < c.end; ++step) {
      const std::int64_t at = c.row(row, step);
      T* dst = old_states + at * units;
      if (layer.reads_states() || step == 0) {
        std::memcpy(dst, state_before(row, step), static_cast<std::size_t>(units) * sizeof(T));
      } else {
        const T* out = gates_of(row, step - 1) + 3 * units;
        const T* old = cell_before(row, step);
        each_part<T>(units, [&](auto part, std::int64_t i) HWY_ATTR {
          const auto shown = activate(part.d, layer.activation, part.load(old + i));
          part.store(hn::Mul(part.load(out + i), shown), dst + i);
        });
      }
      if (attrs.of_kernel) {
        std::memcpy(inputs + at * features, x + sizes.place(row, step, layer.backwards) * features,
                    static_cast<std::size_t>(features) * sizeof(T));
      }
    }
  }

  // One step of one sample. Each makes of the gradient of the state (`dh`, to which the output's is
  // added) the gradients of what entered the activations, and leaves in `dh` what goes to the state
  // before by other ways than the product.
  struct Place {
    T *dh, *dc;
    const T* dy;  // of this step's output, or null
    T *d_inputs, *d_inner;
    const T* gates;
    const T *old_state, *old_cell, *cell;
    T *reset_flow, *reset_state;
  };

  template <class P>
  static HWY_INLINE auto arriving(const P& part, const Place& p, std::int64_t i) {
    const auto dh = part.load(p.dh + i);
    return p.dy == nullptr ? dh : hn::Add(dh, part.load(p.dy + i));
  }

  void skip(const Place& p) const {
    each_part<T>(sizes.units, [&](auto part, std::int64_t i)
                                  HWY_ATTR { part.store(arriving(part, p, i), p.dh + i); });
    std::fill_n(p.d_inputs, sizes.columns, T{0});
    std::fill_n(p.d_inner, sizes.columns, T{0});
    if (resets_first()) std::fill_n(p.reset_state, sizes.units, T{0});
  }

  void simple_back(const Place& p, const T* new_state) const {
    each_part<T>(sizes.units, [&](auto part, std::int64_t i) HWY_ATTR {
      const auto dh = arriving(part, p, i);
      part.store(deactivate(part.d, layer.activation, part.load(new_state + i), dh),
                 p.d_inputs + i);
      part.store(hn::Zero(part.d), p.dh + i);
    });
  }

  void lstm_back(const Place& p) const {
    const std::int64_t units = sizes.units;
    each_part<T>(units, [&](auto part, std::int64_t i) HWY_ATTR {
      const auto d = part.d;
      const auto dh = arriving(part, p, i);
      const auto in = part.load(p.gates + i), forget = part.load(p.gates + units + i);
      const auto candidate = part.load(p.gates + 2 * units + i);
      const auto out = part.load(p.gates + 3 * units + i);
      const auto shown = activate(d, layer.activation, part.load(p.cell + i));
      const auto through = deactivate(d, layer.activation, shown, hn::Mul(dh, out));
      const auto dc = hn::Add(part.load(p.dc + i), through);
      const auto give = [&](int g, Activation activation, auto y, auto dy) HWY_ATTR {
        part.store(deactivate(d, activation, y, dy), p.d_inputs + g * units + i);
      };
      give(0, layer.gate_activation, in, hn::Mul(dc, candidate));
      give(1, layer.gate_activation, forget, hn::Mul(dc, part.load(p.old_cell + i)));
      give(2, layer.activation, candidate, hn::Mul(dc, in));
      give(3, layer.gate_activation, out, hn::Mul(dh, shown));
      part.store(hn::Mul(dc, forget), p.dc + i);
      part.store(hn::Zero(d), p.dh + i);
    });
  }

  // Up to the candidate's product: all there is with reset_after, else reset_back follows.
  void gru_back(const Place& p) const {
    const std::int64_t units = sizes.units;
    const bool reset_after = layer.reset_after;
    each_part<T>(units, [&](auto part, std::int64_t i) HWY_ATTR {
      const auto d = part.d;
      const auto dh = arriving(part, p, i);
      const auto z = part.load(p.gates + i), r = part.load(p.gates + units + i);
      const auto candidate = part.load(p.gates + 2 * units + i);
      const auto old = part.load(p.old_state + i);
      const auto dz = deactivate(d, layer.gate_activation, z, hn::Mul(dh, hn::Sub(old, candidate)));
      const auto d_candidate =
          deactivate(d, layer.activation, candidate, hn::Mul(dh, hn::Sub(hn::Set(d, 1), z)));
      part.store(dz, p.d_inputs + i);
      part.store(d_candidate, p.d_inputs + 2 * units + i);
      part.store(hn::Mul(dh, z), p.dh + i);
      if (reset_after) {
        const auto inner = part.load(p.gates + 3 * units + i);
        const auto dr = deactivate(d, layer.gate_activation, r, hn::Mul(d_candidate, inner));
        part.store(dr, p.d_inputs + units + i);
        part.store(dz, p.d_inner + i);
        part.store(dr, p.d_inner + units + i);
        part.store(hn::Mul(d_candidate, r), p.d_inner + 2 * units + i);
      } else {
        part.store(hn::Mul(r, old), p.reset_state + i);
      }
    });
  }

  void reset_back(const Place& p) const {
    const std::int64_t units = sizes.units;
    each_part<T>(units, [&](auto part, std::int64_t i) HWY_ATTR {
      const auto reset = part.load(p.reset_flow + i), r = part.load(p.gates + units + i);
      const auto old = part.load(p.old_state + i);
      part.store(deactivate(part.d, layer.gate_activation, r, hn::Mul(reset, old)),
                 p.d_inputs + units + i);
      part.store(hn::MulAdd(reset, r, part.load(p.dh + i)), p.dh + i);
    });
  }

  Place place(const Chunk& c, std::int64_t row, std::int64_t step) const {
    const std::int64_t at = c.row(row, step), units = sizes.units;
    const bool has_output = d_sequence != nullptr && (mask == nullptr || step >= first[row]);
    const std::int64_t now = (step * sizes.batch + row) * units;
    return {.dh = flow + row * units,
            .dc = layer.is_lstm() ? cell_flow + row * units : nullptr,
            .dy = has_output ? d_sequence + (row * sizes.steps + step) * units : nullptr,
            .d_inputs = d_inputs + at * sizes.columns,
            .d_inner = d_inner + at * sizes.columns,
            .gates = gates == nullptr ? nullptr : gates_of(row, step),
            .old_state = old_states + at * units,
            .old_cell = layer.is_lstm() ? cell_before(row, step) : nullptr,
            .cell = cells == nullptr ? nullptr : cells + now,
            .reset_flow = resets_first() ? reset_flow + row * units : nullptr,
            .reset_state = resets_first() ? reset_states + at * units : nullptr};
  }

  // dst += or = the gradients of a step, from column `column` on, times transposed weights.
  void multiply_back(const Panels<T>& by, const Chunk& c, std::int64_t step, const T* gradients,
                     std::int64_t column, std::int64_t begin, std::int64_t end, T* dst,
                     bool add) const {
    const hn::ScalableTag<T> d;
    const std::int64_t lanes = lanes_of<T>(), units = sizes.units;
    const Rows<const T> a{gradients + (step - c.begin) * sizes.columns + column,
                          c.steps() * sizes.columns};
    const auto finish = [&](std::int64_t row, int rows, std::int64_t unit, int vectors,
                            const T* sums) HWY_ATTR {
      for (int i = 0; i < rows; ++i) {
        for (int v = 0; v < vectors; ++v, sums += lanes) {
          const std::int64_t at = unit + v * lanes;
          const Part<decltype(d)> part{d, units - at};
          T* to = dst + (row + i) * units + at;
          const auto sum = hn::Load(d, sums);
          part.store(add ? hn::Add(part.load(to), sum) : sum, to);
        }
      }
    };
    multiply_step(by, a, begin, end, finish);
  }

  // Back through the chunk's steps of rows [begin, end).
  void walk(const Chunk& c, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row) gather(c, row);
    for (std::int64_t step = c.end; step-- > c.begin;) {
      for (std::int64_t row = begin; row < end; ++row) {
        const Place p = place(c, row, step);
        if (is_masked(row, step)) {
          skip(p);
          continue;
        }
        switch (layer.kind) {
          case RecurrentKind::simple_rnn:
            simple_back(p, state_before(row, step + 1));
            break;
          case RecurrentKind::lstm:
            lstm_back(p);
            break;
          case RecurrentKind::gru:
            gru_back(p);
            break;
        }
      }
      if (resets_first()) {
        multiply_back(panels, c, step, d_inputs, 2 * sizes.units, begin, end, reset_flow, false);
        for (std::int64_t row = begin; row < end; ++row) {
          if (!is_masked(row, step)) reset_back(place(c, row, step));
        }
        multiply_back(gate_panels, c, step, d_inputs, 0, begin, end, flow, true);
      } else {
        multiply_back(panels, c, step, d_inner, 0, begin, end, flow, true);
      }
    }
    if (dx != nullptr && sizes.features != 0) give_inputs(c, begin, end);
  }

  // The gradients of the chunk's inputs.
  void give_inputs(const Chunk& c, std::int64_t begin, std::int64_t end) const {
    const std::int64_t features = sizes.features, columns = sizes.columns;
    Product<T> p{.a = nullptr,
                 .a_row = columns,
                 .a_col = 1,
                 .b = turned_kernel,
                 .b_row = features,
                 .b_col = 1,
                 .c = nullptr,
                 .c_row = layer.backwards ? -features : features,
                 .m = c.steps(),
                 .n = features,
                 .k = columns,
                 .read_b = ReadB::in_place,
                 .panels = nullptr};
    if (c.steps() >= end - begin) {
      for (std::int64_t row = begin; row < end; ++row) {
        p.a = d_inputs + c.row(row, c.begin) * columns;
        p.c = dx + sizes.place(row, c.begin, layer.backwards) * features;
        multiply_tiles(p);
      }
      return;
    }
    p.m = end - begin;
    p.a_row = c.steps() * columns;
    p.c_row = sizes.steps * features;
    for (std::int64_t step = c.begin; step < c.end; ++step) {
      p.a = d_inputs + c.row(begin, step) * columns;
      p.c = dx + sizes.place(begin, step, layer.backwards) * features;
      multiply_tiles(p);
    }
  }

  // Columns [begin, end) of dst += the chunk's rows of `a`, which has m columns, transposed, times
  // those of `b`.
  void add_product(const Chunk& c, const T* a, std::int64_t m, const T* b, T* dst,
                   std::int64_t begin, std::int64_t end) const {
    if (m == 0 || begin >= end) return;
    multiply_tiles(Product<T>{.a = a,
                              .a_row = 1,
                              .a_col = m,
                              .b = b + begin,
                              .b_row = sizes.columns,
                              .b_col = 1,
                              .c = dst + begin,
                              .c_row = sizes.columns,
                              .m = m,
                              .n = end - begin,
                              .k = sizes.batch * c.steps(),
                              .read_b = ReadB::in_place,
                              .panels = nullptr,
                              .accumulate = true});
  }

  // dst += the sums of columns [begin, end).
  void add_sums(const Chunk& c, const T* src, T* dst, std::int64_t begin, std::int64_t end) const {
    const std::int64_t rows = sizes.batch * c.steps();
    each_part<T>(end - begin, [&](auto part, std::int64_t i) HWY_ATTR {
      const T* from = src + begin + i;
      auto sum = hn::Zero(part.d);
      for (std::int64_t row = 0; row < rows; ++row, from += sizes.columns) {
        sum = hn::Add(sum, part.load(from));
      }
      part.store(hn::Add(part.load(dst + begin + i), sum), dst + begin + i);
    });
  }

  // Adds the chunk's part to columns [begin, end) of the gradients of weights and biases.
  void give_weights(const Chunk& c, std::int64_t begin, std::int64_t end) const {
    if (d_kernel != nullptr) {
      add_product(c, inputs, sizes.features, d_inputs, d_kernel, begin, end);
    }
    if (d_recurrent != nullptr) {
      const std::int64_t reset = resets_first() ? 2 * sizes.units : sizes.columns;
      add_product(c, old_states, sizes.units, d_inner, d_recurrent, begin, std::min(end, reset));
      add_product(c, reset_states, sizes.units, d_inner, d_recurrent, std::max(begin, reset), end);
    }
    if (d_bias != nullptr) {
      add_sums(c, d_inputs, d_bias, begin, end);
      if (layer.two_biases()) add_sums(c, d_inner, d_bias + sizes.columns, begin, end);
    }
  }
};

template <class T>
void backward(const ops::KernelArgs& args) noexcept {
  Backward<T> layer(args);
  const RecurrentSizes& sizes = layer.sizes;
  layer.prepare();
  if (sizes.batch == 0) return;
  const int threads = num_threads();
  const std::int64_t tiles = (sizes.columns + kTileColumns<T> - 1) / kTileColumns<T>;
  for (std::int64_t end = sizes.steps; end > 0; end -= layer.chunk) {
    const typename Backward<T>::Chunk chunk{std::max<std::int64_t>(0, end - layer.chunk), end};
    const std::int64_t work = chunk.steps() * sizes.columns * sizes.units;
    const std::int64_t ranges = row_ranges(sizes.batch, work, threads);
    parallel_each(ranges, [&](std::int64_t i) {
      layer.walk(chunk, i * sizes.batch / ranges, (i + 1) * sizes.batch / ranges);
    });
    const std::int64_t products = sizes.batch * work / kWorthAThread;
    const std::int64_t cuts = std::clamp<std::int64_t>(std::min<std::int64_t>(threads, tiles), 1,
                                                       std::max<std::int64_t>(1, products));
    parallel_each(cuts, [&](std::int64_t i) {
      const auto cut = [&](std::int64_t at) {
        return std::min(sizes.columns, at * tiles / cuts * kTileColumns<T>);
      };
      layer.give_weights(chunk, cut(i), cut(i + 1));
    });
  }
  const auto give = [&](T* dst, const T* src) {
    if (dst == nullptr) return;
    std::memcpy(dst, src, static_cast<std::size_t>(sizes.batch * sizes.units) * sizeof(T));
  };
  give(layer.d_first_state, layer.flow);
  give(layer.d_first_cell, layer.cell_flow);
}

template <class T>
std::size_t backward_scratch(const ops::KernelArgs& args) noexcept {
  return Backward<T>(args).scratch_bytes;
}

std::span<const ops::KernelRow> recurrent_grad_rows() {
  static constexpr ops::KernelRow rows[] = {
      {"simple_rnn_grad", DType::float32, backward<float>, backward_scratch<float>},
      {"simple_rnn_grad", DType::float64, backward<double>, backward_scratch<double>},
      {"gru_grad", DType::float32, backward<float>, backward_scratch<float>},
      {"gru_grad", DType::float64, backward<double>, backward_scratch<double>},
      {"lstm_grad", DType::float32, backward<float>, backward_scratch<float>},
      {"lstm_grad", DType::float64, backward<double>, backward_scratch<double>},
  };
  return rows;
}

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(recurrent_grad_rows);

std::span<const ops::KernelRow> recurrent_grad_kernels() {
  return HWY_DYNAMIC_DISPATCH(recurrent_grad_rows)();
}

}  // namespace tenure::cpu
#endif
