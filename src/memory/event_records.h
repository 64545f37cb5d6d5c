// Records as hooks leave them in a ring: events made of pointers to what is static (literals,
// source locations) and copies of what is not, which follow the event. Storages, holders and spans
// are known by their addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

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
  // Bytes that follow the event, those of its fields in their order.
  struct Text {
    std::uint16_t copied = 0;
  };
  struct Shape {
    std::uint16_t copied = 0;
  };
  struct Owner {
    const char* kind = nullptr;  // a label's: a literal; null: none
    std::uint16_t copied = 0;
  };
  struct Ender {
    const char* kind = nullptr;  // a label's: a literal; null: none
    std::uint16_t copied = 0;
    tenure::Cause cause{};
  };
};

// Calls `fn` with how many bytes of a field are copied, if it is of that kind.
constexpr void with_copied(auto& field, auto&& fn) {
  if constexpr (requires { field.value; }) {
    with_copied(field.value, fn);
  } else if constexpr (requires { field.copied; }) {
    fn(field.copied);
  }
}
// Each copy begins where a number may stand.
constexpr std::size_t room_for(std::size_t copied) { return (copied + 7) / 8 * 8; }

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
