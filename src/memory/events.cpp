#include "memory/events.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <span>

#include "memory/context.h"
#include "memory/event_rings.h"
#include "memory/ledger.h"
#include "memory/pool.h"
#include "memory/scope.h"
#include "tenure/error.h"

namespace tenure::detail::events {
namespace {

using Copy = std::span<const std::byte>;
Copy bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

template <template <class> class Kind>
constexpr std::size_t kCopied = [] {  // fields
  Kind<InRing> event;
  std::size_t count = 0;
  for_each_field(event, [&](auto, auto& field) { with_copied(field, [&](auto&) { ++count; }); });
  return count;
}();

// `copies` are what the event's copied fields have, in their order.
template <template <class> class Kind, class... Copies>
  requires(sizeof...(Copies) == kCopied<Kind>)
void tell(Kind<InRing> event, Copies... copies) noexcept {
  using Telling = Recorded<Kind<InRing>>;
  const std::array<Copy, kCopied<Kind>> all{copies.first(std::min(copies.size(), kMostText))...};
  std::size_t size = sizeof(Telling), next = 0;
  for_each_field(event, [&](auto, auto& field) {
    with_copied(field, [&](std::uint16_t& copied) {
      copied = static_cast<std::uint16_t>(all[next++].size());
      size += room_for(copied);
    });
  });
  size = (size + kRecordStep - 1) / kRecordStep * kRecordStep;
  const Place place(size);
  if (place.at() == nullptr) return;
  new (place.at())
      Telling{{place.time(), static_cast<std::uint32_t>(size), kNumber<Kind<InRing>>}, event};
  std::byte* to = place.at() + sizeof(Telling);
  for (const Copy copy : all) {
    if (!copy.empty()) std::memcpy(to, copy.data(), copy.size());
    to += room_for(copy.size());
  }
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
  tell(
      Birth<InRing>{
          .flags = {static_cast<std::uint8_t>(flags | (is_saved ? kSaved : 0) |
                                              (header.storage == nullptr ? kSymbolic : 0))},
          .category = header.claim.load(std::memory_order_relaxed),
          .dtype = header.layout.dtype,
          .holder = {&header},
          .id = {header.id},
          .storage = {{header.storage}},
          .op = {header.birth.op, header.birth.backward},
          .site = header.birth.site,
          .nbytes = header.layout.nbytes(),
          .scope = {scope},
          .owner = {{owner != nullptr ? owner->kind.data() : nullptr}}},
      std::as_bytes(header.layout.shape.dims()),
      bytes_of(name ? std::string_view(name->text) : std::string_view()),
      bytes_of(owner != nullptr ? std::string_view(owner->text) : std::string_view()));
}

void tell_allocated(const Storage& storage, bool before) noexcept {
  tell(Allocate<InRing>{{&storage}, {storage.nbytes}, {storage.capacity}, before});
}

void tell_scopes(const Scope* scope) noexcept {
  if (scope == nullptr) return;
  tell_scopes(scope->parent);  // the outermost first
  tell(SpanBegin<InRing>{{scope}, {"tidy"}, {}, scope->label->site, {.before = true}},
       bytes_of(scope->label->text));
}

}  // namespace

namespace cold {

void born(const Header& header, const void* scope) noexcept { tell_birth(header, scope, 0); }

void saved(const Header& header) noexcept { tell_birth(header, nullptr, 0); }

void died(const Header& header, Cause cause, std::source_location site, const Label* by) noexcept {
  tell(Death<InRing>{{&header}, cause, site, {by != nullptr ? by->kind.data() : nullptr, 0, cause}},
       bytes_of(by != nullptr ? std::string_view(by->text) : std::string_view()));
}

void dropped(const Header& header) noexcept {
  if (header.is_dead() && !header.is_symbolic()) return;
  died(header, Cause::last_handle, site_of_call(), nullptr);
}

void named(const Header& header, std::string_view name) noexcept {
  tell(Name<InRing>{{&header}}, bytes_of(name));
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
  tell(SpanBegin<InRing>{{span}, {kind}, {}, site, {of}}, bytes_of(name));
}

void span_ended(const void* span) noexcept { tell(SpanEnd<InRing>{{span}}); }

void op_ran(const char* op, std::source_location site, std::int64_t begin,
            std::uint64_t bytes) noexcept {
  tell(OpEnd<InRing>{{op}, site, {begin}, bytes});
}

void value(std::string_view name, std::uint64_t step, double value) noexcept {
  tell(Value<InRing>{{}, step, value}, bytes_of(name));
}

void pool_changed(std::size_t reserved, std::size_t pooled) noexcept {
  tell(PoolSize<InRing>{reserved, pooled});
}

void budget_changed(std::size_t bytes) noexcept { tell(Budget<InRing>{bytes}); }

void raised(const Error& error, const char* type, std::source_location site,
            std::uint64_t tensor) noexcept {
  tell(Raised<InRing>{.type = {type}, .site = site, .tensor = tensor}, bytes_of(error.op()),
       bytes_of(error.problem()), bytes_of(error.remedy()), bytes_of(error.what()));
}

}  // namespace cold

void tell_what_lives() {
  Pool& cpu = pool({});
  cold::budget_changed(cpu.budget());
  cold::pool_changed(cpu.reserved_bytes(), cpu.pooled_bytes());
  tell_scopes(context().scope);
  for_each_header([](Header& header) {
    tell_allocated(*header.storage, true);
    tell_birth(header, header.scope.load(std::memory_order_relaxed), kBefore);
  });
  tell(Live<InRing>{{live_bytes(nullptr)}});
}

}  // namespace tenure::detail::events
