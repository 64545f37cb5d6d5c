#include "graph/program.h"

#include <algorithm>
#include <mutex>

#include "core/raise.h"
#include "graph/frame.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/forms.h"
#include "memory/ledger.h"
#include "memory/out_of_memory.h"
#include "memory/text.h"
#include "ops/forms.h"
#include "ops/step.h"
#include "tensor/rollback.h"
#include "tensor/variable_state.h"
#include "tenure/views.h"

namespace tenure::graph {

using detail::Access;
using detail::Header;
using detail::Storage;
using detail::StorageRef;

namespace {

// The bytes of an argument, held: as it lies, or row-major.
StorageRef bytes_held(const Tensor& x, bool as_it_lies, std::byte*& data,
                      std::source_location site) {
  const bool fits = as_it_lies || Access::header(x)->layout.contiguous;
  const Tensor whole = fits ? x : contiguous(Arg(x, site));
  const detail::Pin pin(whole, "call", site);
  detail::retain(pin->storage);
  data = pin->storage->data +
         pin->layout.offset * static_cast<std::int64_t>(size_of(pin->layout.dtype));
  return StorageRef(pin->storage);
}

[[noreturn, gnu::noinline]] void raise_unusable(const Header& header,
                                                const detail::Context& context,
                                                const detail::Label* function, int input,
                                                std::uint32_t own_handles,
                                                std::source_location site) {
  const std::string op = function != nullptr ? label_text(*function) : "call";
  const detail::Use use{op, input, site, own_handles};
  if (header.is_dead()) raise_disposed(header, use);
  raise_wrong_session(header, use, context.session);
}

bool is_usable(const Header& header, const detail::Context& context) {
  return header.session.load(std::memory_order_relaxed) == context.session && !header.is_dead();
}

// What a variable holds, if it is read; refused in the name of the function when it has ended or is
// of another session.
StorageRef held_value(const VariableUse& use, const detail::Context& context,
                      const detail::Label* function, std::source_location site) {
  const std::lock_guard lock(use.variable->mutex);
  Header& slot = *use.variable->value.get();
  // It may be lent for reading, not for a new value.
  const bool lent = !use.assigned && !slot.is_dead() &&
                    lends_to(slot.session.load(std::memory_order_relaxed), context.session);
  if (!lent && !is_usable(slot, context)) raise_unusable(slot, context, function, -1, 0, site);
  if (!use.read) return {};
  if (!try_pin(slot)) raise_disposed(slot, {.op = "call", .site = site});
  detail::retain(slot.storage);
  StorageRef held(slot.storage);
  unpin(slot);
  return held;
}

[[noreturn]] void raise_in_step(const ops::Problem& problem, const ops::OpDef& op, const Node* node,
                                const detail::Label* function, std::source_location site) {
  try {
    ops::raise_problem(problem, op.name);
  } catch (Error& error) {
    detail::edit(error, [&](detail::ErrorRecord& record) {
      record.lines = {detail::used_line(site, "call")};
    });
    if (node != nullptr) error.add({"step", detail::site_text(node->site), op.name});
    if (function != nullptr) error.add(line_of("function", *function));
    throw;
  }
}

StorageRef share(Storage* storage) {
  detail::retain(storage);
  return StorageRef(storage);
}

}  // namespace

void check_arguments(const Graph& graph, std::span<const Tensor> in, std::source_location site) {
  const detail::Context& context = detail::context();
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Header& header = *Access::header(in[i]);
    // In a trace a symbolic one may be of it, and others are captured.
    if (header.is_symbolic() && context.trace != nullptr) continue;
    const bool lent = context.trace != nullptr && !header.is_dead() &&
                      lends_to(header.session.load(std::memory_order_relaxed), context.session);
    if (lent || is_usable(header, context)) continue;
    raise_unusable(header, context, graph.function.get(), static_cast<int>(i),
                   argument_copies(in, i), site);
  }
}

void check_captures(const Graph& graph, std::source_location site) {
  const detail::SessionState* current = detail::context().session;
  for (const Capture& capture : graph.captures) {
    const Header& header = capture.header();
    if (lends_to(header.session.load(std::memory_order_relaxed), current)) [[likely]]
      continue;
    const std::string op = label_text(*graph.function.get());
    raise_wrong_session(header, {.op = op, .site = site}, current);
  }
}

std::uint64_t take_counters(std::uint64_t count) {
  return detail::context().random->next.fetch_add(count, std::memory_order_relaxed);
}

Program::Program(std::shared_ptr<const Graph> written, std::shared_ptr<const Code> code)
    : written_(std::move(written)), code_(std::move(code)) {
  for (const Code::Control& control : code_->controls) {
    auto& bodies = bodies_.emplace_back();
    for (const auto& [body, body_code] : control.bodies) {
      bodies.push_back(std::make_unique<Program>(body, body_code));
    }
  }
  if (auto* const look = on_program_built.load(std::memory_order_relaxed)) look(*code_);
}

Program::~Program() = default;

