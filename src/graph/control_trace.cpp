// Control flow as the user writes it: run at once in eager code, traced into nodes otherwise.
#include "tenure/control.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_set>

#include "core/raise.h"
#include "core/with_type.h"
#include "graph/control_flow.h"
#include "graph/control_now.h"
#include "graph/read_as.h"
#include "graph/trace.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "tensor/variable_state.h"
#include "tenure/math.h"

namespace tenure::graph {
namespace {

using detail::Access;
using VariableRef = std::shared_ptr<detail::VariableState>;

std::vector<VariableRef> assigned_in(std::span<const TracedBody> bodies) {
  std::vector<VariableRef> assigned;
  std::unordered_set<const detail::VariableState*> known;
  for (const TracedBody& body : bodies) {
    for (const VariableUse& use : body.graph.variables) {
      if (use.assigned && known.insert(use.variable.get()).second) {
        assigned.push_back(use.variable);
      }
    }
  }
  return assigned;
}

ValueId add_value(Graph& graph, const Tensor& like) {
  graph.values.push_back({like.shape(), like.dtype()});
  return static_cast<ValueId>(graph.values.size() - 1);
}

// What the node of some bodies is given beside its arguments, one entry for each thing.
class Imports {
 public:
  void add(const TracedBody& body) {
    for (const Import& import : body.imports) {
      if (known_.insert(key_of(import)).second) outer_.push_back(import);
    }
  }
  void append_to(std::vector<Tensor>& in) const {
    for (const Import& import : outer_) in.push_back(import.outer);
  }
  // Gives the body an input for each of them, after those it has.
  void give(TracedBody& body) const {
    std::map<Key, ValueId> inside;
    for (const Import& import : body.imports) inside.emplace(key_of(import), import.value);
    for (const Import& wanted : outer_) {
      const auto used = inside.find(key_of(wanted));
      body.graph.inputs.push_back(used != inside.end() ? used->second
                                                       : add_value(body.graph, wanted.outer));
    }
  }

 private:
  // A variable is one thing, whichever value stands for it outside.
  using Key = std::pair<const detail::VariableState*, ValueId>;
  static Key key_of(const Import& import) {
    if (import.variable != nullptr) return {import.variable.get(), 0};
    return {nullptr, Access::header(import.outer)->value};
  }

