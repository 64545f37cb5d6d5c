// Recurrent layers, each one op forward and one backward.
//
// Under a tape the forward op also leaves what each step's gradient reads (`training`). A gradient
// that is asked of an op that ran without, such as a traced function's, runs it again. The gradient
// of a gradient differentiates the same layer written step by step in public ops: there the op's
// saved values count as what they are, functions of its inputs.
#include "tenure/recurrent.h"

#include <algorithm>
#include <array>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/differentiate.h"
#include "ops/families.h"
#include "ops/operands.h"
#include "ops/promote.h"
#include "ops/recorder.h"
#include "ops/recurrent_attrs.h"
#include "tenure/activation.h"
#include "tenure/create.h"
#include "tenure/linalg.h"

namespace tenure {
namespace ops {
namespace {

std::source_location here() { return std::source_location::current(); }

constexpr Keep kEveryInput{0x7f, 0};    // of a layer, which has up to seven
constexpr Keep kEverything{0xffff, 0};  // of its gradient

struct Sizes {
  std::int64_t batch, steps, features, units, columns;
};

void check_shape(const Infer& infer, int i, const char* what, const Shape& wanted) {
  if (i < 0) return;
  const Shape& shape = infer.shape(static_cast<std::size_t>(i));
  if (shape != wanted) {
    raise<ShapeError>("{}: the {} is {}, but must be {} for x of {} and a recurrent kernel of {}",
                      infer.op, what, shape, wanted, infer.shape(0), infer.shape(2));
  }
}

// Of the forward op's inputs.
Sizes checked_sizes(const Infer& infer, const RecurrentAttrs& attrs) {
  const RecurrentInputs in(attrs);
  for (const Activation activation : {attrs.activation, attrs.gate_activation}) {
    if (!is_recurrent(activation)) {
      raise<ValueError>("{}: its kernels do not know the activation {}", infer.op,
                        choice_name(activation));
    }
  }
  const Shape& x = infer.shape(0);
  if (x.rank() != 3) {
    raise<ShapeError>("{}: x must be [batch, time, features], not {}", infer.op, x);
  }
  if (x[1] == 0) raise<ShapeError>("{}: x has no steps: {}", infer.op, x);
  const Shape& recurrent = infer.shape(2);
  if (recurrent.rank() != 2 || recurrent[0] == 0 || recurrent[1] != recurrent[0] * attrs.gates()) {
    raise<ShapeError>("{}: the recurrent kernel must be [units, {}units], not {}", infer.op,
                      attrs.gates() == 1 ? "" : std::to_string(attrs.gates()) + " * ", recurrent);
  }
  const Sizes sizes{x[0], x[1], x[2], recurrent[0], recurrent[1]};
  check_shape(infer, in.kernel, "kernel", {sizes.features, sizes.columns});
  check_shape(infer, in.bias, "bias",
              attrs.two_biases() ? Shape{2, sizes.columns} : Shape{sizes.columns});
  check_shape(infer, in.state, "initial state", {sizes.batch, sizes.units});
  check_shape(infer, in.cell, "initial cell", {sizes.batch, sizes.units});
  check_shape(infer, in.mask, "mask", {sizes.batch, sizes.steps});
  return sizes;
}

void set_result(Infer& infer, int i, const Shape& shape) {
  if (i >= 0) infer.result(shape, infer.dtype(0), static_cast<std::size_t>(i));
}

void infer_forward(Infer& infer) {
  const auto& attrs = infer.attrs.as<RecurrentAttrs>();
  const Sizes sizes = checked_sizes(infer, attrs);
  const RecurrentOutputs out(attrs);
  set_result(infer, out.sequence, {sizes.batch, sizes.steps, sizes.units});
  for (const int i : {out.output, out.state, out.cell}) {
    set_result(infer, i, {sizes.batch, sizes.units});
  }
  for (const int i : {out.states, out.cells}) {
    set_result(infer, i, {sizes.steps, sizes.batch, sizes.units});
  }
  set_result(infer, out.gates, {sizes.steps, sizes.batch, attrs.kept_gates() * sizes.units});
}

void infer_backward(Infer& infer) {
  const auto& attrs = infer.attrs.as<RecurrentGradAttrs>();
  const RecurrentAttrs& forward = attrs.forward;
  const Sizes sizes = checked_sizes(infer, forward);
  const RecurrentGradInputs in(attrs);
  const Shape of_state{sizes.batch, sizes.units};
  const Shape of_steps{sizes.steps, sizes.batch, sizes.units};
  const Shape of_sequence{sizes.batch, sizes.steps, sizes.units};
  const bool from_sequence = forward.sequence && !forward.mask;
  check_shape(infer, in.states, "sequence of states", from_sequence ? of_sequence : of_steps);
  check_shape(infer, in.gates, "sequence of gates",
              {sizes.steps, sizes.batch, forward.kept_gates() * sizes.units});
  check_shape(infer, in.cells, "sequence of cells", of_steps);
  check_shape(infer, in.d_sequence, "gradient of the sequence", of_sequence);
  check_shape(infer, in.d_output, "gradient of the output", of_state);
  check_shape(infer, in.d_state, "gradient of the state", of_state);
  check_shape(infer, in.d_cell, "gradient of the cell", of_state);
  const RecurrentGradOutputs out(attrs);
  const RecurrentInputs slots(forward);
  const std::array<std::pair<int, int>, 6> like{{{out.x, slots.x},
                                                 {out.kernel, slots.kernel},
                                                 {out.recurrent, slots.recurrent},
                                                 {out.bias, slots.bias},
                                                 {out.state, slots.state},
                                                 {out.cell, slots.cell}}};
  for (const auto& [result, source] : like) {
    if (result >= 0) set_result(infer, result, infer.shape(static_cast<std::size_t>(source)));
  }
}

// The layer step by step.

struct Stepped {
  const RecurrentAttrs& attrs;
  const std::vector<Tensor>& in;
  RecurrentInputs index{attrs};
  std::int64_t units = in[2].dim(0);

