#include "report/compare.h"

#include <algorithm>
#include <map>

#include "report/holders.h"
#include "report/names.h"
#include "report/timeline.h"

namespace tenure::report {
namespace {

std::vector<SiteChange> changes(const Run& first, std::int64_t first_time, const Run& second,
                                std::int64_t second_time) {
  std::map<std::string, SiteChange> lines;
  const auto add = [&](const Run& run, std::int64_t time, Amount SiteChange::* amount) {
    for (const HolderRow& row : holders_at(run, time, By::site)) {
      SiteChange& line = lines[site_path(run, row.site)];
      line.site = site_path(run, row.site);
      line.op = row.detail;
      line.*amount = {row.bytes, row.storages};
    }
  };
  add(first, first_time, &SiteChange::first);
  add(second, second_time, &SiteChange::second);
  std::vector<SiteChange> list;
  for (auto& [key, line] : lines) {
    if (line.first != line.second) list.push_back(std::move(line));
  }
  std::ranges::stable_sort(list, [](const SiteChange& a, const SiteChange& b) {
    const auto gained = [](const SiteChange& line) {
      return static_cast<std::int64_t>(line.second.bytes - line.first.bytes);
    };
    return gained(a) > gained(b);
  });
  return list;
}

std::vector<OpChange> op_changes(const Run& first, const Run& second) {
  std::map<std::string, OpChange> ops;
  for (const OpTotal& total : op_totals(first)) {
    ops[total.op] = {total.op, total.calls, 0, total.time, 0};
  }
  for (const OpTotal& total : op_totals(second)) {
    OpChange& op = ops[total.op];
    op.op = total.op;
    op.second_calls = total.calls;
    op.second_time = total.time;
  }
  std::vector<OpChange> list;
  list.reserve(ops.size());
  for (auto& [key, op] : ops) list.push_back(std::move(op));
  std::ranges::stable_sort(list, [](const OpChange& a, const OpChange& b) {
    return std::abs(a.second_time - a.first_time) > std::abs(b.second_time - b.first_time);
  });
  return list;
}

}  // namespace

bool Comparison::holds_more() const {
  return second_peak > first_peak || std::ranges::any_of(at_end, [](const SiteChange& line) {
           return line.second.bytes > line.first.bytes || line.second.count > line.first.count;
         });
}

Comparison compare(const Run& first, const Run& second) {
  const Timeline first_line(first), second_line(second);
  Comparison result;
  result.first_end = sum(first_line.end().live);
  result.second_end = sum(second_line.end().live);
  result.first_peak = sum(first_line.peak().live);
  result.second_peak = sum(second_line.peak().live);
  result.at_end = changes(first, first.length, second, second.length);
  result.at_peak = changes(first, first_line.peak().time, second, second_line.peak().time);
  result.ops = op_changes(first, second);
  return result;
}

}  // namespace tenure::report
