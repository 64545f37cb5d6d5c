#include "graph/trace.h"

#include <array>
#include <mutex>

#include "core/raise.h"
#include "graph/control.h"
#include "graph/read_as.h"
#include "memory/ledger.h"
#include "memory/slab.h"
#include "memory/text.h"
#include "memory/user_site.h"
#include "memory/warn.h"
#include "ops/recorder.h"
#include "ops/reseed.h"
#include "ops/views.h"
#include "tensor/variable_state.h"

namespace tenure::graph {

using detail::Access;
using detail::For;
using detail::Header;

Trace::Trace(detail::LabelRef function, bool check_escapes)
    : Trace(std::move(function), nullptr, check_escapes) {}

Trace::Trace(Trace& around) : Trace(around.graph_.function, &around, around.check_escapes_) {}

Trace::Trace(detail::LabelRef function, Trace* around, bool check_escapes)
    : around_(around),
      check_escapes_(check_escapes),
      context_(detail::context()),
      before_(context_),
      id_(around != nullptr ? around->id_ : detail::new_value_id()) {
  if (around != nullptr) {
    Trace* outermost = around;
    while (outermost->around_ != nullptr) outermost = outermost->around_;
    body_ = outermost->bodies_++;
  }
  graph_.function = std::move(function);
  context_.trace = this;
  context_.trace_id = id_;
  context_.function = graph_.function.get();
  context_.tapes = nullptr;
  context_.call = {.site = {}, .function = context_.call.function};
  context_.random = &random_;
}

Trace::~Trace() {
  detail::leave_tapes(context_);  // those made in it that are still there record no more
  const auto scope = context_.scope;
  context_ = before_;
  context_.scope = scope;
}

Tensor Trace::symbol(Layout layout, detail::For whom, const char* op, std::source_location site,
                     std::uint64_t value_id) {
  const auto value = static_cast<ValueId>(graph_.values.size());
  graph_.values.push_back({layout.shape, layout.dtype});
  symbols_.push_back(
      Access::adopt(new_symbolic(detail::context(), std::move(layout), {id_, body_, value},
                                 graph_.function, whom, op, site, value_id)));
  return symbols_.back();
}

Tensor Trace::add_input(Layout layout, std::source_location site) {
  layout.offset = 0;
  Tensor input = symbol(layout, For::library, "argument", site);
  const ValueId value = Access::header(input)->value;
  graph_.inputs.push_back(value);
  if (!layout.contiguous) graph_.given_views.push_back({value, std::move(layout)});
  return input;
}

bool Trace::is_around(std::uint32_t body) const {
  for (const Trace* trace = around_; trace != nullptr; trace = trace->around_) {
    if (trace->body_ == body) return true;
  }
  return false;
}

Tensor Trace::stand_in(const Tensor& x, const char* op, int input, std::source_location site) {
  Header& header = detail::checked(x, op, input, site);
  const detail::Use use{op, input, site, 1};
  if (header.is_symbolic()) {
    if (header.trace != id_) raise_symbolic(header, use, id_);
    if (header.is_disposed()) raise_disposed(header, use);
    if (header.body == body_) return x;
    if (!is_around(header.body)) raise_left_body(header, use);
    return import(around_->stand_in(x, op, input, site), nullptr, site);
  }
  if (!try_pin(header)) raise_disposed(header, use);
  const detail::Pinned pinned{header};
  if (!lends_to(header.session.load(std::memory_order_relaxed), context_.session)) {
    raise_wrong_session(header, use, context_.session);
  }
  if (around_ != nullptr) return import(around_->stand_in(x, op, input, site), nullptr, site);
  return capture(header, site);
}

Tensor Trace::import(const Tensor& outer, const std::shared_ptr<detail::VariableState>& variable,
                     std::source_location site) {
  const Header& header = *Access::header(outer);
  const ImportKey key{header.value, variable.get()};
  if (const auto known = imported_.find(key); known != imported_.end()) {
    return symbols_[known->second];
  }
  const Tensor inside =
      symbol(contiguous_layout(header.layout.shape, header.layout.dtype), For::library,
             variable ? "read" : header.birth.op, site, header.value_id);
  imports_.push_back({outer, variable, Access::header(inside)->value});
  imported_.emplace(key, Access::header(inside)->value);
  return inside;
}

Tensor Trace::capture(Header& header, std::source_location site) {
  if (const auto symbol = captured_.find(header.id); symbol != captured_.end()) {
    return symbols_[symbol->second];
  }
  detail::Saved saved(new_saved(header, Category::other, graph_.function));
  if (header.storage->session.load(std::memory_order_relaxed) == nullptr) {
    // Another function's capture, shown to this session: it serves every one, as it did there.
    const std::lock_guard lock(detail::storage_moves());
    move_holder(*saved.get(), nullptr);
  }
  Tensor stand = symbol(header.layout, For::library, "capture", site, header.value_id);
  const ValueId value = Access::header(stand)->value;
  graph_.captures.push_back({std::make_shared<const detail::Saved>(std::move(saved)), value});
  captured_.emplace(header.id, value);
  return stand;
}

void Trace::append(const ops::OpDef& op, std::span<const Tensor> in, ops::AttrsRef attrs,
                   std::source_location site, std::span<Layout> layouts, std::span<Tensor> out) {
  add_node(op, in, attrs, site, layouts, out, For::user);
}

void Trace::add_node(const ops::OpDef& op, std::span<const Tensor> in, ops::AttrsRef attrs,
                     std::source_location site, std::span<Layout> layouts, std::span<Tensor> out,
                     For whom) {
  Node node;
  node.op = &op;
  node.attrs = ops::AttrsBox(attrs);
  node.random = op.reseed != nullptr || draws(op, attrs);
  node.unrecorded = unrecorded != 0;
  node.site = detail::user_site(site);
  for (const Tensor& x : in) node.in.push_back(Access::header(x)->value);
  const std::uint64_t value_id = op.same_value ? Access::header(in.back())->value_id : 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = symbol(std::move(layouts[i]), whom, op.name, site, value_id);
    node.out.push_back(Access::header(out[i])->value);
  }
  if (node.random && op.reseed == nullptr) {
    const std::uint64_t next = random_.next.load(std::memory_order_relaxed);
    const std::uint64_t segment = (next >> ops::kSegmentShift) + 1;
    if (segment == ops::kMostSegments) {
      raise<UnsupportedError>(
          "{}: more than {} branches and loops of one function draw random numbers", op.name,
          ops::kMostSegments - 1);
    }
    graph_.draws.push_back(next & ops::kSegmentMask);
    random_.next.store(segment << ops::kSegmentShift, std::memory_order_relaxed);
  }
  graph_.nodes.push_back(std::move(node));
}

