// The library's way into a CsvReader.
#pragma once

#include "tenure/io.h"

namespace tenure::io {

struct CsvAccess {
  static std::uint64_t offset(const CsvReader& reader);  // of the current row
  static void seek(CsvReader& reader, std::uint64_t offset, std::size_t line);
  static void parse(const CsvReader& reader, std::size_t column, DType dtype, void* to);
};

}  // namespace tenure::io
