// Errors about the life of something that is no tensor and has no story, such as a tape: a
// recording is told of them, then they are thrown.
#pragma once

#include <type_traits>
#include <utility>

#include "core/raise.h"
#include "memory/events.h"

namespace tenure::detail {

template <class E, class... Details>
[[noreturn]] void throw_recorded(ErrorRecord&& record, std::source_location site,
                                 Details&&... details) {
  static_assert(std::is_same_v<E, BusyError> || std::is_same_v<E, TapeError>);
  E error(std::move(record), std::forward<Details>(details)...);
  events::raised(error, std::is_same_v<E, BusyError> ? "BusyError" : "TapeError", site, 0);
  throw E(std::move(error));
}

}  // namespace tenure::detail
