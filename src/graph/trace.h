// A function being traced, or a branch or loop body in it: the one road appends its operations
// here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "memory/context.h"
#include "ops/tracer.h"

namespace tenure::graph {

// Something outside a body that the body uses, and that its node is given.
struct Import {
  Tensor outer;                                     // a value of the trace around it
  std::shared_ptr<detail::VariableState> variable;  // whose value it is when the body begins
  ValueId value = 0;                                // what stands for it in the body
};

// Traces while it is in scope: the context's operations come here, and none of the tapes that were
// recording sees them. Tapes made inside work as usual.
class Trace final : public ops::Tracer {
 public:
  // A function. When `check_escapes`, symbolic tensors that somebody still holds when it is
  // finished are reported.
  explicit Trace(detail::LabelRef function, bool check_escapes = false);
  explicit Trace(Trace& around);  // a body in what `around` traces
  ~Trace() override;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // The innermost one, or none.
  static Trace* current() { return static_cast<Trace*>(detail::context().trace); }

  // An argument: a symbolic tensor.
  Tensor add_input(const Shape& shape, DType dtype, std::source_location site) {
    return add_input(contiguous_layout(shape, dtype), site);
  }
  Tensor add_input(Layout layout, std::source_location site);
  std::uint64_t id() const { return id_; }
  // The graph of what was traced, with these results.
  Graph finish(std::span<Tensor> results, std::source_location site);
  // For a body: what it uses from outside. The graph lists these inputs after the arguments.
  std::vector<Import> take_imports() { return std::move(imports_); }

  Tensor stand_in(const Tensor& x, const char* op, int input, std::source_location site) override;
  void append(const ops::OpDef& op, std::span<const Tensor> in, ops::AttrsRef attrs,
              std::source_location site, std::span<Layout> layouts, std::span<Tensor> out) override;
  void chosen_by(std::span<const Tensor> in, ops::SameChoice same) override;
  Tensor read(const std::shared_ptr<detail::VariableState>& variable,
              std::source_location site) override;
  void assign(const std::shared_ptr<detail::VariableState>& variable, const Tensor& value,
              std::source_location site) override;
  Tensor with_gradient(const Tensor& value, std::span<const Tensor> inputs,
                       const ops::CustomGradient& gradient, std::source_location site) override;
  // What the variable holds here, as the library's own tensor.
  Tensor value_of(const std::shared_ptr<detail::VariableState>& variable,
                  std::source_location site);
  // What gradients know the variable by, whatever it was assigned since: its value when a call of
  // the function begins.
  Tensor origin(const std::shared_ptr<detail::VariableState>& variable, std::source_location site);

 private:
  // The value outside, and the variable it was read as.
  using ImportKey = std::pair<ValueId, const detail::VariableState*>;

  Trace(detail::LabelRef function, Trace* around, bool check_escapes);
  Tensor symbol(Layout layout, detail::For whom, const char* op, std::source_location site,
                std::uint64_t value_id = 0);
  void add_node(const ops::OpDef& op, std::span<const Tensor> in, ops::AttrsRef attrs,
                std::source_location site, std::span<Layout> layouts, std::span<Tensor> out,
                detail::For whom);
  Tensor import(const Tensor& outer, const std::shared_ptr<detail::VariableState>& variable,
                std::source_location site);
  Tensor capture(detail::Header& header, std::source_location site);
  bool is_around(std::uint32_t body) const;
  VariableUse& use_of(const std::shared_ptr<detail::VariableState>& variable);
  void report_escapes() const;

  Graph graph_;
  Trace* around_;
  bool check_escapes_;
  detail::Context& context_;
  detail::Context before_;
  detail::RandomState random_;
  std::uint64_t id_;
  std::uint32_t body_ = 0;
  std::uint32_t bodies_ = 1;                                            // of the function, so far
  std::vector<Tensor> symbols_;                                         // one handle for each value
  std::unordered_map<std::uint64_t, ValueId> captured_;                 // by tensor id
  std::unordered_map<const detail::VariableState*, std::size_t> used_;  // index among variables
  std::vector<Import> imports_;
  std::map<ImportKey, ValueId> imported_;
};

// Traces a body of what `around` traces, on inputs like these.
struct TracedBody {
  Graph graph;
  std::vector<Import> imports;
};
TracedBody trace_body(Trace& around,
                      const std::function<std::vector<Tensor>(std::vector<Tensor>)>& fn,
                      const std::vector<Value>& inputs, std::source_location site);

}  // namespace tenure::graph
