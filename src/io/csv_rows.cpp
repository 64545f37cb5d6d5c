#include "io/csv_rows.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace tenure::io {
namespace {

constexpr std::size_t kBuffer = std::size_t{256} << 10;
// A row of more fields would cost far more than its bytes.
constexpr std::size_t kMostFields = std::size_t{1} << 20;
// A longer row is a quote that was never closed, or not a table.
constexpr std::size_t kLongestRow = std::size_t{64} << 20;

}  // namespace

CsvRows::CsvRows(const std::string& path, char delimiter, char quote, char comment)
    : origin_{"csv", path},
      descriptor_(open_for_reading(origin_, false)),
      delimiter_(static_cast<unsigned char>(delimiter)),
      quote_(quote == '\0' ? kNone : static_cast<unsigned char>(quote)),
      comment_(comment == '\0' ? kNone : static_cast<unsigned char>(comment)),
      buffer_(kBuffer),
      most_(kBuffer) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  while (end_ < kByteOrderMark.size() && fill()) {
  }
  if (std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark)) {
    next_ = kByteOrderMark.size();
  }
}

void CsvRows::seek(std::uint64_t offset, std::size_t line) {
  constexpr std::size_t kFirstRead = 4096;
  if (::lseek(descriptor_.get(), static_cast<off_t>(offset), SEEK_SET) < 0) {
    origin_.fail("cannot be read from byte {}: {}", offset, std::generic_category().message(errno));
  }
  begin_ = next_ = end_ = 0;
  at_end_ = false;
  read_ = offset;
  most_ = kFirstRead;
  line_ = row_line_ = line;
  fields_.clear();
}

bool CsvRows::fill() {
  if (at_end_) return false;
  if (begin_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kLongestRow) {
      origin_.fail("line {}: a row of more than {} bytes: a quote that is not closed?", row_line_,
                   kLongestRow);
    }
    buffer_.resize(buffer_.size() * 2);
  }
  for (;;) {
    const std::size_t wanted = std::min(most_, buffer_.size() - end_);
    const ssize_t count = ::read(descriptor_.get(), buffer_.data() + end_, wanted);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      origin_.fail("cannot be read after line {}: {}", line_,
                   std::generic_category().message(errno));
    }
    at_end_ = count == 0;
    end_ += static_cast<std::size_t>(count);
    read_ += static_cast<std::uint64_t>(count);
    most_ = std::max(most_, std::min(2 * most_, kBuffer));
    return count != 0;
  }
}

int CsvRows::at(std::size_t i) {
  while (begin_ + i >= end_) {
    if (!fill()) return kEnd;
  }
  return static_cast<unsigned char>(buffer_[begin_ + i]);
}

bool CsvRows::skip_line() {
  std::size_t i = 0;
  // A delimiter may be a blank itself; it then begins a field.
  while (at(i) != delimiter_ && (at(i) == ' ' || at(i) == '\t')) ++i;
  if (at(i) != comment_) {
    if (at(i) == '\r' && at(i + 1) == '\n') ++i;
    const int c = at(i);
    if (c != '\n' && (c != kEnd || i == 0)) return false;
    begin_ += i;
  } else {
    // Dropped piece by piece, however long it is.
    begin_ += i;
    while (at(0) != kEnd && at(0) != '\n') ++begin_;
  }
  if (at(0) == '\n') {
    ++begin_;
    ++line_;
  }
  return true;
}

bool CsvRows::next() {
  begin_ = next_;
  fields_.clear();
  row_line_ = line_;
  while (skip_line()) row_line_ = line_;
  if (at(0) == kEnd) {
    next_ = begin_;
    return false;
  }
  std::size_t i = 0;
  do {
    if (fields_.size() == kMostFields) {
      origin_.fail("line {}: more than {} fields", row_line_, kMostFields);
    }
    if (at(i) == quote_) {
      quoted_field(i);
    } else {
      plain_field(i);
    }
  } while (!end_of_field(i));
  next_ = begin_ + i;
  return true;
}

void CsvRows::plain_field(std::size_t& i) {
  const std::size_t begin = i;
  const auto ends = [delimiter = static_cast<char>(delimiter_)](char c) {
    return c == '\n' || c == delimiter;
  };
  do {
    const char* const first = buffer_.data() + begin_ + i;
    const char* const last = buffer_.data() + end_;
    const char* const end = std::find_if(first, last, ends);
    i += static_cast<std::size_t>(end - first);
    if (end != last) break;
  } while (fill());
  std::size_t size = i - begin;
  if (at(i) != delimiter_ && size != 0 && buffer_[begin_ + i - 1] == '\r') {
    --size;
  }
  fields_.push_back({begin, size});
}

// Doubled quotes become one where they stand, which moves the rest of the field down.
void CsvRows::quoted_field(std::size_t& i) {
  const std::size_t opened = line_;
  const std::size_t begin = ++i;
  std::size_t to = begin;
  for (;; ++i) {
    const int c = at(i);
    if (c == kEnd) {
      origin_.fail("line {}: column {}: the quote is never closed", opened, fields_.size() + 1);
    }
    if (c == quote_) {
      ++i;
      if (at(i) != quote_) break;
    }
    if (c == '\n') ++line_;
    buffer_[begin_ + to++] = static_cast<char>(c);
  }
  fields_.push_back({begin, to - begin});
  if (at(i) == '\r' && (at(i + 1) == '\n' || at(i + 1) == kEnd)) ++i;
  const int c = at(i);
  if (c != kEnd && c != '\n' && c != delimiter_) {
    origin_.fail("line {}: column {}: text follows the closing quote", line_, fields_.size());
  }
}

bool CsvRows::end_of_field(std::size_t& i) {
  const int c = at(i);
  if (c == kEnd) return true;
  ++i;
  if (c != '\n') return false;
  ++line_;
  return true;
}

}  // namespace tenure::io
