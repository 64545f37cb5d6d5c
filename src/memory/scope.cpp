#include "memory/scope.h"

#include <mutex>

#include "memory/context.h"
#include "memory/events.h"
#include "memory/header.h"
#include "memory/slab.h"

namespace tenure::detail {
namespace {

void link(Scope& scope, Header& header) noexcept {
  header.scope_next = scope.head;
  header.scope_link = &scope.head;
  if (scope.head != nullptr) scope.head->scope_link = &header.scope_next;
  scope.head = &header;
  header.scope.store(&scope, std::memory_order_release);
}

void unlink(Header& header) noexcept {
  *header.scope_link = header.scope_next;
  if (header.scope_next != nullptr) header.scope_next->scope_link = header.scope_link;
  header.scope.store(nullptr, std::memory_order_release);
}

// A tensor that outlives its scope's list keeps the scope's name for its story.
void own_birth_scope(Header& header) noexcept {
  if (header.birth.scope == nullptr || header.birth.owns_scope) return;
  header.birth.scope->retain();
  header.birth.owns_scope = true;
}

void dispose_listed(Scope& scope) noexcept {
  for (;;) {
    scope.lock.lock();
    Header* header = scope.head;
    if (header == nullptr) {
      scope.lock.unlock();
      return;
    }
    // One whose last handle is being dropped on another thread dies of that.
    const bool held = header->owners() != 0 && Slab<Header>::try_retain(*header);
    if (held) own_birth_scope(*header);
    unlink(*header);
    scope.lock.unlock();
    if (held) {
      kill(*header, Cause::scope_exit, scope.label->site, scope.label);
      release(header);
    }
  }
}

void free_scope(Scope& scope) noexcept {
  dispose_listed(scope);
  events::span_ended(&scope);
  scope.label = {};
  scope.handles.store(0, std::memory_order_release);
  Slab<Scope>::instance().free(&scope);
}

// The innermost ones that another context has ended.
void drop_ended(Context& context) noexcept {
  while (context.scope != nullptr && context.scope->home == &context &&
         context.scope->ended.load(std::memory_order_acquire)) {
    Scope* scope = context.scope;
    context.scope = scope->parent;
    free_scope(*scope);
  }
}

}  // namespace

Scope* open_scope(Context& context, std::string_view name, std::source_location site) {
  drop_ended(context);
  LabelRef label = LabelRef::make("tidy", name, site);
  Scope* scope = Slab<Scope>::instance().allocate();
  scope->label = std::move(label);
  scope->parent = context.scope;
  scope->home = &context;
  scope->ended.store(false, std::memory_order_relaxed);
  scope->handles.store(1, std::memory_order_release);
  context.scope = scope;
  events::span_began(scope, "tidy", name, site, 0);
  return scope;
}

void join_scope(Scope& scope, Header& header) noexcept {
  const std::lock_guard guard(scope.lock);
  link(scope, header);
}

void leave_scope(Header& header, Leaving leaving) noexcept {
  // The scope may end meanwhile, or give the tensor to the one around it: look again under its
  // lock.
  while (Scope* scope = header.scope.load(std::memory_order_acquire)) {
    const std::lock_guard guard(scope->lock);
    if (header.scope.load(std::memory_order_relaxed) != scope) continue;
    if (leaving == Leaving::living) own_birth_scope(header);
    unlink(header);
    return;
  }
}

void adopt_outward(Scope& from, Header& header) noexcept {
  {
    const std::lock_guard guard(from.lock);
    if (header.scope.load(std::memory_order_relaxed) != &from) return;
    own_birth_scope(header);
    unlink(header);
  }
  Scope* outer = from.parent;
  while (outer != nullptr && outer->ended.load(std::memory_order_acquire)) outer = outer->parent;
  if (outer != nullptr) join_scope(*outer, header);
}

bool closes_in_order(Context& context, const Scope& scope) noexcept {
  drop_ended(context);
  return context.scope == &scope && scope.home == &context;
}

void close_scope(Context& context, Scope* scope) noexcept {
  if (scope->home == &context) {
    for (Scope** link = &context.scope; *link != nullptr; link = &(*link)->parent) {
      if (*link != scope) continue;
      *link = scope->parent;
      free_scope(*scope);
      return;
    }
  }
  // The list it is in belongs to another context, which may be running: that one takes it out.
  dispose_listed(*scope);
  events::span_ended(scope);
  scope->ended.store(true, std::memory_order_release);
}

}  // namespace tenure::detail
