// Growth is a counter that rises again and again: strictly from step to step, or, where it goes up
// and down, from each low to the next. A loop whose rises ended in a fall before is given twice as
// long a rise as it had then.
//
// The counters only say that it is time to look. The lines are found by counting live holders by
// birth several steps in a row: one whose tensors became more between the first and the last of
// these and never fewer is told of. Without such a line there is no growth.
#include "tenure/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/ledger.h"
#include "memory/text.h"
#include "memory/warn.h"

namespace tenure {

using detail::Header;

namespace {

constexpr int kLooks = 3;  // at the live tensors, one step apart, before anything is said
constexpr std::size_t kKept = kLooks + 1;  // of all looks: the first and the last few

struct Sample {
  std::int64_t bytes = 0;
  std::int64_t holders = 0;
};

// How often in a row a counter has risen.
class Rises {
 public:
  explicit Rises(int wanted) : wanted_(wanted) {}

  void add(std::int64_t value) {
    ++since_low_;
    // The next low never came.
    if (since_low_ > std::max<std::int64_t>(2 * longest_wait_, wanted_)) lows_ = 0;
    if (seen_ && value > last_) {
      if (std::exchange(falling_, false)) end_fall();
      ++rising_;
    } else {
      if (seen_ && value < last_) {
        longest_ended_ = std::max(longest_ended_, rising_);
        falling_ = true;
      }
      rising_ = 0;
    }
    seen_ = true;
    last_ = value;
  }
  int rising() const { return std::max(rising_, lows_); }
  // How many more rises it takes: 0 or less once it is growth.
  int missing() const {
    const int wanted = std::clamp(2 * longest_ended_ + 1, wanted_, 10 * wanted_);
    return std::min(wanted - rising_, wanted_ - lows_);
  }

 private:
  void end_fall() {
    const bool is_higher = lows_seen_ && last_ > low_;
    longest_wait_ = is_higher && lows_ > 0 ? std::max(longest_wait_, since_low_) : since_low_;
    lows_ = is_higher ? lows_ + 1 : 0;
    lows_seen_ = true;
    since_low_ = 0;
    low_ = last_;
  }

