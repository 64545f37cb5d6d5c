// Free dimensions: one trace of a function serves every size of them.
//
// The function is traced several times with numbers that stand for the sizes, and a template is
// made of the traces (graph_template.h), which gives a graph for each size asked for. Sizes 0 and 1
// are not stood in for: there shapes broadcast, squeeze and reduce in ways of their own, so that
// each has a template (or, if nothing else is free, a trace) of its own.
//
// The user must not see the stand-ins (memory/free_sizes.h). Every trace refuses to tell a size
// that is a multiple of one; the third knows from the first two which sizes differ, and refuses
// exactly those.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph_template.h"
#include "memory/free_sizes.h"
#include "tenure/function.h"
#include "tenure/job.h"

namespace tenure::graph {

// A call that no program is ready for.
struct NewCall {
  const detail::LabelRef& function;
  std::span<const Tensor> in;
  std::span<const std::size_t> donated;
  std::span<const std::int64_t> kinds;  // the signature without the tensors' sizes
  const detail::Tracing& tracing;
  bool check_escapes = false;
  std::source_location site;
};

struct TracedGraph {
  Graph graph;
  std::shared_ptr<void> result_shape;
};

// The function at the shapes of the call's arguments, traced now.
TracedGraph trace_call(const NewCall& call);

// What a function declared about its arguments, and the templates made for it.
class FreeDims {
 public:
  // `argument` -1 is the one after the last.
  void declare(const detail::Label& function, int argument, std::vector<Dim> dims);
  bool any_declared() const { return !declared_.empty(); }

  // Holds the arguments against what was declared, and gives the graph for them; none when this
  // size has to be traced by itself.
  std::optional<TracedGraph> graph_for(const NewCall& call, std::size_t most_templates);

  // Calls visit(graph) for each template's.
  template <class F>
  void each_template(F&& visit) {
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<const Template>& each : templates_) {
      if (!each->opaque) visit(each->of.graph());
    }
  }

 private:
  struct Place {  // of a free dimension
    int argument = 0;
    int axis = 0;
    std::size_t name = 0;
  };
  struct Template {
    std::vector<std::int64_t> key;
    bool opaque = false;  // each size has a trace of its own
    GraphTemplate of;
    std::shared_ptr<void> result_shape;
  };
  class Probing;

  std::vector<std::int64_t> sizes_of(const NewCall& call) const;
  std::optional<std::size_t> name_at(int argument, int axis) const;  // none: not free
  std::shared_ptr<const Template> template_for(const NewCall& call, const std::vector<bool>& fixed,
                                               std::size_t most_templates);
  std::string name_text(std::size_t name) const;  // dimension 0 of argument 0

  std::vector<std::optional<std::vector<Dim>>> declared_;  // per argument
  std::vector<std::string> names_;
  std::vector<Place> places_;
  detail::Mutex mutex_;
  std::list<std::shared_ptr<const Template>> templates_;  // the most recently used first
};

}  // namespace tenure::graph
