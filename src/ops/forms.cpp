#include "ops/forms.h"

#include "memory/forms.h"

namespace tenure::ops {

using detail::Storage;
using detail::StorageRef;

StorageRef form_of(const WantedForm& wanted, Storage& storage, const std::byte* src) noexcept {
  const detail::FormKey key{reinterpret_cast<std::uintptr_t>(wanted.make), src - storage.data,
                            wanted.sizes};
  detail::FoundForm found = find_form(storage, key);
  if (!found.make) return std::move(found.bytes);
  StorageRef made(detail::try_allocate_storage(storage.device, wanted.bytes,
                                               storage.session.load(std::memory_order_relaxed)));
  if (!made) {
    refuse_form(storage, key);
    return {};
  }
  wanted.make(src, wanted.sizes, made->data);
  keep_form(storage, key, made);
  return made;
}

}  // namespace tenure::ops
