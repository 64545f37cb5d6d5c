// Records as hooks leave them in a ring: events made of pointers to what is static (literals,
// source locations) and copies of what is not, which follow the event. Storages, holders and spans
// are known by their addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>

#include "memory/event_kinds.h"
#include "tenure/dtype.h"
#include "tenure/story.h"

namespace tenure::detail::events {

struct InRing {
  struct Holder {
    const void* address = nullptr;
  };
  struct Storage {
    const void* address = nullptr;  // null: none
  };
  struct Span {
    const void* address = nullptr;
  };
  struct Scope {
    const void* address = nullptr;  // of its span; null: none
  };
  using Site = std::source_location;
  using DType = tenure::DType;
  using Cause = tenure::Cause;
  struct Literal {
    const char* text = nullptr;
  };
  struct Op {
    const char* name = nullptr;
    bool backward = false;  // the op is of the gradient of that one
  };
  struct Duration {
    std::int64_t begin = 0;  // up to the time of the record
  };
  // Views named `copied` are the caller's in a hook, and of the record's own bytes in a ring.
  struct Text {
    std::string_view copied;
  };
  struct Shape {
    std::span<const std::int64_t> copied;
  };
  struct Owner {
    const char* kind = nullptr;  // a label's; null: none
    std::string_view copied;
  };
  struct Ender {
    const char* kind = nullptr;  // a label's; null: none
    std::string_view copied;
    tenure::Cause cause{};
  };
};

// Calls `fn` with the view of a field that is copied, if it has one.
void with_copied(auto& field, auto&& fn) {
  if constexpr (requires { field.value; }) {
    with_copied(field.value, fn);
  } else if constexpr (requires { field.copied; }) {
    fn(field.copied);
  }
}

struct Record {
  std::int64_t time = 0;
  std::uint32_t size = 0;  // of it all, a multiple of kRecordStep
  std::uint8_t kind = 0;   // 0: the rest of the ring, where a record did not fit
};
template <class Event>
struct Recorded : Record {
  Event event;
};
inline constexpr std::size_t kRecordStep = 16;
inline constexpr std::size_t kMostText = std::size_t{32} << 10;  // bytes; longer ones are cut

}  // namespace tenure::detail::events
