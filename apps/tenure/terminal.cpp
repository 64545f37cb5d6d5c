#include "terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace tenure::app {
namespace {

int number_in_environment(const char* variable) {
  const char* text = std::getenv(variable);
  int value = 0;
  if (text != nullptr) std::from_chars(text, text + std::string_view(text).size(), value);
  return value;
}

bool locale_is_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos;
  }
  return false;
}

}  // namespace

std::string Terminal::paint(Colour colour, std::string_view text) const {
  if (!has_colours) return std::string(text);
  constexpr std::array<int, 6> kCodes{1, 2, 31, 32, 33, 36};
  return fmt::format("\033[{}m{}\033[0m", kCodes[static_cast<std::size_t>(colour)], text);
}

Terminal terminal() {
  Terminal result;
  result.is_terminal = isatty(STDOUT_FILENO) == 1;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  result.has_colours = result.is_terminal && (no_colour == nullptr || *no_colour == '\0') &&
                       (kind == nullptr || std::string_view(kind) != "dumb");
  result.has_utf8 = locale_is_utf8();
  winsize size{};
  if (result.is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    result.width = size.ws_col;
  } else if (const int columns = number_in_environment("COLUMNS"); columns > 0) {
    result.width = columns;
  }
  result.width = std::clamp(result.width, 72, 160);
  return result;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string cut(std::string_view text, std::size_t width) {
  std::size_t seen = 0, end = 0;
  for (; end < text.size(); ++end) {
    const bool is_start = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (is_start && seen++ == width - 1) break;
  }
  return std::string(text.substr(0, end)) + "~";
}

std::string wrapped(std::string_view text, std::size_t width, std::string_view indent) {
  std::string result, line;
  const auto flush = [&] {
    if (!line.empty()) result += fmt::format("{}{}\n", indent, line);
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t needed = display_width(line) + display_width(word) + 1;
    if (!line.empty() && indent.size() + needed > width) flush();
    if (!word.empty()) {
      if (!line.empty()) line += ' ';
      line += word;
    }
    if (end < text.size() && text[end] == '\n') flush();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  flush();
  return result;
}

std::string sparkline(const Terminal& to, const std::vector<std::uint64_t>& values,
                      std::uint64_t largest) {
  constexpr std::array<std::string_view, 9> kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 9> kPlain{" ", ".", ":", "-", "=", "+", "*", "#", "@"};
  std::string line;
  for (const std::uint64_t value : values) {
    // Anything that is not nothing shows.
    const std::size_t level =
        value == 0 || largest == 0
            ? 0
            : 1 + static_cast<std::size_t>(
                      std::lround(7.0 * static_cast<double>(value) / static_cast<double>(largest)));
    line += (to.has_utf8 ? kBlocks : kPlain)[std::min<std::size_t>(level, 8)];
  }
  return line;
}

std::string Table::text(const Terminal& to, std::string_view indent) const {
  std::vector<std::size_t> widths;
  widths.reserve(columns_.size());
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::size_t total = indent.size();
  for (const std::size_t width : widths) total += width + 2;
  const std::size_t limit = static_cast<std::size_t>(to.width) + 2;
  for (std::size_t i = widths.size(); i-- > 0;) {
    if (!columns_[i].is_flexible || total <= limit) continue;
    const std::size_t less =
        std::min(total - limit, widths[i] - std::min<std::size_t>(widths[i], 12));
    widths[i] -= less;
    total -= less;
  }
  const auto line_of = [&](const auto& cell) {
    std::string line(indent);
    for (std::size_t i = 0; i < widths.size(); ++i) {
      std::string text = cell(i);
      if (display_width(text) > widths[i]) text = cut(text, widths[i]);
      const std::string gap(widths[i] - display_width(text), ' ');
      line += columns_[i].is_number ? gap + text : text + gap;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  std::string result =
      to.paint(Colour::dim, line_of([&](std::size_t i) { return columns_[i].title; })) + "\n";
  for (const auto& row : rows_) {
    result += line_of([&](std::size_t i) { return row[i]; }) + "\n";
  }
  return result;
}

}  // namespace tenure::app
