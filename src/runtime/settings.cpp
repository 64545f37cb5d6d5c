#include "runtime/settings.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/parallel.h"
#include "core/raise.h"
#include "core/warn.h"
#include "memory/context.h"
#include "memory/fork.h"
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

namespace {

struct Sink {
  ProcessMutex mutex;
  std::function<void(std::string_view)> write;
  std::vector<std::string> of_start;
};

Sink& sink() {
  static Sink* warnings = new Sink;
  return *warnings;
}

// User's code in the middle of whatever is going on here.
struct UsersContext : Meanwhile<Context> {
  UsersContext() : Meanwhile(context(), context().eager()) {
    now().call = {};
    now().random = &default_random();
    now().watch = nullptr;
  }
};

}  // namespace

void warn(std::string_view message) {
  static constinit thread_local bool t_warning = false;
  std::function<void(std::string_view)> write;
  {
    const std::lock_guard lock(sink().mutex);
    write = sink().write;
  }
  if (!write || t_warning) {  // what a sink brings about itself does not go to it, without end
    std::fputs(fmt::format("tenure: {}\n", message).c_str(), stderr);
    return;
  }
  struct Warning {
    Warning() { t_warning = true; }
    ~Warning() { t_warning = false; }
  } const warning;
  const UsersContext users;
  write(message);
}

void warn_after_start(std::string message) {
  const std::lock_guard lock(sink().mutex);
  sink().of_start.push_back(std::move(message));
}

void warn_of_start() {
  std::vector<std::string> messages;
  {
    const std::lock_guard lock(sink().mutex);
    messages.swap(sink().of_start);
  }
  for (const std::string& message : messages) warn(message);
}

}  // namespace detail

void set_warning_sink(std::function<void(std::string_view)> write) {
  const std::lock_guard lock(detail::sink().mutex);
  detail::sink().write.swap(write);  // the one before goes without the lock
}

void set_num_threads(int threads) {
  if (threads < 1) raise<ValueError>("set_num_threads: at least 1, not {}", threads);
  cpu::set_num_threads(threads);
}

int num_threads() { return cpu::num_threads(); }

std::string_view version() { return TENURE_VERSION; }

}  // namespace tenure
