// A tidy block while it is open: the list of tensors it must dispose. It holds no references.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "memory/label.h"
#include "memory/spin_lock.h"

namespace tenure::detail {

struct Context;
struct Header;

struct Scope {
  std::atomic<std::uint32_t> handles{0};  // 1 while open
  SpinLock lock;
  Header* head = nullptr;
  LabelRef label;
  Scope* parent = nullptr;
  Context* home = nullptr;         // whose list of open scopes it is in; never followed
  std::atomic<bool> ended{false};  // by another context: its own drops it
  Scope* next_free = nullptr;
};

Scope* open_scope(Context& context, std::string_view name, std::source_location site);
// Whether it is the innermost: scopes close in the reverse order of opening.
bool closes_in_order(Context& context, const Scope& scope) noexcept;
// Disposes what is left in the scope. The others of the context are as they were, also when it was
// not the innermost.
void close_scope(Context& context, Scope* scope) noexcept;

void join_scope(Scope& scope, Header& header) noexcept;
// From any thread; does nothing for a tensor in no scope. One that lives on keeps the scope's name.
enum class Leaving { dying, living };
void leave_scope(Header& header, Leaving leaving) noexcept;
// Moves a tensor that `from` lists to the scope around it, or to none.
void adopt_outward(Scope& from, Header& header) noexcept;

}  // namespace tenure::detail
