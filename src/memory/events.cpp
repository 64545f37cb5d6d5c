#include "memory/events.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "memory/context.h"
#include "memory/event_rings.h"
#include "memory/ledger.h"
#include "memory/pool.h"
#include "memory/scope.h"

namespace tenure::detail::events {
namespace {

std::string_view cut(std::string_view text) { return text.substr(0, kMostText); }

std::byte* put(std::byte* to, std::string_view text) {
  return std::ranges::copy(std::as_bytes(std::span(text)), to).out;
}

// The user's call while one is running, else nowhere.
std::source_location site_of_call() noexcept {
  return t_context != nullptr && t_context->call.op != nullptr ? t_context->call.site
                                                               : std::source_location();
}

void write_birth(const Header& header, const void* scope, std::uint8_t flags) noexcept {
  const LabelRef label = name_of(header);
  const std::string_view name = label ? cut(label->text) : std::string_view();
  const Label* owner = header.role == Role::saved ? header.owner.get() : nullptr;
  const std::string_view owner_text = owner != nullptr ? cut(owner->text) : std::string_view();
  const std::span<const std::int64_t> dims = header.layout.shape.dims().first(
      std::min<std::size_t>(header.layout.shape.dims().size(), 1024));
  Place place;
  auto* event = Place::take<BirthEvent>(
      place, Kind::birth, sizeof(BirthEvent) + dims.size_bytes() + owner_text.size() + name.size());
  if (event == nullptr) return;
  event->holder = &header;
  event->storage = header.storage;
  event->scope = scope;
  event->id = header.id;
  event->nbytes = header.layout.nbytes();
  event->op = header.birth.op;
  event->site = header.birth.site;
  if (owner != nullptr) event->owner_kind = owner->kind;
  event->owner_size = static_cast<std::uint16_t>(owner_text.size());
  event->name_size = static_cast<std::uint16_t>(name.size());
  event->rank = static_cast<std::uint16_t>(dims.size());
  event->dtype = header.layout.dtype;
  event->claim = header.claim.load(std::memory_order_relaxed);
  event->flags = static_cast<std::uint8_t>(flags | (header.role == Role::saved ? kSaved : 0) |
                                           (header.is_symbolic() ? kSymbolic : 0) |
                                           (header.birth.backward ? kBackward : 0));
  auto* to = reinterpret_cast<std::byte*>(event + 1);
  std::memcpy(to, dims.data(), dims.size_bytes());
  put(put(to + dims.size_bytes(), owner_text), name);
}

void write_storage(const Storage& storage, Kind kind, bool before) noexcept {
  Place place;
  auto* event = Place::take<StorageEvent>(place, kind, sizeof(StorageEvent));
  if (event == nullptr) return;
  event->storage = &storage;
  event->nbytes = storage.nbytes;
  event->capacity = storage.capacity;
  event->before = before;
}

void write_span(const void* span, const char* kind, std::string_view name,
                std::source_location site, std::uint64_t of, bool before) noexcept {
  name = cut(name);
  Place place;
  auto* event = Place::take<SpanEvent>(place, Kind::span_begin, sizeof(SpanEvent) + name.size());
  if (event == nullptr) return;
  event->span = span;
  event->of = of;
  event->kind_text = kind;
  event->site = site;
  event->name_size = static_cast<std::uint16_t>(name.size());
  event->before = before;
  put(reinterpret_cast<std::byte*>(event + 1), name);
}

void write_numbers(Kind kind, std::uint64_t first, std::uint64_t second) noexcept {
  Place place;
  auto* event = Place::take<NumbersEvent>(place, kind, sizeof(NumbersEvent));
  if (event == nullptr) return;
  event->first = first;
  event->second = second;
}

void write_scopes(const Scope* scope) noexcept {
  if (scope == nullptr) return;
  write_scopes(scope->parent);  // the outermost first
  write_span(scope, "tidy", scope->label->text, scope->label->site, 0, true);
}

}  // namespace

namespace cold {

void born(const Header& header, const void* scope) noexcept { write_birth(header, scope, 0); }

void saved(const Header& header) noexcept { write_birth(header, nullptr, 0); }

void died(const Header& header, Cause cause, std::source_location site, const Label* by) noexcept {
  const std::string_view text = by != nullptr ? cut(by->text) : std::string_view();
  Place place;
  auto* event = Place::take<DeathEvent>(place, Kind::death, sizeof(DeathEvent) + text.size());
  if (event == nullptr) return;
  event->holder = &header;
  event->site = site;
  event->cause = cause;
  if (by != nullptr) event->by_kind = by->kind;
  event->by_size = static_cast<std::uint16_t>(text.size());
  put(reinterpret_cast<std::byte*>(event + 1), text);
}

void dropped(const Header& header) noexcept {
  if (header.is_dead() && !header.is_symbolic()) return;
  died(header, Cause::last_handle, site_of_call(), nullptr);
}

void named(const Header& header, std::string_view name) noexcept {
  name = cut(name);
  Place place;
  auto* event = Place::take<NameEvent>(place, Kind::name, sizeof(NameEvent) + name.size());
  if (event == nullptr) return;
  event->holder = &header;
  event->name_size = static_cast<std::uint16_t>(name.size());
  put(reinterpret_cast<std::byte*>(event + 1), name);
}

void claimed(const Header& header, Category claim) noexcept {
  Place place;
  auto* event = Place::take<HolderEvent>(place, Kind::claim, sizeof(HolderEvent));
  if (event == nullptr) return;
  event->holder = &header;
  event->claim = claim;
}

void moved(const Header& header, bool at_birth) noexcept {
  Place place;
  auto* event = Place::take<HolderEvent>(place, Kind::move, sizeof(HolderEvent));
  if (event == nullptr) return;
  event->holder = &header;
  event->storage = header.storage;
  event->at_birth = at_birth;
}

void allocated(const Storage& storage) noexcept { write_storage(storage, Kind::allocate, false); }

void freed(const Storage& storage) noexcept { write_storage(storage, Kind::free, false); }

void span_began(const void* span, const char* kind, std::string_view name,
                std::source_location site, std::uint64_t of) noexcept {
  write_span(span, kind, name, site, of, false);
}

void span_ended(const void* span) noexcept {
  Place place;
  auto* event = Place::take<SpanEvent>(place, Kind::span_end, sizeof(SpanEvent));
  if (event != nullptr) event->span = span;
}

void op_ran(const char* op, std::source_location site, std::int64_t begin,
            std::uint64_t bytes) noexcept {
  Place place;
  auto* event = Place::take<OpEvent>(place, Kind::op, sizeof(OpEvent));
  if (event == nullptr) return;
  event->op = op;
  event->site = site;
  event->begin = begin;
  event->bytes = bytes;
}

void value(std::string_view name, std::uint64_t step, double value) noexcept {
  name = cut(name);
  Place place;
  auto* event = Place::take<ValueEvent>(place, Kind::value, sizeof(ValueEvent) + name.size());
  if (event == nullptr) return;
  event->step = step;
  event->value = value;
  event->name_size = static_cast<std::uint16_t>(name.size());
  put(reinterpret_cast<std::byte*>(event + 1), name);
}

void pool_changed(std::size_t reserved, std::size_t pooled) noexcept {
  write_numbers(Kind::pool, reserved, pooled);
}

void budget_changed(std::size_t bytes) noexcept { write_numbers(Kind::budget, bytes, 0); }

void raised(std::string_view text, std::source_location site, std::uint64_t tensor) noexcept {
  text = cut(text);
  Place place;
  auto* event = Place::take<RaisedEvent>(place, Kind::raised, sizeof(RaisedEvent) + text.size());
  if (event == nullptr) return;
  event->site = site;
  event->tensor = tensor;
  event->text_size = static_cast<std::uint16_t>(text.size());
  put(reinterpret_cast<std::byte*>(event + 1), text);
}

}  // namespace cold

void tell_what_lives() {
  Pool& cpu = pool({});
  write_numbers(Kind::budget, cpu.budget(), 0);
  write_numbers(Kind::pool, cpu.reserved_bytes(), cpu.pooled_bytes());
  write_scopes(context().scope);
  for_each_holder([](Header& header) {
    write_storage(*header.storage, Kind::allocate, true);
    write_birth(header, header.scope.load(std::memory_order_relaxed), kBefore);
  });
  write_numbers(Kind::live, live_bytes(nullptr), 0);
}

}  // namespace tenure::detail::events
