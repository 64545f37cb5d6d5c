// How a program runs the bodies of control flow: on its own arena, reading and writing where the
// node's operands lie.
#include <algorithm>
#include <cstring>

#include "core/raise.h"
#include "graph/at_counter.h"
#include "graph/frame.h"
#include "memory/context.h"

namespace tenure::graph {
namespace {

using detail::StorageRef;

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t bytes_of(const ops::KernelView& view) {
  return static_cast<std::size_t>(view.numel()) * size_of(view.dtype);
}

// The next piece of a block of memory.
std::byte* take(std::byte*& from, std::size_t bytes) {
  return std::exchange(from, from + aligned(bytes));
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

}  // namespace

// A body on an arena, run any number of times.
class BodyRun {
 public:
  BodyRun(Program& program, std::byte* arena, std::source_location site)
      : program_(program), frame_(program), site_(site) {
    for (std::size_t b = 0; b < program.buffers_.size(); ++b) {
      const Program::Buffer& buffer = program.buffers_[b];
      std::byte*& base = frame_->bases[b];
      if (buffer.where == Program::Where::arena) {
        base = arena + buffer.offset;
      } else if (buffer.where == Program::Where::capture) {
        base = program.graph_.captures[buffer.index].header().storage->data;
      } else if (buffer.where == Program::Where::constant) {
        base = program.graph_.constants[buffer.index].storage().data;
      }
    }
  }
  const Graph& graph() const { return program_.graph_; }
  void input(std::size_t i, std::byte* data) {
    frame_->bases[program_.places_[program_.graph_.inputs[i]].buffer] = data;
  }
  void result(std::size_t i, std::byte* data) { frame_->bases[program_.body_results_[i]] = data; }
  void run() {
    Program::patch(*frame_, program_.patches_);
    frame_->segments.assign(1, take_counters(program_.graph_.draws[0]));
    program_.run_steps(*frame_, 0, program_.steps_.size(), site_);
  }

 private:
  Program& program_;
  Program::FrameLease frame_;
  std::source_location site_;
};

namespace {

// Two places for a state: one step reads it from one and writes it to the other.
class TwoStates {
 public:
  TwoStates(const Graph& body, std::size_t count) : bytes_(count) {
    for (std::size_t i = 0; i < count; ++i) bytes_[i] = body.values[body.results[i]].nbytes();
  }
  static std::size_t bytes(const Graph& body, std::size_t count) {
    std::size_t total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      total += aligned(body.values[body.results[i]].nbytes());
    }
    return total;
  }
  std::size_t bytes(std::size_t i) const { return bytes_[i]; }
  void begin(std::vector<std::byte*> at, std::vector<std::byte*> final, std::byte*& scratch) {
    now_ = std::move(at);
    final_ = std::move(final);
    for (const std::size_t bytes : bytes_) other_.push_back(take(scratch, bytes));
    next_ = final_;
  }
  std::byte* now(std::size_t i) const { return now_[i]; }
  std::byte* next(std::size_t i) const { return next_[i]; }
  // The first step writes to the other place: what it reads lies where the state ends.
  void begin_in_place() { next_ = other_; }
  void advance() {
    now_ = next_;
    next_ = next_ == final_ ? other_ : final_;
  }
  void finish() {
    for (std::size_t i = 0; i < now_.size(); ++i) copy_bytes(final_[i], now_[i], bytes_[i]);
  }

