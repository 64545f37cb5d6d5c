#include "ops/profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <ostream>
#include <set>

#include "core/raise.h"
#include "memory/ledger.h"
#include "memory/text.h"

namespace tenure {
namespace detail {
namespace {

std::string shapes_text(Views views) {
  std::string text;
  for (const ops::KernelView& view : views) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", *view.shape);
  }
  return text;
}

std::string call_text(const UserCall& call, const char* op) {
  if (call.op == nullptr) return {};
  if (call.backward) return fmt::format("gradient of {}", call.op);
  return std::string_view(call.op) == op ? std::string() : call.op;
}

Profiler& profiler(MemoryWatch& watch) { return static_cast<Profiler&>(watch); }

}  // namespace

Profiler::Profiler(Context& home) : home_(&home), bytes_before_(live_bytes(nullptr)) {
  open_.reserve(16);  // a call that has begun to write must not find that there is no memory
  add_watch(home, *this);
}

Profiler::~Profiler() { leave(); }

void Profiler::leave() noexcept {
  if (home_ != nullptr) remove_watch(*std::exchange(home_, nullptr), *this);
}

void Profiler::begin() {
  open_.push_back({{}, {}, live, step_peak});
  step_peak = live;
  open_.back().begun = Clock::now();  // last: what it took to get here is not the operation's
}

Profiler::Open Profiler::close() noexcept {
  const Open ended = open_.back();
  open_.pop_back();
  step_peak = std::max(step_peak, ended.outer_peak);
  return ended;
}

void Profiler::end(const RunningOp& ran, Views in, Views out) noexcept {
  const Clock::duration whole = Clock::now() - open_.back().begun;
  const std::int64_t highest = step_peak;
  const Open ended = close();
  if (!open_.empty()) open_.back().inside += whole;
  try {
    add(ran, in, out, whole - ended.inside, live - ended.live, highest);
  } catch (const std::bad_alloc&) {  // one run less is told of
  }
}

void Profiler::add(const RunningOp& ran, Views in, Views out, std::chrono::nanoseconds time,
                   std::int64_t bytes, std::int64_t highest) {
  const bool called = ran.is_called();
  const std::source_location site = ran.user_site();
  Sum& sum = sums_[{ran.op, called ? ran.call->op : nullptr, ran.function, site.file_name(),
                    static_cast<std::uint32_t>(site.line()), called && ran.call->backward}];
  if (sum.count == 0) {
    sum.op = ran.op;
    if (called) sum.call = call_text(*ran.call, ran.op);
    if (ran.function != nullptr) sum.function = ran.function->text;
    sum.held = share(ran.function);
    sum.site = site;
    sum.peak = highest;
  }
  ++sum.count;
  sum.time += time;
  sum.result_bytes += ops::result_bytes(out);
  sum.new_bytes += bytes;
  sum.peak = std::max(sum.peak, highest);
  if (time < sum.max_time) return;
  sum.max_time = time;
  sum.shapes = shapes_text(in);
}

void Profiler::abandon() noexcept { close(); }

Profile Profiler::finish() {
  Profile profile;
  profile.time = Clock::now() - begun_;
  leave();
  const auto from_start = [this](std::int64_t change) {
    const std::int64_t bytes = static_cast<std::int64_t>(bytes_before_) + change;
    return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0));
  };
  profile.bytes_before = bytes_before_;
  profile.new_bytes = live;
  profile.peak_bytes = from_start(peak);
  for_each_holder([&](Header& header) {
    if (header.role != Role::tensor) return;
    profile.new_tensors += std::binary_search(born.begin(), born.end(), header.id) ? 1 : 0;
  });
  for (auto& [key, sum] : sums_) {
    if (sum.count == 0) continue;  // there was no memory to tell of it
    sum.peak_bytes = from_start(sum.peak);
    profile.kernels_run += sum.count;
    profile.ops.push_back(std::move(static_cast<ProfiledOp&>(sum)));
  }
  std::ranges::stable_sort(profile.ops, std::ranges::greater(), &ProfiledOp::time);
  return profile;
}

void OpWatch::begin() {
  // Forward, so that one that cannot be told (no memory) leaves those before it in order.
  MemoryWatch* watch = first_;
  try {
    for (; watch != nullptr; watch = watch->outer) profiler(*watch).begin();
  } catch (...) {
    for (MemoryWatch* told = first_; told != watch; told = told->outer) profiler(*told).abandon();
    throw;
  }
}

void OpWatch::end(const RunningOp& ran, Views in, Views out) noexcept {
  MemoryWatch* watch = std::exchange(first_, nullptr);
  for (; watch != nullptr; watch = watch->outer) profiler(*watch).end(ran, in, out);
}

void OpWatch::abandon() noexcept {
  for (MemoryWatch* watch = first_; watch != nullptr; watch = watch->outer) {
    profiler(*watch).abandon();
  }
}

ProfileGuard::ProfileGuard() : profiler_(std::make_unique<Profiler>(context())) {}
ProfileGuard::~ProfileGuard() = default;
Profile ProfileGuard::finish() { return profiler_->finish(); }

}  // namespace detail

namespace {

std::string time_text(std::chrono::nanoseconds time) { return detail::time_text(time.count()); }

std::string change_text(std::int64_t bytes) {
  const std::string size = detail::bytes_text(static_cast<std::size_t>(std::abs(bytes)));
  return bytes < 0 ? "-" + size : size;
}

}  // namespace

std::vector<std::string> Profile::kernels() const {
  std::set<std::string> names;
  for (const ProfiledOp& op : ops) names.insert(op.op);
  return {names.begin(), names.end()};
}

std::string Profile::table(std::size_t rows) const {
  using Row = std::vector<std::string>;
  std::vector<Row> cells{
      {"op", "site", "count", "time", "max", "results", "new", "peak", "inputs"}};
  for (const ProfiledOp& op : ops) {
    if (cells.size() > rows) break;
    std::string name = op.op;
    if (!op.call.empty()) name += fmt::format(" ({})", op.call);
    if (!op.function.empty()) name += fmt::format(" in {}", op.function);
    cells.push_back({name, detail::site_text(op.site), std::to_string(op.count), time_text(op.time),
                     time_text(op.max_time), detail::bytes_text(op.result_bytes),
                     change_text(op.new_bytes), detail::bytes_text(op.peak_bytes), op.shapes});
  }
  std::vector<std::size_t> widths(cells[0].size());
  for (const Row& row : cells) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = fmt::format(
      "{} in {} kernel{}, {} new tensor{}, {} new, peak {} ({} before)\n\n", time_text(time),
      kernels_run, kernels_run == 1 ? "" : "s", new_tensors, new_tensors == 1 ? "" : "s",
      change_text(new_bytes), detail::bytes_text(peak_bytes), detail::bytes_text(bytes_before));
  for (const Row& row : cells) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_text = i < 2 || i + 1 == row.size();
      line += is_text ? fmt::format("  {:<{}}", row[i], widths[i])
                      : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  if (cells.size() <= ops.size()) {
    text += fmt::format("  and {} more\n", ops.size() + 1 - cells.size());
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const Profile& profile) {
  return out << profile.table();
}

}  // namespace tenure
