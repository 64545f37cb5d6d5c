// The JSON of models, as if a stranger had written it: its size, its depth and the width of its
// objects are held against bounds before a document is made of it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "io/origin.h"
#include "nn/config.h"
#include "tenure/error.h"
#include "tenure/nn/model.h"

namespace tenure::io {

using nn::detail::Json;

Json parse_model_json(const Origin& origin, std::string_view text);

// The member, which must be there; `kind` is of the kinds below.
enum class JsonKind : std::uint8_t { object, array, string };
const Json& member(const Origin& origin, const Json& json, const char* key, JsonKind kind);
// The same, null where there is none.
const Json* find_member(const Origin& origin, const Json& json, const char* key, JsonKind kind);

// The top of a file's architecture, {"class_name": ..., "config": ...}, as a model with weights of
// zeros. `weight_bytes` is what the file has for them.
nn::Model model_from_json(const Origin& origin, const Json& json, std::uint64_t weight_bytes);

// Throws on, out of the handler that has it, what a file was refused with: that a value in it is
// wrong is an IoError about the file.
[[noreturn]] void raise_about_file(const Origin& origin, Error& error);

// Runs `fn`, which makes something of what a file says.
template <class F>
auto about_file(const Origin& origin, F&& fn) {
  try {
    return fn();
  } catch (const nlohmann::json::exception&) {
    origin.fail("a setting in the JSON is of another kind than it should be");
  } catch (Error& error) {
    raise_about_file(origin, error);
  }
}

}  // namespace tenure::io
