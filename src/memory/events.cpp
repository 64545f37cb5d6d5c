#include "memory/events.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "memory/context.h"
#include "memory/event_rings.h"
#include "memory/ledger.h"
#include "memory/pool.h"
#include "memory/scope.h"

namespace tenure::detail::events {
namespace {

constexpr std::size_t rounded_up(std::size_t size, std::size_t step) {
  return (size + step - 1) / step * step;
}

template <template <class> class Kind>
void tell(Kind<InRing> event) noexcept {
  using Telling = Recorded<Kind<InRing>>;
  std::size_t size = sizeof(Telling);
  for_each_field(event, [&](auto, auto& field) {
    with_copied(field, [&]<class View>(View& view) {
      constexpr std::size_t kEach = sizeof(typename View::value_type);
      view = View(view.data(), std::min(view.size(), kMostText / kEach));
      size += rounded_up(view.size() * kEach, alignof(Telling));
    });
  });
  size = rounded_up(size, kRecordStep);
  const Place place(size);
  if (place.at() == nullptr) return;
  std::byte* copy = place.at() + sizeof(Telling);
  for_each_field(event, [&](auto, auto& field) {
    with_copied(field, [&]<class View>(View& view) {
      using Element = View::const_pointer;
      const std::size_t bytes = view.size() * sizeof(*view.data());
      if (bytes != 0) std::memcpy(copy, view.data(), bytes);
      view = View(reinterpret_cast<Element>(copy), view.size());
      copy += rounded_up(bytes, alignof(Telling));
    });
  });
  new (place.at())
      Telling{{place.time(), static_cast<std::uint32_t>(size), kNumber<Kind<InRing>>}, event};
}

// The user's call while one is running, else nowhere.
std::source_location site_of_call() noexcept {
  return t_context != nullptr && t_context->call.op != nullptr ? t_context->call.site
                                                               : std::source_location();
}

void tell_birth(const Header& header, const void* scope, std::uint8_t flags) noexcept {
  const LabelRef name = name_of(header);
  const bool is_saved = header.role == Role::saved;
  const Label* owner = is_saved ? header.owner.get() : nullptr;
  Birth<InRing> birth{
      .flags = {static_cast<std::uint8_t>(flags | (is_saved ? kSaved : 0) |
                                          (header.storage == nullptr ? kSymbolic : 0))},
      .category = header.claim.load(std::memory_order_relaxed),
      .dtype = header.layout.dtype,
      .holder = {&header},
      .id = {header.id},
      .storage = {{header.storage}},
      .op = {header.birth.op, header.birth.backward},
      .site = header.birth.site,
      .shape = {header.layout.shape.dims()},
      .nbytes = header.layout.nbytes(),
      .scope = {scope}};
  if (name) birth.name.value.copied = name->text;
  if (owner != nullptr) birth.owner.value = {owner->kind.data(), owner->text};
  tell(birth);
}

void tell_allocated(const Storage& storage, bool before) noexcept {
  tell(Allocate<InRing>{{&storage}, {storage.nbytes}, {storage.capacity}, before});
}

void tell_scopes(const Scope* scope) noexcept {
  if (scope == nullptr) return;
  tell_scopes(scope->parent);  // the outermost first
  tell(SpanBegin<InRing>{
      {scope}, {"tidy"}, {scope->label->text}, scope->label->site, {.before = true}});
}

}  // namespace

namespace cold {

void born(const Header& header, const void* scope) noexcept { tell_birth(header, scope, 0); }

void saved(const Header& header) noexcept { tell_birth(header, nullptr, 0); }

void died(const Header& header, Cause cause, std::source_location site, const Label* by) noexcept {
  Death<InRing> death{.holder = {&header}, .cause = cause, .site = site};
  if (by != nullptr) death.by = {by->kind.data(), by->text, cause};
  tell(death);
}

void dropped(const Header& header) noexcept {
  if (header.is_dead() && !header.is_symbolic()) return;
  died(header, Cause::last_handle, site_of_call(), nullptr);
}

void named(const Header& header, std::string_view name) noexcept {
  tell(Name<InRing>{{&header}, {name}});
}

void claimed(const Header& header, Category claim) noexcept {
  tell(Claim<InRing>{{&header}, claim});
}

void moved(const Header& header, bool at_birth) noexcept {
  tell(Move<InRing>{{&header}, {header.storage}, at_birth});
}

void allocated(const Storage& storage) noexcept { tell_allocated(storage, false); }

void freed(const Storage& storage) noexcept {
  tell(Free<InRing>{{&storage}, {storage.nbytes}, {storage.capacity}});
}

void span_began(const void* span, const char* kind, std::string_view name,
                std::source_location site, std::uint64_t of) noexcept {
  tell(SpanBegin<InRing>{{span}, {kind}, {name}, site, {of}});
}

void span_ended(const void* span) noexcept { tell(SpanEnd<InRing>{{span}}); }

void op_ran(const char* op, std::source_location site, std::int64_t begin,
            std::uint64_t bytes) noexcept {
  tell(OpEnd<InRing>{{op}, site, {begin}, bytes});
}

void value(std::string_view name, std::uint64_t step, double value) noexcept {
  tell(Value<InRing>{{name}, step, value});
}

void pool_changed(std::size_t reserved, std::size_t pooled) noexcept {
  tell(PoolSize<InRing>{reserved, pooled});
}

void budget_changed(std::size_t bytes) noexcept { tell(Budget<InRing>{bytes}); }

void raised(std::string_view text, std::source_location site, std::uint64_t tensor) noexcept {
  tell(Raised<InRing>{{text}, site, tensor});
}

}  // namespace cold

void tell_what_lives() {
  Pool& cpu = pool({});
  cold::budget_changed(cpu.budget());
  cold::pool_changed(cpu.reserved_bytes(), cpu.pooled_bytes());
  tell_scopes(context().scope);
  for_each_holder([](Header& header) {
    tell_allocated(*header.storage, true);
    tell_birth(header, header.scope.load(std::memory_order_relaxed), kBefore);
  });
  tell(Live<InRing>{{live_bytes(nullptr)}});
}

}  // namespace tenure::detail::events
