// Parts by name and from files.
#pragma once

#include <optional>
#include <source_location>
#include <utility>

#include "memory/context.h"
#include "nn/config.h"
#include "tenure/nn/parts.h"

namespace tenure::nn::detail {

// "glorot_uniform", "glorotUniform" and "GlorotUniform" name the same.
std::string plain_name(std::string_view name);

// A number in a part's settings.
double number_in(const Json& config, const char* key, double otherwise);

// Calls a part. One of the library's own is the user's call, of this name.
template <class P, class F>
Tensor call_part(const char* name, const P& part, std::source_location site, F&& fn) {
  std::optional<tenure::detail::CallScope> call;
  if (!part.class_name().empty()) call.emplace(name, site);
  return fn();
}

Initializer initializer_from(const std::string& name, const Json& config);
Regularizer regularizer_from(const std::string& name, const Json& config);
Constraint constraint_from(const std::string& name, const Json& config);

}  // namespace tenure::nn::detail
