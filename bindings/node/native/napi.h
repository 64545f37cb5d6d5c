// Node-API's answers as exceptions of ours.
#pragma once

#include <node_api.h>

#include <string>

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

}  // namespace tenure::node
