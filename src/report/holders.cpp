#include "report/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "report/names.h"

namespace tenure::report {
namespace {

// A tensor before a saved value, the whole before a view, the larger before the smaller.
bool is_better(const TensorLife& a, const TensorLife& b) {
  const auto rank = [](const TensorLife& life) {
    return std::tuple(life.owner == 0, !life.is_view, life.nbytes);
  };
  return rank(a) > rank(b);
}

// Times of many threads and of spans within spans: at most what fits.
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

struct Held {
  std::uint32_t best = kNone;
  std::uint64_t holders = 0;
};

std::vector<Held> holders_of_storages(const Run& run, std::int64_t time) {
  std::vector<Held> held(run.storages.size());
  for (std::uint32_t i = 0; i < run.tensors.size(); ++i) {
    const TensorLife& life = run.tensors[i];
    if (life.storage >= held.size() || !is_alive(life, time)) continue;
    Held& of = held[life.storage];
    ++of.holders;
    if (of.best == kNone || is_better(life, run.tensors[of.best])) of.best = i;
  }
  return held;
}

std::string key_of(const Run& run, const StorageLife& storage, std::uint32_t best, By by,
                   std::int64_t time) {
  const TensorLife* life = best == kNone ? nullptr : &run.tensors[best];
  switch (by) {
    case By::site:
      return site_path(run, life != nullptr ? life->birth_site : storage.site);
    case By::op:
      return std::string(text_of(run, life != nullptr ? life->op : storage.op));
    case By::scope:
      if (life == nullptr) return "(workspace)";
      if (life->owner != 0) return std::string(text_of(run, life->owner));
      return life->scope == kNone ? "(no tidy)" : span_text(run, life->scope);
    case By::thread:
      return life != nullptr ? fmt::format("thread {}", life->thread) : "(workspace)";
    case By::category:
      return std::string(name(category_at(storage, time)));
  }
  return "";
}

std::string detail_of(const Run& run, const StorageLife& storage, std::uint32_t best, By by) {
  if (best == kNone) return by == By::op ? "" : std::string(text_of(run, storage.op));
  const TensorLife& life = run.tensors[best];
  std::string text = by == By::op ? "" : std::string(text_of(run, life.op));
  const auto add = [&](std::string_view more) {
    if (!text.empty()) text += ", ";
    text += more;
  };
  add(fmt::format("{} {}", text_of(run, life.dtype), text_of(run, life.shape)));
  if (by != By::scope && life.owner != 0) add(text_of(run, life.owner));
  return text;
}

}  // namespace

std::vector<HolderRow> holders_at(const Run& run, std::int64_t time, By by) {
  const std::vector<Held> held = holders_of_storages(run, time);
  struct Kind {  // storages of one row that are alike
    std::uint64_t bytes = 0;
    std::size_t largest = 0;  // storage
  };
  struct Part {
    HolderRow row;
    std::map<std::tuple<std::uint32_t, std::uint32_t>, Kind> kinds;
  };
  std::map<std::string, Part> parts;
  for (std::size_t i = 0; i < run.storages.size(); ++i) {
    const StorageLife& storage = run.storages[i];
    if (!is_alive(storage, time)) continue;
    const TensorLife* best = held[i].best == kNone ? nullptr : &run.tensors[held[i].best];
    auto& [row, kinds] = parts[key_of(run, storage, held[i].best, by, time)];
    const std::int64_t born = best == nullptr ? storage.born : best->born;
    row.oldest = row.storages == 0 ? born : std::min(row.oldest, born);
    row.bytes += storage.nbytes;
    ++row.storages;
    row.tensors += held[i].holders;
    const auto [at, is_new] = kinds.try_emplace(
        best == nullptr ? std::tuple(storage.op, 0u) : std::tuple(best->op, best->shape));
    Kind& kind = at->second;
    if (is_new || storage.nbytes > run.storages[kind.largest].nbytes) kind.largest = i;
    kind.bytes += storage.nbytes;
  }
  std::vector<HolderRow> list;
  list.reserve(parts.size());
  for (auto& [key, part] : parts) {
    const auto most = std::ranges::max_element(part.kinds, {},
                                               [](const auto& each) { return each.second.bytes; });
    const std::size_t storage = most->second.largest;
    HolderRow& row = part.row;
    row.example = held[storage].best;
    row.site =
        row.example == kNone ? run.storages[storage].site : run.tensors[row.example].birth_site;
    row.detail = detail_of(run, run.storages[storage], row.example, by);
    if (part.kinds.size() > 1) row.detail += ", ...";
    row.key = by == By::site ? site_text(run, row.site) : key;
    list.push_back(std::move(row));
  }
  std::ranges::stable_sort(list, std::greater<>(), &HolderRow::bytes);
  return list;
}

std::vector<OpTotal> op_totals(const Run& run) {
  std::map<std::uint32_t, OpTotal> totals;
  for (const OpRun& op : run.ops) {
    OpTotal& total = totals[op.op];
    ++total.calls;
    total.time = sum_of(total.time, op.duration);
    total.longest = std::max(total.longest, op.duration);
    total.bytes += op.bytes;
  }
  std::vector<OpTotal> list;
  list.reserve(totals.size());
  for (auto& [op, total] : totals) {
    total.op = text_of(run, op);
    list.push_back(std::move(total));
  }
  std::ranges::stable_sort(list, std::greater<>(), &OpTotal::time);
  return list;
}

std::vector<SpanTotal> span_totals(const Run& run) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, SpanTotal> totals;
  for (std::uint32_t i = 0; i < run.spans.size(); ++i) {
    const Span& span = run.spans[i];
    SpanTotal& total = totals[{span.kind, common_name(run, span), span.site}];
    if (total.count++ == 0) {
      total.label = label_text(text_of(run, span.kind), text_of(run, common_name(run, span)));
      total.site = span.site;
    }
    const std::int64_t time = (span.end == kNever ? run.length : span.end) - span.begin;
    total.time = sum_of(total.time, time);
    total.longest = std::max(total.longest, time);
  }
  std::vector<SpanTotal> list;
  list.reserve(totals.size());
  for (auto& [key, total] : totals) list.push_back(std::move(total));
  std::ranges::stable_sort(list, std::greater<>(), &SpanTotal::time);
  return list;
}

}  // namespace tenure::report
