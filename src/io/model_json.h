// The JSON of models, as if a stranger had written it: its size, its depth and the width of its
// objects are held against bounds before a document is made of it.
#pragma once

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "io/origin.h"
#include "tenure/nn/model.h"

namespace tenure::io {

using Json = nlohmann::ordered_json;

Json parse_model_json(const Origin& origin, std::string_view text);

// The member, which must be there; `kind` is of the kinds below.
enum class JsonKind : std::uint8_t { object, array, string };
const Json& member(const Origin& origin, const Json& json, const char* key, JsonKind kind);
// The same, null where there is none.
const Json* find_member(const Origin& origin, const Json& json, const char* key, JsonKind kind);

// The top of a file's architecture, {"class_name": ..., "config": ...}, as a model with weights of
// zeros. `weight_bytes` is what the file has for them.
nn::Model model_from_json(const Origin& origin, const Json& json, std::uint64_t weight_bytes);
// The architecture's text; `op` is named in errors.
std::string architecture_text(const char* op, const nn::Model& model);

// Throws on what a file was refused with, which is being handled: that a value in it is wrong is
// an IoError about the file.
[[noreturn]] void rethrow_about(const Origin& origin);

// Runs `fn`, which makes something of what a file says.
template <class F>
auto about_file(const Origin& origin, F&& fn) {
  try {
    return fn();
  } catch (const std::exception&) {
    rethrow_about(origin);
  }
}

}  // namespace tenure::io
