// Recurrent layers: all steps of a sequence in one call, and their gradients in another.
#include "call.h"
#include "core/raise.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/recurrent_attrs.h"

namespace tenure::node {
namespace {

using ops::RecurrentAttrs;
using ops::RecurrentKind;

// The family lists each layer's op, and its gradient behind it.
const ops::OpDef& op_of(RecurrentKind kind, bool gradient) {
  return *ops::recurrent_ops().ops[2 * static_cast<std::size_t>(kind) + (gradient ? 1 : 0)];
}

RecurrentAttrs attrs_of(Call& call) {
  RecurrentAttrs attrs;
  attrs.kind = call.choice(RecurrentKind::lstm);
  attrs.activation = call.choice(Activation::hard_sigmoid);
  attrs.gate_activation = call.choice(Activation::hard_sigmoid);
  attrs.reset_after = call.flag();
  attrs.backwards = call.flag();
  attrs.sequence = call.flag();
  attrs.bias = call.flag();
  attrs.state = call.flag();
  attrs.mask = call.flag();
  attrs.training = call.flag();
  return attrs;
}

// The op looks at shapes, and believes the rest.
void check_inputs(const ops::OpDef& op, std::vector<Tensor>& in, int count, int mask) {
  if (in.size() != static_cast<std::size_t>(count)) {
    raise<ValueError>("{}: {} inputs, but there must be {}", op.name, in.size(), count);
  }
  for (int i = 0; i < count; ++i) {
    const DType wanted = i == mask ? DType::boolean : DType::float32;
    const DType dtype = in[static_cast<std::size_t>(i)].dtype();
    if (dtype != wanted) {
      raise<DtypeError>("{}: input {} must be {}, not {}", op.name, i, wanted, dtype);
    }
  }
}

std::vector<Tensor> run(const ops::OpDef& op, std::vector<Tensor>& in, ops::AttrsRef attrs,
                        int results) {
  std::vector<Tensor> out(static_cast<std::size_t>(results));
  ops::apply_into(op, in, attrs, std::source_location::current(), out);
  return out;
}

// Gives the sequence or the last output; the states, if they are asked for; and, when training,
// what the gradient needs besides the inputs and the sequence.
void run_recurrent(Call& call) {
  std::vector<Tensor> in = call.tensors();
  const RecurrentAttrs attrs = attrs_of(call);
  const bool with_states = call.flag();
  const ops::RecurrentOutputs at(attrs);
  const ops::RecurrentInputs inputs(attrs);
  check_inputs(op_of(attrs.kind, false), in, inputs.count, inputs.mask);
  std::vector<Tensor> out = run(op_of(attrs.kind, false), in, ops::ref(attrs), at.count);
  std::vector<Tensor> results;
  const auto add = [&](int i) {
    if (i >= 0) results.push_back(std::move(out[static_cast<std::size_t>(i)]));
  };
  add(attrs.sequence ? at.sequence : at.output);
  if (with_states) {
    add(at.state);
    add(at.cell);
  }
  add(at.states);
  add(at.gates);
  add(at.cells);
  call.give(std::move(results));
}

// The inputs are the forward op's, what it saved, and the gradients that flow into its results.
void run_recurrent_grad(Call& call) {
  std::vector<Tensor> in = call.tensors();
  ops::RecurrentGradAttrs attrs{.forward = attrs_of(call)};
  attrs.from_sequence = attrs.forward.sequence;
  attrs.from_output = !attrs.forward.sequence;
  attrs.from_state = call.flag();
  attrs.from_cell = attrs.from_state && attrs.forward.is_lstm();
  attrs.of_x = attrs.of_kernel = attrs.of_recurrent = true;
  attrs.of_bias = attrs.forward.bias;
  attrs.of_state = attrs.forward.state;
  check_inputs(op_of(attrs.forward.kind, true), in, ops::RecurrentGradInputs(attrs).count,
               ops::RecurrentInputs(attrs.forward).mask);
  call.give(run(op_of(attrs.forward.kind, true), in, ops::ref(attrs),
                ops::RecurrentGradOutputs(attrs).count));
}

constexpr Row kRecurrentRows[] = {
    {"recurrent", run_recurrent},
    {"recurrent_grad", run_recurrent_grad},
};

}  // namespace

std::span<const Row> recurrent_rows() { return kRecurrentRows; }

}  // namespace tenure::node
