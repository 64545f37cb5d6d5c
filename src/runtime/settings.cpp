#include "runtime/settings.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "backend/cpu/parallel.h"
#include "core/raise.h"
#include "memory/context.h"
#include "tenure/runtime.h"

namespace tenure {
namespace detail {

std::optional<std::size_t> parse_bytes(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 10> kUnits{{
      {"", 1},
      {"B", 1},
      {"KiB", 0x1p10},
      {"MiB", 0x1p20},
      {"GiB", 0x1p30},
      {"TiB", 0x1p40},
      {"KB", 1e3},
      {"MB", 1e6},
      {"GB", 1e9},
      {"TB", 1e12},
  }};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value >= 0)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const auto& [name, factor] : kUnits) {
    if (unit != name) continue;
    const double bytes = std::floor(value * factor);
    if (bytes >= 0x1p63) return std::nullopt;
    return static_cast<std::size_t>(bytes);
  }
  return std::nullopt;
}

}  // namespace detail

void set_num_threads(int threads, std::source_location site) {
  const detail::UserLine line(site);
  if (threads < 1) raise<ValueError>("set_num_threads: at least 1, not {}", threads);
  cpu::set_num_threads(threads);
}

int num_threads() { return cpu::num_threads(); }

std::string_view version() { return TENURE_VERSION; }

}  // namespace tenure