  std::set<Key> known_;
  std::vector<Import> outer_;
};

// The value a variable has at the end of a body: what it was given there, or what it began with.
ValueId value_at_end(TracedBody& body, const VariableRef& variable, const Tensor& outer) {
  for (const VariableUse& use : body.graph.variables) {
    if (use.variable == variable && use.assigned) return *use.assigned;
  }
  for (const Import& import : body.imports) {
    if (import.variable == variable) return import.value;
  }
  const ValueId value = add_value(body.graph, outer);
  body.imports.push_back({outer, variable, value});
  return value;
}

// The value that stands in a body for what is outside and no variable.
ValueId imported(TracedBody& body, const Tensor& outer) {
  for (const Import& import : body.imports) {
    const bool same = Access::header(import.outer)->value == Access::header(outer)->value;
    if (import.variable == nullptr && same) return import.value;
  }
  const ValueId value = add_value(body.graph, outer);
  body.imports.push_back({outer, nullptr, value});
  return value;
}

// The value a variable has when a step of a loop begins, which becomes an argument of the body. The
// body's reads of it are the variable's own (read_as.h): `origin` is what gradients know it by.
ValueId value_at_begin(TracedBody& body, const VariableRef& variable, const Tensor& origin,
                       std::source_location site) {
  const ValueId begin = add_value(body.graph, origin);
  const auto read = std::ranges::find_if(
      body.imports, [&](const Import& import) { return import.variable == variable; });
  if (read == body.imports.end()) return begin;
  const ValueId value = read->value;
  body.imports.erase(read);
  Node node;
  node.op = &kReadAs;
  node.in = {begin, imported(body, origin)};
  node.out = {value};
  node.site = site;
  body.graph.nodes.insert(body.graph.nodes.begin(), std::move(node));
  return begin;
}

std::shared_ptr<const Graph> finished(TracedBody&& body) {
  body.graph.variables.clear();
  return std::make_shared<const Graph>(std::move(body.graph));
}

std::vector<Value> values_of(const char* op, std::span<const Tensor> tensors) {
  std::vector<Value> values;
  values.reserve(tensors.size());
  for (const Tensor& tensor : tensors) {
    const Layout& layout = detail::checked(tensor, op).layout;
    values.push_back({layout.shape, layout.dtype});
  }
  return values;
}

std::vector<Value> results_of(const Graph& body) {
  std::vector<Value> values;
  values.reserve(body.results.size());
  for (const ValueId result : body.results) values.push_back(body.values[result]);
  return values;
}

bool is_stateful(const Bodies& bodies) {
  return std::ranges::any_of(bodies, [](const auto& body) { return draws(*body); });
}

// The bodies as a node has them, and what they use from outside, which the node is given after
// `in`.
ControlAttrs finish_bodies(std::vector<TracedBody>& bodies, std::vector<Tensor>& in) {
  Imports imports;
  for (const TracedBody& body : bodies) imports.add(body);
  ControlAttrs attrs;
  for (TracedBody& body : bodies) {
    imports.give(body);
    attrs.bodies.push_back(finished(std::move(body)));
  }
  attrs.tells_counter = is_stateful(attrs.bodies);
  imports.append_to(in);
  return attrs;
}

std::vector<Tensor> append(const ops::OpDef& op, std::vector<Tensor> in, const ControlAttrs& attrs,
                           std::size_t outputs, std::source_location site) {
  std::vector<Tensor> out(outputs + (attrs.tells_counter ? 1 : 0));
  ops::apply_into(op, in, ops::ref(attrs), site, out);
  return out;
}

void check_branch(const char* op, const Graph& first, const Graph& other, std::size_t index,
                  std::size_t results) {
  for (std::size_t i = 0; i < results; ++i) {
    const Value& a = first.values[first.results[i]];
    const Value& b = other.values[other.results[i]];
    if (a.shape != b.shape || a.dtype != b.dtype) {
      raise<ShapeError>("{}: result {} is {} {} in branch 0 and {} {} in branch {}", op, i, a.dtype,
                        a.shape, b.dtype, b.shape, index);
    }
  }
}

void check_count(const char* op, std::size_t count, std::size_t states) {
  if (count == states) return;
  raise<ValueError>("{}: the body gives {} tensors for a state of {}", op, count, states);
}

// A body gives a state like the one it was given; a scan's may give more.
void check_state(const char* op, std::span<const Value> before, std::span<const Value> after) {
  const bool gives_more = std::string_view(op) == "scan" && after.size() > before.size();
  if (!gives_more) check_count(op, after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Value &was = before[i], &is = after[i];
    if (was.shape != is.shape || was.dtype != is.dtype) {
      raise<ShapeError>("{}: state {} was {} {} and the body makes it {} {}: it must stay the same",
                        op, i, was.dtype, was.shape, is.dtype, is.shape);
    }
  }
}

void check_answer(DType dtype, const Shape& shape) {
  if (dtype == DType::boolean && shape.numel() == 1) return;
  raise<DtypeError>("while_loop: the condition gives {} {}: it must be one bool", dtype, shape);
}

std::size_t read_branch(const Tensor& index, std::size_t branches, std::source_location site) {
  const detail::UserLine line(site);
  const Layout& layout = detail::checked(index, "switch_case").layout;
  if (!is_integer(layout.dtype) || layout.shape.numel() != 1) {
    raise<DtypeError>("switch_case: the index is {} {}: it must be one integer", layout.dtype,
                      layout.shape);
  }
  const detail::Pin pin(index, "switch_case", site);
  const std::int64_t which = with_type(layout.dtype, [&]<class T>(T) -> std::int64_t {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return index.item<T>(site);
    return 0;  // refused above
  });
  return chosen(which, branches);
}

// The user's body, held to giving a state like the one it was given. `counts`: it is given, after
// the rest, at which step it is.
BodyFunction checked_body(const char* op, const BodyFunction& body, std::size_t states, bool counts,
                          std::source_location site) {
  return [=, &body, step = std::int32_t{0}](std::vector<Tensor> at) mutable {
    const detail::UserLine line(site);
    const std::vector<Value> before = values_of(op, std::span(at).first(states));
    if (counts) at.push_back(tensor({step++}, Shape{}));
    std::vector<Tensor> after;
    {
      const detail::CallbackScope user_code;
      after = body(std::move(at));
    }
    check_state(op, before, values_of(op, after));
    return after;
  };
}

// A loop whose condition assigns variables: it is asked once before the loop and again at the end
// of each step, by the body, and its answer is part of the state. As many times as eager code asks:
// not after the last step that there may be.
std::vector<Tensor> trace_assigning_condition(const BodyFunction& goes_on, const BodyFunction& body,
                                              std::vector<Tensor> state, const LoopOptions& options,
                                              std::source_location site) {
  if (options.most_steps == 0) return state;
  const detail::CallScope call("while_loop", site);
  const std::size_t user_states = state.size();
  const auto ask = [&](std::vector<Tensor> at) {
    Tensor answer;
    {
      const detail::CallbackScope user_code;
      answer = std::move(goes_on(std::move(at)).at(0));
    }
    check_answer(answer.dtype(), answer.shape());
    return std::vector<Tensor>{reshape(std::move(answer), {})};
  };
  state.push_back(ask(state).front());
  state.push_back(tensor({std::int64_t{1}}, Shape{}));  // steps, with the one to come
  const auto answer_of = [user_states](std::vector<Tensor> at) {
    return std::vector<Tensor>{std::move(at[user_states])};
  };
  const auto step = [&](std::vector<Tensor> at) {
    const detail::CallScope step_call("while_loop", site);
    const Tensor steps = std::move(at.back());
    at.resize(user_states);
    std::vector<Tensor> next =
        checked_body("while_loop", body, user_states, false, site)(std::move(at));
    if (options.most_steps < 0) {
      next.push_back(ask(next).front());
    } else {
      const auto stop = [&](const std::vector<Tensor>&) {
        return std::vector<Tensor>{tensor({false}, Shape{})};
      };
      const auto go_on = [&](const std::vector<Tensor>&) { return ask(next); };
      next.push_back(std::move(
          detail::run_branch("cond", steps < options.most_steps, {stop, go_on}, site).front()));
    }
    next.push_back(steps + 1);
    return next;
  };
  state = detail::run_loop(answer_of, step, std::move(state), {}, site);
  state.resize(user_states);
  return state;
}

Shape slice_of(const Tensor& sequence) {
  const Shape& whole = sequence.shape();
  Shape slice;
  for (int axis = 1; axis < whole.rank(); ++axis) slice.push_back(whole[axis]);
  return slice;
}

// Over sequences of no steps: only a trace of the body tells the shapes of what it would give.
std::vector<Tensor> scan_nothing(const char* op, const BodyFunction& body,
                                 std::vector<Tensor> state, const std::vector<Tensor>& sequences,
                                 std::source_location site) {
  std::vector<Value> extra_results;
  {
    Trace trace(detail::LabelRef::make("function", op, site));
    std::vector<Tensor> in;
    in.reserve(state.size() + sequences.size());
    for (const Tensor& x : state) in.push_back(trace.add_input(x.shape(), x.dtype(), site));
    for (const Tensor& x : sequences) in.push_back(trace.add_input(slice_of(x), x.dtype(), site));
    std::vector<Tensor> out = body(std::move(in));
    const Graph graph = trace.finish(out, site);
    extra_results = results_of(graph);
    check_state(op, values_of(op, state), extra_results);
    extra_results.erase(extra_results.begin(),
                        extra_results.begin() + static_cast<std::ptrdiff_t>(state.size()));
  }
  for (Tensor& empty : empty_stacks(extra_results, site)) state.push_back(std::move(empty));
  return state;
}

}  // namespace
}  // namespace tenure::graph

