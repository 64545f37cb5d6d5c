// The one rule for reusing a dying input's memory for a result.
#pragma once

#include "memory/header.h"

namespace tenure::detail {

// Takes the storage of `input`, all of whose bytes have to be the tensor's, or returns an empty ref
// and changes nothing. The caller has pinned `input` and holds one handle on it, the one the user
// gave up: it has to be the only one, so that nobody else can name the tensor (scopes hold none).
StorageRef take_from_last_handle(Header& input) noexcept;
inline StorageRef take_for_reuse(Header& input) noexcept {
  if (input.handles.load(std::memory_order_acquire) != 1) return {};
  return take_from_last_handle(input);
}

}  // namespace tenure::detail
