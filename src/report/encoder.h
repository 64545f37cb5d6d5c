// Records of the runtime's rings as events of a file: addresses become small numbers, and what
// pointers stand for is looked up by the pointer first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "memory/event_records.h"
#include "report/known.h"
#include "report/writer.h"

namespace tenure::report {

class Encoder {
 public:
  // `start` is the time of the recording's beginning, by the hooks' clock.
  Encoder(Writer& writer, std::int64_t start) : writer_(writer), start_(start) {}

  void write(const events::Record& record, std::uint32_t thread);

 private:
  using InRing = events::InRing;
  using Address = const void*;
  using Bytes = std::span<const std::byte>;
  static std::uint64_t key(Address address) { return reinterpret_cast<std::uint64_t>(address); }
  class Numbers {  // of addresses, in the order in which they are first seen
   public:
    std::uint64_t of(Address address) {
      return numbers_.at(key(address), [&] { return numbers_.size(); });
    }

   private:
    Known<std::uint64_t> numbers_;
  };
  // Texts that are put into words only when they are first met.
  struct Worded {
    std::uint64_t kind = 0;
    std::string bytes;
    Text text;
  };
  template <class Word>
  Text worded(std::uint64_t kind, Bytes bytes, Word&& word);

  template <template <class> class Kind>
  void write(const events::Recorded<Kind<InRing>>& record, std::uint32_t thread);

  // The copy of the next field that has one.
  Bytes take(std::uint16_t copied) {
    return {std::exchange(copies_, copies_ + events::room_for(copied)), copied};
  }
  static std::string_view text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // What a field of a record is in the file.
  template <class T>
  T encoded(const T& same) {
    return same;
  }
  template <class T, std::uint8_t kFlag>
  auto encoded(const events::If<T, kFlag>& field) {
    return events::If<decltype(encoded(field.value)), kFlag>{encoded(field.value)};
  }
  template <class T, std::uint8_t kFlag>
  auto encoded(const events::Unless<T, kFlag>& field) {
    return events::Unless<decltype(encoded(field.value)), kFlag>{encoded(field.value)};
  }
  std::uint64_t encoded(InRing::Holder holder) { return holders_.of(holder.address); }
  std::uint64_t encoded(InRing::Storage storage) {
    return storage.address != nullptr ? storages_.of(storage.address) : 0;
  }
  std::uint64_t encoded(InRing::Span span) { return spans_.of(span.address); }
  std::uint64_t encoded(InRing::Scope scope) {
    return scope.address != nullptr ? spans_.of(scope.address) + 1 : 0;
  }
  std::uint64_t encoded(InRing::Duration duration) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(time_ - duration.begin, 0));
  }
  Text encoded(InRing::Literal literal) { return string_of(literal.text); }
  Text encoded(DType dtype) { return string_of(tenure::name(dtype)); }
  Text encoded(Cause cause) { return string_of(tenure::name(cause)); }
  Text encoded(InRing::Text text) { return writer_.string(text_of(take(text.copied))); }
  Text encoded(InRing::Op op);
  Text encoded(InRing::Shape shape);
  Text encoded(InRing::Owner owner);
  Text encoded(InRing::Ender ender);
  Place encoded(std::source_location at);
  // Of text that never changes; none for null.
  Text string_of(std::string_view literal);
  Text string_of(const char* literal) {
    return literal == nullptr ? Text() : string_of(std::string_view(literal));
  }

  Writer& writer_;
  std::int64_t start_;
  std::int64_t time_ = 0;              // of the record, by the hooks' clock
  const std::byte* copies_ = nullptr;  // of its fields, from the next one on
  Numbers holders_, storages_, spans_;
  Known<Text> literals_, gradients_;
  Known<Place> sites_;
  Known<Worded> worded_;  // by a hash
};

}  // namespace tenure::report
