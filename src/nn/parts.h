// Parts by name and from files.
#pragma once

#include "nn/config.h"
#include "tenure/nn/parts.h"

namespace tenure::nn::detail {

// "glorot_uniform", "glorotUniform" and "GlorotUniform" name the same.
std::string plain_name(std::string_view name);

// A number in a part's settings.
double number_in(const Json& config, const char* key, double otherwise);

Initializer initializer_from(const std::string& name, const Json& config);
Regularizer regularizer_from(const std::string& name, const Json& config);
Constraint constraint_from(const std::string& name, const Json& config);

}  // namespace tenure::nn::detail
