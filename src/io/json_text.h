// JSON as text. A library's document is not built for it: one whose memory runs out half way cannot
// be taken apart again.
#pragma once

#include <string>
#include <string_view>

namespace tenure::io {

bool is_utf8(std::string_view text);

// Appends `text`, which is UTF-8, as a JSON string.
void append_json_string(std::string& json, std::string_view text);

}  // namespace tenure::io
