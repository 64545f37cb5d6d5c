// The bytes of a recording: docs/design/recording.md describes them.
//
// A file is a magic number and chunks; a chunk is whole or it is not there. Numbers are varints of
// seven bits per byte, the lowest first; signed ones have their sign in the lowest bit.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "memory/event_kinds.h"
#include "report/run.h"

namespace tenure::report {

// The last two bytes are the version of the format.
inline constexpr std::array<unsigned char, 8> kMagic{'T', 'N', 'R', 'U', 'N', 0x1a, 1, 0};
inline constexpr std::size_t kChunkHead = 16;  // length, thread: 4 bytes each; checksum: 8
inline constexpr std::size_t kMostChunk = std::size_t{1} << 24;

// Events as they stand in a file: storages, holders and spans are numbers of the writer's choice,
// strings and sites those of their definitions.
struct Text {
  std::uint32_t number = 0;  // 0: ""
  bool operator==(const Text&) const = default;
};
struct Place {
  std::uint32_t number = 0;                          // 0: unknown
  std::uint32_t site() const { return number - 1; }  // of a run: kNone where it is unknown
  bool operator==(const Place&) const = default;
};
struct InFile {
  using Holder = std::uint64_t;
  using Storage = std::uint64_t;
  using Span = std::uint64_t;
  using Scope = std::uint64_t;  // the span's number plus 1; 0: none
  using Site = Place;
  using Text = report::Text;
  using DType = Text;
  using Cause = Text;
  using Literal = Text;
  using Op = Text;
  using Shape = Text;
  using Owner = Text;
  using Ender = Text;
  using Duration = std::uint64_t;
};
namespace events = detail::events;
template <template <class> class Kind>
using Told = Kind<InFile>;

inline std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
inline std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

inline constexpr std::size_t kMostVarint = 10;  // bytes
// Gives where the next one goes.
inline char* put_varint(char* to, std::uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}

// Of a chunk's payload and its thread: bytes that changed on the way are noticed.
inline std::uint64_t checksum(std::span<const std::byte> bytes, std::uint32_t thread) {
  constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15;
  std::uint64_t sum = (bytes.size() ^ std::uint64_t{thread} << 32) * kPrime;
  const auto mix = [&sum](std::uint64_t word) {
    sum = std::rotl(sum ^ word * kPrime, 29) * kPrime;
  };
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    mix(word);
  }
  std::uint64_t rest = 0;
  if (i < bytes.size()) std::memcpy(&rest, bytes.data() + i, bytes.size() - i);
  mix(rest);
  return sum ^ sum >> 32;
}

}  // namespace tenure::report