namespace tenure::detail {

using graph::ControlAttrs;
using graph::Trace;
using graph::TracedBody;
using graph::Value;

bool is_tracing() { return context().trace != nullptr; }

void check_count(const char* op, std::size_t results, std::size_t states,
                 std::source_location site) {
  const UserLine line(site);
  graph::check_count(op, results, states);
}

std::int64_t common_length(const char* op, const std::vector<Tensor>& sequences,
                           std::source_location site) {
  const UserLine line(site);
  if (sequences.empty()) raise<ValueError>("{}: there is no sequence to go along", op);
  std::int64_t length = -1;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const Shape& shape = checked(sequences[i], op, static_cast<int>(i)).layout.shape;
    if (shape.rank() == 0) raise<ShapeError>("{}: sequence {} is a scalar", op, i);
    if (length >= 0 && shape[0] != length) {
      raise<ShapeError>("{}: sequence 0 has {} steps, sequence {} has {}", op, length, i, shape[0]);
    }
    length = shape[0];
  }
  return length;
}

std::vector<Tensor> run_branch(const char* op, const Tensor& which,
                               const std::vector<BodyFunction>& branches,
                               std::source_location site) {
  const UserLine line(site);
  const bool is_cond = std::string_view(op) == "cond";
  const Header& header = checked(which, op);
  if (!header.is_symbolic()) {
    const std::size_t taken = is_cond
                                  ? static_cast<std::size_t>(graph::read_predicate(op, which, site))
                                  : graph::read_branch(which, branches.size(), site);
    const CallbackScope user_code;
    return branches[taken]({});
  }
  if (header.trace != current_trace()) {
    raise_symbolic(header, {.op = op, .site = site}, current_trace());
  }
  const Layout& layout = header.layout;
  const bool fits = is_cond ? layout.dtype == DType::boolean : is_integer(layout.dtype);
  if (!fits || layout.shape.numel() != 1) {
    raise<DtypeError>("{}: the {} is {} {}: it must be one {}", op, is_cond ? "predicate" : "index",
                      layout.dtype, layout.shape, is_cond ? "bool" : "integer");
  }
  if (branches.empty()) raise<ValueError>("{}: there are no branches", op);
  Trace& around = *Trace::current();
  std::vector<TracedBody> bodies;
  bodies.reserve(branches.size());
  for (const BodyFunction& branch : branches) {
    bodies.push_back(graph::trace_body(around, branch, {}, site));
  }
  const std::size_t results = bodies[0].graph.results.size();
  for (std::size_t b = 1; b < bodies.size(); ++b) {
    if (bodies[b].graph.results.size() != results) {
      raise<ValueError>("{}: branch 0 gives {} tensors and branch {} gives {}", op, results, b,
                        bodies[b].graph.results.size());
    }
    graph::check_branch(op, bodies[0].graph, bodies[b].graph, b, results);
  }
  const auto assigned = graph::assigned_in(bodies);
  for (const auto& variable : assigned) {
    const Tensor before = around.value_of(variable, site);
    for (TracedBody& body : bodies) {
      body.graph.results.push_back(graph::value_at_end(body, variable, before));
    }
  }
  const CallScope call(op, site);
  std::vector<Tensor> in{cast(reshape(Arg(which, site), {}), DType::int32)};
  const ControlAttrs attrs = graph::finish_bodies(bodies, in);
  std::vector<Tensor> outputs =
      graph::append(graph::kBranch, std::move(in), attrs, results + assigned.size(), site);
  for (std::size_t i = 0; i < assigned.size(); ++i) {
    around.assign(assigned[i], outputs[results + i], site);
  }
  outputs.resize(results);
  return outputs;
}

