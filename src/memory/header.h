// A holder of a storage: a tensor that handles share, or a value saved for later.
//
// Life and death (L2, L3, L35). `handles` counts handle objects; whoever drops the last one ends
// the tensor if nothing else has. Who lists what lives (ledger.h) has a handle for a moment,
// counted apart: what nobody else has any more is not told of, by whoever lists. `life` counts pins
// (uses in progress) and carries two marks. A use pins, which fails on a tensor marked dead; a
// death marks, holding a pin of its own while it writes the record; whoever brings the pins of a
// dead tensor to zero releases the storage. So a dispose that races with a use either comes first,
// and the use throws, or lets the use finish.
//
// Whoever takes a tensor's bytes away (a donation) or moves them (a transfer) must know that nobody
// else uses them, and that nobody begins to before it is done. It marks a tensor without pins as
// being taken, looks who holds the bytes, and then ends the tensor or lets it be; a use or a death
// that comes meanwhile waits these few instructions.
//
// A saved value (L14, L17, L18, L25) is the same struct with another role: it holds storage,
// layout, value identity and birth record, and is no tensor: not counted, not in any scope.
//
// A symbolic tensor (L23) is the same struct with a trace and no storage: it stands for a value of
// a function that is being traced. It counts as dead for pins, so that no use can reach bytes it
// does not have; what refuses the use then sees the trace and says so. It can be disposed like any
// other, by hand or by a scope, and then the trace takes it no more.
//
// A header knows its scope by a plain pointer and the scope its tensors by an intrusive list, under
// the scope's lock. Scopes are type-stable, so a header that is being freed may lock one that has
// meanwhile ended, find itself no longer listed, and go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "core/layout.h"
#include "memory/label.h"
#include "memory/storage.h"
#include "tenure/category.h"
#include "tenure/device.h"
#include "tenure/story.h"

namespace tenure::detail {

#if defined(TENURE_NO_LIFETIMES)
inline constexpr bool kLifetimes = false;
#else
inline constexpr bool kLifetimes = true;
#endif

struct Scope;
struct SessionState;

enum class Role : std::uint8_t { tensor, saved };

struct BirthRecord {
  std::source_location site;
  const char* op = "";
  Label* scope = nullptr;  // counted when `owns_scope`
  std::uint32_t thread = 0;
  bool backward = false;  // op is the op whose gradient this is part of
  bool owns_scope = false;
};

// What became of the bytes when a tensor died.
enum class Bytes : std::uint8_t { in_use, returned, shared };

struct DeathRecord {
  Cause cause = Cause::last_handle;
  std::source_location site;
  LabelRef by;
  std::atomic<Bytes> bytes{Bytes::in_use};
};

// Kept for those who ask for it (stacks.h).
struct CallStacks {
  CallStack birth;
  CallStack death;
};

struct alignas(64) Header {
  static constexpr std::uint32_t kDead = 1u << 31;
  static constexpr std::uint32_t kRecorded = 1u << 30;
  static constexpr std::uint32_t kTaking = 1u << 29;
  static constexpr std::uint32_t kPins = kTaking - 1;

  // Of all handles, and in the upper half of those that are looks.
  static constexpr std::uint64_t kLook = (std::uint64_t{1} << 32) + 1;

  std::atomic<std::uint64_t> handles{0};
  std::atomic<std::uint32_t> life{0};
  Role role = Role::tensor;
  bool is_slot = false;                   // a variable's value, and counted as such by its storage
  std::atomic<bool> symbol_ended{false};  // of a symbolic tensor: disposed, or its scope ended
  std::atomic<Category> claim{Category::other};  // what its bytes are for
  Device device;
  Storage* storage = nullptr;
  std::uint64_t id = 0;
  std::uint64_t value_id = 0;  // what gradients follow: shared by clones and saved values
  std::atomic<SessionState*> session{nullptr};  // null: the default one
  Layout layout;
  BirthRecord birth;
  std::atomic<Scope*> scope{nullptr};
  Header* scope_next = nullptr;
  Header** scope_link = nullptr;
  std::atomic<Label*> name{nullptr};
  DeathRecord death;
  LabelRef owner;           // of a saved value; of a symbolic tensor, the function
  std::uint64_t trace = 0;  // whose value it is; 0: not symbolic
  std::uint32_t value = 0;  // its index there,
  std::uint32_t body = 0;   // in this body of the function: 0, or a branch or loop in it
  std::atomic<CallStacks*> stacks{nullptr};  // its own
  Header* next_free = nullptr;

