#include "graph/program.h"

#include "core/raise.h"
#include "memory/context.h"
#include "memory/transfer.h"
#include "ops/apply.h"
#include "tensor/variable_state.h"
#include "tenure/views.h"

namespace tenure::graph {

using detail::Access;
using detail::Header;
using detail::StorageRef;

// A frame that goes back when the call ends, and lets go of everything.
class Program::FrameLease {
 public:
  explicit FrameLease(Program& program) : program_(program) {
    {
      const std::lock_guard lock(program.mutex_);
      if (!program.free_.empty()) {
        frame_ = std::move(program.free_.back());
        program.free_.pop_back();
      }
    }
    if (frame_ == nullptr) {
      frame_ = std::make_unique<Frame>();
      frame_->views = program.views_;
      frame_->bases.resize(program.buffers_.size());
      frame_->held.reserve(program.graph_.inputs.size() + program.graph_.variables.size() +
                           program.result_buffers_);
      for (const Node* node : program.random_) frame_->random.emplace_back(node->attrs.ref());
    }
  }
  ~FrameLease() {
    frame_->held.clear();
    const std::lock_guard lock(program_.mutex_);
    program_.free_.push_back(std::move(frame_));
  }
  FrameLease(const FrameLease&) = delete;
  FrameLease& operator=(const FrameLease&) = delete;
  Frame* operator->() const { return frame_.get(); }