std::vector<Tensor> run_loop(const BodyFunction& goes_on, const BodyFunction& body,
                             std::vector<Tensor> state, const LoopOptions& options,
                             std::source_location site) {
  if (context().trace == nullptr) {
    const graph::Flow flow{.state = state.size(), .steps = options.most_steps};
    const BodyFunction step = graph::checked_body("while_loop", body, flow.state, false, site);
    return graph::loop_now(flow, goes_on, step, std::move(state), site);
  }
  const UserLine line(site);
  Trace& around = *Trace::current();
  for (std::size_t i = 0; i < state.size(); ++i) {
    state[i] = around.stand_in(state[i], "while_loop", static_cast<int>(i), site);
  }
  const std::size_t user_states = state.size();
  const std::vector<Value> values = graph::values_of("while_loop", state);
  std::vector<TracedBody> bodies;
  bodies.push_back(graph::trace_body(around, goes_on, values, site));
  if (!graph::assigned_in(bodies).empty()) {
    return graph::trace_assigning_condition(goes_on, body, std::move(state), options, site);
  }
  bodies.push_back(graph::trace_body(around, body, values, site));
  const graph::Graph& predicate = bodies[0].graph;
  const Value& answer = predicate.values[predicate.results.at(0)];
  graph::check_answer(answer.dtype, answer.shape);
  graph::check_state("while_loop", values, graph::results_of(bodies[1].graph));
  // A variable that the loop assigns is part of its state.
  const auto assigned = graph::assigned_in(bodies);
  for (const auto& variable : assigned) {
    const Tensor before = around.value_of(variable, site), origin = around.origin(variable, site);
    bodies[1].graph.results.push_back(graph::value_at_end(bodies[1], variable, before));
    for (TracedBody& each : bodies) {
      each.graph.inputs.push_back(graph::value_at_begin(each, variable, origin, site));
    }
    state.push_back(before);
  }
  const std::size_t states = state.size();
  ControlAttrs attrs = graph::finish_bodies(bodies, state);
  attrs.state = states;
  attrs.steps = options.most_steps;
  std::vector<Tensor> outputs =
      graph::append(graph::kLoop, std::move(state), attrs, attrs.state, site);
  for (std::size_t i = 0; i < assigned.size(); ++i) {
    around.assign(assigned[i], outputs[user_states + i], site);
  }
  outputs.resize(user_states);
  return outputs;
}