void Trace::chosen_by(std::span<const Tensor> in, ops::SameChoice same) {
  Choice choice{{}, std::move(same)};
  for (const Tensor& x : in) {
    const Header& header = detail::checked(x, "trace");
    Choice::By by{{}, header.layout.shape};
    if (header.trace == id_) by.value = header.value;
    choice.by.push_back(std::move(by));
  }
  graph_.choices.push_back(std::move(choice));
}

VariableUse& Trace::use_of(const std::shared_ptr<detail::VariableState>& variable) {
  const auto [known, is_new] = used_.try_emplace(variable.get(), graph_.variables.size());
  if (is_new) graph_.variables.push_back(VariableUse{variable, {}, {}});
  return graph_.variables[known->second];
}

Tensor Trace::origin(const std::shared_ptr<detail::VariableState>& variable,
                     std::source_location site) {
  if (around_ != nullptr) return import(around_->origin(variable, site), nullptr, site);
  if (const auto read = use_of(variable).read) return symbols_[*read];
  const Tensor first = symbol(contiguous_layout(variable->shape, variable->dtype), For::library,
                              "read", site, variable->id);
  use_of(variable).read = Access::header(first)->value;
  return first;
}

Tensor Trace::value_of(const std::shared_ptr<detail::VariableState>& variable,
                       std::source_location site) {
  if (const auto assigned = use_of(variable).assigned) {
    const std::array in{symbols_[*assigned], origin(variable, site)};
    Layout layout = contiguous_layout(variable->shape, variable->dtype);
    Tensor value;
    add_node(kReadAs, in, {}, site, {&layout, 1}, {&value, 1}, For::library);
    return value;
  }
  if (around_ == nullptr) return origin(variable, site);
  if (const auto read = use_of(variable).read) return symbols_[*read];
  const Tensor first = import(around_->value_of(variable, site), variable, site);
  use_of(variable).read = Access::header(first)->value;
  return first;
}

