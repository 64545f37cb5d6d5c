// Hooks: what the library tells a recording (tenure/recording.h) as it happens.
//
// While nothing is recorded a hook is one relaxed load and a branch that is predicted; all else is
// out of line, in events.cpp. While something is, it writes one record to the thread's own ring
// (event_rings.h), and waits only when that is full.
//
// Where a hook stands matters, because addresses are used again: an end is told before the memory
// can be handed out, a beginning after it was.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "memory/header.h"
#include "memory/storage.h"

namespace tenure::detail::events {

inline constinit std::atomic<bool> g_on{false};

inline bool on() noexcept { return kLifetimes && g_on.load(std::memory_order_relaxed); }

std::int64_t now() noexcept;  // nanoseconds of the clock that all records are stamped by

namespace cold {
void born(const Header& header, const void* scope) noexcept;
void saved(const Header& header) noexcept;
void died(const Header& header, Cause cause, std::source_location site, const Label* by) noexcept;
void dropped(const Header& header) noexcept;
void named(const Header& header, std::string_view name) noexcept;
void claimed(const Header& header, Category claim) noexcept;
void moved(const Header& header, bool at_birth) noexcept;
void allocated(const Storage& storage) noexcept;
void freed(const Storage& storage) noexcept;
void span_began(const void* span, const char* kind, std::string_view name,
                std::source_location site, std::uint64_t of = 0) noexcept;
void span_ended(const void* span) noexcept;
void op_ran(const char* op, std::source_location site, std::int64_t begin,
            std::uint64_t bytes) noexcept;
void value(std::string_view name, std::uint64_t step, double value) noexcept;
void pool_changed(std::size_t reserved, std::size_t pooled) noexcept;
void budget_changed(std::size_t bytes) noexcept;
void raised(std::string_view text, std::source_location site, std::uint64_t tensor) noexcept;
}  // namespace cold

// A tensor, in this scope (null: none); before anybody else can see it.
inline void born(const Header& header, const void* scope) noexcept {
  if (on()) [[unlikely]]
    cold::born(header, scope);
}
inline void saved(const Header& header) noexcept {
  if (on()) [[unlikely]]
    cold::saved(header);
}
inline void died(const Header& header, Cause cause, std::source_location site,
                 const Label* by) noexcept {
  if (on()) [[unlikely]]
    cold::died(header, cause, site, by);
}
// The last handle is gone; its death, unless it had died before.
inline void dropped(const Header& header) noexcept {
  if (on()) [[unlikely]]
    cold::dropped(header);
}
inline void named(const Header& header, std::string_view name) noexcept {
  if (on()) [[unlikely]]
    cold::named(header, name);
}
inline void claimed(const Header& header, Category claim) noexcept {
  if (on()) [[unlikely]]
    cold::claimed(header, claim);
}
// A saved value holds another storage from here on (before the old one is let go); `at_birth`: it
// is the first that counts.
inline void moved(const Header& header, bool at_birth) noexcept {
  if (on()) [[unlikely]]
    cold::moved(header, at_birth);
}
inline void allocated(const Storage& storage) noexcept {
  if (on()) [[unlikely]]
    cold::allocated(storage);
}
inline void freed(const Storage& storage) noexcept {
  if (on()) [[unlikely]]
    cold::freed(storage);
}
// `span` is any address that is the span's own while it lasts; `kind` is a literal.
inline void span_began(const void* span, const char* kind, std::string_view name,
                       std::source_location site) noexcept {
  if (on()) [[unlikely]]
    cold::span_began(span, kind, name, site);
}
inline void span_ended(const void* span) noexcept {
  if (on()) [[unlikely]]
    cold::span_ended(span);
}
inline void value(std::string_view name, std::uint64_t step, double value) noexcept {
  if (on()) [[unlikely]]
    cold::value(name, step, value);
}
inline void raised(std::string_view text, std::source_location site,
                   std::uint64_t tensor = 0) noexcept {
  if (on()) [[unlikely]]
    cold::raised(text, site, tensor);
}

// A span that is a block of code. `of` tells things of one name apart.
class Span {
 public:
  Span(const char* kind, std::string_view name, std::source_location site,
       std::uint64_t of = 0) noexcept
      : begun_(on()) {
    if (begun_) [[unlikely]]
      cold::span_began(this, kind, name, site, of);
  }
  ~Span() {
    if (begun_) [[unlikely]]
      cold::span_ended(this);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  bool begun_;
};

// What lives already, told at the start of a recording by the thread that starts it.
void tell_what_lives();

}  // namespace tenure::detail::events
