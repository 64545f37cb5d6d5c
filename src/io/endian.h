// Numbers in files. The host is little-endian, as every machine Tenure runs on.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

namespace tenure::io {

static_assert(std::endian::native == std::endian::little);

template <class T>
T load_little(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store_little(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace tenure::io
