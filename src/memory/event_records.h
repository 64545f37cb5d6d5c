// Records as hooks leave them in a ring: plain structs with pointers to what is static (literals,
// source locations) and copies of what is not, which follow the struct. Storages, holders and spans
// are known by their addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "memory/header.h"
#include "tenure/category.h"

namespace tenure::detail::events {

enum class Kind : std::uint8_t {
  skip,  // the rest of the ring, where a record did not fit
  birth,
  death,
  name,
  claim,
  move,
  allocate,
  free,
  span_begin,
  span_end,
  op,
  value,
  pool,
  budget,
  raised,
  live,  // bytes, counted when all that lives has been told
};

struct Record {
  std::int64_t time = 0;
  std::uint32_t size = 0;  // of it all, a multiple of kRecordStep
  Kind kind = Kind::skip;
};
inline constexpr std::size_t kRecordStep = 16;
inline constexpr std::size_t kMostText = std::size_t{32} << 10;  // longer ones are cut

inline constexpr std::uint8_t kSaved = 1;
inline constexpr std::uint8_t kSymbolic = 2;
inline constexpr std::uint8_t kBefore = 4;
inline constexpr std::uint8_t kBackward = 8;

struct BirthEvent : Record {  // then the dimensions, the owner's text, the name
  const void* holder = nullptr;
  const void* storage = nullptr;
  const void* scope = nullptr;
  std::uint64_t id = 0;
  std::uint64_t nbytes = 0;
  const char* op = nullptr;
  std::source_location site;
  std::string_view owner_kind;  // a literal
  std::uint16_t owner_size = 0;
  std::uint16_t name_size = 0;
  std::uint16_t rank = 0;
  DType dtype = DType::float32;
  Category claim = Category::other;
  std::uint8_t flags = 0;
};

struct DeathEvent : Record {  // then the text of what ended it
  const void* holder = nullptr;
  std::source_location site;
  std::string_view by_kind;  // a literal
  std::uint16_t by_size = 0;
  Cause cause = Cause::last_handle;
};

struct NameEvent : Record {  // then the name
  const void* holder = nullptr;
  std::uint16_t name_size = 0;
};

struct HolderEvent : Record {  // claim and move
  const void* holder = nullptr;
  const void* storage = nullptr;
  Category claim = Category::other;
  bool at_birth = false;
};

struct StorageEvent : Record {  // allocate and free
  const void* storage = nullptr;
  std::uint64_t nbytes = 0;
  std::uint64_t capacity = 0;
  bool before = false;
};

struct SpanEvent : Record {  // then the name
  const void* span = nullptr;
  std::uint64_t of = 0;  // which of the things with that name; 0: there is but one
  const char* kind_text = nullptr;
  std::source_location site;
  std::uint16_t name_size = 0;
  bool before = false;
};

struct OpEvent : Record {
  const char* op = nullptr;
  std::source_location site;
  std::int64_t begin = 0;
  std::uint64_t bytes = 0;
};

struct ValueEvent : Record {  // then the name
  std::uint64_t step = 0;
  double value = 0;
  std::uint16_t name_size = 0;
};

struct NumbersEvent : Record {  // pool, budget, live
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

struct RaisedEvent : Record {  // then the text
  std::source_location site;
  std::uint64_t tensor = 0;
  std::uint16_t text_size = 0;
};

// What follows a record.
template <class Event>
const std::byte* tail_of(const Event& event) {
  return reinterpret_cast<const std::byte*>(&event) + sizeof(Event);
}
inline std::string_view text_at(const std::byte* at, std::size_t size) {
  return {reinterpret_cast<const char*>(at), size};
}

}  // namespace tenure::detail::events
