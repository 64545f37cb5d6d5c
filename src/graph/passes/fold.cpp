// Values that need no argument are computed when a function is built, within bounds: no value in or
// out of such a computation is larger than kMostValueBytes, so that neither what a program holds
// nor the time to build it grows with the shapes in it. A view of a constant stays a view.
#include <algorithm>
#include <deque>

#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"
#include "memory/context.h"
#include "ops/step.h"

namespace tenure::graph {
namespace {

constexpr std::size_t kMostValueBytes = 64 * 1024;
constexpr std::size_t kMostGraphBytes = 1024 * 1024;

// A kernel call on constants, with memory of its own.
class Call {
 public:
  std::vector<ops::KernelView> in, out;
  std::vector<detail::StorageRef> results;

  explicit Call(Device device) : device_(device) {}
  void add_input(std::byte* base, const Layout& layout) {
    const auto size = static_cast<std::int64_t>(size_of(layout.dtype));
    in.push_back(ops::view_of(layout, base + layout.offset * size));
  }
  void copy_input(std::byte* base, const Layout& layout) {
    add_input(base, layout);
    const ops::KernelView from = in.back();
    const Layout& whole = layouts_.emplace_back(contiguous_layout(layout.shape, layout.dtype));
    copies_.push_back(allocate(whole.nbytes()));
    in.back() = ops::view_of(whole, copies_.back()->data);
    ops::copy_elements(device_, from, in.back());
  }
  void add_output(const Value& value) {
    const Layout& layout = layouts_.emplace_back(contiguous_layout(value.shape, value.dtype));
    results.push_back(allocate(layout.nbytes()));
    out.push_back(ops::view_of(layout, results.back()->data));
  }
  detail::StorageRef take_first_copy() { return std::move(copies_.front()); }
  // False when the kernel complains about values.
  bool run(const detail::RunningOp& op, const ops::Kernel& kernel, ops::AttrsRef attrs) {
    ops::Problem problem;
    ops::KernelArgs args{.in = in, .out = out, .attrs = attrs, .problem = &problem};
    const std::size_t bytes = kernel.scratch_bytes != nullptr ? kernel.scratch_bytes(args) : 0;
    const detail::StorageRef scratch = bytes != 0 ? allocate(bytes) : detail::StorageRef();
    if (scratch) args.scratch = scratch->data;
    ops::run_step(op, kernel.run, args);
    return problem.format == nullptr;
  }

 private:
  detail::StorageRef allocate(std::size_t bytes) const {
    return detail::StorageRef(detail::allocate_storage(device_, bytes, detail::context().session));
  }

  Device device_;
  std::deque<Layout> layouts_;
  std::vector<detail::StorageRef> copies_;
};

class Folder {
 public:
  explicit Folder(Graph graph)
      : graph_(std::move(graph)), seen_(see_given(graph_)), bytes_(graph_.values.size(), nullptr) {
    for (const Constant& constant : graph_.constants) note(constant);
  }

  Graph fold() {
    std::vector<Node> left;
    left.reserve(graph_.nodes.size());
    for (Node& node : graph_.nodes) {
      const bool is_view = see(graph_, node, seen_) && node.op->view != nullptr;
      if (is_view || !fold(node)) left.push_back(std::move(node));
    }
    graph_.nodes = std::move(left);
    return std::move(graph_);
  }

 private:
  void note(const Constant& constant) {
    bytes_[constant.value] = constant.storage().data;
    total_ += constant.storage().nbytes;
  }

  std::size_t size_of_value(ValueId value) const {
    return static_cast<std::size_t>(graph_.values[value].shape.numel()) *
           size_of(graph_.values[value].dtype);
  }

  bool may_fold(const Node& node) const {
    const auto is_constant = [&](ValueId value) { return bytes_[seen_[value].root] != nullptr; };
    const auto is_small = [&](ValueId value) { return size_of_value(value) <= kMostValueBytes; };
    std::size_t more = 0;
    for (const ValueId value : node.out) more += size_of_value(value);
    return is_plain(node) && std::ranges::all_of(node.in, is_constant) &&
           std::ranges::all_of(node.in, is_small) && std::ranges::all_of(node.out, is_small) &&
           total_ + more <= kMostGraphBytes;
  }

  bool fold(const Node& node) {
    if (!may_fold(node)) return false;
    Call call(graph_.device);
    const Shape& shape = graph_.values[node.out[0]].shape;
    for (std::size_t input = 0; input < node.in.size(); ++input) {
      const auto& [root, layout] = seen_[node.in[input]];
      if (node.op->view == nullptr &&
          ops::accepts(*node.op, node.attrs.ref(), input, layout, shape)) {
        call.add_input(bytes_[root], layout);
      } else {
        call.copy_input(bytes_[root], layout);
      }
    }
    if (node.op->view != nullptr) {  // one that strides cannot express: the copy is the value
      call.results.push_back(call.take_first_copy());
    } else {
      const ops::Kernel* kernel = kernel_of(graph_, node);
      if (kernel == nullptr) return false;
      for (const ValueId value : node.out) call.add_output(graph_.values[value]);
      const detail::RunningOp running{
          .op = node.op->name, .function = graph_.function.get(), .site = node.site};
      if (!call.run(running, *kernel, node.attrs.ref())) return false;
    }
    for (std::size_t i = 0; i < node.out.size(); ++i) {
      const Value& value = graph_.values[node.out[i]];
      detail::Saved saved(
          new_saved_bytes(detail::context(), contiguous_layout(value.shape, value.dtype),
                          std::move(call.results[i]), graph_.function, node.op->name, node.site));
      graph_.constants.push_back(
          {std::make_shared<const detail::Saved>(std::move(saved)), node.out[i]});
      note(graph_.constants.back());
    }
    return true;
  }

  Graph graph_;
  std::vector<Seen> seen_;
  std::vector<std::byte*> bytes_;  // of values that are constants
  std::size_t total_ = 0;          // of constants
};

}  // namespace

Graph fold_constants(Graph graph) { return Folder(std::move(graph)).fold(); }

}  // namespace tenure::graph
