#include "graph/control.h"

#include <algorithm>
#include <functional>

#include "core/raise.h"
#include "graph/program.h"
#include "graph/trace.h"
#include "memory/context.h"
#include "memory/text.h"
#include "ops/apply.h"
#include "tenure/create.h"
#include "tenure/gradient.h"
#include "tenure/math.h"

namespace tenure::graph {
namespace {

using ops::GradContext;
using ops::Grads;
using ops::Infer;

bool has_gradient(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

const Value& result_of(const Graph& body, std::size_t i) { return body.values[body.results[i]]; }
const Value& input_of(const Graph& body, std::size_t i) { return body.values[body.inputs[i]]; }

Shape stacked(std::int64_t steps, const Shape& shape) {
  Shape result;
  result.push_back(steps);
  for (const std::int64_t dim : shape) result.push_back(dim);
  return result;
}

// Runs a node now, or appends it to the trace.
std::vector<Tensor> run(const ops::OpDef& op, std::vector<Tensor> in, const ControlAttrs& attrs,
                        std::size_t outputs) {
  std::vector<Tensor> out(outputs);
  const std::source_location site = detail::context().call.site;
  if (detail::context().trace != nullptr) {
    ops::apply_into(op, in, ops::ref(attrs), site, out);
  } else {
    Node node;
    node.op = &op;
    node.attrs = ops::AttrsBox(ops::ref(attrs));
    interpret_control(node, in, out, site);
  }
  return out;
}

// A graph of `fn` on inputs like these values.
template <class F>
std::shared_ptr<const Graph> graph_of(const detail::LabelRef& function,
                                      const std::vector<Value>& inputs, F&& fn) {
  const detail::UserCall call = detail::context().call;
  const std::source_location site = call.site;
  Trace trace(function);
  const detail::CallScope same_call(call.op, site, call.backward);  // a trace begins without one
  std::vector<Tensor> in;
  in.reserve(inputs.size());
  for (const Value& value : inputs) in.push_back(trace.add_input(value.shape, value.dtype, site));
  std::vector<Tensor> out = fn(in);
  in.clear();
  return std::make_shared<const Graph>(trace.finish(out, site));
}

// Inside a trace: the gradients of a body's inputs `wanted`, at `in`, where `dy` are those of its
// results `flowing`.
std::vector<Tensor> differentiate(const Graph& body, const std::vector<Tensor>& in,
                                  const std::vector<std::size_t>& wanted,
                                  const std::vector<std::size_t>& flowing,
                                  const std::vector<Tensor>& dy) {
  const std::source_location site = detail::context().call.site;
  GradientTape tape({.watch_variables = false}, site);
  std::vector<Source> sources;
  for (const std::size_t i : wanted) {
    tape.watch(in[i], site);
    sources.emplace_back(in[i]);
  }
  std::vector<Tensor> out(body.results.size()), targets;
  interpret(body, in, out, site);
  for (const std::size_t i : flowing) targets.push_back(out[i]);
  return tape.gradients(targets, dy, sources, {.zero_if_unconnected = true}, site);
}

std::vector<std::size_t> with_gradient(std::size_t begin, std::size_t end, auto&& value_of) {
  std::vector<std::size_t> differentiable;
  for (std::size_t i = begin; i < end; ++i) {
    if (has_gradient(value_of(i).dtype)) differentiable.push_back(i);
  }
  return differentiable;
}

// --- branch and call: the gradient runs the gradients of the bodies.

void infer_results(Infer& infer) {
  const auto& attrs = infer.attrs.as<ControlAttrs>();
  const Graph& body = *attrs.bodies[0];
  for (std::size_t i = 0; i < body.results.size(); ++i) {
    infer.result(result_of(body, i).shape, result_of(body, i).dtype, i);
  }
  if (attrs.tells_counter) infer.result({}, DType::int64, body.results.size());
}

bool keeps_counter(ops::AttrsRef ref, std::size_t output) {
  const auto& attrs = ref.as<ControlAttrs>();
  return attrs.tells_counter && output == attrs.bodies.back()->results.size();
}

// `first` inputs come before the bodies'.
Grads bodies_grad(GradContext& g, const ops::OpDef& op, std::size_t first) {
  const auto& attrs = g.attrs_as<ControlAttrs>();
  const Graph& any = *attrs.bodies[0];
  std::vector<std::size_t> wanted, flowing;
  std::vector<Tensor> in;
  for (std::size_t i = 0; i < first + any.inputs.size(); ++i) {
    in.push_back(g.x(static_cast<int>(i)));
    if (i >= first && g.needs(static_cast<int>(i))) wanted.push_back(i - first);
  }
  std::vector<Value> inputs;
  inputs.reserve(any.inputs.size() + any.results.size());
  for (std::size_t i = 0; i < any.inputs.size(); ++i) inputs.push_back(input_of(any, i));
  for (std::size_t i = 0; i < any.results.size(); ++i) {
    if (!has_gradient(result_of(any, i).dtype) || !g.flows(static_cast<int>(i))) continue;
    flowing.push_back(i);
    inputs.push_back(result_of(any, i));
    in.push_back(g.dy(static_cast<int>(i)));
  }
  ControlAttrs back;
  for (const auto& body : attrs.bodies) {
    back.bodies.push_back(graph_of(body->function, inputs, [&](const std::vector<Tensor>& x) {
      const auto split = x.begin() + static_cast<std::ptrdiff_t>(body->inputs.size());
      return differentiate(*body, {x.begin(), split}, wanted, flowing, {split, x.end()});
    }));
  }
  if (attrs.tells_counter) {
    back.has_counter = true;
    in.push_back(g.y(static_cast<int>(any.results.size())));
  } else if (attrs.has_counter) {
    back.has_counter = true;
    in.push_back(g.x(static_cast<int>(g.inputs()) - 1));
  }
  std::vector<Tensor> grad_results = run(op, std::move(in), back, wanted.size());
  std::vector<Tensor> grads(g.inputs());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    grads[first + wanted[i]] = std::move(grad_results[i]);
  }
  return grads;
}

// --- loop and scan: a step of the gradient goes from the gradient of the state after a step to
// that before it, and adds up those of what is the same throughout.

struct Backward {
  std::vector<std::size_t> states;   // with a gradient, of the body's inputs and results
  std::vector<std::size_t> slices;   // wanted, of the body's inputs
  std::vector<std::size_t> fixed;    // the same
  std::vector<std::size_t> outputs;  // sequences of results whose gradients flow
  std::vector<std::size_t> stacks;   // of `states`: those into whose stacks gradients flow
  // Inputs: gradients of states, sums for `fixed`; the body's states, its slices, gradients of
  // results and of stacks; what is the same throughout. Results: gradients of states, sums, those
  // of slices.
  std::shared_ptr<const Graph> body;
};

Backward backward_of(const Graph& body, std::size_t state, std::size_t sequences,
                     const std::function<bool(std::size_t)>& needs,
                     const std::function<bool(std::size_t)>& flows) {
  Backward back;
  back.states = with_gradient(0, state, [&](std::size_t i) { return input_of(body, i); });
  for (std::size_t i = state; i < body.inputs.size(); ++i) {
    if (needs(i)) (i < state + sequences ? back.slices : back.fixed).push_back(i);
  }
  for (std::size_t i = state; i < body.results.size(); ++i) {
    if (has_gradient(result_of(body, i).dtype) && flows(i)) back.outputs.push_back(i);
  }
  for (std::size_t i = 0; i < back.states.size(); ++i) {
    if (flows(body.results.size() + back.states[i])) back.stacks.push_back(i);
  }
  std::vector<Value> inputs;
  inputs.reserve(2 * body.inputs.size() + 2 * body.results.size());
  for (const std::size_t i : back.states) inputs.push_back(input_of(body, i));
  for (const std::size_t i : back.fixed) inputs.push_back(input_of(body, i));
  for (std::size_t i = 0; i < state + sequences; ++i) inputs.push_back(input_of(body, i));
  for (const std::size_t i : back.outputs) inputs.push_back(result_of(body, i));
  for (const std::size_t i : back.stacks) inputs.push_back(input_of(body, back.states[i]));
  for (std::size_t i = state + sequences; i < body.inputs.size(); ++i) {
    inputs.push_back(input_of(body, i));
  }
  std::vector<std::size_t> wanted = back.states, flowing = back.states;
  wanted.insert(wanted.end(), back.fixed.begin(), back.fixed.end());
  wanted.insert(wanted.end(), back.slices.begin(), back.slices.end());
  flowing.insert(flowing.end(), back.outputs.begin(), back.outputs.end());
  back.body = graph_of(body.function, inputs, [&](const std::vector<Tensor>& x) {
    auto next = x.begin();
    const auto take = [&next](std::size_t count) {
      const std::span<const Tensor> taken(next, next + static_cast<std::ptrdiff_t>(count));
      next += static_cast<std::ptrdiff_t>(count);
      return taken;
    };
    const auto d_state = take(back.states.size()), sums = take(back.fixed.size());
    const auto varying = take(state + sequences), d_outputs = take(back.outputs.size());
    const auto d_stacks = take(back.stacks.size());
    const auto fixed = take(body.inputs.size() - state - sequences);
    std::vector<Tensor> in(varying.begin(), varying.end()), dy(d_state.begin(), d_state.end());
    in.insert(in.end(), fixed.begin(), fixed.end());
    dy.insert(dy.end(), d_outputs.begin(), d_outputs.end());
    std::vector<Tensor> grads = differentiate(body, in, wanted, flowing, dy);
    for (std::size_t i = 0; i < d_stacks.size(); ++i) {
      Tensor& grad = grads[back.stacks[i]];
      grad = grad + d_stacks[i];
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      Tensor& grad = grads[back.states.size() + i];
      grad = sums[i] + grad;
    }
    return grads;
  });
  return back;
}

void infer_loop(Infer& infer) {
  const auto& attrs = infer.attrs.as<ControlAttrs>();
  for (std::size_t i = 0; i < attrs.state; ++i) infer.result(infer.shape(i), infer.dtype(i), i);
  if (attrs.tells_counter) infer.result({}, DType::int64, attrs.state);
}

bool loop_keeps(ops::AttrsRef ref, std::size_t output) {
  const auto& attrs = ref.as<ControlAttrs>();
  return attrs.tells_counter && output == attrs.state;
}

Grads loop_grad(GradContext& g) {
  const auto& attrs = g.attrs_as<ControlAttrs>();
  const Graph& body = *attrs.bodies[1];
  const auto needs = [&](std::size_t i) { return g.needs(static_cast<int>(i)); };
  const Backward back = backward_of(body, attrs.state, 0, needs, [](std::size_t) { return false; });
  ControlAttrs grad_attrs;
  grad_attrs.bodies = {attrs.bodies[0], attrs.bodies[1], back.body};
  grad_attrs.state = attrs.state;
  grad_attrs.steps = attrs.steps;
  std::vector<Tensor> in;
  in.reserve(body.inputs.size() + back.states.size() + 1);
  for (std::size_t i = 0; i < body.inputs.size(); ++i) in.push_back(g.x(static_cast<int>(i)));
  for (const std::size_t i : back.states) in.push_back(g.dy(static_cast<int>(i)));
  if (attrs.tells_counter) {
    grad_attrs.has_counter = true;
    in.push_back(g.y(static_cast<int>(attrs.state)));
  }
  std::vector<Tensor> grad_results =
      run(kLoopGrad, std::move(in), grad_attrs, back.states.size() + back.fixed.size());
  std::vector<Tensor> grads(g.inputs());
  for (std::size_t i = 0; i < back.states.size(); ++i) grads[back.states[i]] = grad_results[i];
  for (std::size_t i = 0; i < back.fixed.size(); ++i) {
    grads[back.fixed[i]] = grad_results[back.states.size() + i];
  }
  return grads;
}

void infer_loop_grad(Infer& infer) {
  const Graph& back = *infer.attrs.as<ControlAttrs>().bodies[2];
  for (std::size_t i = 0; i < back.results.size(); ++i) {
    infer.result(result_of(back, i).shape, result_of(back, i).dtype, i);
  }
}

void infer_scan(Infer& infer) {
  const auto& attrs = infer.attrs.as<ControlAttrs>();
  const Graph& body = *attrs.bodies[0];
  std::size_t out = 0;
  for (std::size_t i = 0; i < body.results.size(); ++i) {
    const Value& value = result_of(body, i);
    infer.result(i < attrs.state ? value.shape : stacked(attrs.steps, value.shape), value.dtype,
                 out++);
  }
  for (std::size_t i = 0; i < attrs.state; ++i) {
    const Value& value = input_of(body, i);
    infer.result(stacked(attrs.steps, value.shape), value.dtype, out++);
  }
  if (attrs.tells_counter) infer.result(stacked(attrs.steps, {}), DType::int64, out);
}

bool scan_keeps(ops::AttrsRef ref, std::size_t output) {
  return output >= ref.as<ControlAttrs>().bodies[0]->results.size();
}

Grads scan_grad(GradContext& g) {
  const auto& attrs = g.attrs_as<ControlAttrs>();
  const Graph& body = *attrs.bodies[0];
  const std::size_t results = body.results.size();
  const auto needs = [&](std::size_t i) { return g.needs(static_cast<int>(i)); };
  const auto flows = [&](std::size_t i) { return g.flows(static_cast<int>(i)); };
  const Backward back = backward_of(body, attrs.state, attrs.sequences, needs, flows);
  ControlAttrs grad_attrs;
  grad_attrs.bodies = {back.body};
  grad_attrs.state = back.states.size() + back.fixed.size();
  grad_attrs.sequences = attrs.state + attrs.sequences + back.outputs.size() + back.stacks.size();
  grad_attrs.steps = attrs.steps;
  grad_attrs.reverse = !attrs.reverse;
  std::vector<Tensor> in;
  in.reserve(2 * body.inputs.size() + 2 * body.results.size() + 1);
  for (const std::size_t i : back.states) in.push_back(g.dy(static_cast<int>(i)));
  for (const std::size_t i : back.fixed) {
    in.push_back(zeros(input_of(body, i).shape, input_of(body, i).dtype));
  }
  for (std::size_t i = 0; i < attrs.state; ++i) in.push_back(g.y(static_cast<int>(results + i)));
  for (std::size_t i = attrs.state; i < attrs.state + attrs.sequences; ++i) {
    in.push_back(g.x(static_cast<int>(i)));
  }
  for (const std::size_t i : back.outputs) in.push_back(g.dy(static_cast<int>(i)));
  for (const std::size_t i : back.stacks) {
    in.push_back(g.dy(static_cast<int>(results + back.states[i])));
  }
  for (std::size_t i = attrs.state + attrs.sequences; i < body.inputs.size(); ++i) {
    in.push_back(g.x(static_cast<int>(i)));
  }
  if (attrs.tells_counter) {
    grad_attrs.has_counter = true;
    in.push_back(g.y(static_cast<int>(results + attrs.state)));
  } else if (attrs.has_counter) {
    grad_attrs.has_counter = true;
    in.push_back(g.x(static_cast<int>(g.inputs()) - 1));
  }
  const std::size_t grad_states = grad_attrs.state;
  std::vector<Tensor> grad_results =
      run(kScan, std::move(in), grad_attrs, grad_states + back.slices.size() + grad_states);
  std::vector<Tensor> grads(g.inputs());
  auto next = grad_results.begin();
  for (const std::size_t i : back.states) grads[i] = *next++;
  for (const std::size_t i : back.fixed) grads[i] = *next++;
  for (const std::size_t i : back.slices) grads[i] = *next++;
  return grads;
}

constexpr ops::Keep kAllInputs{0xffff, 0};

}  // namespace

constinit const ops::OpDef kBranch{
    .name = "cond",
    .infer = infer_results,
    .inputs = ops::OpDef::kVariadic,
    .outputs = ops::OpDef::kVariadic,
    .grad_keeps = kAllInputs,
    .keeps_output = keeps_counter,
    .grad = [](GradContext& g) { return bodies_grad(g, kBranch, 1); }};

constinit const ops::OpDef kCall{.name = "call",
                                 .infer = infer_results,
                                 .inputs = ops::OpDef::kVariadic,
                                 .outputs = ops::OpDef::kVariadic,
                                 .grad_keeps = kAllInputs,
                                 .keeps_output = keeps_counter,
                                 .grad = [](GradContext& g) { return bodies_grad(g, kCall, 0); }};

constinit const ops::OpDef kLoop{.name = "while_loop",
                                 .infer = infer_loop,
                                 .inputs = ops::OpDef::kVariadic,
                                 .outputs = ops::OpDef::kVariadic,
                                 .grad_keeps = kAllInputs,
                                 .keeps_output = loop_keeps,
                                 .grad = loop_grad};

constinit const ops::OpDef kLoopGrad{
    .name = "while_loop_grad",
    .infer = infer_loop_grad,
    .inputs = ops::OpDef::kVariadic,
    .outputs = ops::OpDef::kVariadic,
    .grad = [](GradContext&) -> Grads {
      throw UnsupportedError(
          describe("while_loop: a second derivative through a loop in a traced function, whose "
                   "number of steps only a call can tell: use for_loop or scan, or compute it "
                   "eagerly")
              .told({detail::used_line(detail::context().call.site, "gradient")}));
    }};

constinit const ops::OpDef kScan{.name = "scan",
                                 .infer = infer_scan,
                                 .inputs = ops::OpDef::kVariadic,
                                 .outputs = ops::OpDef::kVariadic,
                                 .grad_keeps = kAllInputs,
                                 .keeps_output = scan_keeps,
                                 .grad = scan_grad};

const ControlAttrs* control_attrs(const ops::OpDef& op, ops::AttrsRef attrs) {
  const bool control =
      &op == &kBranch || &op == &kCall || &op == &kLoop || &op == &kLoopGrad || &op == &kScan;
  return control ? &attrs.as<ControlAttrs>() : nullptr;
}

std::string ControlAttrs::print() const {
  std::string sizes;
  for (const auto& body : bodies) {
    sizes += fmt::format("{}{} nodes", sizes.empty() ? "" : ", ", body->nodes.size());
  }
  return fmt::format("bodies=[{}], steps={}, reverse={}", sizes, steps, reverse);
}

bool draws(const Graph& body) {
  return std::ranges::any_of(body.nodes, [](const Node& node) { return node.random; });
}

bool draws(const ops::OpDef& op, ops::AttrsRef attrs) {
  const ControlAttrs* control = control_attrs(op, attrs);
  return control != nullptr && !control->has_counter &&
         std::ranges::any_of(control->bodies, [](const auto& body) { return draws(*body); });
}

}  // namespace tenure::graph
