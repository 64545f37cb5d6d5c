#include "tenure/variable.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <vector>

#include "core/category.h"
#include "core/raise.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/forms.h"
#include "memory/ledger.h"
#include "memory/text.h"
#include "memory/transfer.h"
#include "tensor/assign.h"
#include "tensor/autocast.h"
#include "tensor/read_hook.h"
#include "tensor/rollback.h"
#include "tensor/variable_state.h"
#include "tenure/job.h"

namespace tenure {

using detail::Access;
using detail::Header;
using detail::LabelRef;
using detail::Pin;
using detail::Saved;
using detail::StorageRef;

namespace {

// A saved value over bytes that are the variable's alone to overwrite when nobody else looks:
// `value`'s own where it fills its storage, else a row-major copy.
Saved slot_from(Header& value, const detail::VariableState& variable) {
  Saved slot(new_saved(value, variable.claim, variable.label));
  slot.get()->value_id = variable.id;
  const bool whole = value.layout.contiguous && value.layout.nbytes() == value.storage->nbytes;
  if (!whole || value.storage->is_external()) {
    StorageRef copy(
        detail::allocate_storage(value.device, value.layout.nbytes(), detail::context().session));
    detail::device_transfer(value.device.type).within(copy->data, *value.storage, value.layout);
    const std::lock_guard lock(detail::storage_moves());
    slot.get()->layout = contiguous_layout(value.layout.shape, value.layout.dtype);
    detail::Storage* old = std::exchange(slot.get()->storage, copy.give());
    detail::events::moved(*slot.get(), true);
    detail::release(old);
  }
  detail::enter_slot(*slot.get()->storage);
  slot.get()->is_slot = true;
  return slot;
}

std::string braces(const Shape& shape) {
  std::string text = to_string(shape);
  text.front() = '{';
  text.back() = '}';
  return text;
}

[[noreturn]] void refuse_value(const detail::VariableState& variable, const Header& value,
                               const char* op, std::source_location site) {
  const detail::Label& label = *variable.label.get();
  const std::vector<detail::Line> lines{line_of("born", label), line_of("value", value),
                                        detail::used_line(site, op)};
  if (value.layout.shape != variable.shape) {
    const bool same_count = value.layout.shape.numel() == variable.shape.numel();
    throw ShapeError(
        describe("{}: {} has shape {}, the value {}", op, label_text(label), variable.shape,
                 value.layout.shape)
            .told(lines,
                  same_count
                      ? fmt::format("a variable keeps its shape: reshape the value to {}.",
                                    braces(variable.shape))
                      : "a variable keeps its shape: make a new variable for one of another."));
  }
  throw DtypeError(
      describe("{}: {} is {}, the value {}", op, label_text(label), variable.dtype,
               value.layout.dtype)
          .told(lines, fmt::format("a variable keeps its dtype: cast(value, DType::{}) first.",
                                   variable.dtype)));
}

detail::VariableState& checked(const std::shared_ptr<detail::VariableState>& state,
                               std::source_location site = {}) {
  if (state == nullptr) [[unlikely]] {
    const detail::UserLine line(site);
    raise<ValueError>(
        "variable: the handle is empty (default-made or moved from): put a variable into it first");
  }
  return *state;
}

// Refuses what the variable cannot hold. True inside a trace, which then does the assignment.
bool check_or_trace(const std::shared_ptr<detail::VariableState>& variable, const Tensor& value,
                    const char* op, std::source_location site) {
  const Header& header = detail::checked(value, op, -1, site);
  if (header.layout.shape != variable->shape || header.layout.dtype != variable->dtype) {
    refuse_value(*variable, header, op, site);
  }
  return detail::trace_assign(variable, value, site);
}

// The value of a variable that is locked.
Tensor read_locked(const detail::VariableState& variable, std::source_location site) {
  Header& slot = *variable.value.get();
  if (!try_pin(slot)) raise_disposed(slot, {.op = "read", .site = site});
  const detail::Pinned pinned{slot};
  detail::Context& current = detail::context();
  if (!lends_to(slot.session.load(std::memory_order_relaxed), current.session)) {
    raise_wrong_session(slot, {.op = "read", .site = site}, current.session);
  }
  Layout layout = slot.layout;
  detail::retain(slot.storage);
  return Access::adopt(
      new_tensor(current, std::move(layout), StorageRef(slot.storage), "read", site, variable.id));
}

// An assignment in two halves: making it may fail and changes nothing, commit() cannot fail. The
// variable is locked from one to the other.
class Assignment {
 public:
  // `own_handles` as in Use.
  Assignment(const std::shared_ptr<detail::VariableState>& variable, const Tensor& value,
             const char* op, std::source_location site, std::uint32_t own_handles)
      : variable_(*variable),
        value_(value, op, site, own_handles),
        lock_(variable_.mutex),
        slot_{pinned_slot(variable_, op, site)} {
    const detail::SessionState* current = detail::context().session;
    if (slot_.header.session.load(std::memory_order_relaxed) != current) {
      raise_wrong_session(slot_.header, {.op = op, .site = site}, current);
    }
    detail::Rollback::before_write(variable);
    // Tapes, reads or views that still use the old bytes keep them.
    if (slot_.header.storage->handles.load(std::memory_order_acquire) != 1) {
      other_ = slot_from(*value_, variable_);
    }
  }

