#include "report/encoder.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <vector>

#include "core/raise.h"
#include "memory/text.h"

namespace tenure::report {

Text Encoder::string_of(std::string_view literal) {
  return literals_.at(key(literal.data()), [&] { return writer_.string(literal); });
}

Text Encoder::encoded(InRing::Op op) {
  if (!op.backward) return string_of(op.name);
  return gradients_.at(key(op.name),
                       [&] { return writer_.string(fmt::format("gradient of {}", op.name)); });
}

Place Encoder::encoded(std::source_location at) {
  // A location is a pointer to what it says, and null where it says nothing.
  const auto address = std::bit_cast<std::uint64_t>(at);
  if (address == 0) return {};
  return sites_.at(address, [&] {
    return at.line() == 0 ? Place() : writer_.site(at.file_name(), at.line(), at.function_name());
  });
}

// Two that have the same hash are a matter of chance: the second is put into words every time.
template <class Word>
Text Encoder::worded(std::uint64_t kind, Bytes bytes, Word&& word) {
  const Worded& known = worded_.at((checksum(bytes, 1) ^ kind) | 1, [&] {
    return Worded{kind, std::string(text_of(bytes)), writer_.string(word())};
  });
  const bool is_same = known.kind == kind && known.bytes == text_of(bytes);
  return is_same ? known.text : writer_.string(word());
}

Text Encoder::encoded(InRing::Shape shape) {
  const Bytes bytes = take(shape.copied);
  return worded(0, bytes, [&] {
    std::vector<std::int64_t> dims(bytes.size() / sizeof(std::int64_t));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(dims)).begin());
    return to_string(Shape(dims));
  });
}

Text Encoder::encoded(InRing::Owner owner) {
  const Bytes text = take(owner.copied);
  if (owner.kind == nullptr) return {};
  return worded(key(owner.kind), text,
                [&] { return detail::label_text(owner.kind, text_of(text)); });
}

Text Encoder::encoded(InRing::Ender ender) {
  const Bytes text = take(ender.copied);
  if (ender.kind == nullptr) return {};
  const std::uint64_t verb = (std::uint64_t{1} + static_cast<std::uint64_t>(ender.cause)) << 56;
  return worded(key(ender.kind) ^ verb, text,
                [&] { return detail::ended_by(ender.cause, ender.kind, text_of(text)); });
}

template <template <class> class Kind>
void Encoder::write(const events::Recorded<Kind<InRing>>& record, std::uint32_t thread) {
  copies_ = reinterpret_cast<const std::byte*>(&record + 1);
  Told<Kind> event;
  std::apply(
      [&](auto... to) {
        std::apply([&](auto... from) { ((to.value = encoded(from.value)), ...); },
                   Kind<InRing>::fields(record.event));
      },
      Told<Kind>::fields(event));
  writer_.write(record.time - start_, thread, event);
}

void Encoder::write(const events::Record& record, std::uint32_t thread) {
  using Write = void (*)(Encoder&, const events::Record&, std::uint32_t);
  static constexpr auto kWrite = []<class... Event>(std::type_identity<std::tuple<Event...>>) {
    return std::array<Write, sizeof...(Event)>{
        [](Encoder& encoder, const events::Record& told, std::uint32_t on) {
          if constexpr (events::kNumber<Event> >= events::kFirstTimed) {
            encoder.write(static_cast<const events::Recorded<Event>&>(told), on);
          }
        }...};
  }(std::type_identity<events::Kinds<InRing>>());
  time_ = record.time;
  kWrite[record.kind - 1](*this, record, thread);
}

}  // namespace tenure::report
