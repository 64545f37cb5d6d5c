// What a file is, by its first bytes: its name may say anything. Readers that are given a file of
// another kind tell which one it is, and what reads it.
#pragma once

#include <cstdint>

#include "io/file.h"

namespace tenure::io {

enum class FileKind : std::uint8_t {
  safetensors,
  npy,
  npz,
  json,
  keras,
  hdf5,
  pytorch,
  pickle,
  onnx,
  saved_model,
  zip,
  gzip,
  png,
  jpeg,
  text,
  unknown,
};

FileKind kind_of(const File& file);

// An IoError about a file that is known to be of another kind. One that may be of this kind passes:
// what is wrong in it, its reader knows better.
void check_kind(const File& file, FileKind expected);

// Where a file is expected.
[[noreturn]] void refuse_folder(const Origin& origin);

}  // namespace tenure::io
