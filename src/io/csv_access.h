// The library's way into a CsvReader.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tenure/io.h"

namespace tenure::io {

struct CsvAccess {
  static std::uint64_t offset(const CsvReader& reader);  // of the current row
  static void seek(CsvReader& reader, std::uint64_t offset, std::size_t line);
  // To the next row, however many fields it has; what is wrong with their number.
  static bool advance(CsvReader& reader);
  static std::optional<std::string> wrong_width(const CsvReader& reader);
  // Nothing where the row has fewer.
  static std::optional<std::string_view> field(const CsvReader& reader, std::size_t column);
  // Reads a number, or tells what is wrong with it.
  static std::optional<std::string> fault(const CsvReader& reader, std::size_t column, DType dtype,
                                          void* to);
  static void parse(const CsvReader& reader, std::size_t column, DType dtype, void* to);
};

}  // namespace tenure::io
