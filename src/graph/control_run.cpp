// How a program runs the bodies of control flow: on its own arena, reading and writing where the
// node's operands lie.
#include <algorithm>
#include <cstring>

#include "core/raise.h"
#include "graph/control_flow.h"
#include "graph/frame.h"
#include "graph/shared_bytes.h"
#include "memory/context.h"

namespace tenure::graph {
namespace {

using detail::StorageRef;

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
class Program::BodyRun {
 public:
  BodyRun(Program& program, std::byte* arena, std::source_location site)
      : program_(program), code_(program.code()), frame_(program), site_(site) {
    for (std::size_t b = 0; b < code_.buffers.size(); ++b) {
      const Code::Buffer& buffer = code_.buffers[b];
      std::byte*& base = frame_->bases[b];
      if (buffer.where == Code::Where::arena) {
        base = arena + buffer.offset;
      } else if (buffer.where == Code::Where::capture) {
        base = graph().captures[buffer.index].header().storage->data;
      } else if (buffer.where == Code::Where::constant) {
        base = graph().constants[buffer.index].storage().data;
      }
    }
  }
  const Graph& graph() const { return code_.graph; }
  void input(std::size_t i, std::byte* data) {
    frame_->bases[code_.places[graph().inputs[i]].buffer] = data;
  }
  void result(std::size_t i, std::byte* data) { frame_->bases[code_.body_results[i]] = data; }
  void run() {
    patch(*frame_, code_.patches);
    frame_->segments.assign(1, take_counters(graph().draws[0]));
    program_.run_steps(*frame_, 0, code_.steps.size(), site_);
  }

 private:
  Program& program_;
  const Code& code_;
  FrameLease frame_;
  std::source_location site_;
};

namespace {

using BodyRun = Program::BodyRun;

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

}  // namespace

std::size_t state_bytes(const ops::OpDef& op, const ControlAttrs& attrs) {
  if (&op == &kLoop) return aligned(1) + TwoStates::bytes(*attrs.bodies[1], attrs.state);
  if (&op == &kScan) return TwoStates::bytes(*attrs.bodies[0], attrs.state);
  if (&op != &kLoopGrad) return 0;
  const Graph& back = *attrs.bodies[2];
  return aligned(1) + TwoStates::bytes(back, back.results.size());
}

namespace {

class CallInArena {
 public:
  // `first` inputs come before the body's.
  CallInArena(BodyRun& body, const ops::KernelArgs& args, std::size_t first)
      : body_(body), args_(args) {
    for (std::size_t i = 0; i < body.graph().inputs.size(); ++i) {
      body.input(i, args.in[first + i].data);
    }
    for (std::size_t i = 0; i < body.graph().results.size(); ++i) {
      body.result(i, args.out[i].data);
    }
  }
  std::int64_t counter(std::size_t) const { return args_.in.back().as<std::int64_t>()[0]; }
  void tell_counter(std::size_t, std::int64_t counter) const {
    args_.out.back().as<std::int64_t>()[0] = counter;
  }
  void call() { body_.run(); }

 private:
  BodyRun& body_;
  const ops::KernelArgs& args_;
};

class ScanInArena {
 public:
  ScanInArena(const ControlAttrs& attrs, BodyRun& body, const std::vector<bool>& used,
              const ops::KernelArgs& args, std::byte* scratch)
      : attrs_(attrs),
        body_(body),
        used_(used),
        args_(args),
        inputs_(body.graph().inputs.size()),
        results_(body.graph().results.size()),
        states_(body.graph(), attrs.state) {
    const std::size_t state = attrs.state;
    states_.begin(data_of(args.in.first(state)), data_of(args.out.first(state)), scratch);
    for (std::size_t i = state + attrs.sequences; i < inputs_; ++i) body.input(i, args.in[i].data);
  }
  std::int64_t counter(std::size_t at) const { return args_.in[inputs_].as<std::int64_t>()[at]; }
  void tell_counter(std::size_t at, std::int64_t counter) const {
    args_.out[results_ + attrs_.state].as<std::int64_t>()[at] = counter;
  }
  void step(std::size_t at) {
    const std::size_t state = attrs_.state;
    const auto slice = [&](const ops::KernelView& view) {
      return view.data + at * (bytes_of(view) / static_cast<std::size_t>(attrs_.steps));
    };
    for (std::size_t i = 0; i < state; ++i) {
      if (used_[results_ + i]) {
        copy_bytes(slice(args_.out[results_ + i]), states_.now(i), states_.bytes(i));
      }
      body_.input(i, states_.now(i));
      body_.result(i, states_.next(i));
    }
    for (std::size_t i = 0; i < attrs_.sequences; ++i) {
      body_.input(state + i, slice(args_.in[state + i]));
    }
    for (std::size_t i = state; i < results_; ++i) body_.result(i, slice(args_.out[i]));
    body_.run();
    states_.advance();
  }
  void finish() { states_.finish(); }

