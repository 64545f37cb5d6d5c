// The one rule for reusing a dying input's memory for a result.
#pragma once

#include <cstddef>

#include "memory/header.h"

namespace tenure::detail {

// Takes the storage of `input` for a result of `nbytes`, or returns an empty ref and changes
// nothing. The caller has pinned `input` and holds one handle on it, the one the user gave up.
StorageRef take_for_reuse(Header& input, std::size_t nbytes) noexcept;

}  // namespace tenure::detail
