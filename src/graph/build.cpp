// From a graph to code: views become layouts, results take the bytes of inputs that die, and the
// planner places the rest.
#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "core/count.h"
#include "core/raise.h"
#include "graph/code.h"
#include "graph/control.h"
#include "graph/in_place.h"
#include "graph/passes/passes.h"
#include "graph/plan/plan.h"
#include "graph/shared_bytes.h"
#include "memory/text.h"
#include "ops/step.h"
#include "ops/views.h"
#include "tensor/variable_state.h"

namespace tenure::graph {
namespace {

using Where = Code::Where;

class Builder {
 public:
  Builder(Graph graph, CodeOptions options)
      : code_(std::move(graph)),
        graph_(code_.graph),
        bytes_(graph_),
        last_use_(last_uses(graph_, bytes_)),
        overwritten_(find_overwritten(graph_, bytes_, last_use_, std::move(options.donated))),
        is_body_(options.body) {}

  Code build() {
    place_given();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      add_node(graph_.nodes[n], static_cast<int>(n));
    }
    if (is_body_) place_body_results();
    place_assigned();
    code_.writes_begin = first_write_.value_or(code_.steps.size());
    plan();
    bind();
    return std::move(code_);
  }

 private:
  struct Life {  // of a buffer, in steps
    int begin = kForever;
    int end = -1;
  };

  std::uint32_t add_buffer(Where where, std::size_t index, std::size_t bytes) {
    code_.buffers.push_back({where, static_cast<std::uint32_t>(index), 0, bytes});
    lives_.emplace_back();
    return static_cast<std::uint32_t>(code_.buffers.size() - 1);
  }
  std::uint32_t add_result_buffer(std::size_t bytes) {
    return add_buffer(Where::result, code_.result_buffers++, bytes);
  }

  void place(ValueId value, std::uint32_t buffer) {
    code_.places[value] = {buffer, bytes_.layout(value)};
  }
  Code::Buffer& buffer_of(std::uint32_t place) { return code_.buffers[code_.places[place].buffer]; }

  // Inputs are row-major when a call begins, but for views that the graph knows of.
  void place_given() {
    code_.places.resize(graph_.values.size());
    const auto place_in = [&](Where where, std::size_t index, ValueId value) {
      place(value, add_buffer(where, index, bytes_.layout(value).nbytes()));
    };
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      place_in(Where::input, i, graph_.inputs[i]);
    }
    for (std::size_t i = 0; i < graph_.captures.size(); ++i) {
      place_in(Where::capture, i, graph_.captures[i].value);
    }
    for (std::size_t i = 0; i < graph_.constants.size(); ++i) {
      place_in(Where::constant, i, graph_.constants[i].value);
    }
    for (std::size_t i = 0; i < graph_.variables.size(); ++i) {
      if (const auto read = graph_.variables[i].read) place_in(Where::variable, i, *read);
    }
  }

