// A function being traced: the one road appends its operations here.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "memory/context.h"
#include "ops/tracer.h"

namespace tenure::graph {

// Traces while it is in scope: the context's operations come here, and none of the tapes that were
// recording sees them. Tapes made inside work as usual.
class Trace final : public ops::Tracer {
 public:
  explicit Trace(detail::LabelRef function);
  ~Trace() override;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // An argument of the function: a symbolic tensor like `x`.
  Tensor add_input(const Tensor& x, std::source_location site);
  Tensor add_input(const Shape& shape, DType dtype, std::source_location site);
  std::uint64_t id() const { return id_; }
  // The graph of what was traced, with these results. Symbolic tensors that somebody still holds
  // are reported when `check_escapes`.
  Graph finish(std::span<Tensor> results, bool check_escapes, std::source_location site);

  Tensor stand_in(const Tensor& x, const char* op, int input, std::source_location site) override;
  void append(const ops::OpDef& op, std::span<const Tensor> in, ops::AttrsRef attrs,
              std::source_location site, std::span<Layout> layouts, std::span<Tensor> out) override;
  void chosen_by(std::span<const Tensor> in, ops::SameChoice same) override;
  Tensor read(const std::shared_ptr<detail::VariableState>& variable,
              std::source_location site) override;
  void assign(const std::shared_ptr<detail::VariableState>& variable, const Tensor& value,
              std::source_location site) override;

 private:
  Tensor symbol(Layout layout, const char* op, std::source_location site,
                std::uint64_t value_id = 0);
  VariableUse& use_of(const std::shared_ptr<detail::VariableState>& variable);

  Graph graph_;
  detail::Context& context_;
  detail::Context before_;
  detail::RandomState random_;
  std::uint64_t id_;
  std::vector<Tensor> symbols_;                          // all there are, one handle each
  std::unordered_map<std::uint64_t, ValueId> captured_;  // by tensor id
};

}  // namespace tenure::graph
