// Where a model or its weights may be written: under no ending that belongs to another format, by
// which other programs, and people, would take the file for what it is not.
#pragma once

#include <string>

namespace tenure::nn::detail {

// A ValueError that names a path to take instead. `op` is who was given this one.
void check_model_path(const char* op, const std::string& path);

}  // namespace tenure::nn::detail
