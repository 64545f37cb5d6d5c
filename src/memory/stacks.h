// Call stacks at birth and death, for those who ask: addresses when it happens, words when read.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "memory/header.h"

namespace tenure::detail {

extern std::atomic<bool> g_call_stacks;
inline bool keeps_call_stacks() { return g_call_stacks.load(std::memory_order_relaxed); }

// Where memory for it is short, there is no stack.
void record_birth_stack(Header& header) noexcept;
void record_death_stack(Header& header) noexcept;
void share_birth_stack(const Header& from, Header& saved) noexcept;
void drop_stacks(Header& header) noexcept;

}  // namespace tenure::detail
