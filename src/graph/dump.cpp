#include <fmt/format.h>

#include "core/raise.h"
#include "graph/graph.h"
#include "memory/text.h"
#include "tensor/variable_state.h"

namespace tenure::graph {
namespace {

std::string typed(const Graph& graph, ValueId value) {
  return fmt::format("%{} {} {}", value, graph.values[value].dtype, graph.values[value].shape);
}

std::string list(const std::vector<ValueId>& values) {
  std::string text;
  for (const ValueId value : values) text += fmt::format("{}%{}", text.empty() ? "" : ", ", value);
  return text;
}

std::string capture_name(const Capture& capture) {
  const detail::LabelRef name = name_of(capture.header());
  return name ? fmt::format("\"{}\"", name->text)
              : fmt::format("born {}", detail::site_text(capture.header().birth.site));
}

}  // namespace

std::string dump(const Graph& graph) {
  std::string text = detail::label_text(*graph.function.get()) + "\n";
  for (const ValueId value : graph.inputs)
    text += fmt::format("  {} = argument\n", typed(graph, value));
  for (const Capture& capture : graph.captures) {
    text += fmt::format("  {} = capture {}\n", typed(graph, capture.value), capture_name(capture));
  }
  for (const Constant& constant : graph.constants) {
    text += fmt::format("  {} = constant\n", typed(graph, constant.value));
  }
  for (const VariableUse& use : graph.variables) {
    if (!use.read) continue;
    text += fmt::format("  {} = read \"{}\"\n", typed(graph, *use.read), use.variable->label->text);
  }
  for (const Node& node : graph.nodes) {
    std::string out;
    for (const ValueId value : node.out) {
      out += fmt::format("{}{}", out.empty() ? "" : ", ", typed(graph, value));
    }
    const std::string attrs = node.attrs.ref().print();
    text += fmt::format("  {} = {}({}){}  # {}\n", out, node.op->name, list(node.in),
                        attrs.empty() ? "" : fmt::format(" {{{}}}", attrs),
                        detail::site_text(node.site));
  }
  for (const VariableUse& use : graph.variables) {
    if (use.assigned) {
      text += fmt::format("  assign \"{}\" %{}\n", use.variable->label->text, *use.assigned);
    }
  }
  return text + fmt::format("  return {}\n", list(graph.results));
}

std::string dot(const Graph& graph) {
  std::string text = fmt::format("digraph \"{}\" {{\n  node [shape=box];\n", graph.function->text);
  const auto source = [&](ValueId value, std::string_view label) {
    text += fmt::format("  v{} [label=\"{}\\n{} {}\", shape=ellipse];\n", value, label,
                        graph.values[value].dtype, graph.values[value].shape);
  };
  for (const ValueId value : graph.inputs) source(value, "argument");
  for (const Capture& capture : graph.captures) source(capture.value, "capture");
  for (const VariableUse& use : graph.variables) {
    if (use.read) source(*use.read, use.variable->label->text);
  }
  std::vector<std::string> maker(graph.values.size());
  for (std::size_t v = 0; v < maker.size(); ++v) maker[v] = fmt::format("v{}", v);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    text += fmt::format("  n{} [label=\"{}\\n{} {}\"];\n", n, node.op->name,
                        graph.values[node.out[0]].dtype, graph.values[node.out[0]].shape);
    for (const ValueId value : node.in) text += fmt::format("  {} -> n{};\n", maker[value], n);
    for (const ValueId value : node.out) maker[value] = fmt::format("n{}", n);
  }
  for (std::size_t i = 0; i < graph.results.size(); ++i) {
    text += fmt::format("  r{} [label=\"result {}\", shape=ellipse];\n  {} -> r{};\n", i, i,
                        maker[graph.results[i]], i);
  }
  return text + "}\n";
}

}  // namespace tenure::graph
