#include "nn/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/text.h"
#include "tenure/memory.h"

namespace tenure::nn {

namespace {

constexpr std::int64_t kBarWidth = 24;

std::string duration(double seconds) {
  if (seconds < 0.0995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string rate(double per_second) {
  if (per_second >= 1e4) return fmt::format("{:.0f}k/s", per_second / 1e3);
  return fmt::format("{:.{}f}/s", per_second, per_second < 10 ? 1 : 0);
}

// What a metric gives for each class is left out: its mean stands there.
std::string text(const Logs& logs) {
  std::string line;
  for (const auto& [name, value] : logs) {
    if (name.ends_with(']')) continue;
    const bool plain = value == 0 || (std::abs(value) >= 1e-3 && std::abs(value) < 1e5);
    line +=
        plain ? fmt::format("  {} {:.4f}", name, value) : fmt::format("  {} {:.3e}", name, value);
  }
  return line;
}

}  // namespace

Verbose::Verbose(int number, std::source_location site) : how_(automatic) {
  const tenure::detail::UserLine line(site);
  constexpr std::array kKerasOrder{silent, progress, lines};
  if (number < 0 || number >= std::ssize(kKerasOrder)) {
    raise<ValueError>("verbose: 0 is silent, 1 a progress bar, 2 a line for each epoch: {}",
                      number);
  }
  how_ = kKerasOrder[static_cast<std::size_t>(number)];
}

Progress::Progress(Verbose verbose) {
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  bar_ = verbose == Verbose::progress || (verbose == Verbose::automatic && terminal);
  lines_ = verbose == Verbose::lines || (verbose == Verbose::automatic && !terminal);
}

void Progress::begin(std::string what, std::int64_t batches) {
  what_ = std::move(what);
  batches_ = batches;
  began_ = Clock::now();
  drawn_ = began_;
}

bool Progress::is_due() const {
  return bar_ && Clock::now() - drawn_ >= std::chrono::milliseconds(100);
}

void Progress::show(std::int64_t batch, const Logs& logs) {
  if (!is_due()) return;
  drawn_ = Clock::now();
  const double seconds = std::chrono::duration<double>(drawn_ - began_).count();
  std::string bar, left;
  if (batches_ > 0) {
    const auto done = std::min(kBarWidth, kBarWidth * batch / batches_);
    for (std::int64_t i = 0; i < kBarWidth; ++i) bar += i < done ? "━" : "╌";
    left = fmt::format("  {} left", duration(seconds / static_cast<double>(batch) *
                                             static_cast<double>(batches_ - batch)));
  }
  fmt::print("\r\033[K{}  {} {}{}  {}{}{}  {}", what_, bar, batch,
             batches_ > 0 ? fmt::format("/{}", batches_) : "",
             rate(static_cast<double>(batch) / seconds), left, text(logs),
             tenure::detail::bytes_text(memory().live_bytes));
  std::fflush(stdout);
}

void Progress::end(std::int64_t batches, const Logs& logs) {
  if (!bar_ && !lines_) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  fmt::print("{}{}  {} batches in {}{}  {}\n", bar_ ? "\r\033[K" : "", what_, batches,
             duration(seconds), text(logs), tenure::detail::bytes_text(memory().live_bytes));
  std::fflush(stdout);
}

}  // namespace tenure::nn