 private:
  Program& program_;
  std::unique_ptr<Frame> frame_;
};

namespace {

// The bytes of a tensor, row-major, held.
StorageRef held_bytes(const Tensor& x, std::byte*& data, std::source_location site) {
  const Tensor whole = Access::header(x)->layout.contiguous ? x : contiguous(Arg(x, site));
  const detail::Pin pin(whole, "call", site);
  detail::retain(pin->storage);
  data = pin->storage->data +
         pin->layout.offset * static_cast<std::int64_t>(size_of(pin->layout.dtype));
  return StorageRef(pin->storage);
}

StorageRef held_value(detail::VariableState& variable, std::source_location site) {
  const std::lock_guard lock(variable.mutex);
  Header& slot = *variable.value.get();
  if (!try_pin(slot)) raise_disposed(slot, {.op = "call", .site = site});
  detail::retain(slot.storage);
  StorageRef held(slot.storage);
  unpin(slot);
  return held;
}

void set_value(detail::VariableState& variable, StorageRef value, std::source_location site) {
  const std::lock_guard lock(variable.mutex);
  Header& slot = *variable.value.get();
  if (!try_pin(slot)) raise_disposed(slot, {.op = "call", .site = site});
  detail::Storage* old = std::exchange(slot.storage, value.give());
  unpin(slot);
  detail::release(old);
}

StorageRef share(const StorageRef& storage) {
  detail::retain(storage.get());
  return StorageRef(storage.get());
}

std::uint64_t take_counters(std::uint64_t count) {
  return count != 0 ? detail::context().random->next.fetch_add(count, std::memory_order_relaxed)
                    : 0;
}

}  // namespace

void Program::run(std::span<const Tensor> in, std::span<Tensor> out, std::source_location site) {
  detail::Context& context = detail::context();
  FrameLease frame(*this);
  StorageRef arena;
  if (arena_bytes_ != 0) {
    arena = StorageRef(detail::allocate_storage({}, arena_bytes_, context.session));
  }
  std::vector<StorageRef>& held = frame->held;
  std::vector<std::byte*>& input_data = frame->inputs;
  input_data.resize(in.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    held.push_back(held_bytes(in[i], input_data[i], site));
  const std::size_t variables = held.size();
  for (const VariableUse& use : graph_.variables) {
    held.push_back(use.read ? held_value(*use.variable, site) : StorageRef());
  }
  const std::size_t results = held.size();
  held.resize(results + result_buffers_);
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    const Buffer& buffer = buffers_[b];
    switch (buffer.where) {
      case Where::input:
        frame->bases[b] = input_data[buffer.index];
        break;
      case Where::capture:
        frame->bases[b] = graph_.captures[buffer.index].header().storage->data;
        break;
      case Where::variable:
        frame->bases[b] = held[variables + buffer.index]->data;
        break;
      case Where::constant:
        frame->bases[b] = graph_.constants[buffer.index].storage->get()->data;
        break;
      case Where::arena:
        frame->bases[b] = arena ? arena->data + buffer.offset : nullptr;
        break;
      case Where::result:
        held[results + buffer.index] =
            StorageRef(detail::allocate_storage({}, buffer.bytes, context.session));
        frame->bases[b] = held[results + buffer.index]->data;
        break;
    }
  }
  for (const Patch& patch : patches_) {
    frame->views[patch.view].data = frame->bases[patch.buffer] + patch.bytes;
  }
  if (!random_.empty()) {
    const std::uint64_t seed = context.random->seed.load(std::memory_order_relaxed);
    const std::uint64_t first = take_counters(graph_.draws[0]);
    for (std::size_t i = 0; i < random_.size(); ++i) {
      random_[i]->op->reseed(frame->random[i].data(), random_[i]->attrs.ref().data(), seed,
                             {&first, 1});
    }
  }
  const std::span<const ops::KernelView> views = frame->views;
  for (const Step& step : steps_) {
    ops::Problem problem;
    ops::KernelArgs args{.in = views.subspan(step.first, step.inputs),
                         .out = views.subspan(step.first + step.inputs, step.outputs),
                         .attrs = {},
                         .problem = &problem};
    if (step.random >= 0) {
      args.attrs = frame->random[static_cast<std::size_t>(step.random)].ref();
    } else if (step.node != nullptr) {
      args.attrs = step.node->attrs.ref();
    }
    if (step.scratch >= 0) args.scratch = frame->bases[static_cast<std::size_t>(step.scratch)];
    step.run(args);
    if (problem.format != nullptr) [[unlikely]]
      ops::raise_problem(problem, step.op->name);
  }
  const auto storage_of = [&](const Buffer& buffer) {
    switch (buffer.where) {
      case Where::input:
        return share(held[buffer.index]);
      case Where::capture: {
        detail::Storage* storage = graph_.captures[buffer.index].header().storage;
        detail::retain(storage);
        return StorageRef(storage);
      }
      case Where::variable:
        return share(held[variables + buffer.index]);
      case Where::constant:
        return share(*graph_.constants[buffer.index].storage);
      case Where::arena:
        break;  // never of a value that is kept
      case Where::result:
        return share(held[results + buffer.index]);
    }
    return StorageRef();
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Place& place = places_[graph_.results[i]];
    const Buffer& buffer = buffers_[place.buffer];
    Layout layout = place.layout;
    StorageRef storage = storage_of(buffer);
    if (buffer.where == Where::input) {
      layout.offset += (input_data[buffer.index] - storage->data) /
                       static_cast<std::int64_t>(size_of(layout.dtype));
    }
    out[i] =
        Access::adopt(new_tensor(context, std::move(layout), std::move(storage), "call", site));
  }
  for (const VariableUse& use : graph_.variables) {
    if (!use.assigned) continue;
    const Place& place = places_[*use.assigned];
    const Buffer& buffer = buffers_[place.buffer];
    const bool own = buffer.where == Where::result && place.layout.contiguous &&
                     place.layout.nbytes() == buffer.bytes;
    if (own) {
      set_value(*use.variable, storage_of(buffer), site);
    } else {  // a view, or somebody else's bytes: the variable gets a copy
      StorageRef copy(detail::allocate_storage({}, place.layout.nbytes(), context.session));
      const StorageRef from = storage_of(buffer);
      Layout layout = place.layout;
      if (buffer.where == Where::input) {
        layout.offset += (input_data[buffer.index] - from->data) /
                         static_cast<std::int64_t>(size_of(layout.dtype));
      }
      detail::device_transfer(DeviceType::cpu).within(copy->data, *from.get(), layout);
      set_value(*use.variable, std::move(copy), site);
    }
  }
}

void interpret(const Graph& graph, std::span<const Tensor> in, std::span<Tensor> out,
               std::source_location site) {
  std::vector<Tensor> values(graph.values.size());
  std::vector<int> uses(graph.values.size(), 0);  // left, so that dead values can be let go
  for (const Node& node : graph.nodes) {
    for (const ValueId value : node.in) ++uses[value];
  }
  for (const ValueId value : graph.results) ++uses[value];
  for (const VariableUse& use : graph.variables) {
    if (use.assigned) ++uses[*use.assigned];
  }
  const auto take = [&](ValueId value) {
    return --uses[value] == 0 ? std::move(values[value]) : values[value];
  };
  for (std::size_t i = 0; i < in.size(); ++i) values[graph.inputs[i]] = in[i];
  for (const Capture& capture : graph.captures) {
    values[capture.value] = materialise(capture.header(), "capture", site);
  }
  for (const VariableUse& use : graph.variables) {
    if (use.read) values[*use.read] = Access::variable(use.variable).read(site);
  }
  const std::uint64_t seed = detail::context().random->seed.load(std::memory_order_relaxed);
  const std::uint64_t first = take_counters(graph.draws[0]);
  for (const Node& node : graph.nodes) {
    std::vector<Tensor> operands, made(node.out.size());
    for (const ValueId value : node.in) operands.push_back(take(value));
    ops::AttrsBox attrs(node.attrs.ref());
    if (node.op->reseed != nullptr) {
      node.op->reseed(attrs.data(), node.attrs.ref().data(), seed, {&first, 1});
    }
    ops::apply_into(*node.op, operands, attrs.ref(), site, made);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (uses[node.out[i]] > 0) values[node.out[i]] = std::move(made[i]);
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = take(graph.results[i]);
  for (const VariableUse& use : graph.variables) {
    if (use.assigned) {
      Access::variable(use.variable).assign(Arg(take(*use.assigned), site));
    }
  }
}

}  // namespace tenure::graph
