#include "tenure/variable.h"

#include "core/raise.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/forms.h"
#include "memory/ledger.h"
#include "memory/text.h"
#include "memory/transfer.h"
#include "tensor/read_hook.h"
#include "tensor/variable_state.h"

namespace tenure {

using detail::Access;
using detail::Claim;
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

Claim claim_of(VariableKind kind) {
  switch (kind) {
    case VariableKind::parameter:
      return Claim::parameter;
    case VariableKind::gradient:
      return Claim::gradient;
    case VariableKind::optimizer_state:
      return Claim::optimizer_state;
    case VariableKind::layer_state:
      return Claim::layer_state;
    case VariableKind::other:
      break;
  }
  return Claim::other;
}

std::string braces(const Shape& shape) {
  std::string text = to_string(shape);
  text.front() = '{';
  text.back() = '}';
  return text;
}

[[noreturn]] void refuse_value(const detail::VariableState& variable, const Header& value,
                               std::source_location site) {
  const detail::Label& label = *variable.label.get();
  const std::vector<detail::Line> lines{line_of("born", label), line_of("value", value),
                                        detail::used_line(site, "assign")};
  if (value.layout.shape != variable.shape) {
    const bool same_count = value.layout.shape.numel() == variable.shape.numel();
    detail::raise_told<ShapeError>(
        fmt::format("assign: {} has shape {}, the value {}", label_text(label), variable.shape,
                    value.layout.shape),
        lines,
        same_count ? fmt::format("a variable keeps its shape: reshape the value to {}.",
                                 braces(variable.shape))
                   : "a variable keeps its shape: make a new variable for one of another.");
  }
  detail::raise_told<DtypeError>(
      fmt::format("assign: {} is {}, the value {}", label_text(label), variable.dtype,
                  value.layout.dtype),
      lines,
      fmt::format("a variable keeps its dtype: cast(value, DType::{}) first.", variable.dtype));
}

detail::VariableState& checked(const std::shared_ptr<detail::VariableState>& state) {
  if (state == nullptr) [[unlikely]]
    raise<ValueError>(
        "variable: the handle is empty (default-made or moved from): put a variable into it first");
  return *state;
}

}  // namespace

Variable::Variable(Tensor value, VariableOptions options, std::source_location site)
    : state_(std::make_shared<detail::VariableState>()) {
  const Pin pin(value, "variable", site, 1);
  state_->label = LabelRef::make("variable", options.name, site);
  state_->id = detail::new_value_id();
  state_->claim = claim_of(options.kind);
  state_->value = slot_from(*pin, *state_);
  state_->shape = pin->layout.shape;
  state_->dtype = pin->layout.dtype;
  state_->trainable = options.trainable;
}

Tensor Variable::read(std::source_location site) const {
  checked(state_);
  Tensor value;
  if (!detail::trace_read(state_, site, value)) {
    const std::lock_guard lock(state_->mutex);
    Header& slot = *state_->value.get();
    if (!try_pin(slot)) raise_disposed(slot, {.op = "read", .site = site});
    const detail::Pinned pinned{slot};
    detail::Context& current = detail::context();
    if (slot.session.load(std::memory_order_relaxed) != current.session) {
      raise_wrong_session(slot, {.op = "read", .site = site}, current.session);
    }
    Layout layout = slot.layout;
    detail::retain(slot.storage);
    value = Access::adopt(
        new_tensor(current, std::move(layout), StorageRef(slot.storage), "read", site, state_->id));
  }
  if (state_->trainable) detail::tell_tapes(value, site);
  return value;
}

void Variable::assign(Arg value) {
  checked(state_);
  if (value.scalar()) {
    detail::raise_told<ShapeError>(
        fmt::format("assign: a number for {}, of shape {}", label_text(*state_->label.get()),
                    state_->shape),
        {line_of("born", *state_->label.get()), detail::used_line(value.site(), "assign")},
        fmt::format("use full({}, {}).", braces(state_->shape), *value.scalar()));
  }
  const Layout& given = detail::checked(value.tensor(), "assign").layout;
  if (given.shape != state_->shape || given.dtype != state_->dtype) {
    refuse_value(*state_, *Access::header(value.tensor()), value.site());
  }
  if (detail::trace_assign(state_, value.tensor(), value.site())) return;
  const Pin pin(value.tensor(), "assign", value.site(), 1);
  const std::lock_guard lock(state_->mutex);
  {
    Header& slot = *state_->value.get();
    if (!try_pin(slot)) raise_disposed(slot, {.op = "assign", .site = value.site()});
    const detail::Pinned pinned{slot};
    const detail::SessionState* current = detail::context().session;
    if (slot.session.load(std::memory_order_relaxed) != current) {
      raise_wrong_session(slot, {.op = "assign", .site = value.site()}, current);
    }
    detail::Storage& storage = *slot.storage;
    if (storage.handles.load(std::memory_order_acquire) == 1) {
      detail::drop_forms(storage);
      detail::device_transfer(slot.device.type).within(storage.data, *pin->storage, pin->layout);
      return;
    }
  }
  // Tapes, reads or views still use the old bytes: they keep them.
  state_->value = slot_from(*pin, *state_);
}

const Shape& Variable::shape() const { return checked(state_).shape; }
DType Variable::dtype() const { return checked(state_).dtype; }
std::string Variable::name() const { return checked(state_).label->text; }
bool Variable::trainable() const { return checked(state_).trainable; }
std::uint64_t Variable::id() const { return checked(state_).id; }

void Variable::dispose(std::source_location site) {
  checked(state_);
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
