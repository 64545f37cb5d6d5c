#include "ops/forms.h"

#include "memory/forms.h"

namespace tenure::ops {

using detail::Storage;
using detail::StorageRef;

StorageRef form_of(const WantedForm& wanted, Storage& storage, const std::byte* src) noexcept {
  const detail::FormKey key{reinterpret_cast<std::uintptr_t>(wanted.make), src - storage.data,
                            wanted.sizes};
  detail::FoundForm known = find_form(storage, key);
  if (!known.make) return std::move(known.bytes);
  StorageRef form(detail::try_allocate_storage(storage.device, wanted.bytes,
                                               storage.session.load(std::memory_order_relaxed)));
  if (!form) {
    refuse_form(storage, key);
    return {};
  }
  wanted.make(src, wanted.sizes, form->data);
  keep_form(storage, key, form);
  return form;
}

}  // namespace tenure::ops
