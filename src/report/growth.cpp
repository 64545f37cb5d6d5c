// Growth: what a line makes stays, and there is more of it with every step.
//
// Judged for each line by those of its tensors that stay (stayers.h): a line may make others too,
// which come and go. Steps are the repeated spans of one label ("step", "epoch", a user's own, a
// tidy), and where there are none, the turns of a plain loop: births of the line with something of
// another line between them. A line grows when
//
//   - at least kLeastSteps steps left stayers;
//   - stayers were born all through, in each quarter of the way (a warm-up, or a cache that meets a
//     new key now and then, has them in the beginning);
//   - the number alive rose to the end (one that is bounded does not);
//   - the way is most of what the program did, with little after it, or goes on to the last of the
//     steps that have a name (a list that is built once, before the work, is a small part of it),
//     or they were never used after it: a leak that stopped, where the recording tells of uses;
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
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "report/advice.h"
#include "report/names.h"
#include "report/rules.h"
#include "report/stayers.h"

namespace tenure::report {
namespace {

constexpr std::size_t kLeastSteps = 12;
constexpr std::size_t kLeastOfOneLine = 64;  // of a loop that is one line: is it a loop at all?

struct Growth {
  Tensors stayers;
  std::size_t steps = 0;
  std::string label;  // of the step
  bool in_named_steps = false;
  bool is_forgotten = false;  // it stopped
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

using Ticks = std::function<std::uint64_t(std::int64_t)>;

// All through, from the tick of the first stayer to `end`, and more at the end than before. What
// came and went in a fraction of the time is not counted.
bool rises(const Facts& facts, const Tensors& tensors, const Tensors& stayers, const Ticks& ticks,
           std::uint64_t end) {
  const Run& run = facts.run;
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
  const std::int64_t last = run.tensors[tensors.back()].born;
  const auto age = [&](const TensorLife& life) {
    const std::int64_t until = life.died == kNever ? last : std::min(life.died, last);
    return facts.activity.at(until) - facts.activity.at(life.born);
  };
  const std::uint64_t long_life = age(run.tensors[stayers[all / 2]]) / 4;
  Tensors settled;
  for (const std::uint32_t i : tensors) {
    if (age(run.tensors[i]) >= long_life || std::ranges::binary_search(stayers, i))
      settled.push_back(i);
  }
  const auto alive_at = [&](std::uint64_t tick) {
    return static_cast<std::size_t>(std::ranges::count_if(settled, [&](std::uint32_t i) {
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
  std::uint64_t bytes = 0;
  for (const std::uint32_t i : stayers) bytes += run.tensors[i].nbytes;
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

// Alive when the process ended, and not used once the loop that made them was over, though the
// program went on. A list that was built for the work to come is used by it.
bool are_forgotten(const Facts& facts, const Tensors& stayers) {
  const Run& run = facts.run;
  if (!run.whole_process || run.cut_short) return false;
  const Activity& activity = facts.activity;
  const std::uint64_t begin = activity.at(run.tensors[stayers.front()].born);
  const std::uint64_t end = activity.at(run.tensors[stayers.back()].born);
  const std::uint64_t turn = (end - begin) / stayers.size() + 1;
  if (activity.total() - end <= 2 * turn) return false;  // it did not go on
  return std::ranges::all_of(stayers, [&](std::uint32_t i) {
    const TensorLife& life = run.tensors[i];
    return life.died == kNever && life.used != kNever &&
           activity.at(life.used) <= end + 2 * turn;  // the last ones in their own turn
  });
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
  const auto round = [&](std::uint32_t i) { return facts.activity.round(i); };
  const bool is_one_line = round(line.tensors.front()) == round(line.tensors.back());
  Tensors stayers = stayers_of(facts.run, facts.activity, line.tensors, [&](std::uint32_t i) {
    return std::uint64_t{is_one_line ? i : round(i)};
  });
  if (stayers.size() < kLeastSteps) return {};
  const bool is_forgotten = !is_most_of_all(facts, stayers);
  if (is_forgotten && !are_forgotten(facts, stayers)) return {};
  std::size_t turns = turns_of(facts, line, stayers);
  if (turns < kLeastSteps) {
    if (!is_loop_of_one_line(facts, line, stayers)) return {};
    turns = stayers.size();
  }
  const Ticks ticks = [&](std::int64_t time) { return facts.activity.at(time); };
  if (!rises(facts, line.tensors, stayers, ticks, ticks(facts.run.tensors[stayers.back()].born)) ||
      were_let_go(facts, stayers)) {
    return {};
  }
  return Growth{std::move(stayers), turns, "turn of its loop", false, is_forgotten};
}

// Spans of one label, in order. What is between them is none of theirs, but for what their own line
// goes on to do: predict(x)[0].
struct Steps {
  using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;

  std::string label;
  std::uint32_t site = kNone;
  bool is_named = false;  // a step, an epoch, a user's own: no mere tidy
  Spans spans;
  std::map<std::uint32_t, Spans> of_threads;

  static std::uint64_t begun_at(const Spans& spans, std::int64_t time) {
    const auto after = std::ranges::upper_bound(spans, time, {}, &Spans::value_type::first);
    return static_cast<std::uint64_t>(after - spans.begin());
  }
  std::uint64_t begun_at(std::int64_t time) const { return begun_at(spans, time); }
  bool holds(const TensorLife& life) const {
    const auto thread = of_threads.find(life.thread);
    if (thread == of_threads.end()) return false;
    const std::uint64_t begun = begun_at(thread->second, life.born);
    return begun > 0 && (life.born <= thread->second[begun - 1].second || life.birth_site == site);
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
      of.site = span.site;
      of.is_named = kind != "tidy";
      of.label = kind == "tidy" ? span_text(run, i) : std::string(kind);
    }
    of.spans.emplace_back(span.begin, span.end == kNever ? run.length : span.end);
    of.of_threads[span.thread].push_back(of.spans.back());
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
  Tensors stayers = stayers_of(run, facts.activity, inside, [&](std::uint32_t i) {
    return steps.begun_at(run.tensors[i].born);
  });
  if (stayers.size() < kLeastSteps) return {};
  const bool is_forgotten = !steps.is_named && !is_most_of_all(facts, stayers);
  if (is_forgotten && !are_forgotten(facts, stayers)) return {};
  const Ticks ticks = [&](std::int64_t time) { return steps.begun_at(time); };
  const std::uint64_t end =
      is_forgotten ? ticks(run.tensors[stayers.back()].born) : steps.spans.size();
  std::set<std::uint64_t> left;
  for (const std::uint32_t i : stayers) left.insert(steps.begun_at(run.tensors[i].born));
  const std::uint64_t all = end - *left.begin() + 1;
  if (left.size() < kLeastSteps || left.size() * 20 < all) return {};
  if (!rises(facts, inside, stayers, ticks, end) || were_let_go(facts, stayers)) {
    return {};
  }
  return Growth{std::move(stayers), left.size(), steps.label, steps.is_named, is_forgotten};
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

Finding finding_of(const Facts& facts, const Line& line, const Growth& growth) {
  const Run& run = facts.run;
  Finding finding = finding_about(facts, Problem::growth, line.site, growth.stayers);
  const TensorLife& last = run.tensors[growth.stayers.back()];
  const std::string more = fmt::format("{} more with every {}", rate_text(growth), growth.label);
  const std::string held = bytes_text(finding.bytes);
  if (line.owner_kind.empty()) {
    finding.title =
        fmt::format("{} from {} ({}) alive together, {}: {}", count_text(finding.count, "tensor"),
                    site_text(run, line.site), text_of(run, last.op), more, held);
    finding.remedy =
        advice(run, growth.is_forgotten ? Advice::stored_and_forgotten : Advice::stored_in_a_loop);
  } else if (line.owner_kind == "variable") {
    finding.title =
        fmt::format("{} from {} alive together, {}: {}", count_text(finding.count, "variable"),
                    site_text(run, line.site), more, held);
    finding.remedy = advice(run, Advice::variables_in_a_loop);
  } else {
    finding.title = fmt::format("{} holds {} from {}, {}: {}", text_of(run, last.owner),
                                count_text(finding.count, "saved value"), site_text(run, line.site),
                                more, held);
    finding.remedy = advice(run, Advice::saved_for_ever);
  }
  return finding;
}

// What one tape saves for several lines is one finding, of the line that made the tape.
struct Tape {
  Growth growth;
  std::uint32_t line = kNone;  // that it saves most for
  std::uint64_t most = 0;
};

Finding finding_of(const Facts& facts, std::uint32_t site, const Tape& tape) {
  const Run& run = facts.run;
  Tensors stayers = tape.growth.stayers;
  std::ranges::sort(stayers);
  Finding finding = finding_about(facts, Problem::growth, site, stayers);
  finding.title =
      fmt::format("{} ({}) holds {}, {} more with every {}: {}, most of it from {}",
                  text_of(run, run.tensors[stayers.back()].owner), site_text(run, site),
                  count_text(finding.count, "saved value"), rate_text(tape.growth),
                  tape.growth.label, bytes_text(finding.bytes), site_text(run, tape.line));
  finding.remedy = advice(run, Advice::tape_over_steps);
  return finding;
}

bool ran_out(const Run& run) {
  return std::ranges::any_of(run.raised, [&](const Raised& raised) {
    return text_of(run, raised.type) == "OutOfMemoryError";
  });
}

// x = concat({x, y}), over and over: what one operation of a line makes is larger each time.
std::optional<Finding> find_swelling(const Facts& facts, const Line& line, const Tensors& made) {
  const Run& run = facts.run;
  std::size_t larger = 0;
  for (std::size_t i = 1; i < made.size(); ++i) {
    larger += run.tensors[made[i]].nbytes > run.tensors[made[i - 1]].nbytes ? 1 : 0;
  }
  const std::uint64_t first = run.tensors[made[made.size() / 4]].nbytes;
  const std::uint64_t last = run.tensors[made.back()].nbytes;
  const bool is_large = (run.budget > 0 && last * 4 >= run.budget) || ran_out(run);
  if (!is_large || larger * 20 < (made.size() - 1) * 19 || last < first * 2) return {};
  Finding finding = finding_about(facts, Problem::growth, line.site, made);
  finding.title = fmt::format(
      "the tensor from {} ({}) became larger with every turn of its loop, {} times, up to {}",
      site_text(run, line.site), text_of(run, run.tensors[made.back()].op), larger,
      bytes_text(last));
  finding.remedy = advice(run, Advice::larger_every_turn);
  return finding;
}

std::vector<Finding> find_swelling(const Facts& facts, const Line& line) {
  std::vector<Finding> list;
  if (!line.owner_kind.empty()) return list;
  std::map<std::uint32_t, Tensors> made;  // by operation
  for (const std::uint32_t i : line.tensors) made[facts.run.tensors[i].op].push_back(i);
  for (const auto& [op, tensors] : made) {
    if (tensors.size() < kLeastSteps) continue;
    if (auto found = find_swelling(facts, line, tensors)) list.push_back(std::move(*found));
  }
  return list;
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
      const std::uint64_t bytes = facts.holdings.most_held(growth->stayers);
      if (bytes >= tape.most) {
        tape.most = bytes;
        tape.line = line.site;
      }
      tape.growth.label = growth->label;
      tape.growth.steps = std::max(tape.growth.steps, growth->steps);
      std::ranges::copy(growth->stayers, std::back_inserter(tape.growth.stayers));
    } else if (growth) {
      list.push_back(finding_of(facts, line, *growth));
    } else {
      std::ranges::move(find_swelling(facts, line), std::back_inserter(list));
    }
  }
  for (const auto& [site, tape] : tapes) list.push_back(finding_of(facts, site, tape));
  return list;
}

}  // namespace tenure::report
