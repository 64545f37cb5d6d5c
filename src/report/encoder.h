// Records of the runtime's rings as events of a file: addresses become small numbers, and what
// pointers stand for is looked up by the pointer first.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory/event_records.h"
#include "report/writer.h"

namespace tenure::report {

class Encoder {
 public:
  // `start` is the time of the recording's beginning, by the hooks' clock.
  Encoder(Writer& writer, std::int64_t start) : writer_(writer), start_(start) {}

  void write(const detail::events::Record& record, std::uint32_t thread);

 private:
  using Address = const void*;
  class Numbers {  // of addresses, in the order in which they are first seen
   public:
    std::uint64_t of(Address address) {
      return numbers_.try_emplace(address, numbers_.size()).first->second;
    }

   private:
    std::unordered_map<Address, std::uint64_t> numbers_;
  };
  struct Location {
    const char* file;
    const char* function;
    std::uint32_t line;
    bool operator==(const Location&) const = default;
  };
  struct LocationHash {
    std::size_t operator()(const Location& at) const {
      const auto mix = [](std::size_t a, std::size_t b) {
        return (a ^ b) * std::size_t{0x9e3779b97f4a7c15};
      };
      return mix(mix(mix(0, reinterpret_cast<std::size_t>(at.file)), at.line),
                 reinterpret_cast<std::size_t>(at.function));
    }
  };
  struct DimsHash {
    std::size_t operator()(const std::vector<std::int64_t>& dims) const;
  };

  // Of text that never changes; none for null.
  Writer::Text literal(std::string_view text);
  Writer::Text literal(const char* text) {
    return text == nullptr ? 0 : literal(std::string_view(text));
  }
  Writer::Text gradient_of(const char* op);
  Writer::Text shape(const std::byte* dims, std::size_t rank);
  Writer::Place site(std::source_location at);
  void write_birth(const detail::events::BirthEvent& event, std::uint32_t thread);
  void write_death(const detail::events::DeathEvent& event, std::uint32_t thread);

  Writer& writer_;
  std::int64_t start_;
  Numbers holders_, storages_, spans_;
  std::unordered_map<const char*, Writer::Text> literals_, gradients_;
  std::unordered_map<Location, Writer::Place, LocationHash> sites_;
  std::unordered_map<std::vector<std::int64_t>, Writer::Text, DimsHash> shapes_;
  std::vector<std::int64_t> dims_;  // being looked up
};

}  // namespace tenure::report
