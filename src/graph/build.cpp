// From a graph to a program: views become layouts, results take the bytes of inputs that die, and
// the planner places the rest.
#include <algorithm>
#include <chrono>
#include <limits>

#include "core/count.h"
#include "core/raise.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"
#include "graph/program.h"
#include "memory/text.h"
#include "ops/step.h"
#include "ops/views.h"
#include "tensor/variable_state.h"

namespace tenure::graph {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
constexpr int kForever = std::numeric_limits<int>::max();

// Whether a step can throw: it may find values it cannot take, or need memory.
bool can_fail(const Node& node) { return node.op->checks_values || control_attrs(node) != nullptr; }

}  // namespace

class Builder {
 public:
  Builder(Program& program, ProgramOptions options)
      : p_(program), graph_(program.graph_), options_(std::move(options)) {}

  void build() {
    p_.places_.assign(graph_.values.size(), {kNowhere, {}});
    p_.places_.reserve(graph_.values.size() + 4 * graph_.nodes.size() + graph_.results.size() +
                       graph_.variables.size());
    place_given();
    resolve_views();
    find_last_uses();
    find_writes_in_place();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      add_node(graph_.nodes[n], static_cast<int>(n));
    }
    if (options_.body) place_body_results();
    place_assigned();
    plan();
    bind();
  }

 private:
  using Buffer = Program::Buffer;
  using Place = Program::Place;
  using Step = Program::Step;
  using Where = Program::Where;

  struct Life {  // of a buffer, in steps
    int begin = kForever;
    int end = -1;
  };

  std::uint32_t add_buffer(Where where, std::uint32_t index, std::size_t bytes) {
    p_.buffers_.push_back({where, index, 0, bytes});
    lives_.emplace_back();
    return static_cast<std::uint32_t>(p_.buffers_.size() - 1);
  }

  // Inputs are row-major when a call begins; captures lie as they lay.
  void place_given() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      place_whole(graph_.inputs[i], Where::input, i);
    }
    for (std::size_t i = 0; i < graph_.captures.size(); ++i) {
      const detail::Header& saved = graph_.captures[i].header();
      p_.places_[graph_.captures[i].value] = {
          add_buffer(Where::capture, static_cast<std::uint32_t>(i), saved.storage->nbytes),
          saved.layout};
    }
    for (std::size_t i = 0; i < graph_.constants.size(); ++i) {
      place_whole(graph_.constants[i].value, Where::constant, i);
    }
    for (std::size_t i = 0; i < graph_.variables.size(); ++i) {
      if (const auto read = graph_.variables[i].read) place_whole(*read, Where::variable, i);
    }
  }

  void place_whole(ValueId value, Where where, std::size_t index) {
    Layout layout = whole_layout(value);
    const std::size_t bytes = layout.nbytes();
    p_.places_[value] = {add_buffer(where, static_cast<std::uint32_t>(index), bytes),
                         std::move(layout)};
  }

  Layout whole_layout(ValueId value) const {
    return contiguous_layout(graph_.values[value].shape, graph_.values[value].dtype);
  }

  // Which value's bytes each value shares, as far as that is known before placing.
  void resolve_views() {
    root_.resize(graph_.values.size());
    for (std::size_t v = 0; v < root_.size(); ++v) root_[v] = static_cast<ValueId>(v);
    for (const Node& node : graph_.nodes) {
      if (node.op->view != nullptr) root_[node.out[0]] = root_[node.in[0]];
    }
  }

  void find_last_uses() {
    last_use_.assign(graph_.values.size(), -1);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const ValueId value : graph_.nodes[n].in) last_use_[root_[value]] = static_cast<int>(n);
    }
    const auto keep = [&](ValueId value) { last_use_[root_[value]] = kForever; };
    std::ranges::for_each(graph_.results, keep);
    for (const VariableUse& use : graph_.variables) {
      if (use.assigned) keep(*use.assigned);
    }
  }

  bool is_kept(ValueId value) const { return last_use_[root_[value]] == kForever; }

  // A variable's new value can be written where the old one lies when that one is not read any
  // more, nothing else is made of the bytes, and neither the step nor a later one can fail.
  void find_writes_in_place() {
    cannot_fail_from_ = static_cast<int>(graph_.nodes.size());
    while (cannot_fail_from_ > 0 && !can_fail(graph_.nodes[cannot_fail_from_ - 1])) {
      --cannot_fail_from_;
    }
    over_variable_.assign(graph_.values.size(), kNowhere);
    std::vector<int> kept(graph_.values.size(), 0);  // how often a root is
    for (const ValueId value : graph_.results) ++kept[root_[value]];
    for (const VariableUse& use : graph_.variables) {
      if (use.assigned) ++kept[root_[*use.assigned]];
    }
    std::vector<std::uint32_t> wanted(graph_.values.size(), kNowhere);
    for (std::size_t i = 0; i < graph_.variables.size(); ++i) {
      const auto assigned = graph_.variables[i].assigned;
      if (assigned && root_[*assigned] == *assigned && kept[*assigned] == 1) {
        wanted[*assigned] = static_cast<std::uint32_t>(i);
      }
    }
    for (auto n = static_cast<std::size_t>(cannot_fail_from_); n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      for (std::size_t i = 0; i < node.out.size(); ++i) {
        const std::uint32_t variable = wanted[node.out[i]];
        if (variable == kNowhere || node.op->view != nullptr) continue;
        const auto read = graph_.variables[variable].read;
        const bool free = !read || last_use_[*read] < static_cast<int>(n) ||
                          (last_use_[*read] == static_cast<int>(n) &&
                           may_overwrite(node, i, root_of(node, *read)));
        if (free) over_variable_[node.out[i]] = variable;
      }
    }
  }

  // The one input of a node that is `root` itself; none if there are more, or views of it.
  std::optional<std::size_t> root_of(const Node& node, ValueId root) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      if (root_[node.in[i]] != root) continue;
      if (found || node.in[i] != root) return {};
      found = i;
    }
    return found;
  }

  bool may_overwrite(const Node& node, std::size_t out, std::optional<std::size_t> in) const {
    return in && ops::may_take(*node.op, node.attrs.ref(), *in, whole_layout(node.in[*in]), out,
                               whole_layout(node.out[out]));
  }

  void add_node(const Node& node, int index) {
    if (node.op->view != nullptr) {
      add_view(node);
      return;
    }
    const ControlAttrs* control = control_attrs(node);
    const ops::Kernel* kernel = control == nullptr ? &kernel_for(node) : nullptr;
    std::vector<std::uint32_t> in, out;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      const auto place = static_cast<std::uint32_t>(node.in[i]);
      const bool taken = ops::accepts(*node.op, node.attrs.ref(), i, p_.places_[place].layout,
                                      graph_.values[node.out[0]].shape);
      in.push_back(taken ? place : add_copy(place));
    }
    for (std::size_t i = 0; i < node.out.size(); ++i) {
      const ValueId value = node.out[i];
      Layout layout = whole_layout(value);
      std::uint32_t buffer = control == nullptr ? overwritten(node, i, index, layout) : kNowhere;
      if (buffer == kNowhere) buffer = new_buffer(value, layout.nbytes());
      p_.places_[value] = {buffer, std::move(layout)};
      out.push_back(static_cast<std::uint32_t>(value));
    }
    if (control != nullptr) {
      add_control(node, *control, in, out);
    } else {
      add_step(node.op, *kernel, &node, in, out);
    }
  }

  const ops::Kernel& kernel_for(const Node& node) const {
    if (const ops::Kernel* kernel = kernel_of(graph_, node)) return *kernel;
    raise<DtypeError>("{}: not defined for {}: cast the input first", node.op->name,
                      graph_.values[node.in.empty() ? node.out[0] : node.in[0]].dtype);
  }

  std::uint32_t new_buffer(ValueId value, std::size_t bytes) {
    if (const std::uint32_t variable = over_variable_[value]; variable != kNowhere) {
      p_.writes_begin_ = std::min(p_.writes_begin_, p_.steps_.size());
      return add_buffer(Where::assigned, variable, bytes);
    }
    return is_kept(value) ? add_buffer(Where::result, p_.result_buffers_++, bytes)
                          : add_buffer(Where::arena, 0, bytes);
  }

  // The buffer of an input that dies here or was given away, and that the result may take, or none.
  std::uint32_t overwritten(const Node& node, std::size_t output, int index, const Layout& out) {
    const ValueId value = node.out[output];
    if (over_variable_[value] != kNowhere) return kNowhere;
    if (is_kept(value)) return donated(node, output, index, out);
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      const ValueId in = node.in[i];
      const Place& place = p_.places_[in];
      if (!ops::may_take(*node.op, node.attrs.ref(), i, place.layout, output, out)) continue;
      const Buffer& buffer = p_.buffers_[place.buffer];
      const bool dies = buffer.where == Where::arena && last_use_[root_[in]] == index;
      const auto uses = std::ranges::count_if(
          node.in, [&](ValueId other) { return p_.places_[other].buffer == place.buffer; });
      const bool taken =
          std::any_of(node.out.begin(), node.out.begin() + static_cast<std::ptrdiff_t>(output),
                      [&](ValueId other) { return p_.places_[other].buffer == place.buffer; });
      if (dies && buffer.bytes == out.nbytes() && uses == 1 && !taken) return place.buffer;
    }
    return kNowhere;
  }

  std::uint32_t donated(const Node& node, std::size_t output, int index, const Layout& out) {
    if (index < cannot_fail_from_ ||
        std::ranges::find(graph_.results, node.out[output]) == graph_.results.end()) {
      return kNowhere;
    }
    for (std::size_t i = 0; i < options_.donated.size(); ++i) {
      const ValueId given = graph_.inputs[i];
      const bool fits = options_.donated[i] && graph_.values[given].dtype == out.dtype &&
                        p_.buffers_[p_.places_[given].buffer].bytes == out.nbytes();
      if (!fits) continue;
      const int last = last_use_[given];
      if (last > index || (last == index && !may_overwrite(node, output, root_of(node, given)))) {
        continue;
      }
      options_.donated[i] = false;
      p_.writes_begin_ = std::min(p_.writes_begin_, p_.steps_.size());
      return p_.places_[given].buffer;
    }
    return kNowhere;
  }

  void add_view(const Node& node) {
    Place from = p_.places_[node.in[0]];
    Layout layout = whole_layout(node.out[0]);
    if (node.op->view(from.layout, node.attrs.ref(), layout)) {
      layout.contiguous = is_contiguous(layout.shape, layout.strides);
      p_.places_[node.out[0]] = {from.buffer, std::move(layout)};
      return;
    }
    // A row-major copy, seen as the view's shape. It is the view's own: the input may die.
    const std::uint32_t copy = add_copy(node.in[0], node.out[0]);
    p_.places_[node.out[0]] = {p_.places_[copy].buffer, std::move(layout)};
  }

  // A row-major copy of a place: one to be used at once, or the bytes of value `of`.
  std::uint32_t add_copy(std::uint32_t from, std::optional<ValueId> of = {}) {
    const std::size_t bytes = p_.places_[from].layout.nbytes();
    return add_copy_to(from, of ? new_buffer(*of, bytes) : add_buffer(Where::arena, 0, bytes));
  }

  std::uint32_t add_copy_to(std::uint32_t from, std::uint32_t buffer) {
    Layout layout = contiguous_layout(p_.places_[from].layout.shape, p_.places_[from].layout.dtype);
    const ops::Kernel& kernel =
        ops::kernel_table(graph_.device.type).find(ops::kCopy.index, layout.dtype);
    p_.places_.push_back({buffer, std::move(layout)});
    const auto place = static_cast<std::uint32_t>(p_.places_.size() - 1);
    add_step(&ops::kCopy, kernel, nullptr, {&from, 1}, {&place, 1});
    return place;
  }

  void touch(std::uint32_t buffer) {
    Life& life = lives_[buffer];
    const int now = static_cast<int>(p_.steps_.size());
    life.begin = std::min(life.begin, now);
    life.end = now;
  }

  Step new_step(const ops::OpDef* op, const Node* node, std::span<const std::uint32_t> in,
                std::span<const std::uint32_t> out) {
    Step step;
    step.op = op;
    step.node = node;
    if (node != nullptr) step.attrs = node->attrs.ref();
    step.first = static_cast<std::uint32_t>(operands_.size());
    step.inputs = static_cast<std::uint32_t>(in.size());
    step.outputs = static_cast<std::uint32_t>(out.size());
    operands_.insert(operands_.end(), in.begin(), in.end());
    operands_.insert(operands_.end(), out.begin(), out.end());
    for (const std::uint32_t place : in) touch(p_.places_[place].buffer);
    for (const std::uint32_t place : out) touch(p_.places_[place].buffer);
    return step;
  }

  void book_scratch(Step& step, std::size_t bytes) {
    if (bytes == 0) return;
    const std::uint32_t buffer = add_buffer(Where::arena, 0, bytes);
    touch(buffer);
    step.scratch = static_cast<std::int32_t>(buffer);
  }

  void add_step(const ops::OpDef* op, const ops::Kernel& kernel, const Node* node,
                std::span<const std::uint32_t> in, std::span<const std::uint32_t> out) {
    Step step = new_step(op, node, in, out);
    step.run = kernel.run;
    if (kernel.scratch_bytes != nullptr || kernel.wanted_form != nullptr) {
      std::vector<ops::KernelView> views;
      for (const std::uint32_t place : in) views.push_back(ops::view_of(p_.places_[place].layout));
      for (const std::uint32_t place : out) views.push_back(ops::view_of(p_.places_[place].layout));
      const std::span<const ops::KernelView> all = views;
      const ops::KernelArgs args{
          .in = all.first(in.size()), .out = all.subspan(in.size()), .attrs = step.attrs};
      // Also where an input is wanted in another form: a call may find that there is none.
      if (kernel.scratch_bytes != nullptr) book_scratch(step, kernel.scratch_bytes(args));
      if (kernel.wanted_form != nullptr) step.form = add_form(kernel.wanted_form(args), in);
    }
    if (node != nullptr && op->reseed != nullptr) {
      step.random = static_cast<std::int32_t>(p_.random_.size());
      p_.random_.push_back(node);
    }
    p_.steps_.push_back(step);
  }

  // A variable that this program changes has a new value on every call: not worth a form.
  std::int32_t add_form(const ops::WantedForm& wanted, std::span<const std::uint32_t> in) {
    if (wanted.bytes == 0) return -1;
    const Buffer& buffer = p_.buffers_[p_.places_[in[wanted.input]].buffer];
    if (buffer.where != Where::variable || graph_.variables[buffer.index].assigned) return -1;
    p_.forms_.push_back({wanted, buffer.index});
    return static_cast<std::int32_t>(p_.forms_.size() - 1);
  }

  void add_control(const Node& node, const ControlAttrs& attrs, std::span<const std::uint32_t> in,
                   std::span<const std::uint32_t> out) {
    Program::Control control;
    for (const auto& body : attrs.bodies) {
      control.bodies.push_back(std::make_unique<Program>(body, ProgramOptions{.body = true}));
      control.arena_bytes = std::max(control.arena_bytes, control.bodies.back()->arena_bytes());
    }
    for (const ValueId value : node.out) control.used.push_back(last_use_[value] >= 0);
    Step step = new_step(node.op, &node, in, out);
    step.control = static_cast<std::int32_t>(p_.controls_.size());
    book_scratch(step, p_.scratch_of(control, *node.op, attrs));
    p_.controls_.push_back(std::move(control));
    p_.steps_.push_back(step);
  }

  // Every result of a body is a buffer of its own, which the program around it points somewhere.
  void place_body_results() {
    std::vector<std::uint32_t> owner(p_.buffers_.size(), kNowhere);
    std::vector<std::uint32_t> buffers;
    for (std::size_t i = 0; i < graph_.results.size(); ++i) {
      const ValueId value = graph_.results[i];
      const Place& place = p_.places_[value];
      const bool own = p_.buffers_[place.buffer].where == Where::result &&
                       owner[place.buffer] == kNowhere && place.layout.contiguous &&
                       place.layout.nbytes() == p_.buffers_[place.buffer].bytes;
      std::uint32_t buffer = place.buffer;
      if (own) {
        owner[buffer] = static_cast<std::uint32_t>(i);
      } else {
        buffer = add_buffer(Where::result, 0, place.layout.nbytes());
        add_copy_to(static_cast<std::uint32_t>(value), buffer);
      }
      buffers.push_back(buffer);
    }
    for (Buffer& buffer : p_.buffers_) {
      if (buffer.where == Where::result) buffer.where = Where::arena;
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      p_.buffers_[buffers[i]].where = Where::result;
      p_.buffers_[buffers[i]].index = static_cast<std::uint32_t>(i);
    }
    p_.result_buffers_ = static_cast<std::uint32_t>(buffers.size());
    p_.body_results_ = std::move(buffers);
  }

  // Variables that change, in the order in which calls lock them.
  void place_assigned() {
    for (std::size_t i = 0; i < graph_.variables.size(); ++i) {
      const auto value = graph_.variables[i].assigned;
      if (!value) continue;
      Program::Assigned assigned{.variable = static_cast<std::uint32_t>(i)};
      std::uint32_t buffer = p_.places_[*value].buffer;
      assigned.in_place = p_.buffers_[buffer].where == Where::assigned;
      const Layout& layout = p_.places_[*value].layout;
      const bool own = p_.buffers_[buffer].where == Where::result && layout.contiguous &&
                       layout.nbytes() == p_.buffers_[buffer].bytes;
      if (!assigned.in_place && !own) {  // a view, or somebody else's bytes
        buffer = add_buffer(Where::result, p_.result_buffers_++, layout.nbytes());
        add_copy_to(static_cast<std::uint32_t>(*value), buffer);
      }
      assigned.result = p_.buffers_[buffer].index;
      p_.assigned_.push_back(assigned);
    }
    std::ranges::sort(p_.assigned_, std::less<>(), [&](const Program::Assigned& assigned) {
      return graph_.variables[assigned.variable].variable.get();
    });
    p_.writes_begin_ = std::min(p_.writes_begin_, p_.steps_.size());
  }

  void plan() {
    std::vector<plan::Buffer> wanted;
    std::vector<std::size_t> which;
    for (std::size_t b = 0; b < p_.buffers_.size(); ++b) {
      if (p_.buffers_[b].where != Where::arena || lives_[b].end < 0) continue;
      wanted.push_back(
          {lives_[b].begin, lives_[b].end + 1, static_cast<std::int64_t>(p_.buffers_[b].bytes)});
      which.push_back(b);
    }
    std::int64_t all = 0;
    for (const plan::Buffer& buffer : wanted) all = count_sum(all, buffer.size);
    if (all > kMostBytes) {
      raise<ShapeError>("{}: its values have more bytes than can be counted",
                        detail::label_text(*graph_.function.get()));
    }
    const auto begin = std::chrono::steady_clock::now();
    const plan::Plan made = plan::make_plan(wanted, {.alignment = kAlignment});
    p_.plan_us_ =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    for (std::size_t i = 0; i < which.size(); ++i) p_.buffers_[which[i]].offset = made.offsets[i];
    p_.arena_bytes_ = static_cast<std::size_t>(made.height);
    p_.bound_bytes_ = static_cast<std::size_t>(made.lower_bound);
  }

  // Places no longer move: views may point at their shapes.
  void bind() {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Place& place = p_.places_[operands_[i]];
      p_.views_.push_back(ops::view_of(place.layout));
      const bool late = p_.buffers_[place.buffer].where == Where::assigned;
      (late ? p_.late_patches_ : p_.patches_)
          .push_back(
              {static_cast<std::uint32_t>(i), place.buffer,
               place.layout.offset * static_cast<std::int64_t>(size_of(place.layout.dtype))});
    }
  }

  Program& p_;
  const Graph& graph_;
  ProgramOptions options_;
  std::vector<ValueId> root_;                 // of values: whose bytes they share
  std::vector<int> last_use_;                 // of roots: the last node that reads them
  std::vector<std::uint32_t> over_variable_;  // of values: the variable they are written over
  int cannot_fail_from_ = 0;                  // the node after the last that can
  std::vector<Life> lives_;                   // of buffers
  std::vector<std::uint32_t> operands_;       // places, step by step
};

