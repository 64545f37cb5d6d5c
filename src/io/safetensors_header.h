// The header of a safetensors file: 8 bytes of length, then JSON that says where each tensor lies
// in the bytes that follow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/origin.h"
#include "tenure/io.h"

namespace tenure::io {

struct SafetensorsEntry {
  TensorInfo info;
  std::uint64_t begin = 0;  // in the bytes after the header
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their names in the JSON
  Metadata metadata;
};

// `data_size` is how many bytes follow. Every entry is checked: known type, shape and offsets that
// agree, names used once, and bytes that are covered without holes or overlaps. IoError.
SafetensorsHeader parse_safetensors_header(const Origin& origin, std::string_view json,
                                           std::uint64_t data_size);

// The JSON alone. ValueError for text that is not UTF-8.
std::string write_safetensors_header(const SafetensorsHeader& header);

std::string_view safetensors_type(DType dtype);

// More than this is refused by every reader of the format.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

}  // namespace tenure::io
