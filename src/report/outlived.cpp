// Outlived: the recording went on to the end of the process, every local and static had died, and
// a tensor was still alive that was born in a tidy, a step or a call that had long ended. Something
// that is never destroyed holds it.
//
// It takes a recording of the whole process: where a program stops recording by itself, what lives
// then may be in use. Variables, states and captures live as long as what owns them and are no
// finding; values saved by a tape are, since a tape that is never destroyed is as lost as a tensor.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "report/advice.h"
#include "report/names.h"
#include "report/rules.h"

namespace tenure::report {
namespace {

// The spans around births, asked for in order of time: each span comes and goes once.
class OpenSpans {
 public:
  explicit OpenSpans(const Run& run) : run_(run) {}

  // Outermost first; among them may be some that ended before their inner ones.
  const std::vector<std::uint32_t>& around(const TensorLife& life) {
    for (; next_ < run_.spans.size() && run_.spans[next_].begin <= life.born; ++next_) {
      threads_[run_.spans[next_].thread].push_back(next_);
    }
    std::vector<std::uint32_t>& open = threads_[life.thread];
    while (!open.empty() && !is_open(run_.spans[open.back()], life.born)) open.pop_back();
    return open;
  }

  static bool is_open(const Span& span, std::int64_t time) {
    return span.end == kNever || span.end >= time;
  }

 private:
  const Run& run_;
  std::uint32_t next_ = 0;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> threads_;
};

// The innermost span at its birth that has ended, tidy or other; kNone where it was born in none.
std::uint32_t ended_span(const Run& run, const TensorLife& life, OpenSpans& spans) {
  if (life.scope < run.spans.size() && run.spans[life.scope].end != kNever) return life.scope;
  const std::vector<std::uint32_t>& around = spans.around(life);
  for (auto at = around.rbegin(); at != around.rend(); ++at) {
    const Span& span = run.spans[*at];
    const std::string_view kind = text_of(run, span.kind);
    if (span.end != kNever && OpenSpans::is_open(span, life.born) && kind != "tape" &&
        kind != "trace") {
      return *at;
    }
  }
  return kNone;
}

// Where the tapes were made that nobody destroyed, by what they are called.
class LostTapes {
  using Made = std::pair<std::int64_t, std::uint32_t>;  // when, where

 public:
  explicit LostTapes(const Run& run) {
    for (std::uint32_t i = 0; i < run.spans.size(); ++i) {
      const Span& span = run.spans[i];
      if (span.end != kNever || text_of(run, span.kind) != "tape") continue;
      if (site_path(run, span.site).starts_with("/usr/")) continue;  // make_unique, or the like
      tapes_[span_text(run, i)].emplace_back(span.begin, span.site);
    }
  }

  // The last that was there when the value was saved; else the line that made the value.
  std::uint32_t site_of(const Run& run, const TensorLife& saved) const {
    const auto at = tapes_.find(text_of(run, saved.owner));
    if (at == tapes_.end()) return saved.birth_site;
    const auto after = std::ranges::upper_bound(at->second, saved.born, {}, &Made::first);
    return after == at->second.begin() ? saved.birth_site : std::prev(after)->second;
  }

 private:
  std::map<std::string, std::vector<Made>, std::less<>> tapes_;
};

bool belongs_to_a_model(const Run& run, const TensorLife& life) {
  if (life.storage >= run.storages.size()) return false;
  const Category category = category_at(run.storages[life.storage], run.length);
  return category == Category::parameter || category == Category::optimizer_state ||
         category == Category::layer_state;
}

struct Left {
  std::vector<std::uint32_t> tensors;
  std::uint32_t span = kNone;
};

Finding of_line(const Facts& facts, std::uint32_t site, const Left& left) {
  const Run& run = facts.run;
  Finding finding = finding_about(facts, Problem::outlived, site, left.tensors);
  const TensorLife& first = run.tensors[left.tensors.front()];
  finding.title = fmt::format("{} from {} ({}) outlived {} and {} never freed: {}",
                              count_text(finding.count, "tensor"), site_text(run, site),
                              text_of(run, first.op), span_text(run, left.span),
                              finding.count == 1 ? "was" : "were", bytes_text(finding.bytes));
  finding.remedy =
      advice(run, first.storage == kNone ? Advice::symbolic_outlived : Advice::outlived);
  return finding;
}

Finding of_tape(const Facts& facts, std::string_view tape, std::uint32_t site, const Left& left) {
  const Run& run = facts.run;
  Finding finding = finding_about(facts, Problem::outlived, site, left.tensors);
  finding.title =
      fmt::format("{} ({}) was never destroyed and holds {}: {}", tape, site_text(run, site),
                  count_text(finding.count, "saved value"), bytes_text(finding.bytes));
  finding.remedy = advice(run, Advice::undestroyed_tape);
  return finding;
}

}  // namespace

std::vector<Finding> find_outlived(const Facts& facts, const std::vector<Finding>& known) {
  const Run& run = facts.run;
  if (!run.whole_process || run.cut_short) return {};
  std::unordered_set<std::uint32_t> told, told_sites;
  for (const Finding& finding : known) {
    told.insert(finding.tensors.begin(), finding.tensors.end());
    told_sites.insert(finding.site);
  }
  OpenSpans spans(run);
  const LostTapes lost(run);
  std::map<std::uint32_t, Left> lines;
  std::map<std::tuple<std::uint32_t, std::uint32_t>, Left> tapes;  // by name and line
  for (std::uint32_t i = 0; i < run.tensors.size(); ++i) {
    const TensorLife& life = run.tensors[i];
    if (life.died != kNever || life.before || told.contains(i)) continue;
    if (life.owner != 0) {
      if (owner_kind(run, life) != "tape") continue;
      tapes[{life.owner, lost.site_of(run, life)}].tensors.push_back(i);
      continue;
    }
    if (belongs_to_a_model(run, life)) continue;
    const std::uint32_t span = ended_span(run, life, spans);
    if (span == kNone) continue;
    Left& left = lines[life.birth_site];
    left.tensors.push_back(i);
    left.span = span;
  }
  std::vector<Finding> list;
  list.reserve(lines.size() + tapes.size());
  for (const auto& [site, left] : lines) list.push_back(of_line(facts, site, left));
  for (const auto& [key, left] : tapes) {
    const auto& [owner, site] = key;
    if (told_sites.contains(site)) continue;  // what the tape saved in its last step
    list.push_back(of_tape(facts, text_of(run, owner), site, left));
  }
  return list;
}

}  // namespace tenure::report
