#include "report/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/raise.h"
#include "memory/text.h"

namespace tenure::report {

namespace events = detail::events;
using events::Kind;
using events::tail_of;
using events::text_at;

namespace {

template <class Event>
const Event& as(const events::Record& record) {
  return static_cast<const Event&>(record);
}

}  // namespace

std::size_t Encoder::DimsHash::operator()(const std::vector<std::int64_t>& dims) const {
  std::size_t hash = dims.size();
  for (const std::int64_t dim : dims) {
    hash = (hash ^ static_cast<std::size_t>(dim)) * std::size_t{0x9e3779b97f4a7c15};
  }
  return hash;
}

Writer::Text Encoder::literal(std::string_view text) {
  const auto [found, added] = literals_.try_emplace(text.data(), 0);
  if (added) found->second = writer_.string(text);
  return found->second;
}

Writer::Text Encoder::gradient_of(const char* op) {
  const auto [found, added] = gradients_.try_emplace(op, 0);
  if (added) found->second = writer_.string(fmt::format("gradient of {}", op));
  return found->second;
}

Writer::Text Encoder::shape(const std::byte* dims, std::size_t rank) {
  dims_.resize(rank);
  std::copy_n(dims, rank * sizeof(std::int64_t), std::as_writable_bytes(std::span(dims_)).data());
  const auto [found, added] = shapes_.try_emplace(dims_, 0);
  if (added) found->second = writer_.string(to_string(Shape(dims_)));
  return found->second;
}

Writer::Place Encoder::site(std::source_location at) {
  if (at.line() == 0) return 0;
  const Location key{at.file_name(), at.function_name(), at.line()};
  const auto [found, added] = sites_.try_emplace(key, 0);
  if (added) found->second = writer_.site(key.file, key.line, key.function);
  return found->second;
}

void Encoder::write_birth(const events::BirthEvent& event, std::uint32_t thread) {
  const std::byte* dims = tail_of(event);
  const std::byte* owner = dims + event.rank * sizeof(std::int64_t);
  const std::byte* name = owner + event.owner_size;
  Writer::Birth birth;
  birth.saved = (event.flags & events::kSaved) != 0;
  birth.symbolic = event.storage == nullptr;
  birth.before = (event.flags & events::kBefore) != 0;
  birth.holder = holders_.of(event.holder);
  if (!birth.symbolic) birth.storage = storages_.of(event.storage);
  birth.id = event.id;
  birth.op = (event.flags & events::kBackward) != 0 ? gradient_of(event.op) : literal(event.op);
  birth.dtype = literal(tenure::name(event.dtype));
  birth.shape = shape(dims, event.rank);
  birth.site = site(event.site);
  birth.nbytes = event.nbytes;
  birth.category = event.claim;
  birth.scope = event.scope != nullptr ? spans_.of(event.scope) + 1 : 0;
  birth.name = writer_.string(text_at(name, event.name_size));
  if (!event.owner_kind.empty()) {
    birth.owner =
        writer_.string(detail::label_text(event.owner_kind, text_at(owner, event.owner_size)));
  }
  writer_.birth(event.time - start_, thread, birth);
}

void Encoder::write_death(const events::DeathEvent& event, std::uint32_t thread) {
  Writer::Text by = 0;
  if (!event.by_kind.empty()) {
    by = writer_.string(
        detail::ended_by(event.cause, event.by_kind, text_at(tail_of(event), event.by_size)));
  }
  const Writer::Text cause = literal(tenure::name(event.cause));
  writer_.death(event.time - start_, thread, holders_.of(event.holder), cause, site(event.site),
                by);
}

void Encoder::write(const events::Record& record, std::uint32_t thread) {
  const std::int64_t time = record.time - start_;
  switch (record.kind) {
    case Kind::skip:
      break;
    case Kind::birth:
      write_birth(as<events::BirthEvent>(record), thread);
      break;
    case Kind::death:
      write_death(as<events::DeathEvent>(record), thread);
      break;
    case Kind::name: {
      const auto& event = as<events::NameEvent>(record);
      const Writer::Text name = writer_.string(text_at(tail_of(event), event.name_size));
      writer_.name(time, thread, holders_.of(event.holder), name);
      break;
    }
    case Kind::claim: {
      const auto& event = as<events::HolderEvent>(record);
      writer_.claim(time, thread, holders_.of(event.holder), event.claim);
      break;
    }
    case Kind::move: {
      const auto& event = as<events::HolderEvent>(record);
      writer_.move(time, thread, holders_.of(event.holder), storages_.of(event.storage),
                   event.at_birth);
      break;
    }
    case Kind::allocate:
    case Kind::free: {
      const auto& event = as<events::StorageEvent>(record);
      const Writer::Allocation allocation{storages_.of(event.storage), event.nbytes, event.capacity,
                                          event.before};
      if (record.kind == Kind::allocate) {
        writer_.allocate(time, thread, allocation);
      } else {
        writer_.free(time, thread, allocation);
      }
      break;
    }
    case Kind::span_begin: {
      const auto& event = as<events::SpanEvent>(record);
      const Writer::Text kind = literal(event.kind_text);
      const Writer::Text name = writer_.string(text_at(tail_of(event), event.name_size));
      writer_.begin_span(time, thread, spans_.of(event.span), kind, name, site(event.site),
                         event.before, event.of);
      break;
    }
    case Kind::span_end:
      writer_.end_span(time, thread, spans_.of(as<events::SpanEvent>(record).span));
      break;
    case Kind::op: {
      const auto& event = as<events::OpEvent>(record);
      const Writer::Text op = literal(event.op);
      writer_.op(event.begin - start_, time, thread, op, site(event.site), event.bytes);
      break;
    }
    case Kind::value: {
      const auto& event = as<events::ValueEvent>(record);
      const Writer::Text name = writer_.string(text_at(tail_of(event), event.name_size));
      writer_.value(time, thread, name, event.step, event.value);
      break;
    }
    case Kind::pool: {
      const auto& event = as<events::NumbersEvent>(record);
      writer_.pool(time, thread, event.first, event.second);
      break;
    }
    case Kind::budget:
      writer_.budget(time, thread, as<events::NumbersEvent>(record).first);
      break;
    case Kind::live:
      writer_.live(time, thread, as<events::NumbersEvent>(record).first);
      break;
    case Kind::raised: {
      const auto& event = as<events::RaisedEvent>(record);
      const Writer::Text text = writer_.string(text_at(tail_of(event), event.text_size));
      writer_.raised(time, thread, text, site(event.site), event.tensor);
      break;
    }
  }
}

}  // namespace tenure::report
