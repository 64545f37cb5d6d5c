// Pinned: all that holds a large storage is a view of a small part of it, for long.
//
// Large is kLeastBytes; a small part is an eighth, of all its holders together; long is a quarter
// of what the program did, and at least kLeastTicks, or to the end of the process. So neither a row
// that is used and dropped counts, nor one whose whole is alive as well, nor all rows together.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/names.h"
#include "report/rules.h"

namespace tenure::report {
namespace {

constexpr std::uint64_t kLeastBytes = 64 * 1024;
constexpr std::uint64_t kLeastTicks = 16;
constexpr std::uint64_t kPart = 8;

struct HolderChange {
  std::int64_t time;
  bool is_birth;
  std::uint32_t tensor;
};

// The stretch of time that a storage was pinned for, up to the end of its life.
struct Pin {
  std::int64_t since = kNever;
  std::uint32_t view = kNone;
};

Pin pin_of(const Run& run, const StorageLife& storage, const std::vector<std::uint32_t>& holders) {
  std::vector<HolderChange> changes;
  for (const std::uint32_t i : holders) {
    const TensorLife& life = run.tensors[i];
    changes.push_back({life.born, true, i});
    if (life.died != kNever) changes.push_back({life.died, false, i});
  }
  std::ranges::stable_sort(changes, {}, [](const HolderChange& change) {
    return std::pair(change.time, change.is_birth ? 0 : 1);
  });
  std::uint64_t seen = 0;
  std::set<std::uint32_t> alive;
  Pin pin;
  std::int64_t since = kNever;
  for (const HolderChange& change : changes) {
    const std::uint64_t bytes = run.tensors[change.tensor].nbytes;
    if (change.is_birth) {
      seen += bytes;
      alive.insert(change.tensor);
    } else {
      seen -= bytes;
      alive.erase(change.tensor);
    }
    if (alive.empty()) continue;
    if (seen * kPart > storage.nbytes) {
      since = kNever;
      continue;
    }
    if (since == kNever) since = change.time;
    pin.view = *alive.rbegin();  // the last born of those that are left
  }
  pin.since = since;
  return pin;
}

}  // namespace

std::vector<Finding> find_pinned(const Facts& facts) {
  const Run& run = facts.run;
  std::vector<std::vector<std::uint32_t>> holders(run.storages.size());
  for (std::uint32_t i = 0; i < run.tensors.size(); ++i) {
    const std::uint32_t storage = run.tensors[i].storage;
    if (storage < run.storages.size() && run.storages[storage].nbytes >= kLeastBytes) {
      holders[storage].push_back(i);
    }
  }
  struct Pins {
    std::vector<std::uint32_t> views;
    std::uint64_t bytes = 0;
    std::uint64_t seen = 0;
  };
  std::map<std::uint32_t, Pins> lines;
  for (std::size_t i = 0; i < run.storages.size(); ++i) {
    if (holders[i].empty()) continue;
    const StorageLife& storage = run.storages[i];
    const Pin pin = pin_of(run, storage, holders[i]);
    if (pin.view == kNone || pin.since == kNever) continue;
    const bool is_for_ever = storage.freed == kNever && run.whole_process && !run.cut_short;
    const std::uint64_t ticks =
        facts.activity.at(storage.freed == kNever ? run.length : storage.freed) -
        facts.activity.at(pin.since);
    if (!is_for_ever && (ticks < kLeastTicks || ticks * 4 < facts.activity.total())) continue;
    Pins& pins = lines[run.tensors[pin.view].birth_site];
    pins.views.push_back(pin.view);
    pins.bytes += storage.nbytes;
    pins.seen += run.tensors[pin.view].nbytes;
  }
  std::vector<Finding> list;
  list.reserve(lines.size());
  for (const auto& [site, pins] : lines) {
    Finding finding;
    finding.problem = Problem::pinned;
    finding.site = site;
    finding.count = pins.views.size();
    finding.bytes = pins.bytes;
    finding.tensors = some_of(pins.views);
    finding.title = fmt::format(
        "{} from {} ({}) of {} alone {} {}", count_text(finding.count, "view"),
        site_text(run, site), text_of(run, run.tensors[pins.views.front()].op),
        bytes_text(pins.seen), finding.count == 1 ? "holds" : "hold", bytes_text(pins.bytes));
    finding.remedy =
        "a view holds the whole storage it looks into: keep a copy of the part "
        "(concat({view}) makes one) and let the rest go.";
    list.push_back(std::move(finding));
  }
  return list;
}

}  // namespace tenure::report