Program::Program(std::shared_ptr<const Graph> written, ProgramOptions options)
    : written_(std::move(written)), graph_(optimise(*written_)) {
  writes_begin_ = std::numeric_limits<std::size_t>::max();
  Builder(*this, std::move(options)).build();
  if (auto* const look = on_program_built.load(std::memory_order_relaxed)) look(*this);
}

Program::~Program() = default;

std::size_t Program::stack_bytes() const {
  std::size_t most = stack_bytes_.load(std::memory_order_relaxed);
  for (const Control& control : controls_) {
    for (const auto& body : control.bodies) most = std::max(most, body->stack_bytes());
  }
  return most;
}

std::size_t Program::held_bytes() const {
  std::size_t bytes = 0;
  for (const Constant& constant : graph_.constants) bytes += constant.storage().nbytes;
  for (const Capture& capture : graph_.captures) bytes += capture.header().storage->nbytes;
  for (const Control& control : controls_) {
    for (const auto& body : control.bodies) bytes += body->held_bytes();
  }
  return bytes;
}

PlanView Program::plan_view() const {
  PlanView view;
  view.arena_bytes = static_cast<std::int64_t>(arena_bytes_);
  for (const Buffer& buffer : buffers_) {
    const bool in_arena = buffer.where == Where::arena;
    view.buffers.push_back(
        {in_arena ? buffer.offset : PlanView::kElsewhere, static_cast<std::int64_t>(buffer.bytes)});
  }
  std::vector<std::uint32_t> buffer_of(views_.size());
  for (const Patch& patch : patches_) buffer_of[patch.view] = patch.buffer;
  for (const Patch& patch : late_patches_) buffer_of[patch.view] = patch.buffer;
  for (const Step& step : steps_) {
    PlanView::Step& seen = view.steps.emplace_back();
    seen.op = step.op->name;
    for (std::uint32_t i = 0; i < step.inputs + std::uint32_t{step.outputs}; ++i) {
      (i < step.inputs ? seen.reads : seen.writes).push_back(buffer_of[step.first + i]);
    }
    if (step.scratch >= 0) seen.writes.push_back(static_cast<std::uint32_t>(step.scratch));
  }
  return view;
}

}  // namespace tenure::graph