std::size_t Program::stack_bytes() const {
  std::size_t most = stack_bytes_.load(std::memory_order_relaxed);
  for (const auto& bodies : bodies_) {
    for (const auto& body : bodies) most = std::max(most, body->stack_bytes());
  }
  return most;
}

std::unique_ptr<Program::Frame> Program::new_frame() const {
  auto frame = std::make_unique<Frame>();
  const Graph& graph = code_->graph;
  frame->views = code_->views;
  frame->bases.resize(code_->buffers.size());
  frame->inputs.resize(graph.inputs.size());
  frame->held.reserve(graph.inputs.size() + graph.variables.size() + code_->result_buffers);
  frame->locks.reserve(code_->assigned.size());
  frame->pinned.reserve(code_->assigned.size());
  frame->old.reserve(2 * code_->assigned.size());
  for (const Node* node : code_->random) frame->random.emplace_back(node->attrs.ref());
  frame->segments.reserve(graph.draws.size());
  return frame;
}

void Program::patch(Frame& frame, std::span<const Code::Patch> patches) {
  for (const Code::Patch& patch : patches) {
    frame.views[patch.view].data = frame.bases[patch.buffer] + patch.bytes;
  }
}

void Program::run_steps(Frame& frame, std::size_t begin, std::size_t end,
                        std::source_location site) {
  const Code& code = *code_;
  const Graph& graph = code.graph;
  const std::span<const ops::KernelView> views = frame.views;
  detail::MemoryWatch* watches = detail::context().watch;
  ops::Problem problem;
  for (std::size_t i = begin; i < end; ++i) {
    const Code::Step& step = code.steps[i];
    ops::KernelArgs args{.in = views.subspan(step.first, step.inputs),
                         .out = views.subspan(step.first + step.inputs, step.outputs),
                         .attrs = step.attrs,
                         .problem = &problem};
    if (step.scratch >= 0) args.scratch = frame.bases[static_cast<std::size_t>(step.scratch)];
    if (step.control >= 0) {
      run_control(step, args, site);
      if (step.node->random)
        frame.segments.push_back(take_counters(graph.draws[frame.segments.size()]));
      continue;
    }
    if (step.random >= 0) {
      ops::AttrsBox& reseeded = frame.random[static_cast<std::size_t>(step.random)];
      const std::uint64_t seed = detail::context().random->seed.load(std::memory_order_relaxed);
      step.op->reseed(reseeded.data(), step.attrs.data(), seed, frame.segments);
      args.attrs = reseeded.ref();
    }
    StorageRef form;
    if (step.form >= 0) {
      const Code::InputForm& input = code.forms[static_cast<std::size_t>(step.form)];
      form = ops::form_of(input.wanted, *frame.held[graph.inputs.size() + input.variable].get(),
                          args.in[input.wanted.input].data);
      if (form) args.form = form->data;
    }
    const detail::RunningOp running{
        .op = step.op->name,
        .function = graph.function.get(),
        .site = step.node != nullptr && step.node->site.line() != 0 ? step.node->site : site};
    detail::OpWatch watch(watches);
    ops::run_step(running, step.run, args);
    if (problem.format != nullptr) [[unlikely]]
      raise_in_step(problem, *step.op, step.node, graph.function.get(), site);
    if (watch) [[unlikely]]
      watch.end(running, args.in, args.out);
  }
}

// One call of a function's program.
class Program::Call {
 public:
  Call(Program& program, std::source_location site)
      : program_(program),
        code_(program.code()),
        frame_(program),
        context_(detail::context()),
        site_(site) {}

  void run(std::span<const Tensor> in, std::span<Tensor> out, Donation* donation) {
    hold(in);
    find_memory();
    patch(*frame_, code_.patches);
    frame_->segments.assign(1, take_counters(graph().draws[0]));
    program_.run_steps(*frame_, 0, code_.writes_begin, site_);
    if (donation != nullptr) donation->take(frame_->held);
    make_results(out);  // before the first write: it is the last that may find no memory
    begin_writes();
    if (donation != nullptr) donation->end();
    program_.run_steps(*frame_, code_.writes_begin, code_.steps.size(), site_);
    finish_writes();
  }

 private:
  using Where = Code::Where;

  const Graph& graph() const { return code_.graph; }