Tensor Trace::read(const std::shared_ptr<detail::VariableState>& variable,
                   std::source_location site) {
  const Tensor own_value = value_of(variable, site);
  const Header& value = *Access::header(own_value);
  return Access::adopt(new_symbolic(detail::context(), value.layout, {id_, body_, value.value},
                                    graph_.function, For::user, "read", site, variable->id));
}

void Trace::assign(const std::shared_ptr<detail::VariableState>& variable, const Tensor& value,
                   std::source_location site) {
  Tensor stand = stand_in(value, "assign", -1, site);
  if (const Layout& layout = Access::header(stand)->layout; !layout.contiguous) {
    Layout row_major = contiguous_layout(layout.shape, layout.dtype);
    Tensor copy;
    add_node(ops::kCopy, {&stand, 1}, {}, site, {&row_major, 1}, {&copy, 1}, For::library);
    stand = std::move(copy);
  }
  use_of(variable).assigned = Access::header(stand)->value;
}

Graph Trace::finish(std::span<Tensor> results, std::source_location site) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) {
      const detail::Label& function = *graph_.function.get();
      throw ValueError(
          describe("{}: result {} is an empty handle (default-made, moved from, or a gradient that "
                   "does not depend on its source)",
                   label_text(function), i)
              .told({line_of("born", function), detail::used_line(site, "call")},
                    "return a tensor; with .zero_if_unconnected a gradient always is one."));
    }
    const Tensor stand = stand_in(results[i], "return", static_cast<int>(i), site);
    graph_.results.push_back(Access::header(stand)->value);
    results[i] = Tensor();
  }
  if (check_escapes_) report_escapes();
  symbols_.clear();
  graph_.draws.push_back(random_.next.load(std::memory_order_relaxed) & ops::kSegmentMask);
  return std::move(graph_);
}

TracedBody trace_body(Trace& around,
                      const std::function<std::vector<Tensor>(std::vector<Tensor>)>& fn,
                      const std::vector<Value>& inputs, std::source_location site) {
  Trace trace(around);
  std::vector<Tensor> in;
  in.reserve(inputs.size());
  for (const Value& value : inputs) in.push_back(trace.add_input(value.shape, value.dtype, site));
  std::vector<Tensor> out = fn(std::move(in));
  TracedBody traced;
  traced.graph = trace.finish(out, site);
  traced.imports = trace.take_imports();
  return traced;
}

void Trace::report_escapes() const {
  std::vector<std::string> stories;
  detail::Slab<Header>::instance().for_each_live(
      [&](Header& header) {
        const bool here = header.role == detail::Role::tensor && header.trace == id_;
        if (!here || header.body != body_) return;
        const bool listed =
            header.value < symbols_.size() && Access::header(symbols_[header.value]) == &header;
        // A listed one has a handle of ours.
        if (header.owners() <= (listed ? 1U : 0U)) return;
        Story story = make_story(header);
        story.handles -= listed ? 1 : 0;
        stories.push_back(story.text());
      },
      detail::end_look);
  for (const std::string& story : stories) {
    detail::warn(fmt::format("a symbolic tensor escaped the trace of {}: {}",
                             label_text(*graph_.function.get()), story));
  }
}

}  // namespace tenure::graph