 private:
  std::vector<std::size_t> bytes_;
  std::vector<std::byte*> now_, next_, final_, other_;
};

std::vector<std::byte*> data_of(std::span<const ops::KernelView> views) {
  std::vector<std::byte*> data;
  for (const ops::KernelView& view : views) data.push_back(view.data);
  return data;
}

// Whether the step may go on: reads the predicate's body, on a state.
bool goes_on(BodyRun& predicate, std::byte* answer) {
  predicate.result(0, answer);
  predicate.run();
  return *reinterpret_cast<const bool*>(answer);
}

}  // namespace

std::size_t Program::scratch_of(const Control& control, const ops::OpDef& op,
                                const ControlAttrs& attrs) {
  std::size_t bytes = aligned(control.arena_bytes);
  if (&op == &kLoop) bytes += kAlignment + TwoStates::bytes(*attrs.bodies[1], attrs.state);
  if (&op == &kScan) bytes += TwoStates::bytes(*attrs.bodies[0], attrs.state);
  if (&op == &kLoopGrad) {
    const Graph& back = *attrs.bodies[2];
    bytes += kAlignment + TwoStates::bytes(back, back.results.size());
  }
  return bytes;
}

namespace {

void run_scan(const ControlAttrs& attrs, BodyRun& body, const std::vector<bool>& used,
              const ops::KernelArgs& args, std::byte* scratch) {
  const std::size_t state = attrs.state, varying = state + attrs.sequences;
  const std::size_t results = body.graph().results.size(), inputs = body.graph().inputs.size();
  const auto steps = static_cast<std::size_t>(attrs.steps);
  AtCounter counter;
  TwoStates states(body.graph(), state);
  states.begin(data_of(args.in.first(state)), data_of(args.out.first(state)), scratch);
  for (std::size_t i = varying; i < inputs; ++i) body.input(i, args.in[i].data);
  for (std::size_t s = 0; s < steps; ++s) {
    const std::size_t at = attrs.reverse ? steps - 1 - s : s;
    const auto slice = [&](const ops::KernelView& view) {
      return view.data + at * (bytes_of(view) / steps);
    };
    for (std::size_t i = 0; i < state; ++i) {
      if (used[results + i])
        copy_bytes(slice(args.out[results + i]), states.now(i), states.bytes(i));
      body.input(i, states.now(i));
      body.result(i, states.next(i));
    }
    for (std::size_t i = state; i < varying; ++i) body.input(i, slice(args.in[i]));
    for (std::size_t i = state; i < results; ++i) body.result(i, slice(args.out[i]));
    if (attrs.has_counter) counter.set(args.in[inputs].as<std::int64_t>()[at]);
    if (attrs.tells_counter) args.out[results + state].as<std::int64_t>()[at] = current_counter();
    body.run();
    states.advance();
  }
  states.finish();
}

void run_loop(const ControlAttrs& attrs, BodyRun& predicate, BodyRun& body,
              const ops::KernelArgs& args, std::byte* scratch) {
  if (attrs.tells_counter) args.out[attrs.state].as<std::int64_t>()[0] = current_counter();
  std::byte* answer = take(scratch, 1);
  TwoStates states(body.graph(), attrs.state);
  states.begin(data_of(args.in.first(attrs.state)), data_of(args.out.first(attrs.state)), scratch);
  for (std::size_t i = attrs.state; i < body.graph().inputs.size(); ++i) {
    predicate.input(i, args.in[i].data);
    body.input(i, args.in[i].data);
  }
  for (std::int64_t step = 0; attrs.steps < 0 || step < attrs.steps; ++step) {
    for (std::size_t i = 0; i < attrs.state; ++i) predicate.input(i, states.now(i));
    if (!goes_on(predicate, answer)) break;
    for (std::size_t i = 0; i < attrs.state; ++i) {
      body.input(i, states.now(i));
      body.result(i, states.next(i));
    }
    body.run();
    states.advance();
  }
  states.finish();
}

// The states that the steps of a loop began with, and the counters.
class Stack {
 public:
  explicit Stack(const TwoStates& states, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      offsets_.push_back(bytes_);
      bytes_ += aligned(states.bytes(i));
    }
  }
  void push() {
    entries_.emplace_back(
        StorageRef(detail::allocate_storage({}, bytes_, detail::context().session)), 0);
  }
  void set_counter(std::int64_t counter) { entries_.back().second = counter; }
  std::byte* top(std::size_t i) const { return entries_.back().first->data + offsets_[i]; }
  std::int64_t counter() const { return entries_.back().second; }
  void pop() { entries_.pop_back(); }
  bool empty() const { return entries_.empty(); }
  std::size_t bytes() const { return bytes_ * entries_.size(); }

