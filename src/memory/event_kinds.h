// The kinds of a recording's events, each described once, field by field.
//
// A kind is a template over its form, which says what its fields are made of: in a thread's ring
// (event_records.h) a holder is an address and a site a source location, in a file
// (report/format.h) both are numbers. Recording, encoding, writing, reading and checking follow
// from the list of fields. What is left to say of a new kind is when it happens (a hook in
// events.h) and what a run makes of it (report/run_builder.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/fields.h"
#include "tenure/category.h"

namespace tenure::detail::events {

// Fields that are the same in every form, besides whole numbers, bool, double and Category.

struct Bytes {  // that were there: no machine has as many as would not add up
  std::uint64_t count = 0;
  bool operator==(const Bytes&) const = default;
};
struct Id {  // in a file less that of the event before that had one
  std::uint64_t number = 0;
  bool operator==(const Id&) const = default;
};
struct Signed {
  std::int64_t number = 0;
  bool operator==(const Signed&) const = default;
};
struct Spelled {  // in the event itself
  std::string_view text;
  bool operator==(const Spelled&) const = default;
};
struct Instance {  // which of the functions with its name (0: not told apart), and a mark
  std::uint64_t of = 0;
  bool before = false;
  bool operator==(const Instance&) const = default;
};
struct Flags {
  std::uint8_t bits = 0;
  bool has(std::uint8_t flag) const { return (bits & flag) != 0; }
  bool operator==(const Flags&) const = default;
};
inline constexpr std::uint8_t kSaved = 1;     // a saved value
inline constexpr std::uint8_t kSymbolic = 2;  // a tensor without a storage
inline constexpr std::uint8_t kBefore = 4;    // lived when the recording began
inline constexpr std::uint8_t kNamed = 8;

// Fields that a file has only when the event's flags do (not) have this one.
template <class T, std::uint8_t kFlag>
struct If {
  T value{};
  bool operator==(const If&) const = default;
};
template <class T, std::uint8_t kFlag>
struct Unless {
  T value{};
  bool operator==(const Unless&) const = default;
};

// A field of an event, by its name in docs/design/recording.md.
template <class T>
struct Field {
  const char* name;
  T& value;
};
template <class T>
constexpr Field<T> field(const char* name, T& content) {
  return {name, content};
}
#define TENURE_EVENT(kind, ...)                                  \
  static constexpr const char* kName = kind;                     \
  static constexpr auto fields(auto& event) {                    \
    return std::tuple(TENURE_FIELDS(field, event, __VA_ARGS__)); \
  }

// The first three have no time: they define what the others refer to.

template <class Form>
struct About {
  Form::Text program{}, version{};
  Signed started{};  // nanoseconds since 1970
  TENURE_EVENT("about", program, version, started)
};

template <class Form>
struct String {  // the next one; the first is 1
  Spelled text{};
  TENURE_EVENT("string", text)
};

template <class Form>
struct Line {  // the next site; the first is 1
  Form::Text file{};
  std::uint32_t line{};
  Form::Text function{};
  TENURE_EVENT("site", file, line, function)
};

template <class Form>
struct Birth {
  Flags flags{};  // what is small stands together: most records in a ring are births
  Category category = Category::other;
  Form::DType dtype{};
  Form::Shape shape{};
  If<typename Form::Text, kNamed> name{};
  Form::Holder holder{};
  Id id{};
  Unless<typename Form::Storage, kSymbolic> storage{};
  Form::Op op{};
  Form::Site site{};
  std::uint64_t nbytes{};
  Form::Scope scope{};
  If<typename Form::Owner, kSaved> owner{};
  TENURE_EVENT("birth", flags, holder, id, storage, op, site, dtype, shape, nbytes, category, scope,
               name, owner)
};

template <class Form>
struct Death {
  Form::Holder holder{};
  Form::Cause cause{};
  Form::Site site{};
  Form::Ender by{};
  TENURE_EVENT("death", holder, cause, site, by)
};

template <class Form>
struct Name {
  Form::Holder holder{};
  Form::Text name{};
  TENURE_EVENT("name", holder, name)
};

template <class Form>
struct Claim {  // what the holder wants its bytes for
  Form::Holder holder{};
  Category category = Category::other;
  TENURE_EVENT("claim", holder, category)
};

template <class Form>
struct Move {  // the holder holds another storage; `at_birth`: and never really held the one before
  Form::Holder holder{};
  Form::Storage storage{};
  bool at_birth = false;
  TENURE_EVENT("move", holder, storage, at_birth)
};

template <class Form>
struct Allocate {
  Form::Storage storage{};
  Bytes nbytes{}, capacity{};  // capacity 0: memory from outside, which counts for nothing
  bool before = false;
  TENURE_EVENT("allocate", storage, nbytes, capacity, before)
};

template <class Form>
struct Free {
  Form::Storage storage{};
  Bytes nbytes{}, capacity{};
  TENURE_EVENT("free", storage, nbytes, capacity)
};

template <class Form>
struct SpanBegin {
  Form::Span span{};
  Form::Literal kind{};
  Form::Text name{};
  Form::Site site{};
  Instance instance{};
  TENURE_EVENT("span begin", span, kind, name, site, instance)
};

template <class Form>
struct SpanEnd {
  Form::Span span{};
  TENURE_EVENT("span end", span)
};

template <class Form>
struct OpEnd {
  Form::Literal op{};
  Form::Site site{};
  Form::Duration duration{};
  std::uint64_t bytes{};  // of its results
  TENURE_EVENT("op", op, site, duration, bytes)
};

template <class Form>
struct Value {
  Form::Text name{};
  std::uint64_t step{};
  double value{};
  TENURE_EVENT("value", name, step, value)
};

template <class Form>
struct PoolSize {
  std::uint64_t reserved{}, pooled{};
  TENURE_EVENT("pool", reserved, pooled)
};

template <class Form>
struct Budget {
  std::uint64_t bytes{};
  TENURE_EVENT("budget", bytes)
};

template <class Form>
struct RaisedText {  // an error as writers told of it before there was Raised
  Form::Text text{};
  Form::Site site{};
  std::uint64_t tensor{};
  TENURE_EVENT("raised text", text, site, tensor)
};

template <class Form>
struct Live {  // bytes, counted when all that lives has been told
  Bytes bytes{};
  TENURE_EVENT("live", bytes)
};

template <class Form>
struct End {  // of a recording that was closed
  std::uint64_t events{};
  bool whole_process = false;
  TENURE_EVENT("end", events, whole_process)
};

template <class Form>
struct Raised {          // an error, in its parts and in words
  Form::Literal type{};  // the class
  Form::Text op{}, problem{}, remedy{}, text{};
  Form::Site site{};
  std::uint64_t tensor{};  // its id, or one that no tensor has
  TENURE_EVENT("raised", type, op, problem, remedy, text, site, tensor)
};

template <class Form>
struct Language {  // of the program; C++ where none is told
  Form::Text name{};
  TENURE_EVENT("language", name)
};

template <class Form>
struct LastUse {  // of what lives at the end, told then by writers that know
  Form::Holder holder{};
  std::uint64_t ago{};  // nanoseconds
  TENURE_EVENT("last use", holder, ago)
};

#undef TENURE_EVENT

// In the order of their numbers, from 1 on: a new kind comes last.
template <class Form>
using Kinds =
    std::tuple<About<Form>, String<Form>, Line<Form>, Birth<Form>, Death<Form>, Name<Form>,
               Claim<Form>, Move<Form>, Allocate<Form>, Free<Form>, SpanBegin<Form>, SpanEnd<Form>,
               OpEnd<Form>, Value<Form>, PoolSize<Form>, Budget<Form>, RaisedText<Form>, Live<Form>,
               End<Form>, Raised<Form>, Language<Form>, LastUse<Form>>;
inline constexpr std::size_t kFirstTimed = 4;

// Calls `fn` with the std::type_identity of each kind of a form.
template <class Form>
void for_each_kind(auto&& fn) {
  [&]<class... Event>(std::type_identity<std::tuple<Event...>>) {
    (fn(std::type_identity<Event>()), ...);
  }(std::type_identity<Kinds<Form>>());
}

template <class Event>
inline constexpr std::uint8_t kNumber = 0;  // of its kind
template <template <class> class Kind, class Form>
inline constexpr std::uint8_t kNumber<Kind<Form>> =
    []<class... Event>(std::type_identity<std::tuple<Event...>>) {
      std::uint8_t number = 0;
      (void)((++number, std::is_same_v<Event, Kind<Form>>) || ...);
      return number;
    }(std::type_identity<Kinds<Form>>());

// Calls `fn` with each field of an event, in their order.
template <class Event>
constexpr void for_each_field(Event& event, auto&& fn) {
  std::apply([&](auto... each) { (fn(each.name, each.value), ...); }, Event::fields(event));
}

}  // namespace tenure::detail::events
