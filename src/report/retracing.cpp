// Retracing, a kind of growth: a function that is traced for nearly every call. Some argument's
// shape or value keeps changing, and each trace keeps its constants, its captures and its plan. It
// takes kLeastTraces of them, and no more than two calls for each: a function that meets thirty
// shapes in a thousand calls is well.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "report/advice.h"
#include "report/names.h"
#include "report/rules.h"

namespace tenure::report {

std::vector<Finding> find_retracing(const Facts& facts) {
  constexpr std::size_t kLeastTraces = 16;
  const Run& run = facts.run;
  struct Counts {
    std::size_t traces = 0;
    std::size_t calls = 0;
    std::uint32_t last = kNone;
  };
  // A trace made of one that serves other sizes too runs nothing, and so makes no symbol.
  std::map<std::uint32_t, std::vector<std::int64_t>> symbols;
  for (const TensorLife& life : run.tensors) {
    if (life.storage == kNone) symbols[life.thread].push_back(life.born);
  }
  const auto makes_symbols = [&](const Span& span) {
    const std::vector<std::int64_t>& born = symbols[span.thread];
    const auto first = std::ranges::lower_bound(born, span.begin);
    return first != born.end() && (span.end == kNever || *first <= span.end);
  };
  std::map<std::tuple<std::uint32_t, std::uint64_t>, Counts> functions;  // by name and number
  for (std::uint32_t i = 0; i < run.spans.size(); ++i) {
    const std::string_view kind = text_of(run, run.spans[i].kind);
    Counts& counts = functions[{run.spans[i].name, run.spans[i].of}];
    if (kind == "call") ++counts.calls;
    if (kind == "trace" && makes_symbols(run.spans[i])) {
      ++counts.traces;
      counts.last = i;
    }
  }
  std::vector<Finding> list;
  for (const auto& [function, counts] : functions) {
    if (counts.traces < kLeastTraces || counts.traces * 2 < counts.calls) continue;
    const Span& last = run.spans[counts.last];
    const std::int64_t end = last.end == kNever ? run.length : last.end;
    const std::string owner = label_text("function", text_of(run, last.name));
    std::vector<std::uint32_t> held;
    for (std::uint32_t i = 0; i < run.tensors.size(); ++i) {
      if (text_of(run, run.tensors[i].owner) == owner && is_alive(run.tensors[i], end)) {
        held.push_back(i);
      }
    }
    const bool holds = !held.empty();
    Finding finding = finding_about(facts, Problem::growth, last.site, std::move(held));
    finding.count = counts.traces;
    finding.title = fmt::format("{} was traced {} times in {}", owner, counts.traces,
                                count_text(std::max(counts.calls, counts.traces), "call"));
    if (holds) finding.title += fmt::format("; its traces hold {}", bytes_text(finding.bytes));
    finding.remedy = advice(run, Advice::traced_again);
    list.push_back(std::move(finding));
  }
  return list;
}

}  // namespace tenure::report
