#include "memory/forms.h"

#include <mutex>
#include <new>

#include "memory/fork.h"
#include "memory/slab.h"

namespace tenure::detail {
namespace {

// Guards every list of forms and every count of slots. Held for a few instructions: never while a
// form is made, and never while bytes are freed.
constinit SpinLock g_forms;
Form* g_kept = nullptr;

Form* look_up(const Storage& storage, const FormKey& key) noexcept {
  Form* form = storage.forms.load(std::memory_order_relaxed);
  while (form != nullptr && form->key != key) form = form->next;
  return form;
}

int count_of(const Storage& storage) noexcept {
  int count = 0;
  for (const Form* form = storage.forms.load(std::memory_order_relaxed); form != nullptr;
       form = form->next) {
    ++count;
  }
  return count;
}

void list_kept(Form& form) noexcept {
  form.kept_next = g_kept;
  if (g_kept != nullptr) g_kept->kept_link = &form.kept_next;
  form.kept_link = &g_kept;
  g_kept = &form;
}

void unlist_kept(Form& form) noexcept {
  if (form.kept_link == nullptr) return;
  *form.kept_link = form.kept_next;
  if (form.kept_next != nullptr) form.kept_next->kept_link = form.kept_link;
  form.kept_link = nullptr;
  form.kept_next = nullptr;
}

// The storage's forms, which nobody can find any more.
Form* detach(Storage& storage) noexcept {
  Form* forms = storage.forms.load(std::memory_order_relaxed);
  storage.forms.store(nullptr, std::memory_order_relaxed);
  for (Form* form = forms; form != nullptr; form = form->next) unlist_kept(*form);
  return forms;
}

void free_detached(Form* forms) noexcept {
  while (forms != nullptr) {
    Form* form = forms;
    forms = form->next;
    if (form->bytes != nullptr) release(form->bytes);
    form->bytes = nullptr;
    Slab<Form>::instance().free(form);
  }
}

Form* new_form() noexcept {
  try {
    return Slab<Form>::instance().allocate();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Notes the first request for a form.
void add_asked(Storage& storage, const FormKey& key) noexcept {
  Form* form = new_form();
  if (form == nullptr) return;
  {
    const std::lock_guard guard(g_forms);
    const bool room = storage.slots.load(std::memory_order_relaxed) != 0 &&
                      look_up(storage, key) == nullptr && count_of(storage) < kMostForms;
    if (room) {
      form->key = key;
      form->state = Form::State::asked;
      form->next = storage.forms.load(std::memory_order_relaxed);
      storage.forms.store(form, std::memory_order_relaxed);
      return;
    }
  }
  Slab<Form>::instance().free(form);
}

}  // namespace

SpinLock& forms_lock() noexcept { return g_forms; }

FoundForm find_form(Storage& storage, const FormKey& key) noexcept {
  if (storage.slots.load(std::memory_order_relaxed) == 0) return {};  // most tensors
  {
    const std::lock_guard guard(g_forms);
    if (Form* form = look_up(storage, key)) {
      if (form->state == Form::State::kept) {
        retain(form->bytes);
        return {StorageRef(form->bytes), false};
      }
      if (form->state != Form::State::asked) return {};
      form->state = Form::State::making;
      return {{}, true};
    }
    if (count_of(storage) == kMostForms) return {};
  }
  add_asked(storage, key);
  return {};
}

void keep_form(Storage& storage, const FormKey& key, const StorageRef& bytes) noexcept {
  const std::lock_guard guard(g_forms);
  Form* form = look_up(storage, key);
  // The variable may have let go of its value meanwhile.
  if (form == nullptr || form->bytes != nullptr) return;
  retain(bytes.get());
  form->bytes = bytes.get();
  form->state = Form::State::kept;
  list_kept(*form);
}

void refuse_form(Storage& storage, const FormKey& key) noexcept {
  const std::lock_guard guard(g_forms);
  Form* form = look_up(storage, key);
  if (form != nullptr && form->bytes == nullptr) form->state = Form::State::refused;
}

void enter_slot(Storage& storage) noexcept {
  storage.slots.fetch_add(1, std::memory_order_relaxed);
}

void leave_slot(Storage& storage) noexcept {
  Form* forms = nullptr;
  {
    const std::lock_guard guard(g_forms);
    if (storage.slots.fetch_sub(1, std::memory_order_relaxed) == 1) forms = detach(storage);
  }
  free_detached(forms);
}

void drop_all_of(Storage& storage) noexcept {
  Form* forms = nullptr;
  {
    const std::lock_guard guard(g_forms);
    forms = detach(storage);
  }
  free_detached(forms);
}

std::size_t drop_forms_of(SessionState* session) noexcept {
  Storage* dropped = nullptr;  // linked as free storages are, which these are not yet
  {
    const std::lock_guard guard(g_forms);
    for (Form* form = g_kept; form != nullptr;) {
      Form* next = form->kept_next;
      if (session == nullptr || form->bytes->session.load(std::memory_order_relaxed) == session) {
        unlist_kept(*form);
        form->bytes->next_free = dropped;
        dropped = form->bytes;
        form->bytes = nullptr;
        form->state = Form::State::refused;
      }
      form = next;
    }
  }
  std::size_t dropped_bytes = 0;
  while (dropped != nullptr) {
    Storage* bytes = dropped;
    dropped = bytes->next_free;
    dropped_bytes += bytes->nbytes;
    release(bytes);
  }
  return dropped_bytes;
}

}  // namespace tenure::detail
