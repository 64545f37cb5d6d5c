#include "memory/reuse.h"

#include <utility>

#include "memory/events.h"

namespace tenure::detail {

// Apart, so that inputs that are not taken pay nothing for it.
[[gnu::noinline, gnu::cold]] static StorageRef take_recorded(Header& input) noexcept {
  events::cold::died(input, Cause::last_handle, {}, nullptr);
  return StorageRef(std::exchange(input.storage, nullptr));
}

StorageRef take_from_last_handle(Header& input) noexcept {
  Storage* storage = input.storage;
  if (storage == nullptr) return {};  // another result has taken it
  // Nobody else holds the bytes: no view, clone, saved value, variable or pending read.
  if (storage->handles.load(std::memory_order_acquire) != 1) return {};
  // The bytes are ours to write, and all of them are the tensor's.
  if (storage->is_external() || storage->nbytes != input.layout.nbytes()) return {};
  // Ours is the only pin, and the tensor is alive; from here on it is dead of its last handle,
  // and a scope that ends on another thread finds that already settled.
  std::uint32_t life = 1;
  if (!input.life.compare_exchange_strong(life, 1 | Header::kDead | Header::kRecorded,
                                          std::memory_order_acq_rel)) {
    return {};
  }
  if (events::on()) [[unlikely]]
    return take_recorded(input);
  return StorageRef(std::exchange(input.storage, nullptr));
}

}  // namespace tenure::detail
