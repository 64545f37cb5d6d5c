// Growth: what a line makes stays, and there is more of it with every step.
//
// Judged for each line by the tensors born there that are alive when the last of them is born: the
// stayers. Steps are the repeated spans of one label ("step", "epoch", a user's own, a tidy), and
// where there are none, the turns of a plain loop: births of the line with something of another
// line between them. A line grows when
//
//   - at least kLeastSteps steps left stayers;
//   - stayers were born all through, in each quarter of the way (a warm-up, or a cache that meets a
//     new key now and then, has them in the beginning);
//   - the number alive rose to the end (one that is bounded does not);
//   - the way is most of what the program did, with little after it, or goes on to the last of the
//     steps that have a name (a list that is built once, before the work, is a small part of it);
//   - the program did not let go of them while it still worked, by dispose() or by putting them
//     together in one tensor: those were collected for something.
//
// Variables and their states count by the same rule and therefore only when they are made again and
// again: all weights of a model are made in one call.
//
// A line whose one tensor only becomes larger (x = concat({x, y})) is reported when memory ran out,
// or when it comes to a quarter of the budget: otherwise that is how results are collected.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "report/names.h"
#include "report/rules.h"

namespace tenure::report {
namespace {

constexpr std::size_t kLeastSteps = 12;
constexpr std::size_t kLeastOfOneLine = 64;  // of a loop that is one line: is it a loop at all?
constexpr std::uint64_t kTicksOfACall = 4;   // that is made of a few others

using Tensors = std::vector<std::uint32_t>;

struct Growth {
  Tensors stayers;
  std::size_t steps = 0;
  std::string label;  // of the step
  bool in_named_steps = false;
};

// Births of one line, of tensors or of one kind of saved values.
struct Line {
  std::uint32_t site = kNone;
  std::string_view owner_kind;
  Tensors tensors;  // by birth
};

// A line of which few were ever alive together cannot grow, and most are such.
std::size_t most_alive(const Run& run, const Tensors& tensors) {
  std::vector<std::int64_t> deaths;
  for (const std::uint32_t i : tensors) {
    if (run.tensors[i].died != kNever) deaths.push_back(run.tensors[i].died);
  }
  std::ranges::sort(deaths);
  std::size_t born = 0, dead = 0, most = 0;
  for (const std::uint32_t i : tensors) {
    while (dead < deaths.size() && deaths[dead] <= run.tensors[i].born) ++dead;
    most = std::max(most, ++born - dead);
  }
  return most;
}

std::vector<Line> lines_of(const Run& run) {
  std::map<std::tuple<std::uint32_t, std::string_view>, Line> lines;
  for (std::uint32_t i = 0; i < run.tensors.size(); ++i) {
    const TensorLife& life = run.tensors[i];
    if (life.birth_site == kNone || life.storage == kNone || life.before) continue;
    const std::string_view kind = owner_kind(run, life);
    Line& line = lines[{life.birth_site, kind}];
    line.site = life.birth_site;
    line.owner_kind = kind;
    line.tensors.push_back(i);
  }
  std::vector<Line> list;
  for (auto& [key, line] : lines) {
    if (line.tensors.size() >= kLeastSteps) list.push_back(std::move(line));
  }
  return list;
}

// Of a kind of which there were many and at most two are left, those are what the last turn works
// with, and one that dies at once while others live on is a part of a longer calculation: they do
// not stay.
Tensors stayers_of(const Facts& facts, const Tensors& tensors) {
  const Run& run = facts.run;
  struct Kind {
    std::size_t born = 0;
    std::size_t left = 0;
  };
  std::map<std::tuple<std::uint32_t, std::uint64_t>, Kind> kinds;
  const std::int64_t last = run.tensors[tensors.back()].born;
  const auto is_left = [&](const TensorLife& life) {
    return life.died == kNever || life.died > last;
  };
  for (const std::uint32_t i : tensors) {
    Kind& kind = kinds[{run.tensors[i].op, run.tensors[i].nbytes}];
    ++kind.born;
    kind.left += is_left(run.tensors[i]) ? 1 : 0;
  }
  const auto death = [&](std::uint32_t i) {
    const std::int64_t died = run.tensors[i].died;
    return died == kNever ? std::numeric_limits<std::int64_t>::max() : died;
  };
  const std::int64_t last_death = death(*std::ranges::max_element(tensors, {}, death));
  Tensors stayers;
  for (const std::uint32_t i : tensors) {
    const TensorLife& life = run.tensors[i];
    if (!is_left(life)) continue;
    const Kind& kind = kinds[{life.op, life.nbytes}];
    const bool is_working = kind.left <= 2 && kind.born >= kLeastSteps;
    const bool is_part =
        life.owner == 0 && death(i) < last_death &&
        facts.activity.at(life.died) <= facts.activity.at(life.born) + kTicksOfACall;
    if (!is_working && !is_part) stayers.push_back(i);
  }
  return stayers;
}

using Ticks = std::function<std::uint64_t(std::int64_t)>;

// All through, from the tick of the first stayer to `end`, and more at the end than before.
bool rises(const Run& run, const Tensors& tensors, const Tensors& stayers, const Ticks& ticks,
           std::uint64_t end) {
  const std::uint64_t begin = ticks(run.tensors[stayers.front()].born);
  if (end <= begin) return false;
  const std::uint64_t length = end - begin + 1;
  std::array<std::size_t, 4> quarters{};
  for (const std::uint32_t i : stayers) {
    const std::uint64_t tick = ticks(run.tensors[i].born);
    ++quarters[std::min<std::uint64_t>((tick - begin) * 4 / length, 3)];
  }
  const std::size_t all = stayers.size();
  if (std::ranges::any_of(quarters, [&](std::size_t part) { return part * 8 < all; })) return false;
  const auto alive_at = [&](std::uint64_t tick) {
    return static_cast<std::size_t>(std::ranges::count_if(tensors, [&](std::uint32_t i) {
      const TensorLife& life = run.tensors[i];
      return ticks(life.born) <= tick && (life.died == kNever || ticks(life.died) > tick);
    }));
  };
  return alive_at(begin + length / 2) * 4 <= all * 3 &&
         alive_at(begin + length * 3 / 4) * 10 <= all * 9;
}

// Disposed one by one, dropped while there was still work to do, or put together.
bool were_let_go(const Facts& facts, const Tensors& stayers) {
  const Run& run = facts.run;
  const auto let_go = std::ranges::count_if(stayers, [&](std::uint32_t i) {
    const TensorLife& life = run.tensors[i];
    if (life.died == kNever) return false;
    return life.died <= facts.activity.last() || text_of(run, life.cause) == "disposed";
  });
  if (static_cast<std::size_t>(let_go) * 5 >= stayers.size() * 4) return true;
  const std::int64_t last = run.tensors[stayers.back()].born;
  const std::uint64_t bytes = bytes_of(run, stayers);
  return std::ranges::any_of(run.ops, [&](const OpRun& op) {
    const std::string_view name = text_of(run, op.op);
    return op.begin >= last && op.bytes * 10 >= bytes * 9 && op.bytes <= bytes * 2 &&
           (name.find("concat") != name.npos || name.find("stack") != name.npos);
  });
}

// At least half of what the program did, and little after it: a list that is built for what comes
// then is neither.
bool is_most_of_all(const Facts& facts, const Tensors& stayers) {
  const Run& run = facts.run;
  const std::uint64_t end = facts.activity.at(run.tensors[stayers.back()].born);
  const std::uint64_t way = end - facts.activity.at(run.tensors[stayers.front()].born);
  return way * 2 >= facts.activity.total() && (facts.activity.total() - end) * 4 <= way;
}

// The name without its numbers: dense_7/kernel is made in every turn.
std::string kind_of(const Run& run, const TensorLife& life) {
  std::string kind = std::string(text_of(run, life.owner));
  std::erase_if(kind, [](unsigned char c) { return std::isdigit(c) != 0 || c == '_'; });
  return fmt::format("{} {} {}", life.op, life.shape, kind);
}

// Births with nothing of another line between them are of one turn, and so are those of different
// kinds: there are at most as many turns as of the commonest kind or, since models have many layers
// alike, as of the rarer kinds of variables.
std::size_t turns_of(const Facts& facts, const Line& line, const Tensors& stayers) {
  const Run& run = facts.run;
  std::set<std::tuple<std::uint32_t, std::uint32_t>> rounds;
  std::map<std::string, std::size_t> kinds;
  for (const std::uint32_t i : stayers) {
    rounds.insert({run.tensors[i].thread, facts.activity.round(i)});
    ++kinds[kind_of(run, run.tensors[i])];
  }
  std::vector<std::size_t> counts;
  counts.reserve(kinds.size());
  for (const auto& [kind, count] : kinds) counts.push_back(count);
  std::ranges::sort(counts);
  const std::size_t alike =
      line.owner_kind == "variable" ? counts[counts.size() / 4] : counts.back();
  return std::min(rounds.size(), alike);
}

// A loop that is one line: every turn an operation, and every operation the same.
bool is_loop_of_one_line(const Facts& facts, const Line& line, const Tensors& stayers) {
  const Run& run = facts.run;
  if (stayers.size() < kLeastOfOneLine || !line.owner_kind.empty()) return false;
  const TensorLife& first = run.tensors[stayers.front()];
  if (text_of(run, first.op).starts_with("gradient of")) return false;
  const auto ops = std::ranges::count(run.ops, line.site, &OpRun::site);
  return static_cast<std::size_t>(ops) >= stayers.size() &&
         std::ranges::all_of(stayers, [&](std::uint32_t i) {
           return run.tensors[i].op == first.op && run.tensors[i].shape == first.shape;
         });
}

std::optional<Growth> in_plain_loop(const Facts& facts, const Line& line) {
  Tensors stayers = stayers_of(facts, line.tensors);
  if (stayers.size() < kLeastSteps || !is_most_of_all(facts, stayers)) return {};
  std::size_t turns = turns_of(facts, line, stayers);
  if (turns < kLeastSteps) {
    if (!is_loop_of_one_line(facts, line, stayers)) return {};
    turns = stayers.size();
  }
  const Ticks ticks = [&](std::int64_t time) { return facts.activity.at(time); };
  if (!rises(facts.run, line.tensors, stayers, ticks,
             ticks(facts.run.tensors[stayers.back()].born)) ||
      were_let_go(facts, stayers)) {
    return {};
  }
  return Growth{std::move(stayers), turns, "turn of its loop", false};
}

// Spans of one label, in order; what is between them is none of theirs.
struct Steps {
  std::string label;
  bool is_named = false;  // a step, an epoch, a user's own: no mere tidy
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  std::vector<std::uint32_t> threads;

