// Where a kernel gets an input in the form that it wants: beside a variable's value, which keeps it
// (memory/forms.h).
#pragma once

#include "memory/storage.h"
#include "ops/kernel.h"

namespace tenure::ops {

// The input as `wanted` asks for it, to be held while the kernel runs. Empty where the kernel has
// to make it itself: the input is no variable's, was not used before, or there is no memory. `src`
// is the input's first element, in `storage`, which the caller holds.
detail::StorageRef form_of(const WantedForm& wanted, detail::Storage& storage,
                           const std::byte* src) noexcept;

}  // namespace tenure::ops
