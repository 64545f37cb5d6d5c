#include "memory/header.h"

#include <mutex>
#include <thread>

#include "memory/context.h"
#include "memory/events.h"
#include "memory/fork.h"
#include "memory/forms.h"
#include "memory/ledger.h"
#include "memory/memory_watch.h"
#include "memory/scope.h"
#include "memory/session.h"
#include "memory/slab.h"
#include "memory/stacks.h"

namespace tenure::detail {
namespace {

// Ids go to threads in blocks, and rise within a thread. Whoever asks which id comes next makes
// every thread begin another block, so that whatever is born after it was told has a higher one.
std::atomic<std::uint64_t> g_next_id{1};
std::atomic<std::uint32_t> g_id_blocks{0};  // changes when blocks in use are not to be
constexpr std::uint64_t kIdBlock = 64;
struct IdBlock {
  std::uint64_t next = 0;
  std::uint64_t end = 0;
  std::uint32_t of = 0;  // g_id_blocks
};
constinit thread_local IdBlock t_ids;

[[gnu::noinline]] std::uint64_t id_of_new_block() noexcept {
  const std::uint32_t of = g_id_blocks.load(std::memory_order_acquire);
  const std::uint64_t first = g_next_id.fetch_add(kIdBlock, std::memory_order_relaxed);
  t_ids = {.next = first + 1, .end = first + kIdBlock, .of = of};
  return first;
}

constinit SpinLock g_names;  // names are given rarely and read rarely

// What tensors and symbolic tensors have in common.
inline void fill_in(Header& header, Context& context, Layout layout, const char* op,
                    std::source_location site, std::uint64_t value_id) {
  header.role = Role::tensor;
  header.claim.store(Category::other, std::memory_order_relaxed);
  header.id = new_value_id();
  header.value_id = value_id != 0 ? value_id : header.id;
  header.session.store(context.session, std::memory_order_relaxed);
  if (context.session != nullptr) context.session->retain();
  header.layout = std::move(layout);
  if constexpr (kLifetimes) {
    const UserCall& call = context.call;
    BirthRecord& birth = header.birth;
    birth.thread = context.thread;
    if (call.op == nullptr) {
      birth.site = site;
      birth.op = op;
      birth.backward = false;
    } else {
      birth.site = call.site;
      birth.op = call.op;
      birth.backward = call.backward;
    }
    if (keeps_call_stacks()) [[unlikely]]
      record_birth_stack(header);
  }
}

}  // namespace

SpinLock& names_lock() noexcept { return g_names; }

Header* new_tensor(Context& context, Layout layout, StorageRef storage, const char* op,
                   std::source_location site, std::uint64_t value_id) {
  Header* header = Slab<Header>::instance().allocate();
  header->device = storage->device;
  header->storage = storage.give();
  fill_in(*header, context, std::move(layout), op, site, value_id);
  header->life.store(0, std::memory_order_relaxed);
  if constexpr (kLifetimes) {
    if (context.scope != nullptr) header->birth.scope = context.scope->label.get();
  }
  events::born(*header, context.scope);
  // From here on the tensor can be listed; everything above is there to be read.
  header->handles.store(1, std::memory_order_release);
  if constexpr (kLifetimes) {
    if (context.scope != nullptr) join_scope(*context.scope, *header);
    if (context.watch != nullptr) [[unlikely]]
      note_birth(context, header->id);
  }
  return header;
}

Header* new_symbolic(Context& context, Layout layout, Symbol symbol, LabelRef function, For whom,
                     const char* op, std::source_location site, std::uint64_t value_id) {
  Header* header = Slab<Header>::instance().allocate();
  fill_in(*header, context, std::move(layout), op, site, value_id);
  header->trace = symbol.trace;
  header->body = symbol.body;
  header->value = symbol.value;
  header->owner = std::move(function);
  header->life.store(Header::kDead | Header::kRecorded, std::memory_order_relaxed);
  Scope* scope = kLifetimes && whom == For::user ? context.scope : nullptr;
  if (scope != nullptr) header->birth.scope = scope->label.get();
  events::born(*header, nullptr);
  header->handles.store(1, std::memory_order_release);
  if (scope != nullptr) join_scope(*scope, *header);
  return header;
}

Header* new_saved(const Header& from, Category claim, LabelRef owner) {
  Header* header = Slab<Header>::instance().allocate();
  try {
    header->layout = from.layout;
  } catch (...) {
    Slab<Header>::instance().free(header);
    throw;
  }
  header->role = Role::saved;
  header->claim.store(claim, std::memory_order_relaxed);
  header->device = from.device;
  header->storage = from.storage;
  header->trace = from.trace;
  header->body = from.body;
  header->value = from.value;
  if (header->storage != nullptr) retain(header->storage);
  header->id = from.id;
  header->value_id = from.value_id;
  SessionState* session = from.session.load(std::memory_order_relaxed);
  header->session.store(session, std::memory_order_relaxed);
  if (session != nullptr) session->retain();
  // Field by field: a scope that ends on another thread may be marking `from` as owning its label.
  const BirthRecord& birth = from.birth;
  header->birth = {birth.site,   birth.op,       birth.scope,
                   birth.thread, birth.backward, birth.scope != nullptr};
  if (birth.scope != nullptr) birth.scope->retain();
  header->owner = std::move(owner);
  if (from.stacks.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
    share_birth_stack(from, *header);
  if (LabelRef name = name_of(from)) {
    header->name.store(name.get(), std::memory_order_relaxed);
    name->retain();
  }
  header->life.store(from.is_symbolic() ? Header::kDead | Header::kRecorded : 0,
                     std::memory_order_relaxed);
  events::saved(*header);
  header->handles.store(1, std::memory_order_release);
  return header;
}

Header* new_saved_bytes(Context& context, Layout layout, StorageRef storage, LabelRef owner,
                        const char* op, std::source_location site) {
  Header* header = Slab<Header>::instance().allocate();
  header->device = storage->device;
  header->storage = storage.give();
  fill_in(*header, context, std::move(layout), op, site, 0);
  header->role = Role::saved;
  header->owner = std::move(owner);
  header->life.store(0, std::memory_order_relaxed);
  events::saved(*header);
  header->handles.store(1, std::memory_order_release);
  return header;
}

// Leaves the slot as `new_tensor` and `new_saved` expect to find it: no name, no labels, no death.
// They overwrite the layout and the rest.
void destroy(Header* header) noexcept {
  events::dropped(*header);
  header->handles.store(0, std::memory_order_relaxed);
  if constexpr (kLifetimes) {
    leave_scope(*header, Leaving::dying);
    if (header->birth.owns_scope) header->birth.scope->release();
    header->birth.scope = nullptr;
    header->birth.owns_scope = false;
  }
  if (header->storage != nullptr) {
    if (header->is_slot) leave_slot(*header->storage);
    release(header->storage);
    header->storage = nullptr;
  }
  header->is_slot = false;
  if (auto* session = header->session.load(std::memory_order_relaxed)) session->release();
  if (Label* name = header->name.load(std::memory_order_relaxed)) {
    name->release();
    header->name.store(nullptr, std::memory_order_relaxed);
  }
  if (header->is_dead()) {
    header->death.cause = Cause::last_handle;
    header->death.by = {};
    header->death.bytes.store(Bytes::in_use, std::memory_order_relaxed);
  }
  if (header->owner) header->owner = {};
  if (header->stacks.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
    drop_stacks(*header);
  header->trace = 0;
  header->symbol_ended.store(false, std::memory_order_relaxed);
  Slab<Header>::instance().free(header);
}

void release_dead_storage(Header& header) noexcept {
  if (header.storage == nullptr) return;  // given away
  if (header.is_slot) leave_slot(*header.storage);
  const bool last = release(std::exchange(header.storage, nullptr));
  header.death.bytes.store(last ? Bytes::returned : Bytes::shared, std::memory_order_relaxed);
}

std::uint32_t wait_for_taker(const Header& header) noexcept {
  std::uint32_t life = header.life.load(std::memory_order_relaxed);
  while ((life & Header::kTaking) != 0) {
    std::this_thread::yield();
    life = header.life.load(std::memory_order_relaxed);
  }
  return life;
}

namespace {

// Only the task that traces ends its symbolic tensors.
bool end_symbol(Header& header, Cause cause, std::source_location site, LabelRef by) noexcept {
  if (header.symbol_ended.load(std::memory_order_relaxed)) return false;
  header.death.cause = cause;
  header.death.site = site;
  header.death.by = std::move(by);
  header.symbol_ended.store(true, std::memory_order_release);
  return true;
}

// Of a tensor that was just marked dead, by the caller, who has a pin on it and gives it up.
void record_death(Header& header, Cause cause, std::source_location site, LabelRef by) noexcept {
  events::died(header, cause, site, by.get());
  header.death.cause = cause;
  header.death.site = site;
  header.death.by = std::move(by);
  if (keeps_call_stacks()) [[unlikely]]
    record_death_stack(header);
  header.life.fetch_or(Header::kRecorded, std::memory_order_release);
  unpin(header);
}

}  // namespace

bool kill(Header& header, Cause cause, std::source_location site, LabelRef by) noexcept {
  std::uint32_t life = header.life.load(std::memory_order_relaxed);
  do {
    if ((life & Header::kTaking) != 0) life = wait_for_taker(header);
    if ((life & Header::kDead) != 0) {
      return header.is_symbolic() && end_symbol(header, cause, site, std::move(by));
    }
  } while (!header.life.compare_exchange_weak(life, (life + 1) | Header::kDead,
                                              std::memory_order_acq_rel));
  record_death(header, cause, site, std::move(by));
  return true;
}

Taking try_take(Header& header, const Storage* held) noexcept {
  std::uint32_t life = 0;  // alive, and nobody's pin on it
  if (!header.life.compare_exchange_strong(life, Header::kTaking | 1, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
    return (life & Header::kDead) != 0 ? Taking::dead : Taking::in_use;
  }
  // Who pinned it before is done, and what they made of it is counted: nothing begins to hold the
  // bytes from here on but by way of another holder.
  const std::uint32_t known = header.storage == held ? 2 : 1;
  if (header.storage->handles.load(std::memory_order_acquire) == known) return Taking::taken;
  let_be(header);
  return Taking::shared;
}

void let_be(Header& header) noexcept {
  header.life.fetch_and(~Header::kTaking, std::memory_order_release);
  unpin(header);
}

void end_taken(Header& header, Cause cause, std::source_location site, LabelRef by) noexcept {
  header.life.store(Header::kDead | 1, std::memory_order_release);
  record_death(header, cause, site, std::move(by));
}

void leave_uses_behind(Header& header) noexcept {
  if (header.handles.load(std::memory_order_relaxed) == 0) return;
  // Who was looking is not here. What only a look kept stays: nobody is left to end it.
  const std::uint32_t owners = header.owners();
  header.handles.store(owners != 0 ? owners : Header::kLook, std::memory_order_relaxed);
  const std::uint32_t life = header.life.load(std::memory_order_relaxed);
  if (!header.is_dead()) {
    if (life != 0) header.life.store(0, std::memory_order_relaxed);
  } else if (header.is_disposed() && (life & Header::kRecorded) == 0) {
    header.life.store(life | Header::kRecorded, std::memory_order_relaxed);  // as far as it came
  }
}

void move_holder(Header& header, SessionState* to) noexcept {
  if (to != nullptr) to->retain();
  SessionState* from = header.session.exchange(to, std::memory_order_relaxed);
  if (from != nullptr) from->release();
}

void set_name(Header& header, std::string_view name) {
  LabelRef label = LabelRef::make("name", name, {});
  label->retain();  // the header's
  Label* old = nullptr;
  {
    const std::lock_guard guard(g_names);
    old = header.name.exchange(label.get(), std::memory_order_acq_rel);
  }
  if (old != nullptr) old->release();
  events::named(header, name);
}

LabelRef name_of(const Header& header) noexcept {
  if (header.name.load(std::memory_order_acquire) == nullptr) return {};
  const std::lock_guard guard(g_names);
  Label* name = header.name.load(std::memory_order_relaxed);
  if (name != nullptr) name->retain();
  return LabelRef(name);
}

std::uint64_t new_value_id() noexcept {
  IdBlock& ids = t_ids;
  if (ids.next == ids.end || ids.of != g_id_blocks.load(std::memory_order_relaxed)) [[unlikely]] {
    return id_of_new_block();
  }
  return ids.next++;
}

std::uint64_t next_tensor_id() noexcept {
  const std::uint32_t of = g_id_blocks.fetch_add(1, std::memory_order_acq_rel) + 1;
  const std::uint64_t next = g_next_id.load(std::memory_order_relaxed);
  if (t_ids.end != next) return next;
  t_ids.of = of;  // the latest block: there are no lower ids in use that are still to be given
  return t_ids.next;
}

}  // namespace tenure::detail