  std::uint32_t owners() const {  // handles that are no looks
    const std::uint64_t count = handles.load(std::memory_order_acquire);
    return static_cast<std::uint32_t>(count) - static_cast<std::uint32_t>(count >> 32);
  }
  bool is_symbolic() const { return trace != 0; }
  bool is_dead() const { return (life.load(std::memory_order_acquire) & kDead) != 0; }
  // As the user sees it: a symbolic tensor is not, until somebody ends it.
  bool is_disposed() const {
    return is_symbolic() ? symbol_ended.load(std::memory_order_acquire) : is_dead();
  }
};

struct Context;

std::uint64_t new_value_id() noexcept;

// In the identity of what is read from a trainable variable, whenever it was read: tapes watch it
// by themselves.
inline constexpr std::uint64_t kTrainable = std::uint64_t{1} << 63;

// A new tensor over `storage` (whose count the header takes over), born now: recorded, and listed
// by the innermost scope. `value_id` 0 means a value of its own.
Header* new_tensor(Context& context, Layout layout, StorageRef storage, const char* op,
                   std::source_location site, std::uint64_t value_id = 0);

// Which value of which trace a symbolic tensor is.
struct Symbol {
  std::uint64_t trace = 0;
  std::uint32_t body = 0;
  std::uint32_t value = 0;
};

// A symbolic tensor, of `function`. Only one that the user is given joins the innermost scope.
enum class For : std::uint8_t { user, library };
Header* new_symbolic(Context& context, Layout layout, Symbol symbol, LabelRef function, For whom,
                     const char* op, std::source_location site, std::uint64_t value_id = 0);

// A saved value of what `from` holds. `from` must be pinned or otherwise known to be alive.
Header* new_saved(const Header& from, Category claim, LabelRef owner);

// A saved value over bytes that no tensor had, computed by `op` for its owner.
Header* new_saved_bytes(Context& context, Layout layout, StorageRef storage, LabelRef owner,
                        const char* op, std::source_location site);

inline void retain(Header* header) noexcept {
  header->handles.fetch_add(1, std::memory_order_relaxed);
}
void destroy(Header* header) noexcept;
inline void release(Header* header) noexcept {
  if (header->handles.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(header);
}
inline void end_look(Header* header) noexcept {
  if (header->handles.fetch_sub(Header::kLook, std::memory_order_acq_rel) == Header::kLook) {
    destroy(header);
  }
}

// Waits while somebody is about to take the tensor's bytes; gives the life it is left with.
std::uint32_t wait_for_taker(const Header& header) noexcept;

// False when the tensor is dead.
inline bool try_pin(Header& header) noexcept {
  std::uint32_t life = header.life.load(std::memory_order_relaxed);
  for (;;) {
    if ((life & (Header::kDead | Header::kTaking)) != 0) [[unlikely]] {
      if ((life & Header::kDead) != 0) return false;
      life = wait_for_taker(header);
      continue;
    }
    if (header.life.compare_exchange_weak(life, life + 1, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
      return true;
    }
  }
}

void release_dead_storage(Header& header) noexcept;
inline void unpin(Header& header) noexcept {
  const std::uint32_t before = header.life.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & Header::kDead) != 0 && (before & Header::kPins) == 1) release_dead_storage(header);
}

// Ends a tensor; false when it was dead already. `by` may be null.
bool kill(Header& header, Cause cause, std::source_location site, LabelRef by) noexcept;

// The first step of taking a tensor's bytes; `held` is a storage that the caller holds a count on.
// After `taken`, and only then, one of the two below follows soon. Whoever takes several lets go of
// all before it waits for one that is in use: those who use it may be waiting for another.
enum class Taking : std::uint8_t {
  taken,   // nobody else uses the tensor or its bytes, and nobody begins to
  in_use,  // pinned: to be tried again
  shared,  // others hold the bytes
  dead,
};
Taking try_take(Header& header, const Storage* held = nullptr) noexcept;
void let_be(Header& header) noexcept;  // it lives on
void end_taken(Header& header, Cause cause, std::source_location site, LabelRef by) noexcept;

// In the child of a fork, before it does anything: nobody uses, ends or takes the tensor. The
// thread that forks is in user code, which runs with nothing pinned.
void leave_uses_behind(Header& header) noexcept;

// Makes it belong to another session, its bytes' charge aside. The caller holds storage_moves().
void move_holder(Header& header, SessionState* to) noexcept;

void set_name(Header& header, std::string_view name);
LabelRef name_of(const Header& header) noexcept;
Story make_story(const Header& header);

// What an error says a user can do about a death.
std::string remedy(const Story& story);

// A use that cannot be. `input` is -1 where there is only one tensor; `own_handles` are the user's
// handles' copies that the failing op itself holds, which the story does not count.
struct Use {
  std::string_view op;
  int input = -1;
  std::source_location site;
  std::uint32_t own_handles = 0;
};
[[noreturn]] void raise_disposed(const Header& header, const Use& use);  // or symbolic
// `current` is the trace the use happens in, 0 for eager code.
[[noreturn]] void raise_symbolic(const Header& header, const Use& use, std::uint64_t current);
// A value of a branch or a loop that has ended.
[[noreturn]] void raise_left_body(const Header& header, const Use& use);
[[noreturn]] void raise_wrong_session(const Header& header, const Use& use,
                                      const SessionState* current);

}  // namespace tenure::detail