  std::uint64_t begun_at(std::int64_t time) const {
    const auto after =
        std::ranges::upper_bound(spans, time, {}, &std::pair<std::int64_t, std::int64_t>::first);
    return static_cast<std::uint64_t>(after - spans.begin());
  }
  bool holds(const TensorLife& life) const {
    const std::uint64_t begun = begun_at(life.born);
    return begun > 0 && life.born <= spans[begun - 1].second && threads[begun - 1] == life.thread;
  }
};

std::vector<Steps> steps_of(const Run& run) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Steps> steps;
  for (std::uint32_t i = 0; i < run.spans.size(); ++i) {
    const Span& span = run.spans[i];
    const std::string_view kind = text_of(run, span.kind);
    if (kind == "tape" || kind == "trace" || kind == "call") continue;
    Steps& of = steps[{span.kind, common_name(run, span), span.site}];
    if (of.spans.empty()) {
      of.is_named = kind != "tidy";
      of.label = kind == "tidy" ? span_text(run, i) : std::string(kind);
    }
    of.spans.emplace_back(span.begin, span.end == kNever ? run.length : span.end);
    of.threads.push_back(span.thread);
  }
  std::vector<Steps> list;
  for (auto& [key, of] : steps) {
    if (of.spans.size() >= kLeastSteps) list.push_back(std::move(of));
  }
  return list;
}

std::optional<Growth> in_steps(const Facts& facts, const Line& line, const Steps& steps) {
  const Run& run = facts.run;
  Tensors inside;
  for (const std::uint32_t i : line.tensors) {
    if (steps.holds(run.tensors[i])) inside.push_back(i);
  }
  if (inside.size() < kLeastSteps) return {};
  Tensors stayers = stayers_of(facts, inside);
  if (stayers.size() < kLeastSteps) return {};
  if (!steps.is_named && !is_most_of_all(facts, stayers)) return {};
  std::set<std::uint64_t> left;
  for (const std::uint32_t i : stayers) left.insert(steps.begun_at(run.tensors[i].born));
  const std::uint64_t all = steps.spans.size() - *left.begin() + 1;
  if (left.size() < kLeastSteps || left.size() * 20 < all) return {};
  const Ticks ticks = [&](std::int64_t time) { return steps.begun_at(time); };
  if (!rises(run, inside, stayers, ticks, steps.spans.size()) || were_let_go(facts, stayers)) {
    return {};
  }
  return Growth{std::move(stayers), left.size(), steps.label, steps.is_named};
}

std::string rate_text(const Growth& growth) {
  const double rate =
      static_cast<double>(growth.stayers.size()) / static_cast<double>(growth.steps);
  return rate < 1.05 ? "1" : fmt::format("{:.3g}", rate);
}

std::uint32_t tape_site(const Run& run, std::string_view owner, std::int64_t born) {
  std::uint32_t site = kNone;
  for (std::uint32_t i = 0; i < run.spans.size() && run.spans[i].begin <= born; ++i) {
    if (text_of(run, run.spans[i].kind) == "tape" && span_text(run, i) == owner) {
      site = run.spans[i].site;
    }
  }
  // Made by make_unique or the like: the line is none of the user's.
  const bool is_foreign = site != kNone && site_path(run, site).starts_with("/usr/");
  return is_foreign ? kNone : site;
}

Finding finding_of(const Run& run, const Line& line, const Growth& growth) {
  Finding finding;
  finding.problem = Problem::growth;
  finding.site = line.site;
  finding.count = growth.stayers.size();
  finding.bytes = bytes_of(run, growth.stayers);
  finding.tensors = some_of(growth.stayers);
  const TensorLife& last = run.tensors[growth.stayers.back()];
  const std::string more = fmt::format("{} more with every {}", rate_text(growth), growth.label);
  const std::string held = bytes_text(finding.bytes);
  if (line.owner_kind.empty()) {
    finding.title =
        fmt::format("{} from {} ({}) alive together, {}: {}", count_text(finding.count, "tensor"),
                    site_text(run, line.site), text_of(run, last.op), more, held);
    finding.remedy =
        "something stores every one of them: read out the numbers you need, drop or dispose the "
        "tensor at the end of the step, or store it in place of the last one.";
  } else if (line.owner_kind == "variable") {
    finding.title =
        fmt::format("{} from {} alive together, {}: {}", count_text(finding.count, "variable"),
                    site_text(run, line.site), more, held);
    finding.remedy =
        "models or variables are made in the loop and stored: make them once, or dispose() them "
        "when they are done.";
  } else {
    finding.title = fmt::format("{} holds {} from {}, {}: {}", text_of(run, last.owner),
                                count_text(finding.count, "saved value"), site_text(run, line.site),
                                more, held);
    finding.remedy = "whatever saves them is never disposed.";
  }
  return finding;
}

// What one tape saves for several lines is one finding, of the line that made the tape.
struct Tape {
  Growth growth;
  std::uint32_t line = kNone;  // that it saves most for
  std::uint64_t most = 0;
};

Finding finding_of(const Run& run, std::uint32_t site, const Tape& tape) {
  const Tensors& stayers = tape.growth.stayers;
  Finding finding;
  finding.problem = Problem::growth;
  finding.site = site;
  finding.count = stayers.size();
  finding.bytes = bytes_of(run, stayers);
  finding.tensors = some_of(stayers);
  finding.title =
      fmt::format("{} ({}) holds {}, {} more with every {}: {}, most of it from {}",
                  text_of(run, run.tensors[stayers.back()].owner), site_text(run, site),
                  count_text(finding.count, "saved value"), rate_text(tape.growth),
                  tape.growth.label, bytes_text(finding.bytes), site_text(run, tape.line));
  finding.remedy =
      "the tape records on through every step: make a tape in each step, and let it end there.";
  return finding;
}

bool ran_out(const Run& run) {
  return std::ranges::any_of(run.raised, [&](const Raised& raised) {
    return text_of(run, raised.text).find("OutOfMemoryError") != std::string_view::npos;
  });
}

// x = concat({x, y}), over and over.
std::optional<Finding> find_swelling(const Facts& facts, const Line& line) {
  const Run& run = facts.run;
  if (!line.owner_kind.empty()) return {};
  std::size_t larger = 0;
  for (std::size_t i = 1; i < line.tensors.size(); ++i) {
    larger += run.tensors[line.tensors[i]].nbytes > run.tensors[line.tensors[i - 1]].nbytes ? 1 : 0;
  }
  const std::uint64_t first = run.tensors[line.tensors[line.tensors.size() / 4]].nbytes;
  const std::uint64_t last = run.tensors[line.tensors.back()].nbytes;
  const bool is_large = (run.budget > 0 && last * 4 >= run.budget) || ran_out(run);
  if (!is_large || larger * 20 < (line.tensors.size() - 1) * 19 || last < first * 2) return {};
  Finding finding;
  finding.problem = Problem::growth;
  finding.site = line.site;
  finding.count = 1;
  finding.bytes = last;
  finding.tensors = some_of(line.tensors);
  finding.title = fmt::format(
      "the tensor from {} ({}) became larger with every turn of its loop, "
      "{} times: {}",
      site_text(run, line.site), text_of(run, run.tensors[line.tensors.back()].op), larger,
      bytes_text(last));
  finding.remedy = "write what is complete to a file, or keep a bounded part of it.";
  return finding;
}

}  // namespace

