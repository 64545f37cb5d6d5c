// Forms: what kernels made of a variable's bytes before they could use them, such as a transposed
// filter, kept for the next call.
//
// A form is right for as long as the bytes it was made of are. That needs no version numbers:
//
// - Bytes are only written by whoever holds them alone, and whoever looks for a form, makes one or
//   leaves one behind holds the bytes meanwhile. So none of that ever races with a write, and a
//   variable that is about to write its bytes sees every form there is of them, and drops them.
// - A storage counts the variables whose value it is (its slots). Forms are added only where there
//   are some, and the last to let go (assigned, disposed or destroyed) drops them at once, even if
//   tensors still hold the bytes. So a storage that is reused or given away never has any.
//
// A form is made when a kernel asks for it the second time: a training step, which changes its
// weights after one use, keeps nothing. There are at most kMostForms of a storage. They belong to
// no tensor and no scope and count as workspace; an op that uses one holds it. When memory runs
// out, all are dropped before an allocation fails (L30), and not made again of the same value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "memory/storage.h"

namespace tenure::detail {

inline constexpr int kMostForms = 2;

// What a form depends on besides the bytes.
struct FormKey {
  std::uintptr_t made_by = 0;  // the function
  std::int64_t offset = 0;     // of the first byte it reads
  std::array<std::int64_t, 3> sizes{};
  bool operator==(const FormKey&) const = default;
};

struct Form {
  enum class State : std::uint8_t {
    asked,    // once
    making,   // by the thread that asked next
    kept,     // `bytes` are there
    refused,  // there was no memory
  };
  FormKey key;
  State state = State::asked;
  Storage* bytes = nullptr;
  Form* next = nullptr;        // of the same storage
  Form* kept_next = nullptr;   // of all that are kept
  Form** kept_link = nullptr;  // what points at this one there
  Form* next_free = nullptr;
};

// In all of these the caller holds the storage.

struct FoundForm {
  StorageRef bytes;
  bool make =
      false;  // there is none, and the caller is to make it: keep_form or refuse_form follow
};
FoundForm find_form(Storage& storage, const FormKey& key) noexcept;
// The form's bytes, which the caller goes on holding.
void keep_form(Storage& storage, const FormKey& key, const StorageRef& bytes) noexcept;
void refuse_form(Storage& storage, const FormKey& key) noexcept;

// The storage is the value of one more variable, or of one less.
void enter_slot(Storage& storage) noexcept;
void leave_slot(Storage& storage) noexcept;

void drop_all_of(Storage& storage) noexcept;
// Before the bytes are written, by the only one who holds them.
inline void drop_forms(Storage& storage) noexcept {
  if (storage.forms.load(std::memory_order_relaxed) != nullptr) drop_all_of(storage);
}

// Drops the forms charged to a session (null: of all). Returns the bytes they had.
std::size_t drop_forms_of(SessionState* session) noexcept;

}  // namespace tenure::detail
