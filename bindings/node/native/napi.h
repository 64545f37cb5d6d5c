// Node-API's answers as exceptions of ours.
#pragma once

#include <node_api.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "core/raise.h"
#include "tenure/error.h"

namespace tenure::node {

inline void check(napi_env env, napi_status status) {
  if (status == napi_ok) return;
  const napi_extended_error_info* info = nullptr;
  napi_get_last_error_info(env, &info);
  throw Error(std::string("tfjs: ") + (info != nullptr && info->error_message != nullptr
                                           ? info->error_message
                                           : "Node-API"));
}

// A number that must be an integer of 32 bits: Node-API would cut another to one.
inline std::int32_t integer_of(napi_env env, napi_value value) {
  double number = 0;
  check(env, napi_get_value_double(env, value, &number));
  const bool fits = number >= std::numeric_limits<std::int32_t>::min() &&
                    number <= std::numeric_limits<std::int32_t>::max();
  if (!fits || number != std::trunc(number)) {
    raise<ValueError>("tfjs: not an integer of 32 bits: {}", number);
  }
  return static_cast<std::int32_t>(number);
}

}  // namespace tenure::node