  void add_node(const Node& node, int index) {
    if (node.op->view != nullptr) {
      add_view(node);
      return;
    }
    const ControlAttrs* control = control_attrs(node);
    const ops::Kernel* kernel = control == nullptr ? kernel_of(graph_, node) : nullptr;
    std::vector<std::uint32_t> in;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      const bool accepted = ops::accepts(*node.op, node.attrs.ref(), i, bytes_.layout(node.in[i]),
                                         graph_.values[node.out[0]].shape);
      in.push_back(accepted ? node.in[i] : add_copy(node.in[i]));
    }
    for (std::size_t i = 0; i < node.out.size(); ++i) {
      const auto dying = dying_input(node, i, index);
      place(node.out[i], dying ? *dying : new_buffer(node.out[i]));
    }
    if (control != nullptr) {
      add_control(node, *control, in);
    } else {
      add_step(node.op, *kernel, &node, in, node.out);
    }
  }

  std::uint32_t new_buffer(ValueId value) {
    const std::size_t bytes = bytes_.layout(value).nbytes();
    const auto [what, index] = overwritten_[value];
    if (what != Overwritten::What::nothing && !first_write_) first_write_ = code_.steps.size();
    switch (what) {
      case Overwritten::What::variable:
        return add_buffer(Where::assigned, index, bytes);
      case Overwritten::What::input:
        return code_.places[graph_.inputs[index]].buffer;
      case Overwritten::What::nothing:
        break;
    }
    return bytes_.in_arena(value) ? add_buffer(Where::arena, 0, bytes) : add_result_buffer(bytes);
  }

  // The buffer of an input that dies here and that the output may take.
  std::optional<std::uint32_t> dying_input(const Node& node, std::size_t output, int index) const {
    if (!bytes_.in_arena(node.out[output])) return {};
    for (const ValueId value : node.in) {
      const ValueId root = bytes_.root(value);
      const std::uint32_t buffer = code_.places[root].buffer;
      const auto earlier = std::span(node.out).first(output);
      const bool taken = std::ranges::any_of(
          earlier, [&](ValueId other) { return code_.places[other].buffer == buffer; });
      if (bytes_.in_arena(root) && last_use_[root] == index && !taken &&
          bytes_.may_take(node, root, output)) {
        return buffer;
      }
    }
    return {};
  }

  void add_view(const Node& node) {
    const ValueId value = node.out[0];
    if (bytes_.is_view(value)) {
      place(value, code_.places[node.in[0]].buffer);
      return;
    }
    // A row-major copy, seen as the view's shape.
    const std::uint32_t buffer = new_buffer(value);
    add_copy(node.in[0], buffer);
    place(value, buffer);
  }

  // A row-major copy of a place: one to be used at once, or in a buffer.
  std::uint32_t add_copy(std::uint32_t from, std::optional<std::uint32_t> to = {}) {
    const Layout& layout = code_.places[from].layout;
    Layout copied = contiguous_layout(layout.shape, layout.dtype);
    const ops::Kernel& kernel =
        ops::kernel_table(graph_.device.type).find(ops::kCopy.index, copied.dtype);
    const std::uint32_t buffer = to ? *to : add_buffer(Where::arena, 0, copied.nbytes());
    code_.places.push_back({buffer, std::move(copied)});
    const auto place = static_cast<std::uint32_t>(code_.places.size() - 1);
    add_step(&ops::kCopy, kernel, nullptr, {&from, 1}, {&place, 1});
    return place;
  }

  void touch(std::uint32_t buffer) {
    Life& life = lives_[buffer];
    const int now = static_cast<int>(code_.steps.size());
    life.begin = std::min(life.begin, now);
    life.end = now;
  }

  Code::Step new_step(const ops::OpDef* op, const Node* node, std::span<const std::uint32_t> in,
                      std::span<const std::uint32_t> out) {
    Code::Step step;
    step.op = op;
    step.node = node;
    if (node != nullptr) step.attrs = node->attrs.ref();
    step.first = static_cast<std::uint32_t>(operands_.size());
    step.inputs = static_cast<std::uint32_t>(in.size());
    step.outputs = static_cast<std::uint32_t>(out.size());
    operands_.insert(operands_.end(), in.begin(), in.end());
    operands_.insert(operands_.end(), out.begin(), out.end());
    for (const std::uint32_t place : in) touch(code_.places[place].buffer);
    for (const std::uint32_t place : out) touch(code_.places[place].buffer);
    return step;
  }

  void book_scratch(Code::Step& step, std::size_t bytes) {
    if (bytes == 0) return;
    const std::uint32_t buffer = add_buffer(Where::arena, 0, bytes);
    touch(buffer);
    step.scratch = static_cast<std::int32_t>(buffer);
  }

  void add_step(const ops::OpDef* op, const ops::Kernel& kernel, const Node* node,
                std::span<const std::uint32_t> in, std::span<const std::uint32_t> out) {
    Code::Step step = new_step(op, node, in, out);
    step.run = kernel.run;
    if (kernel.scratch_bytes != nullptr || kernel.wanted_form != nullptr) {
      std::vector<ops::KernelView> views;
      for (const std::uint32_t place : in) views.push_back(view_of(place));
      for (const std::uint32_t place : out) views.push_back(view_of(place));
      const std::span<const ops::KernelView> all = views;
      const ops::KernelArgs args{
          .in = all.first(in.size()), .out = all.subspan(in.size()), .attrs = step.attrs};
      // Also where an input is wanted in another form: a call may find that there is none.
      if (kernel.scratch_bytes != nullptr) book_scratch(step, kernel.scratch_bytes(args));
      if (kernel.wanted_form != nullptr) step.form = add_form(kernel.wanted_form(args), in);
    }
    if (node != nullptr && op->reseed != nullptr) {
      step.random = static_cast<std::int32_t>(code_.random.size());
      code_.random.push_back(node);
    }
    code_.steps.push_back(step);
  }

  ops::KernelView view_of(std::uint32_t place) const {
    return ops::view_of(code_.places[place].layout);
  }

  // A variable that this program changes has a new value on every call: not worth a form.
  std::int32_t add_form(const ops::WantedForm& wanted, std::span<const std::uint32_t> in) {
    if (wanted.bytes == 0) return -1;
    const Code::Buffer& buffer = buffer_of(in[wanted.input]);
    if (buffer.where != Where::variable || graph_.variables[buffer.index].assigned) return -1;
    code_.forms.push_back({wanted, buffer.index});
    return static_cast<std::int32_t>(code_.forms.size() - 1);
  }

  void add_control(const Node& node, const ControlAttrs& attrs, std::span<const std::uint32_t> in) {
    Code::Control control;
    for (const auto& body : attrs.bodies) {
      control.bodies.push_back({body, make_code(optimise(*body), {.body = true})});
      control.arena_bytes = std::max(control.arena_bytes, control.bodies.back().code->arena.bytes);
    }
    for (const ValueId value : node.out) control.used.push_back(last_use_[value] >= 0);
    Code::Step step = new_step(node.op, &node, in, node.out);
    step.control = static_cast<std::int32_t>(code_.controls.size());
    book_scratch(step, aligned(control.arena_bytes) + state_bytes(*node.op, attrs));
    code_.controls.push_back(std::move(control));
    code_.steps.push_back(step);
  }

  // Whether a value is all of a result's buffer, in order.
  bool fills_result(ValueId value) {
    const Layout& layout = code_.places[value].layout;
    return buffer_of(value).where == Where::result && layout.contiguous &&
           layout.nbytes() == buffer_of(value).bytes;
  }

  // Every result of a body is a buffer of its own, which the program around it points somewhere.
  void place_body_results() {
    std::vector<std::uint32_t>& buffers = code_.body_results;
    for (const ValueId value : graph_.results) {
      std::uint32_t buffer = code_.places[value].buffer;
      if (!fills_result(value) || std::ranges::find(buffers, buffer) != buffers.end()) {
        buffer = add_buffer(Where::result, 0, code_.places[value].layout.nbytes());
        add_copy(value, buffer);
      }
      buffers.push_back(buffer);
    }
    for (Code::Buffer& buffer : code_.buffers) {
      if (buffer.where == Where::result) buffer.where = Where::arena;
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      code_.buffers[buffers[i]].where = Where::result;
      code_.buffers[buffers[i]].index = static_cast<std::uint32_t>(i);
    }
    code_.result_buffers = static_cast<std::uint32_t>(buffers.size());
  }

  // Variables that change, in the order in which calls lock them.
  void place_assigned() {
    for (std::size_t i = 0; i < graph_.variables.size(); ++i) {
      const auto value = graph_.variables[i].assigned;
      if (!value) continue;
      std::uint32_t buffer = code_.places[*value].buffer;
      const bool in_place = code_.buffers[buffer].where == Where::assigned;
      if (!in_place && !fills_result(*value)) {  // a view, or somebody else's bytes
        buffer = add_result_buffer(code_.places[*value].layout.nbytes());
        add_copy(*value, buffer);
      }
      code_.assigned.push_back(
          {static_cast<std::uint32_t>(i), code_.buffers[buffer].index, in_place});
    }
    std::ranges::sort(code_.assigned, std::less<>(), [&](const Code::Assigned& assigned) {
      return graph_.variables[assigned.variable].variable.get();
    });
  }

  void plan() {
    std::vector<plan::Buffer> wanted;
    std::vector<std::size_t> which;
    std::int64_t all = 0;
    for (std::size_t b = 0; b < code_.buffers.size(); ++b) {
      if (code_.buffers[b].where != Where::arena || lives_[b].end < 0) continue;
      const auto bytes = static_cast<std::int64_t>(code_.buffers[b].bytes);
      wanted.push_back({lives_[b].begin, lives_[b].end + 1, bytes});
      which.push_back(b);
      all = count_sum(all, bytes);
    }
    if (all > kMostBytes) {
      raise<ShapeError>("{}: its values have more bytes than can be counted",
                        detail::label_text(*graph_.function.get()));
    }
    const auto begin = std::chrono::steady_clock::now();
    const plan::Plan best = plan::make_plan(wanted, {.alignment = std::int64_t{kAlignment}});
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    for (std::size_t i = 0; i < which.size(); ++i) {
      code_.buffers[which[i]].offset = best.offsets[i];
    }
    code_.arena = {static_cast<std::size_t>(best.height),
                   static_cast<std::size_t>(best.lower_bound), time.count()};
  }

  // Places no longer move: views may point at their shapes.
  void bind() {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const auto& [buffer, layout] = code_.places[operands_[i]];
      code_.views.push_back(ops::view_of(layout));
      const bool late = code_.buffers[buffer].where == Where::assigned;
      (late ? code_.late_patches : code_.patches)
          .push_back({static_cast<std::uint32_t>(i), buffer,
                      layout.offset * static_cast<std::int64_t>(size_of(layout.dtype))});
    }
  }

  Code code_;
  const Graph& graph_;  // the code's
  SharedBytes bytes_;
  std::vector<int> last_use_;             // of roots: the last node that reads them
  std::vector<Overwritten> overwritten_;  // by values
  bool is_body_;
  std::optional<std::size_t> first_write_;  // over what a user has: a step
  std::vector<Life> lives_;                 // of buffers
  std::vector<std::uint32_t> operands_;     // places, step by step
};

}  // namespace

std::shared_ptr<const Code> make_code(Graph graph, CodeOptions options) {
  return std::make_shared<const Code>(Builder(std::move(graph), std::move(options)).build());
}

}  // namespace tenure::graph
