#include "graph/custom.h"

#include <exception>

#include "core/raise.h"
#include "graph/program.h"
#include "graph/trace.h"
#include "ops/apply.h"
#include "ops/custom.h"
#include "tensor/assign.h"
#include "tensor/variable_state.h"

namespace tenure::graph {
namespace {

using detail::Access;

struct GradientAttrs {
  std::shared_ptr<const Graph> graph;                 // from the value's gradient and what it uses
  std::vector<std::optional<std::size_t>> result_of;  // per input: where its gradient is, if it is
  std::vector<std::shared_ptr<detail::VariableState>> assigned;  // by the graph's last results
  std::exception_ptr failed;  // what tracing it threw: for who asks for a gradient

  bool operator==(const GradientAttrs&) const = default;
  std::string print() const { return {}; }
};

bool is_used_by_gradient(ops::AttrsRef attrs, std::size_t input) {
  return input > attrs.as<GradientAttrs>().result_of.size();
}

ops::Grads run_gradient(ops::GradContext& g) {
  const auto& attrs = g.attrs_as<GradientAttrs>();
  if (attrs.failed) std::rethrow_exception(attrs.failed);
  const std::source_location site = detail::context().call.site;
  const std::size_t inputs = attrs.result_of.size();
  std::vector<Tensor> in{g.dy()}, out(attrs.graph->results.size());
  for (std::size_t i = inputs + 1; i < g.inputs(); ++i) in.push_back(g.x(static_cast<int>(i)));
  interpret(*attrs.graph, in, out, site);
  std::vector<Variable> assigned;
  assigned.reserve(attrs.assigned.size());
  for (const auto& variable : attrs.assigned) assigned.push_back(Access::variable(variable));
  detail::assign_all(assigned, std::span(out).last(assigned.size()), site);
  std::vector<Tensor> grads(g.inputs());
  for (std::size_t i = 0; i < inputs; ++i) {
    if (attrs.result_of[i]) grads[i + 1] = out[*attrs.result_of[i]];
  }
  return grads;
}

}  // namespace

constinit const ops::OpDef kWithGradient{
    .name = "custom_gradient",
    .infer = [](ops::Infer& infer) { infer.result(infer.shape(0), infer.dtype(0)); },
    .inputs = ops::OpDef::kVariadic,
    .view =
        [](const Layout& in, ops::AttrsRef, Layout& out) {
          out.strides = in.strides;
          out.offset = in.offset;
          return true;
        },
    .keeps_input = is_used_by_gradient,
    .grad = run_gradient};

Tensor Trace::with_gradient(const Tensor& value, std::span<const Tensor> inputs,
                            const ops::CustomGradient& gradient, std::source_location site) {
  GradientAttrs attrs;
  attrs.result_of.resize(inputs.size());
  TracedBody body;
  try {
    const auto checked_gradients = [&](std::vector<Tensor> dy) {
      const std::vector<Tensor> all = gradient(std::move(dy[0]));
      ops::check_count(all.size(), inputs.size());
      std::vector<Tensor> flowing;
      for (std::size_t i = 0; i < all.size(); ++i) {
        ops::check_gradient(i, all[i], inputs[i].dtype(), inputs[i].shape());
        if (!all[i].defined()) continue;
        attrs.result_of[i] = flowing.size();
        flowing.push_back(all[i]);
      }
      return flowing;
    };
    body = trace_body(*this, checked_gradients, {{value.shape(), value.dtype()}}, site);
  } catch (...) {
    attrs.failed = std::current_exception();
  }
  std::vector<Tensor> in{value};
  in.insert(in.end(), inputs.begin(), inputs.end());
  for (const Import& import : body.imports) {
    in.push_back(import.outer);
    body.graph.inputs.push_back(import.value);
  }
  for (const VariableUse& use : body.graph.variables) {
    if (!use.assigned) continue;
    body.graph.results.push_back(*use.assigned);
    attrs.assigned.push_back(use.variable);
  }
  body.graph.variables.clear();
  attrs.graph = std::make_shared<const Graph>(std::move(body.graph));
  Tensor out;
  ops::apply_into(kWithGradient, in, ops::ref(attrs), site, {&out, 1});
  return out;
}

}  // namespace tenure::graph
