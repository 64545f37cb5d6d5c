// A graph run operation by operation, for tapes and traces to see.
#include <optional>

#include "core/raise.h"
#include "graph/at_counter.h"
#include "graph/control.h"
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

Tensor counter_now() { return tensor({current_counter()}, Shape{}); }

void set(AtCounter& at, const Tensor& counter) { at.set(counter.item<std::int64_t>()); }

class Interpreter {
 public:
  Interpreter(const ControlAttrs& attrs, std::span<Tensor> in, std::span<Tensor> out,
              std::source_location site)
      : attrs_(attrs), in_(in), out_(out), site_(site) {}

  void branch(std::size_t which, std::size_t first) {
    AtCounter at;
    if (attrs_.has_counter) set(at, in_.back());
    if (attrs_.tells_counter) out_.back() = counter_now();
    const Graph& body = *attrs_.bodies[which];
    interpret(body, in_.subspan(first, body.inputs.size()), out_.first(body.results.size()), site_);
  }

  void loop() {
    if (attrs_.tells_counter) out_.back() = counter_now();
    std::vector<Tensor> at(in_.begin(), in_.end());
    while (goes_on(at)) advance(at);
    for (std::size_t i = 0; i < attrs_.state; ++i) out_[i] = at[i];
  }

  void loop_grad() {
    const Graph& body = *attrs_.bodies[1];
    const Graph& back = *attrs_.bodies[2];
    const std::size_t inputs = body.inputs.size(), results = back.results.size();
    const auto own = in_.first(inputs);
    std::vector<Tensor> at(own.begin(), own.end());
    std::vector<std::vector<Tensor>> states;
    std::vector<Tensor> counters;
    {
      AtCounter replayed;
      if (attrs_.has_counter) set(replayed, in_.back());
      for (;;) {
        if (!goes_on(at)) break;
        counters.push_back(counter_now());
        states.emplace_back(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(attrs_.state));
        advance(at);
      }
    }
    const std::size_t flowing = in_.size() - inputs - (attrs_.has_counter ? 1 : 0);
    std::vector<Tensor> grads(in_.begin() + static_cast<std::ptrdiff_t>(inputs),
                              in_.begin() + static_cast<std::ptrdiff_t>(inputs + flowing));
    for (std::size_t i = flowing; i < results; ++i) {
      const Value& value = back.values[back.results[i]];
      grads.push_back(zeros(value.shape, value.dtype, site_));
    }
    for (; !states.empty(); states.pop_back(), counters.pop_back()) {
      AtCounter replayed;
      set(replayed, counters.back());
      std::vector<Tensor> operands = grads;
      operands.insert(operands.end(), states.back().begin(), states.back().end());
      for (std::size_t i = attrs_.state; i < inputs; ++i) operands.push_back(in_[i]);
      interpret(back, operands, grads, site_);
    }
    for (std::size_t i = 0; i < results; ++i) out_[i] = grads[i];
  }

