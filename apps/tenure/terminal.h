// What commands print with: colours where a person looks, tables that fit the window, small graphs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::app {

enum class Colour : std::uint8_t { bold, dim, red, green, yellow, cyan };

// Standard output: a terminal that wants colours, its width, and whether it shows UTF-8.
struct Terminal {
  bool is_terminal = false;
  bool has_colours = false;  // NO_COLOR is respected
  bool has_utf8 = false;
  int width = 100;  // without a terminal, COLUMNS or 100

  std::string paint(Colour colour, std::string_view text) const;
};
Terminal terminal();

std::size_t display_width(std::string_view text);           // of UTF-8
std::string cut(std::string_view text, std::size_t width);  // ~ at the end says that it was longer
// Lines of at most `width`, broken at blanks, each behind `indent`.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent);

// One character per value, from 0 to the largest of all.
std::string sparkline(const Terminal& to, const std::vector<std::uint64_t>& values,
                      std::uint64_t largest);

struct Column {
  std::string title;
  bool is_number = false;
  bool is_flexible = false;  // cut when the row is too long for the terminal
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  std::string text(const Terminal& to, std::string_view indent = "  ") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tenure::app
