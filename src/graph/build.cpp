// From a graph to a program: views become layouts, results of dying inputs take their bytes, and
// the planner places the rest.
#include <algorithm>
#include <chrono>
#include <limits>

#include "core/raise.h"
#include "graph/passes/passes.h"
#include "graph/program.h"
#include "memory/context.h"
#include "ops/strides.h"
#include "ops/views.h"
#include "tensor/variable_state.h"

namespace tenure::graph {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
constexpr int kForever = std::numeric_limits<int>::max();

const ops::Kernel& kernel_of(const ops::OpDef& op, DType dtype) {
  const ops::Kernel& kernel = ops::kernel_table(DeviceType::cpu).find(op.index, dtype);
  if (kernel.run == nullptr) {
    raise<DtypeError>("{}: not defined for {}: cast the input first", op.name, dtype);
  }
  return kernel;
}

}  // namespace

class Builder {
 public:
  explicit Builder(Program& program) : p_(program), graph_(program.graph_) {}

  void build() {
    p_.places_.assign(graph_.values.size(), {kNowhere, {}});
    p_.places_.reserve(graph_.values.size() + 4 * graph_.nodes.size());
    place_given();
    resolve_views();
    find_last_uses();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      add_node(graph_.nodes[n], static_cast<int>(n));
    }
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
    Layout layout = contiguous_layout(graph_.values[value].shape, graph_.values[value].dtype);
    const std::size_t bytes = layout.nbytes();
    p_.places_[value] = {add_buffer(where, static_cast<std::uint32_t>(index), bytes),
                         std::move(layout)};
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

  void add_node(const Node& node, int index) {
    if (node.op->view != nullptr) {
      add_view(node);
      return;
    }
    const Value& first = graph_.values[node.out[0]];
    const DType dtype =
        node.op->dispatch_on == ops::OpDef::kOutput0
            ? first.dtype
            : graph_.values[node.in[static_cast<std::size_t>(node.op->dispatch_on)]].dtype;
    const ops::Kernel& kernel = kernel_of(*node.op, dtype);
    std::vector<std::uint32_t> in, out;
    for (const ValueId value : node.in) {
      const auto place = static_cast<std::uint32_t>(value);
      const bool taken = ops::accepts(node.op->accepts, p_.places_[place].layout, first.shape);
      in.push_back(taken ? place : add_copy(place));
    }
    for (std::size_t i = 0; i < node.out.size(); ++i) {
      const ValueId value = node.out[i];
      Layout layout = contiguous_layout(graph_.values[value].shape, graph_.values[value].dtype);
      std::uint32_t buffer = i == 0 ? overwritten(node, index, layout) : kNowhere;
      if (buffer == kNowhere) buffer = new_buffer(value, layout.nbytes());
      p_.places_[value] = {buffer, std::move(layout)};
      out.push_back(static_cast<std::uint32_t>(value));
    }
    add_step(node.op, kernel, &node, in, out);
  }

  std::uint32_t new_buffer(ValueId value, std::size_t bytes) {
    return is_kept(value) ? add_buffer(Where::result, p_.result_buffers_++, bytes)
                          : add_buffer(Where::arena, 0, bytes);
  }

  // The buffer of an input that dies here and that the result may take, or none.
  std::uint32_t overwritten(const Node& node, int index, const Layout& out) const {
    if (is_kept(node.out[0])) return kNowhere;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      if (!node.op->may_overwrite.has(i)) continue;
      const ValueId value = node.in[i];
      const Place& place = p_.places_[value];
      const Buffer& buffer = p_.buffers_[place.buffer];
      const bool whole = place.layout.contiguous && place.layout.offset == 0 &&
                         place.layout.shape == out.shape && buffer.bytes == out.nbytes();
      const bool dies = buffer.where == Where::arena && last_use_[root_[value]] == index;
      const auto uses = std::ranges::count_if(
          node.in, [&](ValueId other) { return p_.places_[other].buffer == place.buffer; });
      if (whole && dies && uses == 1) return place.buffer;
    }
    return kNowhere;
  }

  void add_view(const Node& node) {
    Place from = p_.places_[node.in[0]];
    Layout layout =
        contiguous_layout(graph_.values[node.out[0]].shape, graph_.values[node.out[0]].dtype);
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
    Layout layout = contiguous_layout(p_.places_[from].layout.shape, p_.places_[from].layout.dtype);
    const std::size_t bytes = layout.nbytes();
    const std::uint32_t buffer = of ? new_buffer(*of, bytes) : add_buffer(Where::arena, 0, bytes);
    const ops::Kernel& kernel = kernel_of(ops::kCopy, layout.dtype);
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

  void add_step(const ops::OpDef* op, const ops::Kernel& kernel, const Node* node,
                std::span<const std::uint32_t> in, std::span<const std::uint32_t> out) {
    Step step;
    step.op = op;
    step.run = kernel.run;
    step.node = node;
    step.first = static_cast<std::uint32_t>(operands_.size());
    step.inputs = static_cast<std::uint16_t>(in.size());
    step.outputs = static_cast<std::uint16_t>(out.size());
    operands_.insert(operands_.end(), in.begin(), in.end());
    operands_.insert(operands_.end(), out.begin(), out.end());
    for (const std::uint32_t place : in) touch(p_.places_[place].buffer);
    for (const std::uint32_t place : out) touch(p_.places_[place].buffer);
    if (kernel.scratch_bytes != nullptr) {
      std::vector<ops::KernelView> views;
      for (const std::uint32_t place : in) views.push_back(view_of(place));
      for (const std::uint32_t place : out) views.push_back(view_of(place));
      const std::span<const ops::KernelView> all = views;
      const ops::KernelArgs args{.in = all.first(in.size()),
                                 .out = all.subspan(in.size()),
                                 .attrs = node != nullptr ? node->attrs.ref() : ops::AttrsRef()};
      if (const std::size_t bytes = kernel.scratch_bytes(args); bytes != 0) {
        const std::uint32_t buffer = add_buffer(Where::arena, 0, bytes);
        touch(buffer);
        step.scratch = static_cast<std::int32_t>(buffer);
      }
    }
    if (node != nullptr && op->reseed != nullptr) {
      step.random = static_cast<std::int32_t>(p_.random_.size());
      p_.random_.push_back(node);
    }
    p_.steps_.push_back(step);
  }

  ops::KernelView view_of(std::uint32_t place) const {
    const Layout& layout = p_.places_[place].layout;
    return {nullptr, &layout.shape, &layout.strides, layout.dtype};
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
      p_.views_.push_back(view_of(operands_[i]));
      p_.patches_.push_back(
          {static_cast<std::uint32_t>(i), place.buffer,
           place.layout.offset * static_cast<std::int64_t>(size_of(place.layout.dtype))});
    }
  }

  Program& p_;
  const Graph& graph_;
  std::vector<ValueId> root_;            // of values: whose bytes they share
  std::vector<int> last_use_;            // of roots: the last node that reads them
  std::vector<Life> lives_;              // of buffers
  std::vector<std::uint32_t> operands_;  // places, step by step
};

Program::Program(std::shared_ptr<const Graph> written)
    : written_(std::move(written)), graph_(optimise(*written_)) {
  Builder(*this).build();
}

Program::~Program() = default;

std::size_t Program::constant_bytes() const {
  std::size_t bytes = 0;
  for (const Constant& constant : graph_.constants) bytes += constant.storage->get()->nbytes;
  return bytes;
}

}  // namespace tenure::graph
