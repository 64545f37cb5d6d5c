#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/raise.h"
#include "tenure/nn/callbacks.h"

namespace tenure::nn {

namespace {

std::string names_in(const auto& pairs) {
  std::string names;
  for (const auto& [name, value] : pairs) names += (names.empty() ? "" : ", ") + name;
  return names;
}

// A picture out of dots, two wide and four high per character.
class Canvas {
 public:
  Canvas(int width, int height)
      : width_(width), height_(height), cells_(static_cast<std::size_t>(width * height), 0) {}
  void dot(int x, int y) {
    if (x < 0 || y < 0 || x >= 2 * width_ || y >= 4 * height_) return;
    static constexpr std::array<std::array<unsigned, 2>, 4> kBits{
        {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
    cells_[static_cast<std::size_t>(y / 4 * width_ + x / 2)] |=
        kBits[static_cast<std::size_t>(y % 4)][static_cast<std::size_t>(x % 2)];
  }
  void line(int x0, int y0, int x1, int y1) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) {
      dot(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps);
    }
  }
  std::string row(int y) const {
    std::string text;
    for (int x = 0; x < width_; ++x) {
      const unsigned code = 0x2800 + cells_[static_cast<std::size_t>(y * width_ + x)];
      text += static_cast<char>(0xE0 | code >> 12);
      text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
      text += static_cast<char>(0x80 | (code & 0x3F));
    }
    return text;
  }

 private:
  int width_, height_;
  std::vector<unsigned> cells_;
};

}  // namespace

double value_of(const Logs& logs, std::string_view name) {
  for (const auto& [each, value] : logs) {
    if (each == name) return value;
  }
  raise<ValueError>("logs: there is no \"{}\" (there are: {})", name, names_in(logs));
}

const std::vector<double>& History::operator[](std::string_view name) const {
  for (const auto& [each, list] : values) {
    if (each == name) return list;
  }
  raise<ValueError>("history: there is no \"{}\" (there are: {})", name, names_in(values));
}

void History::add(int epoch, const Logs& logs) {
  epochs.push_back(epoch);
  for (const auto& [name, value] : logs) {
    auto found = std::ranges::find(values, name, [](const auto& pair) { return pair.first; });
    if (found == values.end()) {
      values.emplace_back(name, std::vector<double>());
      found = values.end() - 1;
    }
    // Where a validation was left out, it has no value.
    found->second.resize(epochs.size() - 1, std::numeric_limits<double>::quiet_NaN());
    found->second.push_back(value);
  }
}

std::string History::plot(const PlotOptions& options) const {
  std::vector<std::string> names = options.names;
  if (names.empty()) {
    for (const auto& [name, list] : values) {
      if (name == "loss" || name == "val_loss") names.push_back(name);
    }
  }
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const std::string& name : names) {
    for (const double value : (*this)[name]) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (names.empty() || low > high) return "nothing to plot\n";
  if (low == high) high = low + 1;
  const int width = std::max(options.width, 8), height = std::max(options.height, 2);
  Canvas canvas(width, height);
  for (const std::string& name : names) {
    const std::vector<double>& list = (*this)[name];
    const auto x_of = [&](std::size_t i) {
      const auto last = static_cast<int>(list.size()) - 1;
      return last == 0 ? 0 : static_cast<int>(i) * (2 * width - 1) / last;
    };
    const auto y_of = [&](double value) {
      return static_cast<int>(std::lround((high - value) / (high - low) * (4 * height - 1)));
    };
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!std::isfinite(list[i])) continue;
      const std::size_t from = i > 0 && std::isfinite(list[i - 1]) ? i - 1 : i;
      canvas.line(x_of(from), y_of(list[from]), x_of(i), y_of(list[i]));
    }
  }
  std::string text;
  for (int y = 0; y < height; ++y) {
    const std::string label = y == 0            ? fmt::format("{:.4g}", high)
                              : y == height - 1 ? fmt::format("{:.4g}", low)
                                                : "";
    text += fmt::format("{:>10} ┤{}\n", label, canvas.row(y));
  }
  text += fmt::format("{:>10} └ epochs {} to {}: ", "", epochs.front() + 1, epochs.back() + 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("{}{} {:.4g} to {:.4g}", i == 0 ? "" : ", ", names[i],
                        (*this)[names[i]].front(), (*this)[names[i]].back());
  }
  return text + "\n";
}

}  // namespace tenure::nn
