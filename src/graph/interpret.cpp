// A graph run operation by operation, for tapes and traces to see.
#include <algorithm>
#include <optional>

#include "core/raise.h"
#include "graph/control_flow.h"
#include "graph/control_now.h"
#include "graph/passes/rewrite.h"
#include "graph/program.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/unrecorded.h"
#include "tensor/assign.h"
#include "tensor/variable_state.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/math.h"
#include "tenure/views.h"

namespace tenure::graph {
namespace {

using detail::Access;

// A body that runs operation by operation.
BodyFunction body_function(const Graph& graph, std::source_location site) {
  return [&graph, site](std::vector<Tensor> in) {
    std::vector<Tensor> out(graph.results.size());
    interpret(graph, in, out, site);
    return out;
  };
}

std::vector<Tensor> interpret_loop_grad(const ControlAttrs& attrs, std::vector<Tensor> in,
                                        std::source_location site) {
  const Graph& back = *attrs.bodies[2];
  const auto split = in.begin() + static_cast<std::ptrdiff_t>(attrs.bodies[1]->inputs.size());
  std::vector<Tensor> grads(split, in.end());
  in.erase(split, in.end());
  // Those of the loop's states, then the sums, which begin at zero; a counter comes last.
  const std::size_t flowing = grads.size() - (attrs.has_counter ? 1 : 0);
  for (std::size_t i = flowing; i < back.results.size(); ++i) {
    const Value& value = back.values[back.results[i]];
    grads.insert(grads.begin() + static_cast<std::ptrdiff_t>(i),
                 zeros(value.shape, value.dtype, site));
  }
  return loop_grad_now(attrs, body_function(*attrs.bodies[0], site),
                       body_function(*attrs.bodies[1], site), body_function(back, site),
                       std::move(in), std::move(grads), site);
}

std::vector<Tensor> interpret_scan(const ControlAttrs& attrs, std::vector<Tensor> in,
                                   std::source_location site) {
  const Graph& graph = *attrs.bodies[0];
  const auto states = static_cast<std::ptrdiff_t>(attrs.state);
  if (attrs.steps == 0) {
    std::vector<Value> values;
    for (std::size_t i = attrs.state; i < graph.results.size(); ++i) {
      values.push_back(graph.values[graph.results[i]]);
    }
    for (std::size_t i = 0; i < attrs.state; ++i) values.push_back(graph.values[graph.inputs[i]]);
    if (attrs.tells_counter) values.push_back({{}, DType::int64});
    in.resize(attrs.state);
    for (Tensor& empty : empty_stacks(values, site)) in.push_back(std::move(empty));
    return in;
  }
  // The states that its steps begin with are among a scan's outputs.
  const BodyFunction body = body_function(graph, site);
  const BodyFunction step = [&](std::vector<Tensor> at) {
    const std::vector<Tensor> begin(at.begin(), at.begin() + states);
    std::vector<Tensor> out = body(std::move(at));
    out.insert(out.end(), begin.begin(), begin.end());
    return out;
  };
  return scan_now(attrs, step, std::move(in), site);
}

std::vector<Tensor> interpreted(const ops::OpDef& op, const ControlAttrs& attrs,
                                std::vector<Tensor> in, std::source_location site) {
  if (&op == &kScan) return interpret_scan(attrs, std::move(in), site);
  if (&op == &kLoopGrad) return interpret_loop_grad(attrs, std::move(in), site);
  if (&op == &kLoop) {
    return loop_now(attrs, body_function(*attrs.bodies[0], site),
                    body_function(*attrs.bodies[1], site), std::move(in), site);
  }
  std::size_t which = 0;
  if (&op == &kBranch) {
    which = chosen(in[0].item<std::int32_t>(site), attrs.bodies.size());
    in.erase(in.begin());
  }
  return call_now(attrs, body_function(*attrs.bodies[which], site), std::move(in));
}

}  // namespace

void interpret_control(const Node& node, std::span<Tensor> in, std::span<Tensor> out,
                       std::source_location site) {
  std::vector<Tensor> results =
      interpreted(*node.op, node.attrs.ref().as<ControlAttrs>(), {in.begin(), in.end()}, site);
  std::ranges::move(results, out.begin());
}

void interpret(const Graph& graph, std::span<const Tensor> in, std::span<Tensor> out,
               std::source_location site) {
  std::vector<Tensor> values(graph.values.size());
  std::vector<int> uses(graph.values.size(), 0);  // left, so that dead values can be let go
  for (const Node& node : graph.nodes) {
    for (const ValueId value : node.in) ++uses[value];
  }
  for (const ValueId value : ends(graph)) ++uses[value];
  const auto take = [&](ValueId value) {
    return --uses[value] == 0 ? std::move(values[value]) : values[value];
  };
  for (std::size_t i = 0; i < in.size(); ++i) values[graph.inputs[i]] = in[i];
  for (const Capture& capture : graph.captures) {
    values[capture.value] = materialise(capture.header(), "capture", site);
  }
  for (const VariableUse& use : graph.variables) {
    if (use.read) values[*use.read] = Access::variable(use.variable).read(site);
  }
  const std::uint64_t seed = detail::context().random->seed.load(std::memory_order_relaxed);
  std::vector<std::uint64_t> segments{take_counters(graph.draws[0])};
  const bool tracing = detail::context().trace != nullptr;
  for (const Node& node : graph.nodes) {
    std::vector<Tensor> operands, results(node.out.size());
    for (const ValueId value : node.in) operands.push_back(take(value));
    std::optional<ops::Unrecorded> unrecorded;
    if (node.unrecorded) unrecorded.emplace();
    if (control_attrs(node) != nullptr && !tracing) {
      interpret_control(node, operands, results, site);
    } else {
      ops::AttrsBox attrs(node.attrs.ref());
      if (node.op->reseed != nullptr) {
        node.op->reseed(attrs.data(), node.attrs.ref().data(), seed, segments);
      }
      ops::apply_into(*node.op, operands, attrs.ref(), site, results);
    }
    if (node.random && node.op->reseed == nullptr) {
      segments.push_back(take_counters(graph.draws[segments.size()]));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (uses[node.out[i]] > 0) values[node.out[i]] = std::move(results[i]);
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = take(graph.results[i]);
  std::vector<Variable> assigned;
  std::vector<Tensor> next;
  for (const VariableUse& use : graph.variables) {
    if (!use.assigned) continue;
    assigned.push_back(Access::variable(use.variable));
    next.push_back(take(*use.assigned));
  }
  detail::assign_all(assigned, next, site);
}

}  // namespace tenure::graph