std::vector<Tensor> run_scan(const char* op, const BodyFunction& body, std::vector<Tensor> state,
                             std::vector<Tensor> sequences, std::int64_t steps,
                             std::source_location site) {
  const UserLine line(site);
  if (steps < 0) raise<ValueError>("{}: {} steps", op, steps);
  const bool counts = sequences.empty();  // for_loop
  Trace* around = Trace::current();
  if (around == nullptr && steps == 0 && !counts) {
    return graph::scan_nothing(op, body, std::move(state), sequences, site);
  }
  if (around == nullptr) {
    const graph::Flow flow{.state = state.size(), .sequences = sequences.size(), .steps = steps};
    const BodyFunction step = graph::checked_body(op, body, state.size(), counts, site);
    std::ranges::move(sequences, std::back_inserter(state));
    return graph::scan_now(flow, step, std::move(state), site);
  }
  const CallScope call(op, site);
  for (std::size_t i = 0; i < state.size(); ++i) {
    state[i] = around->stand_in(state[i], op, static_cast<int>(i), site);
  }
  if (counts) sequences.push_back(arange(0, steps, 1, DType::int32));
  const std::size_t user_states = state.size();
  std::vector<Value> values = graph::values_of(op, state);
  for (Tensor& sequence : sequences) {
    sequence = around->stand_in(sequence, op, -1, site);
    values.push_back({graph::slice_of(sequence), sequence.dtype()});
  }
  std::vector<TracedBody> bodies;
  {
    const CallbackScope user_code;
    bodies.push_back(graph::trace_body(*around, body, values, site));
  }
  TracedBody& traced = bodies[0];
  graph::check_state(op, std::span(values).first(user_states), graph::results_of(traced.graph));
  const std::size_t extra_results = traced.graph.results.size() - user_states;
  // Assigned variables are states; they stand after the others, before the other results.
  const auto assigned = graph::assigned_in(bodies);
  for (std::size_t i = 0; i < assigned.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(user_states + i);
    const Tensor before = around->value_of(assigned[i], site);
    const Tensor origin = around->origin(assigned[i], site);
    const graph::ValueId end = graph::value_at_end(traced, assigned[i], before);
    traced.graph.results.insert(traced.graph.results.begin() + at, end);
    const graph::ValueId begin = graph::value_at_begin(traced, assigned[i], origin, site);
    traced.graph.inputs.insert(traced.graph.inputs.begin() + at, begin);
    state.push_back(before);
  }
  const std::size_t states = state.size();
  std::vector<Tensor> in = std::move(state);
  in.insert(in.end(), sequences.begin(), sequences.end());
  ControlAttrs attrs = graph::finish_bodies(bodies, in);
  attrs.state = states;
  attrs.sequences = sequences.size();
  attrs.steps = steps;
  std::vector<Tensor> outputs = graph::append(graph::kScan, std::move(in), attrs,
                                              attrs.state + extra_results + attrs.state, site);
  for (std::size_t i = 0; i < assigned.size(); ++i) {
    around->assign(assigned[i], outputs[user_states + i], site);
  }
  std::vector<Tensor> results(outputs.begin(),
                              outputs.begin() + static_cast<std::ptrdiff_t>(user_states));
  const auto first = outputs.begin() + static_cast<std::ptrdiff_t>(attrs.state);
  results.insert(results.end(), first, first + static_cast<std::ptrdiff_t>(extra_results));
  return results;
}

}  // namespace tenure::detail
