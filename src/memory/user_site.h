#pragma once

#include <source_location>

#include "memory/context.h"

namespace tenure::detail {

// Where the user is: the line of the call that is running, where that is made of others, else the
// one that was given.
inline std::source_location user_site(std::source_location site) {
  const UserCall& call = context().call;
  return call.op != nullptr ? call.site : site;
}

}  // namespace tenure::detail