  const Tensor& input(int i) const { return in[static_cast<std::size_t>(i)]; }
  // Gate g of something whose last axis has all gates.
  Tensor gate(const Tensor& of, int g) const { return slice(of, {0, g * units}, {-1, units}); }
  Tensor gated(Tensor x) const { return activated(attrs.gate_activation, std::move(x)); }

  // New state and cell of one step.
  std::array<Tensor, 2> step(const Tensor& x, const Tensor& h, const Tensor& c) const {
    const Tensor& recurrent = input(index.recurrent);
    Tensor inputs = matmul(x, input(index.kernel));
    if (attrs.kind != RecurrentKind::gru) {
      Tensor all = std::move(inputs) + matmul(h, recurrent);
      if (attrs.bias) all = std::move(all) + input(index.bias);
      if (!attrs.is_lstm()) return {activated(attrs.activation, std::move(all)), Tensor()};
      Tensor cell =
          gated(gate(all, 1)) * c + gated(gate(all, 0)) * activated(attrs.activation, gate(all, 2));
      Tensor state = gated(gate(all, 3)) * activated(attrs.activation, cell);
      return {std::move(state), std::move(cell)};
    }
    if (attrs.bias) {
      const Tensor& bias = input(index.bias);
      inputs = std::move(inputs) + (attrs.reset_after ? slice(bias, {0, 0}, {1, -1}) : bias);
    }
    Tensor z, candidate;
    if (attrs.reset_after) {
      Tensor inner = matmul(h, recurrent);
      if (attrs.bias) inner = std::move(inner) + slice(input(index.bias), {1, 0}, {1, -1});
      z = gated(gate(inputs, 0) + gate(inner, 0));
      const Tensor r = gated(gate(inputs, 1) + gate(inner, 1));
      candidate = gate(inputs, 2) + r * gate(inner, 2);
    } else {
      z = gated(gate(inputs, 0) + matmul(h, gate(recurrent, 0)));
      const Tensor r = gated(gate(inputs, 1) + matmul(h, gate(recurrent, 1)));
      candidate = gate(inputs, 2) + matmul(r * h, gate(recurrent, 2));
    }
    return {z * h + (1 - z) * activated(attrs.activation, std::move(candidate)), Tensor()};
  }

