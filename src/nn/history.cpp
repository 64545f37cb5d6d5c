#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/listed.h"
#include "core/raise.h"
#include "memory/context.h"
#include "tenure/nn/callbacks.h"

namespace tenure::nn {

namespace {

std::string names_in(const auto& pairs) {
  return tenure::detail::listed(pairs, [](const auto& pair) { return pair.first; });
}

// A picture out of dots, two wide and four high per character. A character has the colour of the
// line that was drawn there last.
class Canvas {
 public:
  Canvas(int width, int height)
      : width_(width), height_(height), cells_(count(), 0), colours_(count(), 0) {}
  void line(int x0, int y0, int x1, int y1, int colour) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) {
      dot(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, colour);
    }
  }
  std::string row(int y, bool colour) const {
    std::string text;
    int now = 0;
    for (int x = 0; x < width_; ++x) {
      const auto at = place(y, x);
      if (colour && colours_[at] != now) {
        now = colours_[at];
        text += colour_code(now);
      }
      const unsigned code = 0x2800 + cells_[at];
      text += static_cast<char>(0xE0 | code >> 12);
      text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
      text += static_cast<char>(0x80 | (code & 0x3F));
    }
    return now == 0 ? text : text + colour_code(0);
  }
  static std::string colour_code(int colour) {
    return colour == 0 ? "\033[0m" : fmt::format("\033[{}m", 31 + colour % 6);
  }

 private:
  std::size_t place(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(width_) +
           static_cast<std::size_t>(column);
  }
  std::size_t count() const { return place(height_, 0); }
  void dot(int x, int y, int colour) {
    if (x < 0 || y < 0 || x >= 2 * width_ || y >= 4 * height_) return;
    static constexpr std::array<std::array<unsigned, 2>, 4> kBits{
        {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
    const auto at = place(y / 4, x / 2);
    cells_[at] |= kBits[static_cast<std::size_t>(y % 4)][static_cast<std::size_t>(x % 2)];
    colours_[at] = colour;
  }

  int width_, height_;
  std::vector<unsigned> cells_;
  std::vector<int> colours_;
};

}  // namespace

double value_of(const Logs& logs, std::string_view name, std::source_location site) {
  const tenure::detail::UserLine line(site);
  for (const auto& [each, value] : logs) {
    if (each == name) return value;
  }
  raise<ValueError>("logs: there is no \"{}\" (there are: {})", name, names_in(logs));
}

const std::vector<double>& History::operator[](tenure::detail::NameAt name) const {
  for (const auto& [each, list] : values) {
    if (each == name.name) return list;
  }
  const tenure::detail::UserLine line(name.site);
  raise<ValueError>("history: there is no \"{}\" (there are: {})", name.name, names_in(values));
}

void History::add(int epoch, const Logs& logs) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();  // of a validation left out
  epochs.push_back(epoch);
  for (const auto& [name, value] : logs) {
    auto series = std::ranges::find(values, name, [](const auto& pair) { return pair.first; });
    if (series == values.end()) {
      values.emplace_back(name, std::vector<double>());
      series = values.end() - 1;
    }
    series->second.resize(epochs.size() - 1, kNone);
    series->second.push_back(value);
  }
  for (auto& [name, list] : values) list.resize(epochs.size(), kNone);
}

std::string plot(const Series& series, const PlotOptions& options) {
  const auto drawn = [&](const std::string& name) {
    return options.names.empty() || std::ranges::find(options.names, name) != options.names.end();
  };
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const auto& [name, list] : series) {
    for (const double value : list) {
      if (!drawn(name) || !std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) return "nothing to plot\n";
  if (low == high) high = low + 1;
  const int width = std::max(options.width, 8), height = std::max(options.height, 2);
  Canvas canvas(width, height);
  std::string legend;
  int colour = 0;
  for (const auto& [name, list] : series) {
    if (!drawn(name) || list.empty()) continue;
    ++colour;
    const auto x_of = [&](std::size_t i) {
      return list.size() == 1 ? 0
                              : static_cast<int>(i * static_cast<std::size_t>(2 * width - 1) /
                                                 (list.size() - 1));
    };
    const auto y_of = [&](double value) {
      return static_cast<int>(std::lround((high - value) / (high - low) * (4 * height - 1)));
    };
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!std::isfinite(list[i])) continue;
      const std::size_t from = i > 0 && std::isfinite(list[i - 1]) ? i - 1 : i;
      canvas.line(x_of(from), y_of(list[from]), x_of(i), y_of(list[i]), colour);
    }
    legend += fmt::format("{}{}{} {:.4g} to {:.4g}{}", legend.empty() ? "" : ", ",
                          options.colour ? Canvas::colour_code(colour) : "", name, list.front(),
                          list.back(), options.colour ? Canvas::colour_code(0) : "");
  }
  std::string text;
  for (int y = 0; y < height; ++y) {
    const std::string label = y == 0            ? fmt::format("{:.4g}", high)
                              : y == height - 1 ? fmt::format("{:.4g}", low)
                                                : "";
    text += fmt::format("{:>10} ┤{}\n", label, canvas.row(y, options.colour));
  }
  return text + fmt::format("{:>10} └ {}\n", "", legend);
}

std::string History::plot(const PlotOptions& options) const {
  PlotOptions chosen = options;
  if (chosen.names.empty()) chosen.names = {"loss", "val_loss"};
  return nn::plot(values, chosen);
}

}  // namespace tenure::nn
