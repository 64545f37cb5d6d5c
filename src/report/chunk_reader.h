// The events of one chunk, each with everything in it checked: what an event refers to has been
// defined before it.
#pragma once

#include <cstddef>
#include <span>
#include <variant>

#include "io/origin.h"
#include "report/format.h"

namespace tenure::report {

template <class Events>
struct OneOf;
template <class... Event>
struct OneOf<std::tuple<Event...>> : std::variant<Event...> {
  using std::variant<Event...>::variant;
};

struct ReadEvent {
  std::int64_t time = 0;  // 0 for a definition
  OneOf<events::Kinds<InFile>> told;
  bool is_definition() const { return told.index() + 1 < events::kFirstTimed; }
};

class ChunkReader {
 public:
  // `defined` has the strings and sites of the file up to here.
  ChunkReader(const io::Origin& origin, const Run& defined, std::span<const std::byte> payload)
      : origin_(&origin), defined_(&defined), bytes_(payload) {}

  bool at_end() const { return bytes_.empty(); }
  ReadEvent next();

 private:
  void get(std::uint64_t& number);
  void get(std::uint32_t& line);
  void get(bool& mark);
  void get(Category& category);
  void get(double& number);
  void get(Text& text);
  void get(Place& place);
  void get(events::Bytes& bytes);
  void get(events::Signed& value);
  void get(events::Instance& instance);
  void get(events::Spelled& spelled);
  void get(events::Id& id);
  void get(events::Flags& flags);
  template <class T, std::uint8_t kFlag>
  void get(events::If<T, kFlag>& field) {
    if (flags_.has(kFlag)) get(field.value);
  }
  template <class T, std::uint8_t kFlag>
  void get(events::Unless<T, kFlag>& field) {
    if (!flags_.has(kFlag)) get(field.value);
  }
  std::span<const std::byte> take(std::uint64_t count);
  std::uint64_t varint();

  const io::Origin* origin_;
  const Run* defined_;
  std::span<const std::byte> bytes_;  // not read yet
  std::int64_t time_ = 0;
  std::uint64_t last_id_ = 0;
  events::Flags flags_;  // of the event that is being read
};

}  // namespace tenure::report