  // The public results, in order: the sequence if there is one, output, state and cell.
  std::vector<Tensor> run() const {
    std::vector<Tensor> steps = unstack(input(index.x), 1);
    std::vector<Tensor> masks;
    if (attrs.mask) masks = unstack(expand_dims(input(index.mask), -1), 1);
    if (attrs.backwards) {
      std::reverse(steps.begin(), steps.end());
      std::reverse(masks.begin(), masks.end());
    }
    const Tensor zero =
        zeros_like(matmul(steps[0], slice(input(index.kernel), {0, 0}, {-1, units})));
    Tensor h = attrs.state ? input(index.state) : zero, c = zero, output = zero;
    if (attrs.state && attrs.is_lstm()) c = input(index.cell);
    std::vector<Tensor> outputs;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      auto [state, cell] = step(steps[s], h, c);
      if (attrs.mask) {
        output = where(masks[s], state, output);
        h = where(masks[s], state, h);
        if (attrs.is_lstm()) c = where(masks[s], cell, c);
      } else {
        h = output = state;
        c = cell;
      }
      if (attrs.sequence) outputs.push_back(output);
    }
    std::vector<Tensor> results;
    if (attrs.sequence) results.push_back(stack(std::move(outputs), 1));
    results.push_back(output);
    results.push_back(h);
    if (attrs.is_lstm()) results.push_back(c);
    return results;
  }
};

// A backward op's results, in public ops.
std::vector<Tensor> stepped_gradient(const RecurrentGradAttrs& attrs,
                                     const std::vector<Tensor>& in) {
  const RecurrentInputs slots(attrs.forward);
  const RecurrentGradInputs more(attrs);
  const RecurrentOutputs result(attrs.forward);
  const auto at = [&in](int i) { return in[static_cast<std::size_t>(i)]; };
  GradientTape tape({.watch_variables = false});
  // Views, so that an input that is another one has a gradient of its own.
  std::vector<Tensor> inputs;
  inputs.reserve(static_cast<std::size_t>(slots.count));
  for (int i = 0; i < slots.count; ++i) inputs.push_back(reshape(at(i), at(i).shape()));
  std::vector<Source> sources;
  const std::array<std::pair<bool, int>, 6> wanted{
      {{attrs.of_x, slots.x},
       {attrs.of_kernel, slots.kernel},
       {attrs.of_recurrent, slots.recurrent},
       {attrs.of_bias, slots.bias},
       {attrs.of_state, slots.state},
       {attrs.of_state && attrs.forward.is_lstm(), slots.cell}}};
  for (const auto& [is_wanted, i] : wanted) {
    if (!is_wanted) continue;
    tape.watch(inputs[static_cast<std::size_t>(i)]);
    sources.emplace_back(inputs[static_cast<std::size_t>(i)]);
  }
  const std::vector<Tensor> results = Stepped{attrs.forward, inputs}.run();
  std::vector<Tensor> targets, gradients;
  const auto flow = [&](int from, int to) {
    if (from < 0) return;
    targets.push_back(results[static_cast<std::size_t>(to)]);
    gradients.push_back(at(from));
  };
  flow(more.d_sequence, result.sequence);
  flow(more.d_output, result.output);
  flow(more.d_state, result.state);
  flow(more.d_cell, result.cell);
  return tape.gradients(targets, gradients, sources, {.zero_if_unconnected = true});
}

constexpr OpDef backward_op(const char* name) {
  return {.name = name,
          .infer = infer_backward,
          .inputs = OpDef::kVariadic,
          .outputs = OpDef::kVariadic,
          .grad_keeps = kEverything,
          .grad = [](GradContext& g) -> Grads {
            return differentiate(g, [&](const std::vector<Tensor>& in) {
              return stepped_gradient(g.attrs_as<RecurrentGradAttrs>(), in);
            });
          }};
}

constinit const OpDef kSimpleRnnGrad = backward_op("simple_rnn_grad");
constinit const OpDef kGruGrad = backward_op("gru_grad");
constinit const OpDef kLstmGrad = backward_op("lstm_grad");

const OpDef& backward_of(RecurrentKind kind) {
  static constexpr const OpDef* ops[] = {&kSimpleRnnGrad, &kGruGrad, &kLstmGrad};
  return *ops[static_cast<int>(kind)];
}

Grads gradient_of(const OpDef& op, GradContext& g) {
  RecurrentGradAttrs attrs{.forward = g.attrs_as<RecurrentAttrs>()};
  const RecurrentInputs slots(attrs.forward);
  const RecurrentOutputs result(attrs.forward);
  std::vector<Tensor> in;
  in.reserve(16);
  for (int i = 0; i < slots.count; ++i) in.push_back(g.x(i));
  const bool was_training = attrs.forward.training;
  attrs.forward.training = true;
  const RecurrentOutputs saved(attrs.forward);
  std::vector<Tensor> again;
  if (!was_training) {
    std::vector<Tensor> same = in;
    again.resize(static_cast<std::size_t>(saved.count));
    apply_into(op, same, ref(attrs.forward), here(), again);
  }
  for (const int i : {saved.saved_states(attrs.forward), saved.gates, saved.cells}) {
    if (i >= 0) in.push_back(was_training ? g.y(i) : std::move(again[static_cast<std::size_t>(i)]));
  }
  again.clear();
  const auto flow = [&](int output) {
    const bool flows = output >= 0 && g.flows(output);
    if (flows) in.push_back(g.dy(output));
    return flows;
  };
  attrs.from_sequence = flow(result.sequence);
  attrs.from_output = flow(result.output);
  attrs.from_state = flow(result.state);
  attrs.from_cell = flow(result.cell);
  attrs.of_x = g.needs(slots.x);
  attrs.of_kernel = g.needs(slots.kernel);
  attrs.of_recurrent = g.needs(slots.recurrent);
  attrs.of_bias = slots.bias >= 0 && g.needs(slots.bias);
  attrs.of_state =
      slots.state >= 0 && (g.needs(slots.state) || (slots.cell >= 0 && g.needs(slots.cell)));
  const RecurrentGradOutputs wanted(attrs);
  std::vector<Tensor> out(static_cast<std::size_t>(wanted.count)), grads(g.inputs());
  apply_into(backward_of(attrs.forward.kind), in, ref(attrs), here(), out);
  const auto give = [&](int i, int from) {
    if (from >= 0)
      grads[static_cast<std::size_t>(i)] = std::move(out[static_cast<std::size_t>(from)]);
  };
  give(slots.x, wanted.x);
  give(slots.kernel, wanted.kernel);
  give(slots.recurrent, wanted.recurrent);
  give(slots.bias, wanted.bias);
  give(slots.state, wanted.state);
  give(slots.cell, wanted.cell);
  return grads;
}

template <RecurrentKind kind>
Grads gradient(GradContext& g);

constexpr OpDef forward_op(const char* name, Grads (*grad)(GradContext&)) {
  return {.name = name,
          .infer = infer_forward,
          .inputs = OpDef::kVariadic,
          .outputs = OpDef::kVariadic,
          .grad_keeps = kEveryInput,
          .keeps_output =
              [](AttrsRef ref, std::size_t output) {
                const auto& attrs = ref.as<RecurrentAttrs>();
                const RecurrentOutputs out(attrs);
                const auto i = static_cast<int>(output);
                return attrs.training &&
                       (i == out.saved_states(attrs) || i == out.gates || i == out.cells);
              },
          .grad = grad};
}

constinit const OpDef kSimpleRnn = forward_op("simple_rnn", gradient<RecurrentKind::simple_rnn>);
constinit const OpDef kGru = forward_op("gru", gradient<RecurrentKind::gru>);
constinit const OpDef kLstm = forward_op("lstm", gradient<RecurrentKind::lstm>);

const OpDef& forward_of(RecurrentKind kind) {
  static constexpr const OpDef* ops[] = {&kSimpleRnn, &kGru, &kLstm};
  return *ops[static_cast<int>(kind)];
}

template <RecurrentKind kind>
Grads gradient(GradContext& g) {
  return gradient_of(forward_of(kind), g);
}

RecurrentResult run(RecurrentKind kind, Arg& x, Arg& kernel, Arg& recurrent_kernel,
                    const RecurrentOptions& options) {
  const OpDef& op = forward_of(kind);
  const detail::UserLine site(x.site());
  const bool is_lstm = kind == RecurrentKind::lstm;
  if (options.initial_cell && !is_lstm) {
    raise<ValueError>("{}: an initial cell was given, and only an lstm has cells", op.name);
  }
  std::vector<Tensor> in;
  in.reserve(7);
  const auto add = [&](Arg arg) {
    const auto i = static_cast<int>(in.size());
    const std::source_location at = arg.site();
    if (!arg.scalar()) check_alive(op.name, i, arg);
    if (i == 0) {
      in.push_back(as_float(op.name, std::move(arg)));
    } else {
      in.push_back(operand_as(op.name, i, as_tensor(op.name, std::move(arg)), in[0].dtype(), at));
    }
  };
  add(std::move(x));
  add(std::move(kernel));
  add(std::move(recurrent_kernel));
  if (options.bias) add(*options.bias);
  const bool has_state = options.initial_state || options.initial_cell;
  if (options.initial_state) {
    add(*options.initial_state);
  } else if (has_state) {
    const Arg& like = *options.initial_cell;
    check_alive(op.name, static_cast<int>(in.size()), like);
    add(Arg(zeros_like(like.tensor(), site), site));
  }
  if (options.initial_cell) {
    add(*options.initial_cell);
  } else if (has_state && is_lstm) {
    add(Arg(zeros_like(in.back(), site), site));
  }
  if (options.mask) {
    Tensor mask = live_operand(op.name, static_cast<int>(in.size()), Arg(*options.mask));
    if (mask.dtype() != DType::boolean) {
      raise<DtypeError>("{}: the mask must be bool, not {}", op.name, mask.dtype());
    }
    in.push_back(std::move(mask));
  }
  const RecurrentAttrs attrs{.kind = kind,
                             .activation = options.activation,
                             .gate_activation = options.recurrent_activation,
                             .reset_after = kind == RecurrentKind::gru && options.reset_after,
                             .backwards = options.go_backwards,
                             .sequence = options.return_sequences,
                             .bias = options.bias.has_value(),
                             .state = has_state,
                             .mask = options.mask.has_value(),
                             .training = tapes_of(detail::context()) != nullptr};
  const RecurrentOutputs result(attrs);
  std::array<Tensor, 7> out;
  apply_into(op, in, ref(attrs), site,
             std::span(out).first(static_cast<std::size_t>(result.count)));
  const auto take = [&out](int i) {
    return i < 0 ? Tensor() : std::move(out[static_cast<std::size_t>(i)]);
  };
  return {take(result.sequence), take(result.output), take(result.state), take(result.cell)};
}

}  // namespace

Family recurrent_ops() {
  static constexpr const OpDef* ops[] = {&kSimpleRnn, &kSimpleRnnGrad, &kGru,
                                         &kGruGrad,   &kLstm,          &kLstmGrad};
  return ops;
}

}  // namespace ops

RecurrentResult simple_rnn(Arg x, Arg kernel, Arg recurrent_kernel,
                           const RecurrentOptions& options) {
  return ops::run(ops::RecurrentKind::simple_rnn, x, kernel, recurrent_kernel, options);
}

RecurrentResult gru(Arg x, Arg kernel, Arg recurrent_kernel, const RecurrentOptions& options) {
  return ops::run(ops::RecurrentKind::gru, x, kernel, recurrent_kernel, options);
}

RecurrentResult lstm(Arg x, Arg kernel, Arg recurrent_kernel, const RecurrentOptions& options) {
  return ops::run(ops::RecurrentKind::lstm, x, kernel, recurrent_kernel, options);
}

}  // namespace tenure
