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
Text Encoder::worded(std::uint64_t kind, std::span<const std::byte> bytes, Word&& word) {
  const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const Worded& known = worded_.at((checksum(bytes, 1) ^ kind) | 1, [&] {
    return Worded{kind, std::string(view), writer_.string(word())};
  });
  const bool is_same = known.kind == kind && known.bytes == view;
  return is_same ? known.text : writer_.string(word());
}

Text Encoder::encoded(InRing::Shape shape) {
  return worded(0, std::as_bytes(shape.copied), [&] {
    return to_string(Shape(std::vector(shape.copied.begin(), shape.copied.end())));
  });
}

Text Encoder::encoded(InRing::Owner owner) {
  if (owner.kind == nullptr) return {};
  return worded(key(owner.kind), std::as_bytes(std::span(owner.copied)),
                [&] { return detail::label_text(owner.kind, owner.copied); });
}

Text Encoder::encoded(InRing::Ender ender) {
  if (ender.kind == nullptr) return {};
  const std::uint64_t verb = (std::uint64_t{1} + static_cast<std::uint64_t>(ender.cause)) << 56;
  return worded(key(ender.kind) ^ verb, std::as_bytes(std::span(ender.copied)),
                [&] { return detail::ended_by(ender.cause, ender.kind, ender.copied); });
}

template <template <class> class Kind>
void Encoder::write(const events::Recorded<Kind<InRing>>& record, std::uint32_t thread) {
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