  void scan() {
    const Graph& body = *attrs_.bodies[0];
    const std::size_t state = attrs_.state, varying = state + attrs_.sequences;
    const std::size_t results = body.results.size();
    std::vector<Tensor> at(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(state));
    std::vector<std::vector<Tensor>> stacks(out_.size());
    const auto steps = static_cast<std::size_t>(attrs_.steps);
    for (auto& stack : stacks) stack.resize(steps);
    for (std::size_t s = 0; s < steps; ++s) {
      const std::size_t place = attrs_.reverse ? steps - 1 - s : s;
      const Index index(place, site_);
      AtCounter replayed;
      if (attrs_.has_counter) set(replayed, in_[body.inputs.size()][index]);
      if (attrs_.tells_counter) stacks[results + state][place] = counter_now();
      std::vector<Tensor> operands = at, made(results);
      for (std::size_t i = 0; i < state; ++i) stacks[results + i][place] = at[i];
      for (std::size_t i = state; i < varying; ++i) operands.push_back(in_[i][index]);
      for (std::size_t i = varying; i < body.inputs.size(); ++i) operands.push_back(in_[i]);
      interpret(body, operands, made, site_);
      for (std::size_t i = 0; i < state; ++i) at[i] = made[i];
      for (std::size_t i = state; i < results; ++i) stacks[i][place] = made[i];
    }
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (i < state) {
        out_[i] = at[i];
      } else if (steps != 0) {
        out_[i] = stack(stacks[i], 0, site_);
      } else {
        out_[i] = nothing(body, i);
      }
    }
  }

 private:
  bool goes_on(const std::vector<Tensor>& at) {
    if (steps_ == attrs_.steps) return false;
    Tensor answer;
    interpret(*attrs_.bodies[0], at, {&answer, 1}, site_);
    return answer.item<bool>(site_);
  }
  void advance(std::vector<Tensor>& at) {
    ++steps_;
    std::vector<Tensor> next(attrs_.state);
    interpret(*attrs_.bodies[1], at, next, site_);
    for (std::size_t i = 0; i < next.size(); ++i) at[i] = std::move(next[i]);
  }
  // An output of a scan over nothing.
  Tensor nothing(const Graph& body, std::size_t i) const {
    const std::size_t results = body.results.size();
    const bool counter = i == results + attrs_.state;
    const Value value = counter        ? Value{{}, DType::int64}
                        : i >= results ? body.values[body.inputs[i - results]]
                                       : body.values[body.results[i]];
    Shape shape{0};
    for (const std::int64_t dim : value.shape) shape.push_back(dim);
    return zeros(shape, value.dtype, site_);
  }

  const ControlAttrs& attrs_;
  std::span<Tensor> in_;
  std::span<Tensor> out_;
  std::source_location site_;
  std::int64_t steps_ = 0;
};

}  // namespace

void interpret_control(const Node& node, std::span<Tensor> in, std::span<Tensor> out,
                       std::source_location site) {
  const auto& attrs = node.attrs.ref().as<ControlAttrs>();
  Interpreter interpreter(attrs, in, out, site);
  if (node.op == &kScan) return interpreter.scan();
  if (node.op == &kLoop) return interpreter.loop();
  if (node.op == &kLoopGrad) return interpreter.loop_grad();
  if (node.op == &kCall) return interpreter.branch(0, 0);
  const auto index = in[0].item<std::int32_t>(site);
  if (index < 0 || static_cast<std::size_t>(index) >= attrs.bodies.size()) {
    raise<ValueError>("switch_case: index {} for {} branches", index, attrs.bodies.size());
  }
  interpreter.branch(static_cast<std::size_t>(index), 1);
}

void interpret(const Graph& graph, std::span<const Tensor> in, std::span<Tensor> out,
               std::source_location site) {
  std::vector<Tensor> values(graph.values.size());
  std::vector<int> uses(graph.values.size(), 0);  // left, so that dead values can be let go
  for (const Node& node : graph.nodes) {
    for (const ValueId value : node.in) ++uses[value];
  }
  for (const ValueId value : graph.results) ++uses[value];
  for (const VariableUse& use : graph.variables) {
    if (use.assigned) ++uses[*use.assigned];
  }
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
    std::vector<Tensor> operands, made(node.out.size());
    for (const ValueId value : node.in) operands.push_back(take(value));
    std::optional<ops::Unrecorded> unrecorded;
    if (node.unrecorded) unrecorded.emplace();
    if (control_attrs(node) != nullptr && !tracing) {
      interpret_control(node, operands, made, site);
    } else {
      ops::AttrsBox attrs(node.attrs.ref());
      if (node.op->reseed != nullptr) {
        node.op->reseed(attrs.data(), node.attrs.ref().data(), seed, segments);
      }
      ops::apply_into(*node.op, operands, attrs.ref(), site, made);
    }
    if (node.random && node.op->reseed == nullptr) {
      segments.push_back(take_counters(graph.draws[segments.size()]));
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (uses[node.out[i]] > 0) values[node.out[i]] = std::move(made[i]);
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