std::vector<Finding> find_growth(const Facts& facts) {
  std::vector<Finding> list;
  std::map<std::uint32_t, Tape> tapes;
  const std::vector<Steps> all_steps = steps_of(facts.run);
  for (const Line& line : lines_of(facts.run)) {
    if (line.owner_kind == "function") continue;  // find_retracing tells
    std::optional<Growth> growth;
    const bool can_grow = most_alive(facts.run, line.tensors) >= kLeastSteps;
    for (const Steps& steps : all_steps) {
      if (!can_grow) break;
      std::optional<Growth> other = in_steps(facts, line, steps);
      if (other && (!growth || (other->in_named_steps && !growth->in_named_steps) ||
                    other->steps > growth->steps)) {
        growth = std::move(other);
      }
    }
    if (!growth && can_grow) growth = in_plain_loop(facts, line);
    if (growth && line.owner_kind == "tape") {
      const TensorLife& last = facts.run.tensors[growth->stayers.back()];
      const std::uint32_t made = tape_site(facts.run, text_of(facts.run, last.owner), last.born);
      Tape& tape = tapes[made == kNone ? line.site : made];
      const std::uint64_t bytes = bytes_of(facts.run, growth->stayers);
      if (bytes >= tape.most) {
        tape.most = bytes;
        tape.line = line.site;
      }
      tape.growth.label = growth->label;
      tape.growth.steps = std::max(tape.growth.steps, growth->steps);
      std::ranges::copy(growth->stayers, std::back_inserter(tape.growth.stayers));
    } else if (growth) {
      list.push_back(finding_of(facts.run, line, *growth));
    } else if (std::optional<Finding> swelling = find_swelling(facts, line)) {
      list.push_back(std::move(*swelling));
    }
  }
  for (const auto& [site, tape] : tapes) list.push_back(finding_of(facts.run, site, tape));
  return list;
}

}  // namespace tenure::report
