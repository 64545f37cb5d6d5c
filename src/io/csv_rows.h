// Splits a CSV file into rows of fields, holding one row at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "io/origin.h"

namespace tenure::io {

class CsvRows {
 public:
  CsvRows(const std::string& path, char delimiter, char quote, char comment);

  bool next();  // false after the last row; blank and comment lines are none
  std::size_t line() const { return row_line_; }
  // Where the row begins in the file, and back to where one began. A regular file only.
  std::uint64_t offset() const { return read_ - (end_ - begin_); }
  void seek(std::uint64_t offset, std::size_t line);
  // Until next().
  std::size_t size() const { return fields_.size(); }
  std::string_view field(std::size_t i) const {
    return {buffer_.data() + begin_ + fields_[i].begin, fields_[i].size};
  }
  const Origin& origin() const { return origin_; }

 private:
  static constexpr int kEnd = -1;
  static constexpr int kNone = -2;  // no byte is this
  struct Field {
    std::size_t begin;  // from the row's first byte
    std::size_t size;
  };

  int at(std::size_t i);  // byte i of the row, or kEnd
  bool fill();            // reads more; false at the file's end
  bool skip_line();       // true when a blank or comment line stood here, and was skipped
  void quoted_field(std::size_t& i);
  void plain_field(std::size_t& i);
  bool end_of_field(std::size_t& i);  // true at the row's end

  Origin origin_;
  Descriptor descriptor_;
  int delimiter_;
  int quote_;
  int comment_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;   // the row
  std::size_t next_ = 0;    // what follows it
  std::size_t end_ = 0;     // of what was read
  std::uint64_t read_ = 0;  // of the file
  std::size_t most_ = 0;    // bytes to read next: few after a seek, more from then on
  bool at_end_ = false;
  std::size_t line_ = 1;
  std::size_t row_line_ = 0;
  std::vector<Field> fields_;
};

}  // namespace tenure::io