 private:
  const ControlAttrs& attrs_;
  BodyRun& body_;
  const std::vector<bool>& used_;
  const ops::KernelArgs& args_;
  std::size_t inputs_, results_;
  TwoStates states_;
};

// Asks a loop's first body whether it goes on.
class Predicate {
 public:
  Predicate(BodyRun& body, std::byte*& scratch) : body_(body), answer_(take(scratch, 1)) {}
  void input(std::size_t i, std::byte* data) { body_.input(i, data); }
  bool ask() {
    body_.result(0, answer_);
    body_.run();
    return *reinterpret_cast<const bool*>(answer_);
  }

 private:
  BodyRun& body_;
  std::byte* answer_;
};

class LoopInArena {
 public:
  LoopInArena(const ControlAttrs& attrs, BodyRun& predicate, BodyRun& body,
              const ops::KernelArgs& args, std::byte* scratch)
      : attrs_(attrs),
        predicate_(predicate, scratch),
        body_(body),
        args_(args),
        states_(body.graph(), attrs.state) {
    const std::size_t state = attrs.state;
    states_.begin(data_of(args.in.first(state)), data_of(args.out.first(state)), scratch);
    for (std::size_t i = state; i < body.graph().inputs.size(); ++i) {
      predicate_.input(i, args.in[i].data);
      body.input(i, args.in[i].data);
    }
  }
  void tell_counter(std::size_t, std::int64_t counter) const {
    args_.out[attrs_.state].as<std::int64_t>()[0] = counter;
  }
  bool goes_on() {
    for (std::size_t i = 0; i < attrs_.state; ++i) predicate_.input(i, states_.now(i));
    return predicate_.ask();
  }
  void advance() {
    for (std::size_t i = 0; i < attrs_.state; ++i) {
      body_.input(i, states_.now(i));
      body_.result(i, states_.next(i));
    }
    body_.run();
    states_.advance();
  }
  void finish() { states_.finish(); }

