#include "graph/checkpoint.h"

#include <algorithm>
#include <optional>

#include "graph/control.h"
#include "graph/passes/passes.h"
#include "graph/trace.h"
#include "ops/apply.h"
#include "ops/recorder.h"
#include "tensor/assign.h"
#include "tensor/variable_state.h"
#include "tenure/create.h"

namespace tenure::graph {
namespace {

using detail::Access;

// The graph as a body: captures and variables are inputs, and new values of variables are results
// where they are wanted.
std::shared_ptr<const Graph> lifted(Graph graph, bool with_assigned) {
  for (const Capture& capture : graph.captures) graph.inputs.push_back(capture.value);
  for (const VariableUse& use : graph.variables) {
    if (use.read) graph.inputs.push_back(*use.read);
    if (use.assigned && with_assigned) graph.results.push_back(*use.assigned);
  }
  graph.given_views.clear();  // a body is given what it reads row-major
  graph.captures.clear();
  graph.variables.clear();
  // What no result needs, the call leaves out; so does whoever computes it again.
  return std::make_shared<const Graph>(remove_dead(std::move(graph)));
}

std::vector<Tensor> with_lifted(const Graph& graph, std::span<const Tensor> in,
                                std::source_location site) {
  std::vector<Tensor> all(in.begin(), in.end());
  for (const Capture& capture : graph.captures) {
    all.push_back(materialise(capture.header(), "capture", site));
  }
  for (const VariableUse& use : graph.variables) {
    if (use.read) all.push_back(Access::variable(use.variable).read(site));
  }
  return all;
}

void trace_call(const Graph& graph, std::span<const Tensor> in, std::span<Tensor> out,
                std::source_location site) {
  ControlAttrs attrs;
  attrs.bodies.push_back(lifted(graph, true));
  attrs.tells_counter = draws(graph);
  std::vector<Tensor> all = with_lifted(graph, in, site);
  std::vector<Tensor> results(attrs.bodies[0]->results.size() + (attrs.tells_counter ? 1 : 0));
  ops::apply_into(kCall, all, ops::ref(attrs), site, results);
  std::copy_n(results.begin(), out.size(), out.begin());
  std::vector<Variable> assigned;
  for (const VariableUse& use : graph.variables) {
    if (use.assigned) assigned.push_back(Access::variable(use.variable));
  }
  detail::assign_all(assigned, std::span(results).subspan(out.size(), assigned.size()), site);
}

// What a call draws comes from here, so that the counter it began at is known.
class OwnCounters {
 public:
  explicit OwnCounters(const Graph& graph) : known_(graph.draws.size() == 1) {
    first_ = known_ ? take_counters(graph.draws[0])  // all that it draws, taken at once
                    : random_.outer().next.load(std::memory_order_relaxed);
    random_.set(first_);
  }
  ~OwnCounters() {
    if (known_) return;
    random_.outer().next.fetch_add(random_.next() - first_, std::memory_order_relaxed);
  }
  OwnCounters(const OwnCounters&) = delete;
  OwnCounters& operator=(const OwnCounters&) = delete;
  std::int64_t first() const { return static_cast<std::int64_t>(first_); }

 private:
  detail::OwnRandom random_;
  bool known_;
  std::uint64_t first_ = 0;
};

}  // namespace

void call_as_one(Program& program, std::span<const Tensor> in, std::span<Tensor> out,
                 std::source_location site) {
  const Graph& graph = program.written();
  if (detail::context().trace != nullptr) {
    trace_call(graph, in, out, site);
    return;
  }
  ControlAttrs attrs;
  attrs.bodies.push_back(lifted(graph, false));
  attrs.tells_counter = draws(graph);
  const std::vector<Tensor> all = with_lifted(graph, in, site);
  std::vector<std::unique_ptr<detail::Pin>> pins;
  pins.reserve(all.size());
  for (const Tensor& x : all) pins.push_back(std::make_unique<detail::Pin>(x, "call", site));
  ops::Recording recording(detail::context(), kCall, all, ops::ref(attrs), site);
  std::vector<Tensor> results(out.size());
  {
    std::optional<OwnCounters> counters;
    if (attrs.tells_counter) {
      counters.emplace(graph);
      results.push_back(tensor({counters->first()}, Shape{}));
    }
    program.run(in, std::span(results).first(out.size()), site);
  }
  recording.finish(results);
  std::copy_n(results.begin(), out.size(), out.begin());
}

}  // namespace tenure::graph
