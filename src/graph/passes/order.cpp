// From a graph to tasks and buffers, and back.
#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "core/count.h"
#include "graph/control.h"
#include "graph/passes/passes.h"
#include "graph/passes/schedule.h"
#include "graph/shared_bytes.h"
#include "ops/step.h"

namespace tenure::graph {
namespace {

class Orderer {
 public:
  explicit Orderer(Graph graph)
      : graph_(std::move(graph)),
        bytes_(graph_),
        made_by_(graph_.values.size(), -1),
        read_last_by_(graph_.values.size(), -1) {
    schedule_.bytes.assign(graph_.values.size(), 0);
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      const auto value = static_cast<ValueId>(v);
      if (bytes_.is_view(value) || !bytes_.in_arena(value)) continue;
      schedule_.bytes[v] = static_cast<std::int64_t>(aligned(bytes_.layout(value).nbytes()));
    }
    for (const VariableUse& use : graph_.variables) {
      if (use.read && use.assigned) old_value_.emplace(*use.assigned, *use.read);
    }
    node_of_task_.reserve(graph_.nodes.size());
  }

  Graph order() {
    std::vector<bool> is_view(graph_.nodes.size(), false);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      // A view of one value is there as soon as that is; one that waits for others is a task.
      is_view[n] = node.op->view != nullptr && bytes_.is_view(node.out[0]) && node.in.size() == 1;
      if (is_view[n]) made_by_[node.out[0]] = made_by_[node.in[0]];
      if (!is_view[n]) add_task(n);
    }
    if (!can_be_counted()) return std::move(graph_);
    return in_order(best_order(schedule_), is_view);
  }

 private:
  void add_task(std::size_t n) {
    const Node& node = graph_.nodes[n];
    const int index = static_cast<int>(schedule_.tasks.size());
    Task& task = schedule_.tasks.emplace_back();
    node_of_task_.push_back(n);
    for (const ValueId value : node.in) {
      const ValueId root = bytes_.root(value);
      if (std::exchange(read_last_by_[root], index) != index) {
        task.reads.push_back(static_cast<int>(root));
      }
      if (made_by_[value] != made_by_[root]) task.after.push_back(made_by_[value]);
    }
    for (const ValueId value : node.out) {
      if (const auto old = old_value_.find(value); old != old_value_.end()) {
        const std::vector<int>& readers = readers_[old->second];
        task.after.insert(task.after.end(), readers.begin(), readers.end());
      }
    }
    for (const int root : task.reads) {
      if (made_by_[static_cast<std::size_t>(root)] < 0) {
        readers_[static_cast<ValueId>(root)].push_back(index);
      }
    }
    if (node.random || node.op->reseed != nullptr) {
      if (last_random_ >= 0) task.after.push_back(last_random_);
      last_random_ = index;
    }
    for (const ValueId value : node.out) {
      made_by_[value] = index;
      if (!bytes_.is_view(value)) task.writes.push_back(static_cast<int>(value));
    }
    if (node.op->view != nullptr || control_attrs(node) != nullptr) return;
    task.extra = static_cast<std::int64_t>(extra_bytes(node));
    if (!bytes_.in_arena(node.out[0])) return;
    std::ranges::copy_if(task.reads, std::back_inserter(task.takes), [&](int read) {
      const auto root = static_cast<ValueId>(read);
      return bytes_.in_arena(root) && bytes_.may_take(node, root, 0);
    });
  }

  // Copies of inputs that the kernel cannot read as they lie, and scratch.
  std::size_t extra_bytes(const Node& node) const {
    std::size_t bytes = 0;
    std::vector<Layout> layouts;
    layouts.reserve(node.in.size() + node.out.size());
    for (const ValueId value : node.in) {
      layouts.push_back(bytes_.layout(value));
      const std::size_t input = layouts.size() - 1;
      if (ops::accepts(*node.op, node.attrs.ref(), input, layouts.back(),
                       graph_.values[node.out[0]].shape)) {
        continue;
      }
      layouts.back() = contiguous_layout(layouts.back().shape, layouts.back().dtype);
      bytes += aligned(layouts.back().nbytes());
    }
    const ops::Kernel* kernel = kernel_of(graph_, node);
    if (kernel == nullptr || kernel->scratch_bytes == nullptr) return bytes;
    for (const ValueId value : node.out) layouts.push_back(bytes_.layout(value));
    std::vector<ops::KernelView> views;
    views.reserve(layouts.size());
    for (const Layout& layout : layouts) views.push_back(ops::view_of(layout));
    const std::span<const ops::KernelView> all = views;
    return bytes + aligned(kernel->scratch_bytes({.in = all.first(node.in.size()),
                                                  .out = all.subspan(node.in.size()),
                                                  .attrs = node.attrs.ref()}));
  }

  // Whether all bytes together can be. If not, the builder refuses the graph.
  bool can_be_counted() const {
    std::int64_t all = 0;
    for (const std::int64_t bytes : schedule_.bytes) all = count_sum(all, bytes);
    for (const Task& task : schedule_.tasks) all = count_sum(all, task.extra);
    return all <= kMostBytes;
  }

  Graph in_order(const std::vector<int>& tasks, const std::vector<bool>& is_view) {
    std::vector<std::vector<std::size_t>> views(graph_.values.size());  // nodes, by what they view
    std::vector<bool> is_made(graph_.values.size(), true);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const ValueId value : graph_.nodes[n].out) is_made[value] = false;
      if (is_view[n]) views[graph_.nodes[n].in[0]].push_back(n);
    }
    std::vector<Node> nodes;
    nodes.reserve(graph_.nodes.size());
    std::vector<ValueId> shown;  // values whose views come next
    const auto show = [&] {
      while (!shown.empty()) {
        const ValueId value = shown.back();
        shown.pop_back();
        for (const std::size_t n : views[value]) {
          shown.push_back(graph_.nodes[n].out[0]);
          nodes.push_back(std::move(graph_.nodes[n]));
        }
      }
    };
    for (std::size_t v = 0; v < is_made.size(); ++v) {
      if (is_made[v]) shown.push_back(static_cast<ValueId>(v));
    }
    show();
    for (const int task : tasks) {
      Node& node = graph_.nodes[node_of_task_[static_cast<std::size_t>(task)]];
      shown = node.out;
      nodes.push_back(std::move(node));
      show();
    }
    graph_.nodes = std::move(nodes);
    return std::move(graph_);
  }

  Graph graph_;
  SharedBytes bytes_;
  std::vector<int> made_by_;  // of values: the task after which they are there, -1 for given ones
  std::vector<int> read_last_by_;  // of roots: the last task so far
  std::vector<std::size_t> node_of_task_;
  // A variable's new value can lie over the old one if those that read the old one come first.
  std::unordered_map<ValueId, ValueId> old_value_;
  std::unordered_map<ValueId, std::vector<int>> readers_;  // of given values: tasks
  int last_random_ = -1;
  Schedule schedule_;
};

}  // namespace

Graph order_for_memory(Graph graph) { return Orderer(std::move(graph)).order(); }

}  // namespace tenure::graph
