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

namespace tenure {
class Error;
}

namespace tenure::detail::events {

inline constinit std::atomic<bool> g_on{false};

inline bool on() noexcept { return kLifetimes && g_on.load(std::memory_order_relaxed); }

std::int64_t now() noexcept;  // nanoseconds of the clock that all records are stamped by

// What hooks do while something is recorded. `span` is any address that is the span's own while it
// lasts; `kind` is a literal; `of` tells things of one name apart, and is 0
// for one alone; `tensor` is 0 for an error about none.
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
                std::source_location site, std::uint64_t of) noexcept;
void span_ended(const void* span) noexcept;
void op_ran(const char* op, std::source_location site, std::int64_t begin,
            std::uint64_t bytes) noexcept;
void value(std::string_view name, std::uint64_t step, double value) noexcept;
void pool_changed(std::size_t reserved, std::size_t pooled) noexcept;
void budget_changed(std::size_t bytes) noexcept;
void raised(const Error& error, const char* type, std::source_location site,
            std::uint64_t tensor) noexcept;
}  // namespace cold

template <auto kTell>
struct Hook {
  template <class... Told>
  void operator()(const Told&... told) const noexcept {
    if (on()) [[unlikely]]
      kTell(told...);
  }
};

inline constexpr Hook<cold::born> born;  // in this scope (null: none); before anybody can see it
inline constexpr Hook<cold::saved> saved;
inline constexpr Hook<cold::died> died;
inline constexpr Hook<cold::dropped> dropped;  // by the last handle: dead, unless it was before
inline constexpr Hook<cold::named> named;
inline constexpr Hook<cold::claimed> claimed;
// A saved value holds another storage from here on (before the old one is let go); `at_birth`: it
// is the first that counts.
inline constexpr Hook<cold::moved> moved;
inline constexpr Hook<cold::allocated> allocated;
inline constexpr Hook<cold::freed> freed;
inline constexpr Hook<cold::span_began> span_began;
inline constexpr Hook<cold::span_ended> span_ended;
inline constexpr Hook<cold::value> value;
inline constexpr Hook<cold::budget_changed> budget_changed;
inline constexpr Hook<cold::raised> raised;

// A span that is a block of code.
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