  void commit() noexcept {
    if (other_) {
      std::swap(variable_.value, other_);
      return;
    }
    detail::Storage& storage = *slot_.header.storage;
    detail::drop_forms(storage);
    detail::device_transfer(slot_.header.device.type)
        .within(storage.data, *value_->storage, value_->layout);
  }

 private:
  static Header& pinned_slot(detail::VariableState& variable, const char* op,
                             std::source_location site) {
    Header& slot = *variable.value.get();
    if (!try_pin(slot)) raise_disposed(slot, {.op = op, .site = site});
    return slot;
  }

  detail::VariableState& variable_;
  Pin value_;
  std::lock_guard<detail::Mutex> lock_;
  Saved other_;  // the value to come; then, while it is still pinned, the one that was
  detail::Pinned slot_;
};

}  // namespace

void detail::assign_all(std::span<const Variable> variables, std::span<const Tensor> values,
                        std::source_location site, const char* op) {
  std::vector<std::size_t> order;
  order.reserve(variables.size());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (!check_or_trace(Access::state(variables[i]), values[i], op, site)) order.push_back(i);
  }
  // Whoever locks several variables does so in the order of their addresses.
  const auto state = [&](std::size_t i) -> const auto& { return Access::state(variables[i]); };
  std::ranges::stable_sort(order, std::less<>(), state);
  std::deque<Assignment> assignments;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k + 1 < order.size() && state(order[k]) == state(order[k + 1])) continue;
    assignments.emplace_back(state(order[k]), values[order[k]], op, site, 0);
  }
  for (Assignment& assignment : assignments) assignment.commit();
}

Variable::Variable(Tensor value, VariableOptions options, std::source_location site)
    : state_(std::make_shared<detail::VariableState>()) {
  if (options.kind == Category::saved_for_backward || options.kind == Category::workspace) {
    const detail::UserLine line(site);
    raise<ValueError>("variable: its memory cannot be of the kind {}", tenure::name(options.kind));
  }
  const Pin pin(value, "variable", site, 1);
  state_->label = LabelRef::make("variable", options.name, site);
  state_->id = detail::new_value_id() | (options.trainable ? detail::kTrainable : 0);
  state_->claim = options.kind;
  state_->value = slot_from(*pin, *state_);
  state_->shape = pin->layout.shape;
  state_->dtype = pin->layout.dtype;
  state_->trainable = options.trainable;
}

std::vector<Tensor> detail::read_all(std::span<const Variable> variables,
                                     std::source_location site) {
  std::vector<Tensor> values(variables.size());
  std::vector<std::size_t> order;
  order.reserve(variables.size());
  const auto state = [&](std::size_t i) -> const auto& { return Access::state(variables[i]); };
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (!detail::trace_read(state(i), site, values[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::less<>(), state);
  std::deque<std::lock_guard<Mutex>> locks;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k > 0 && state(order[k]) == state(order[k - 1])) continue;
    locks.emplace_back(state(order[k])->mutex);
  }
  for (const std::size_t i : order) values[i] = read_locked(*state(i), site);
  return values;
}

Tensor Variable::read(std::source_location site) const {
  checked(state_, site);
  Tensor value;
  if (!detail::trace_read(state_, site, value)) {
    const std::lock_guard lock(state_->mutex);
    value = read_locked(*state_, site);
  }
  if (state_->autocast && detail::autocast() && *detail::autocast() != state_->dtype) {
    return detail::cast_read(std::move(value), *detail::autocast(), site);
  }
  return value;
}

void Variable::assign(Arg value) {
  checked(state_, value.site());
  if (value.scalar()) {
    throw ShapeError(
        describe("assign: a number for {}, of shape {}", label_text(*state_->label.get()),
                 state_->shape)
            .told(
                {line_of("born", *state_->label.get()), detail::used_line(value.site(), "assign")},
                fmt::format("use full({}, {}).", braces(state_->shape), *value.scalar())));
  }
  if (check_or_trace(state_, value.tensor(), "assign", value.site())) return;
  Assignment(state_, value.tensor(), "assign", value.site(), value.is_borrowed() ? 0 : 1).commit();
}

const Shape& Variable::shape() const { return checked(state_).shape; }
DType Variable::dtype() const { return checked(state_).dtype; }
std::string Variable::name() const { return checked(state_).label->text; }
bool Variable::trainable() const { return checked(state_).trainable; }
std::uint64_t Variable::id() const { return checked(state_).id & ~detail::kTrainable; }

void Variable::dispose(std::source_location site) {
  checked(state_, site);
  const std::lock_guard lock(state_->mutex);
  kill(*state_->value.get(), Cause::disposed, site, {});
}

bool Variable::is_disposed() const {
  checked(state_);
  const std::lock_guard lock(state_->mutex);
  return state_->value.get()->is_dead();
}

Arg::Arg(const Variable& variable, std::source_location site)
    : site_(site), tensor_(variable.read(site)) {}

Source::Source(const Variable& variable) : variable_(Access::state(variable)) {
  checked(variable_);
}

}  // namespace tenure
