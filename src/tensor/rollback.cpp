#include "tensor/rollback.h"

#include <mutex>

#include "memory/forms.h"

namespace tenure::detail {

namespace {
thread_local Rollback* t_innermost = nullptr;
}

Rollback::Rollback() : outer_(std::exchange(t_innermost, this)) {}

Rollback::~Rollback() {
  t_innermost = outer_;
  for (auto& [variable, value] : before_) {
    const std::lock_guard lock(variable->mutex);
    if (!variable->value.get()->is_dead()) std::swap(variable->value, value);
  }
}

void Rollback::commit() noexcept {
  if (outer_ != nullptr) outer_->before_.merge(before_);
  before_.clear();
}

void Rollback::before_write(const std::shared_ptr<VariableState>& variable) {
  if (t_innermost != nullptr) t_innermost->keep(variable);
}

void Rollback::keep(const std::shared_ptr<VariableState>& variable) {
  if (before_.contains(variable)) return;
  const Header& slot = *variable->value.get();
  Saved value(new_saved(slot, variable->claim, variable->label));
  enter_slot(*slot.storage);
  value.get()->is_slot = true;
  before_.emplace(variable, std::move(value));
}

}  // namespace tenure::detail
