#include "report/encoder.h"

#include <fmt/format.h>

#include "core/raise.h"
#include "memory/text.h"

namespace tenure::report {

std::size_t Encoder::DimsHash::operator()(const std::vector<std::int64_t>& dims) const {
  std::size_t hash = dims.size();
  for (const std::int64_t dim : dims) {
    hash = (hash ^ static_cast<std::size_t>(dim)) * std::size_t{0x9e3779b97f4a7c15};
  }
  return hash;
}

Text Encoder::string_of(std::string_view literal) {
  const auto [known, is_new] = literals_.try_emplace(literal.data());
  if (is_new) known->second = writer_.string(literal);
  return known->second;
}

Text Encoder::encoded(InRing::Op op) {
  if (!op.backward) return string_of(op.name);
  const auto [known, is_new] = gradients_.try_emplace(op.name);
  if (is_new) known->second = writer_.string(fmt::format("gradient of {}", op.name));
  return known->second;
}

Text Encoder::encoded(InRing::Shape shape) {
  dims_.assign(shape.copied.begin(), shape.copied.end());
  const auto [known, is_new] = shapes_.try_emplace(dims_);
  if (is_new) known->second = writer_.string(to_string(Shape(dims_)));
  return known->second;
}

Text Encoder::encoded(InRing::Owner owner) {
  if (owner.kind == nullptr) return {};
  return writer_.string(detail::label_text(owner.kind, owner.copied));
}

Text Encoder::encoded(InRing::Ender ender) {
  if (ender.kind == nullptr) return {};
  return writer_.string(detail::ended_by(ender.cause, ender.kind, ender.copied));
}

Place Encoder::encoded(std::source_location at) {
  if (at.line() == 0) return {};
  const Location key{at.file_name(), at.function_name(), at.line()};
  const auto [known, is_new] = sites_.try_emplace(key);
  if (is_new) known->second = writer_.site(key.file, key.line, key.function);
  return known->second;
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
  time_ = record.time;
  events::for_each_kind<InRing>([&]<class Event>(std::type_identity<Event>) {
    if constexpr (events::kNumber<Event> >= events::kFirstTimed) {
      if (record.kind == events::kNumber<Event>) {
        write(static_cast<const events::Recorded<Event>&>(record), thread);
      }
    }
  });
}

}  // namespace tenure::report
