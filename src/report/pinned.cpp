// Pinned: all that holds a large storage is a view of a small part of it, for long.
//
// Large is kLeastBytes; a small part is an eighth, of all its holders together; long is a quarter
// of what the program did, and at least kLeastTicks, or to the end of the process. So neither a row
// that is used and dropped counts, nor one whose whole is alive as well, nor all rows together.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "report/advice.h"
#include "report/names.h"
#include "report/rules.h"

namespace tenure::report {
namespace {

constexpr std::uint64_t kLeastBytes = 64 * 1024;
constexpr std::uint64_t kLeastTicks = 16;
constexpr std::uint64_t kPart = 8;

// The stretch of time that a storage was pinned for, up to the end of its life.
struct Pin {
  std::int64_t since = kNever;
  Tensors views;               // that held it then
  std::uint32_t last = kNone;  // of them to let go
};

Pin pin_of(const Run& run, const StorageLife& storage, const std::vector<HolderChange>& changes) {
  std::uint64_t seen = 0;
  std::set<std::uint32_t> alive, views;
  Pin pin;
  for (const HolderChange& change : changes) {
    const std::uint64_t bytes = run.tensors[change.tensor].nbytes;
    if (change.is_death) {
      seen -= bytes;
      alive.erase(change.tensor);
    } else {
      seen += bytes;
      alive.insert(change.tensor);
    }
    if (alive.empty()) continue;
    if (seen * kPart > storage.nbytes) {
      pin.since = kNever;
      views.clear();
      continue;
    }
    if (pin.since == kNever) {
      pin.since = change.time;
      views = alive;
    } else if (!change.is_death) {
      views.insert(change.tensor);
    }
    pin.last = *alive.rbegin();
  }
  pin.views.assign(views.begin(), views.end());
  return pin;
}

}  // namespace

std::vector<Finding> find_pinned(const Facts& facts) {
  const Run& run = facts.run;
  std::map<std::uint32_t, Tensors> lines;
  for (std::uint32_t i = 0; i < run.storages.size(); ++i) {
    const StorageLife& storage = run.storages[i];
    if (storage.nbytes < kLeastBytes || facts.holdings.of(i).empty()) continue;
    const Pin pin = pin_of(run, storage, facts.holdings.changes({i}));
    if (pin.since == kNever) continue;
    const bool is_for_ever = storage.freed == kNever && run.whole_process && !run.cut_short;
    const std::uint64_t ticks =
        facts.activity.at(storage.freed == kNever ? run.length : storage.freed) -
        facts.activity.at(pin.since);
    if (!is_for_ever && (ticks < kLeastTicks || ticks * 4 < facts.activity.total())) continue;
    std::ranges::copy(pin.views, std::back_inserter(lines[run.tensors[pin.last].birth_site]));
  }
  std::vector<Finding> list;
  list.reserve(lines.size());
  for (auto& [site, views] : lines) {
    std::ranges::sort(views);
    std::uint64_t seen = 0;
    for (const std::uint32_t i : views) seen += run.tensors[i].nbytes;
    const std::string op(text_of(run, run.tensors[views.back()].op));
    Finding finding = finding_about(facts, Problem::pinned, site, std::move(views));
    finding.title =
        fmt::format("{} from {} ({}) of {} alone {} {}", count_text(finding.count, "view"),
                    site_text(run, site), op, bytes_text(seen),
                    finding.count == 1 ? "holds" : "hold", bytes_text(finding.bytes));
    finding.remedy = advice(run, Advice::pinned_by_a_view);
    list.push_back(std::move(finding));
  }
  return list;
}

}  // namespace tenure::report
