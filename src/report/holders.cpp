#include "report/holders.h"

#include <fmt/format.h>

#include <algorithm>
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
  std::map<std::string, HolderRow> rows;
  std::map<std::string, std::uint64_t> largest;
  for (std::size_t i = 0; i < run.storages.size(); ++i) {
    const StorageLife& storage = run.storages[i];
    if (!is_alive(storage, time)) continue;
    const std::uint32_t best = held[i].best;
    const std::string key = key_of(run, storage, best, by, time);
    HolderRow& row = rows[key];
    const std::int64_t born = best == kNone ? storage.born : run.tensors[best].born;
    row.oldest = row.storages == 0 ? born : std::min(row.oldest, born);
    row.bytes += storage.nbytes;
    ++row.storages;
    row.tensors += held[i].holders;
    if (row.storages == 1 || storage.nbytes > largest[key]) {
      largest[key] = storage.nbytes;
      row.key = key;
      row.detail = detail_of(run, storage, best, by);
      row.example = best;
      row.site = best == kNone ? storage.site : run.tensors[best].birth_site;
    }
  }
  std::vector<HolderRow> list;
  list.reserve(rows.size());
  for (auto& [key, row] : rows) {
    if (by == By::site) row.key = site_text(run, row.site);
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
    total.time += op.duration;
    total.longest = std::max(total.longest, op.duration);
    total.bytes += op.bytes;
  }
  std::vector<OpTotal> list;
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
    SpanTotal& total = totals[{span.kind, span.name, span.site}];
    if (total.count++ == 0) {
      total.label = span_text(run, i);
      total.site = span.site;
    }
    const std::int64_t time = (span.end == kNever ? run.length : span.end) - span.begin;
    total.time += time;
    total.longest = std::max(total.longest, time);
  }
  std::vector<SpanTotal> list;
  for (auto& [key, total] : totals) list.push_back(std::move(total));
  std::ranges::stable_sort(list, std::greater<>(), &SpanTotal::time);
  return list;
}

}  // namespace tenure::report