  void hold(std::span<const Tensor> in) {
    const detail::Label* function = graph().function.get();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Header& header = *Access::header(in[i]);
      if (!is_usable(header, context_)) [[unlikely]] {
        raise_unusable(header, context_, function, static_cast<int>(i), argument_copies(in, i),
                       site_);
      }
      const bool is_view = !code_.places[graph().inputs[i]].layout.contiguous;
      frame_->held.push_back(bytes_held(in[i], is_view, frame_->inputs[i], site_));
    }
    variables_ = frame_->held.size();
    for (const VariableUse& use : graph().variables) {
      frame_->held.push_back(held_value(use, context_, function, site_));
    }
    results_ = frame_->held.size();
    frame_->held.resize(results_ + code_.result_buffers);
  }

  void find_memory() {
    if (code_.arena.bytes != 0) arena_ = allocate(code_.arena.bytes);
    for (std::size_t b = 0; b < code_.buffers.size(); ++b) {
      const Code::Buffer& buffer = code_.buffers[b];
      std::byte*& base = frame_->bases[b];
      switch (buffer.where) {
        case Where::input:
          base = frame_->inputs[buffer.index];
          break;
        case Where::capture:
          base = graph().captures[buffer.index].header().storage->data;
          break;
        case Where::variable:
          base = frame_->held[variables_ + buffer.index]->data;
          break;
        case Where::assigned:
          break;
        case Where::constant:
          base = graph().constants[buffer.index].storage().data;
          break;
        case Where::arena:
          base = arena_ ? arena_->data + buffer.offset : nullptr;
          break;
        case Where::result:
          frame_->held[results_ + buffer.index] = allocate(buffer.bytes);
          base = frame_->held[results_ + buffer.index]->data;
          break;
      }
    }
  }

  StorageRef allocate(std::size_t bytes) const {
    return StorageRef(detail::allocate_storage(graph().device, bytes, context_.session));
  }

  void make_results(std::span<Tensor> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Code::Place& place = code_.places[graph().results[i]];
      Layout layout = place.layout;
      StorageRef storage = bytes_of(place, layout);
      out[i] =
          Access::adopt(new_tensor(context_, std::move(layout), std::move(storage), "call", site_));
    }
  }

  // From here on nobody else reads the variables that change, and nothing can fail: each is written
  // where it lies, or, when somebody still uses those bytes, to new ones.
  void begin_writes() {
    for (const Code::Assigned& assigned : code_.assigned) {
      const auto& variable = graph().variables[assigned.variable].variable;
      frame_->locks.emplace_back(variable->mutex);
      Header& slot = *variable->value.get();
      if (!try_pin(slot)) raise_disposed(slot, {.op = "call", .site = site_});
      frame_->pinned.push_back(&slot);
      detail::Rollback::before_write(variable);
      if (!assigned.in_place) continue;
      StorageRef& held = frame_->held[variables_ + assigned.variable];
      const std::uint32_t known = held.get() == slot.storage ? 2 : 1;
      const bool alone = slot.storage->handles.load(std::memory_order_acquire) == known;
      StorageRef target = alone ? share(slot.storage) : allocate(slot.storage->nbytes);
      frame_->old.push_back(std::exchange(held, std::move(target)));  // steps may still read it
    }
    for (const Code::Assigned& assigned : code_.assigned) {
      if (assigned.in_place)
        give(assigned, share(frame_->held[variables_ + assigned.variable].get()));
    }
    for (const Code::Patch& patch : code_.late_patches) {
      const std::uint32_t variable = code_.buffers[patch.buffer].index;
      frame_->bases[patch.buffer] = frame_->held[variables_ + variable]->data;
    }
    patch(*frame_, code_.late_patches);
  }

  void give(const Code::Assigned& assigned, StorageRef value) {
    Header& slot = *graph().variables[assigned.variable].variable->value.get();
    if (slot.storage == value.get()) {
      detail::drop_forms(*slot.storage);
      frame_->old.push_back(std::move(value));
      return;
    }
    detail::leave_slot(*slot.storage);
    detail::enter_slot(*value.get());
    const std::lock_guard lock(detail::storage_moves());
    frame_->old.push_back(StorageRef(std::exchange(slot.storage, value.give())));
    detail::events::moved(slot, false);
  }

  // The storage of a place; `layout`, the place's, becomes one over that storage.
  StorageRef bytes_of(const Code::Place& place, Layout& layout) const {
    const Code::Buffer& buffer = code_.buffers[place.buffer];
    switch (buffer.where) {
      case Where::input: {
        Storage* storage = frame_->held[buffer.index].get();
        layout.offset += (frame_->inputs[buffer.index] - storage->data) /
                         static_cast<std::int64_t>(size_of(layout.dtype));
        return share(storage);
      }
      case Where::capture:
        return share(graph().captures[buffer.index].header().storage);
      case Where::variable:
        return share(frame_->held[variables_ + buffer.index].get());
      case Where::constant:
        return share(&graph().constants[buffer.index].storage());
      case Where::result:
        return share(frame_->held[results_ + buffer.index].get());
      case Where::assigned:
      case Where::arena:
        break;  // never of a value that is kept
    }
    return {};
  }

  void finish_writes() {
    for (const Code::Assigned& assigned : code_.assigned) {
      if (!assigned.in_place) give(assigned, share(frame_->held[results_ + assigned.result].get()));
    }
  }

  Program& program_;
  const Code& code_;
  FrameLease frame_;
  detail::Context& context_;
  std::source_location site_;
  StorageRef arena_;
  std::size_t variables_ = 0;  // where they begin among what the frame holds
  std::size_t results_ = 0;
};

void Program::run(std::span<const Tensor> in, std::span<Tensor> out, std::source_location site,
                  Donation* donation) {
  try {
    Call(*this, site).run(in, out, donation);
  } catch (OutOfMemoryError& error) {
    const detail::Label* function = code_->graph.function.get();
    detail::add_use(error, site, function != nullptr ? label_text(*function) : "call");
    throw;
  }
}

}  // namespace tenure::graph