 private:
  std::size_t bytes_ = 0;  // of one entry
  std::vector<std::size_t> offsets_;
  std::vector<std::pair<StorageRef, std::int64_t>> entries_;
};

// Runs the loop again, keeping its states, then goes back through them. Returns the bytes kept.
std::size_t run_loop_grad(const ControlAttrs& attrs, BodyRun& predicate, BodyRun& body,
                          BodyRun& back, const ops::KernelArgs& args, std::byte* scratch) {
  const std::size_t state = attrs.state, inputs = body.graph().inputs.size();
  const std::size_t fixed = inputs - state, results = back.graph().results.size();
  std::byte* answer = take(scratch, 1);
  AtCounter counter;
  if (attrs.has_counter) counter.set(args.in.back().as<std::int64_t>()[0]);
  TwoStates sizes(body.graph(), state);
  Stack stack(sizes, state);
  stack.push();
  for (std::size_t i = 0; i < state; ++i) {
    copy_bytes(stack.top(i), args.in[i].data, sizes.bytes(i));
    predicate.input(i, stack.top(i));
  }
  stack.set_counter(current_counter());
  for (std::size_t i = state; i < inputs; ++i) {
    predicate.input(i, args.in[i].data);
    body.input(i, args.in[i].data);
  }
  for (std::int64_t step = 0; attrs.steps < 0 || step < attrs.steps; ++step) {
    if (!goes_on(predicate, answer)) break;
    for (std::size_t i = 0; i < state; ++i) body.input(i, stack.top(i));
    stack.push();
    for (std::size_t i = 0; i < state; ++i) body.result(i, stack.top(i));
    body.run();
    stack.set_counter(current_counter());
    for (std::size_t i = 0; i < state; ++i) predicate.input(i, stack.top(i));
  }
  const std::size_t kept = stack.bytes();
  stack.pop();  // the state it ended with

  // The gradient's state: gradients of the loop's, and the sums, which begin at zero.
  const std::size_t flowing = args.in.size() - inputs - (attrs.has_counter ? 1 : 0);
  TwoStates grads(back.graph(), results);
  std::vector<std::byte*> begin = data_of(args.in.subspan(inputs, flowing));
  std::vector<std::byte*> end = data_of(args.out);
  for (std::size_t i = flowing; i < results; ++i) {
    begin.push_back(end[i]);
    std::memset(end[i], 0, grads.bytes(i));
  }
  grads.begin(std::move(begin), std::move(end), scratch);
  grads.begin_in_place();
  for (std::size_t i = 0; i < fixed; ++i) back.input(results + state + i, args.in[state + i].data);
  for (; !stack.empty(); stack.pop()) {
    for (std::size_t i = 0; i < results; ++i) {
      back.input(i, grads.now(i));
      back.result(i, grads.next(i));
    }
    for (std::size_t i = 0; i < state; ++i) back.input(results + i, stack.top(i));
    counter.set(stack.counter());
    back.run();
    grads.advance();
  }
  grads.finish();
  return kept;
}

}  // namespace

void Program::run_control(const Step& step, const ops::KernelArgs& args,
                          std::source_location site) {
  const auto& attrs = step.attrs.as<ControlAttrs>();
  const Control& control = controls_[static_cast<std::size_t>(step.control)];
  std::byte* const room =
      args.scratch != nullptr ? args.scratch + aligned(control.arena_bytes) : nullptr;
  const auto body = [&](std::size_t i) { return BodyRun(*control.bodies[i], args.scratch, site); };
  if (step.op == &kScan) {
    BodyRun only = body(0);
    run_scan(attrs, only, control.used, args, room);
    return;
  }
  if (step.op == &kLoop) {
    BodyRun predicate = body(0), next = body(1);
    run_loop(attrs, predicate, next, args, room);
    return;
  }
  if (step.op == &kLoopGrad) {
    BodyRun predicate = body(0), next = body(1), back = body(2);
    const std::size_t kept = run_loop_grad(attrs, predicate, next, back, args, room);
    std::size_t most = stack_bytes_.load(std::memory_order_relaxed);
    while (most < kept && !stack_bytes_.compare_exchange_weak(most, kept)) {
    }
    return;
  }
  const std::size_t first = step.op == &kBranch ? 1 : 0;
  std::size_t which = 0;
  if (step.op == &kBranch) {
    const std::int32_t index = args.in[0].as<std::int32_t>()[0];
    if (index < 0 || static_cast<std::size_t>(index) >= control.bodies.size()) {
      raise<ValueError>("switch_case: index {} for {} branches", index, control.bodies.size());
    }
    which = static_cast<std::size_t>(index);
  }
  AtCounter counter;
  if (attrs.has_counter) counter.set(args.in.back().as<std::int64_t>()[0]);
  if (attrs.tells_counter) args.out.back().as<std::int64_t>()[0] = current_counter();
  BodyRun chosen = body(which);
  for (std::size_t i = 0; i < chosen.graph().inputs.size(); ++i) {
    chosen.input(i, args.in[first + i].data);
  }
  for (std::size_t i = 0; i < chosen.graph().results.size(); ++i) {
    chosen.result(i, args.out[i].data);
  }
  chosen.run();
}

}  // namespace tenure::graph