 private:
  const ControlAttrs& attrs_;
  Predicate predicate_;
  BodyRun& body_;
  const ops::KernelArgs& args_;
  TwoStates states_;
};

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

class LoopGradInArena {
 public:
  LoopGradInArena(const ControlAttrs& attrs, BodyRun& predicate, BodyRun& body, BodyRun& back,
                  const ops::KernelArgs& args, std::byte* scratch)
      : attrs_(attrs),
        predicate_(predicate, scratch),
        body_(body),
        back_(back),
        args_(args),
        scratch_(scratch),
        stack_(TwoStates(body.graph(), attrs.state), attrs.state),
        grads_(back.graph(), back.graph().results.size()) {
    stack_.push();
    for (std::size_t i = 0; i < attrs.state; ++i) {
      copy_bytes(stack_.top(i), args.in[i].data, bytes_of(args.in[i]));
    }
    const std::size_t results = back.graph().results.size();
    for (std::size_t i = attrs.state; i < body.graph().inputs.size(); ++i) {
      predicate_.input(i, args.in[i].data);
      body.input(i, args.in[i].data);
      back.input(results + i, args.in[i].data);
    }
  }
  std::int64_t counter(std::size_t) const { return args_.in.back().as<std::int64_t>()[0]; }
  bool goes_on() {
    for (std::size_t i = 0; i < attrs_.state; ++i) predicate_.input(i, stack_.top(i));
    return predicate_.ask();
  }
  void keep(std::int64_t counter) { stack_.set_counter(counter); }
  void advance() {
    for (std::size_t i = 0; i < attrs_.state; ++i) body_.input(i, stack_.top(i));
    stack_.push();
    for (std::size_t i = 0; i < attrs_.state; ++i) body_.result(i, stack_.top(i));
    body_.run();
  }
  // The gradient's state: gradients of the loop's, and the sums, which begin at zero.
  void turn_back() {
    kept_bytes_ = stack_.bytes();
    stack_.pop();  // the state it ended with
    const std::size_t inputs = body_.graph().inputs.size();
    const std::size_t flowing = args_.in.size() - inputs - (attrs_.has_counter ? 1 : 0);
    std::vector<std::byte*> begin = data_of(args_.in.subspan(inputs, flowing));
    std::vector<std::byte*> end = data_of(args_.out);
    for (std::size_t i = flowing; i < end.size(); ++i) {
      begin.push_back(end[i]);
      std::memset(end[i], 0, grads_.bytes(i));
    }
    grads_.begin(std::move(begin), std::move(end), scratch_);
    grads_.begin_in_place();
  }
  bool has_kept() const { return !stack_.empty(); }
  std::int64_t kept_counter() const { return stack_.counter(); }
  void drop() { stack_.pop(); }
  void go_back() {
    const std::size_t results = back_.graph().results.size();
    for (std::size_t i = 0; i < results; ++i) {
      back_.input(i, grads_.now(i));
      back_.result(i, grads_.next(i));
    }
    for (std::size_t i = 0; i < attrs_.state; ++i) back_.input(results + i, stack_.top(i));
    back_.run();
    grads_.advance();
  }
  void finish() { grads_.finish(); }
  std::size_t kept_bytes() const { return kept_bytes_; }

 private:
  const ControlAttrs& attrs_;
  Predicate predicate_;
  BodyRun& body_;
  BodyRun& back_;
  const ops::KernelArgs& args_;
  std::byte* scratch_;
  Stack stack_;
  TwoStates grads_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace

void Program::run_control(const Code::Step& step, const ops::KernelArgs& args,
                          std::source_location site) {
  const auto& attrs = step.attrs.as<ControlAttrs>();
  const Code::Control& control = code_->controls[static_cast<std::size_t>(step.control)];
  const auto& bodies = bodies_[static_cast<std::size_t>(step.control)];
  std::byte* const room =
      args.scratch != nullptr ? args.scratch + aligned(control.arena_bytes) : nullptr;
  const auto body = [&](std::size_t i) { return BodyRun(*bodies[i], args.scratch, site); };
  if (step.op == &kScan) {
    BodyRun only = body(0);
    ScanInArena world(attrs, only, control.used, args, room);
    run_scan(attrs, world);
    world.finish();
  } else if (step.op == &kLoop) {
    BodyRun predicate = body(0), next = body(1);
    LoopInArena world(attrs, predicate, next, args, room);
    run_loop(attrs, world);
    world.finish();
  } else if (step.op == &kLoopGrad) {
    BodyRun predicate = body(0), next = body(1), back = body(2);
    LoopGradInArena world(attrs, predicate, next, back, args, room);
    run_loop_grad(attrs, world);
    world.finish();
    std::size_t most = stack_bytes_.load(std::memory_order_relaxed);
    while (most < world.kept_bytes() &&
           !stack_bytes_.compare_exchange_weak(most, world.kept_bytes())) {
    }
  } else {
    const bool branches = step.op == &kBranch;
    const std::int64_t index = branches ? args.in[0].as<std::int32_t>()[0] : 0;
    BodyRun taken = body(chosen(index, bodies.size()));
    CallInArena world(taken, args, branches ? 1 : 0);
    run_call(attrs, world);
  }
}

}  // namespace tenure::graph
