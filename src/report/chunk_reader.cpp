#include "report/chunk_reader.h"

#include "io/endian.h"

namespace tenure::report {

std::span<const std::byte> ChunkReader::take(std::uint64_t count) {
  if (count > bytes_.size()) origin_->fail("damaged: an event is cut off");
  const auto taken = bytes_.first(static_cast<std::size_t>(count));
  bytes_ = bytes_.subspan(taken.size());
  return taken;
}

std::uint64_t ChunkReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto next = static_cast<std::uint8_t>(take(1)[0]);
    value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
    if ((next & 0x80) == 0) return value;
  }
  origin_->fail("damaged: a number that does not end");
}

void ChunkReader::get(std::uint64_t& number) { number = varint(); }

void ChunkReader::get(std::uint32_t& line) {
  const std::uint64_t number = varint();
  if (number >= kNone) origin_->fail("damaged: {} is no line", number);
  line = static_cast<std::uint32_t>(number);
}

void ChunkReader::get(bool& mark) { mark = varint() != 0; }

void ChunkReader::get(Category& category) {
  const std::uint64_t number = varint();
  if (number >= kCategories) origin_->fail("damaged: there is no category {}", number);
  category = static_cast<Category>(number);
}

void ChunkReader::get(double& number) {
  number = io::load_little<double>(take(sizeof number).data());
}

void ChunkReader::get(Text& text) {
  const std::uint64_t number = varint();
  if (number >= defined_->strings.size()) {
    origin_->fail("damaged: there is no string {}", number);
  }
  text.number = static_cast<std::uint32_t>(number);
}

void ChunkReader::get(Place& place) {
  const std::uint64_t number = varint();
  if (number > defined_->sites.size()) origin_->fail("damaged: there is no site {}", number);
  place.number = static_cast<std::uint32_t>(number);
}

void ChunkReader::get(events::Bytes& bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
  bytes.count = varint();
  if (bytes.count > kMost) origin_->fail("damaged: {} bytes in one place", bytes.count);
}

void ChunkReader::get(events::Signed& value) { value.number = unzigzag(varint()); }

void ChunkReader::get(events::Instance& instance) {
  const std::uint64_t number = varint();
  instance = {number >> 1, (number & 1) != 0};
}

void ChunkReader::get(events::Spelled& spelled) {
  const auto text = take(varint());
  spelled.text = {reinterpret_cast<const char*>(text.data()), text.size()};
}

void ChunkReader::get(events::Id& id) {
  last_id_ += static_cast<std::uint64_t>(unzigzag(varint()));
  id.number = last_id_;
}

void ChunkReader::get(events::Flags& flags) {
  flags_.bits = static_cast<std::uint8_t>(take(1)[0]);
  flags = flags_;
}

ReadEvent ChunkReader::next() {
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 59;  // 18 years
  ReadEvent event;
  const auto kind = static_cast<std::uint8_t>(take(1)[0]);
  if (kind >= events::kFirstTimed) {
    const std::uint64_t since = varint();
    if (since > kLongest || time_ > static_cast<std::int64_t>(kLongest)) {
      origin_->fail("damaged: an event later than any");
    }
    time_ += static_cast<std::int64_t>(since);
    event.time = time_;
  }
  bool is_known = false;
  events::for_each_kind<InFile>([&]<class Event>(std::type_identity<Event>) {
    if (kind != events::kNumber<Event>) return;
    is_known = true;
    auto& told = event.told.emplace<Event>();
    events::for_each_field(told, [&](auto, auto& field) { get(field); });
  });
  if (!is_known) {
    origin_->fail("an event of a kind that is not known: {}: written by a newer version?",
                  static_cast<int>(kind));
  }
  return event;
}

}  // namespace tenure::report