  int wanted_;
  bool seen_ = false, lows_seen_ = false, falling_ = false;
  std::int64_t last_ = 0, low_ = 0;
  std::int64_t since_low_ = 0;     // steps
  std::int64_t longest_wait_ = 0;  // of steps from one of these lows to the next
  int rising_ = 0;
  int lows_ = 0;           // how often in a row a low was above the one before
  int longest_ended_ = 0;  // of the rises that a fall ended
};

struct SiteKey {
  std::string file;
  std::uint32_t line = 0;
  std::string op;
  std::string owner;
  auto operator<=>(const SiteKey&) const = default;
};

struct SiteCount {
  std::source_location site;
  std::size_t holders = 0;
  std::size_t bytes = 0;
  std::size_t small_views = 0;
  std::string owner_kind;
};

using Census = std::map<SiteKey, SiteCount>;

Census take_census(const detail::SessionState* session) {
  Census census;
  std::unordered_set<const detail::Storage*> counted;
  detail::for_each_holder([&](Header& header) {
    if (session != nullptr && header.session.load(std::memory_order_relaxed) != session) return;
    const detail::BirthRecord& birth = header.birth;
    SiteKey key{birth.site.file_name(), static_cast<std::uint32_t>(birth.site.line()),
                birth.backward ? fmt::format("gradient of {}", birth.op) : birth.op,
                header.owner ? label_text(*header.owner.get()) : ""};
    SiteCount& count = census[std::move(key)];
    count.site = birth.site;
    ++count.holders;
    if (header.owner) count.owner_kind = header.owner->kind;
    if (counted.insert(header.storage).second) count.bytes += header.storage->nbytes;
    count.small_views += header.layout.nbytes() < header.storage->nbytes ? 1 : 0;
  });
  return census;
}

std::string remedy_for(const SiteCount& count) {
  if (count.owner_kind == "tape") {
    return "a tape holds these for its gradient: make the tape inside the loop, or let it end "
           "there.";
  }
  if (count.owner_kind == "function") {
    return "a traced function holds these, once for each trace: see its traces() and captures().";
  }
  if (count.owner_kind == "variable") {
    return "variables hold these: make them once, before the loop, and assign to them in it.";
  }
  if (!count.owner_kind.empty()) return "let go of what holds these before the iteration ends.";
  if (count.small_views * 2 > count.holders) {
    return "these views hold all the bytes of what they were taken from: keep a copy (v + 0), or "
           "the numbers themselves (to_vector).";
  }
  return "your program still holds these: dispose them, wrap the iteration in a tidy, or keep "
         "numbers (item, to_vector) in place of tensors.";
}

}  // namespace

struct GrowthWatch::State {
  explicit State(GrowthWatchOptions watch_options)
      : options(std::move(watch_options)),
        session(detail::context().session),
        bytes(options.iterations),
        holders(options.iterations) {
    if (session != nullptr) session->retain();
  }
  ~State() {
    if (session != nullptr) session->release();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Sample sample() const {
    return {static_cast<std::int64_t>(detail::live_bytes(session)),
            static_cast<std::int64_t>(detail::Slab<Header>::instance().in_use())};
  }

  void step() {
    ++steps;
    if (steps <= static_cast<std::uint64_t>(options.warm_up)) return;
    const Sample now = sample();
    bytes.add(now.bytes);
    holders.add(now.holders);
    const int missing = std::min(bytes.missing(), holders.missing());
    if (missing > kLooks || std::max(bytes.rising(), holders.rising()) == 0) {
      looks.clear();
      growing_sites.clear();
      next_look = 0;
    }
    if (missing > kLooks || steps < next_look) return;
    looks.push_back({steps, now.bytes, take_census(session)});
    if (looks.size() > kKept) looks.erase(looks.begin() + 1);
    if (missing > 0) return;
    judge();
    looks.erase(looks.begin() + (growing() ? 1 : 0), looks.end() - 1);
    next_look = steps + static_cast<std::uint64_t>(options.iterations);
    if (growing() && !warned) {
      warned = true;
      detail::warn(report().text());
    }
  }

  // What became more from the first look to the last, and in none of them less.
  void judge() {
    growing_sites.clear();
    if (looks.size() < 2) return;
    const Look& first = looks.front();
    const Look& last = looks.back();
    const auto between = static_cast<double>(last.step - first.step);
    for (const auto& [key, count] : last.census) {
      const std::size_t before = count_in(first.census, key);
      if (count.holders < before + 2) continue;  // one may be a cache
      bool rose = true;
      for (std::size_t i = 1; i < looks.size(); ++i) {
        rose = rose && count_in(looks[i].census, key) >= count_in(looks[i - 1].census, key);
      }
      const double each = static_cast<double>(count.holders - before) / between;
      if (!rose) continue;
      const auto earlier = first.census.find(key);
      const double had =
          earlier == first.census.end() ? 0 : static_cast<double>(earlier->second.bytes);
      growing_sites.push_back({count.site, key.op, key.owner, each,
                               std::max(0.0, static_cast<double>(count.bytes) - had) / between,
                               count.holders, count.bytes, count.small_views * 2 > count.holders,
                               remedy_for(count)});
    }
    std::ranges::stable_sort(growing_sites, [](const GrowingSite& a, const GrowingSite& b) {
      return std::tuple(a.bytes_per_iteration, a.tensors_per_iteration) >
             std::tuple(b.bytes_per_iteration, b.tensors_per_iteration);
    });
    bytes_each = static_cast<double>(last.bytes - first.bytes) / between;
  }

  bool growing() const { return !growing_sites.empty(); }

  GrowthReport report() const {
    GrowthReport report{options.name,
                        growing(),
                        steps,
                        std::max(bytes.rising(), holders.rising()),
                        0,
                        detail::live_bytes(session),
                        growing_sites};
    if (!growing()) return report;
    report.bytes_per_iteration = bytes_each;
    Census census = take_census(session);
    for (GrowingSite& at : report.sites) {
      const SiteCount& now = census[{at.site.file_name(), at.site.line(), at.op, at.owner}];
      at.tensors = now.holders;
      at.bytes = now.bytes;
    }
    return report;
  }

  static std::size_t count_in(const Census& census, const SiteKey& key) {
    const auto at = census.find(key);
    return at == census.end() ? 0 : at->second.holders;
  }

  struct Look {
    std::uint64_t step;
    std::int64_t bytes;
    Census census;
  };

  GrowthWatchOptions options;
  detail::SessionState* session;
  std::uint64_t steps = 0;
  Rises bytes, holders;
  std::uint64_t next_look = 0;
  std::vector<Look> looks;
  std::vector<GrowingSite> growing_sites;
  double bytes_each = 0;
  bool warned = false;
};

GrowthWatch::GrowthWatch(GrowthWatchOptions options) {
  if (options.iterations < 2) {
    raise<ValueError>("GrowthWatch: iterations is {}, and must be at least 2", options.iterations);
  }
  if (options.warm_up < 0) {
    raise<ValueError>("GrowthWatch: warm_up is {}, and must be at least 0", options.warm_up);
  }
  state_ = std::make_unique<State>(std::move(options));
}

GrowthWatch::~GrowthWatch() = default;

void GrowthWatch::step() { state_->step(); }

bool GrowthWatch::growing() const { return state_->growing(); }

GrowthReport GrowthWatch::report() const { return state_->report(); }

std::string GrowthReport::text() const {
  const std::string which = name.empty() ? "the loop" : fmt::format("\"{}\"", name);
  if (!growing) {
    return fmt::format("{}: no growth in {} iterations, {} live", which, iterations,
                       detail::bytes_text(live_bytes));
  }
  const auto size = [](double bytes) {
    return detail::bytes_text(static_cast<std::size_t>(std::llround(std::max(bytes, 0.0))));
  };
  std::string text = fmt::format(
      "{}: memory rose {} times in a row, {} more each iteration ({} live after {})\n", which,
      rising, size(bytes_per_iteration), detail::bytes_text(live_bytes), iterations);
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < std::min(sites.size(), kMost); ++i) {
    const GrowingSite& at = sites[i];
    text += fmt::format(
        "\n  born {} {}{}: {:.3g} more each iteration ({}), {} alive ({})\n    {}\n",
        detail::site_text(at.site), at.op,
        at.owner.empty() ? "" : fmt::format(", saved for {}", at.owner), at.tensors_per_iteration,
        size(at.bytes_per_iteration), at.tensors, detail::bytes_text(at.bytes), at.remedy);
  }
  if (sites.size() > kMost) text += fmt::format("\n  and {} more lines\n", sites.size() - kMost);
  return text;
}

std::ostream& operator<<(std::ostream& out, const GrowthReport& report) {
  return out << report.text();
}

}  // namespace tenure
