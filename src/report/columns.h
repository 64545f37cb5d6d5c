// Named columns of numbers in one block of bytes, for the page.
//
// A column is: length of its name (1 byte), name, kind (1 byte), number of values, number of
// bytes, bytes. Both numbers are LEB128. Whole numbers are stored as differences from the one
// before, zigzag LEB128: times and indices mostly grow by little, and deflate does the rest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/format.h"
#include "report/run.h"

namespace tenure::report {

class Columns {
 public:
  // One value per element of `rows`; `value` gives an integer. kNone becomes -1.
  template <class Rows, class Value>
  void whole(std::string_view name, const Rows& rows, Value value) {
    std::string bytes;
    std::int64_t last = 0;
    for (const auto& row : rows) {
      const auto number = value(row);
      std::int64_t next = static_cast<std::int64_t>(number);
      if constexpr (std::is_same_v<decltype(number), const std::uint32_t>) {
        if (number == kNone) next = -1;
      }
      // Wraps around where the difference of two extremes does not fit; the reader's sums do too.
      const auto step = static_cast<std::int64_t>(static_cast<std::uint64_t>(next) -
                                                  static_cast<std::uint64_t>(last));
      append_varint(bytes, zigzag(step));
      last = next;
    }
    append(name, Kind::whole, rows.size(), bytes);
  }

  void reals(std::string_view name, const std::vector<double>& values);
  // As UTF-8, with a column of lengths in bytes beside it.
  void texts(std::string_view name, const std::vector<std::string>& texts);

  const std::string& bytes() const { return bytes_; }

 private:
  enum class Kind : std::uint8_t { bytes, whole, reals };

  static void append_varint(std::string& to, std::uint64_t value);
  void append(std::string_view name, Kind kind, std::size_t count, std::string_view bytes);

  std::string bytes_;
};

}  // namespace tenure::report
