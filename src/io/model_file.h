// Keys of a model in the metadata of its file.
#pragma once

namespace tenure::io {

extern const char* const kFormatKey;
extern const char* const kModelKey;
extern const char* const kCompileKey;
extern const char* const kFormat;  // the value of the first

}  // namespace tenure::io
