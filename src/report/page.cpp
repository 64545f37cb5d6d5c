#include "report/page.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

#include "core/raise.h"
#include "io/atomic_file.h"
#include "report/columns.h"

namespace tenure::report {
namespace {

constexpr std::string_view kTitleHole = "<!--tenure:title-->";
constexpr std::string_view kDataHole = "<!--tenure:data-->";

// All that happened to memory, in order of time; the lives of the storages follow from it.
struct Change {
  std::int64_t time = 0;
  std::uint32_t storage = 0;
  std::uint8_t to = 0;  // a category, or kFreed
};
constexpr std::uint8_t kFreed = kCategories;

std::vector<Change> changes_of(const std::vector<StorageLife>& storages) {
  std::vector<Change> changes;
  changes.reserve(2 * storages.size());
  for (std::uint32_t i = 0; i < storages.size(); ++i) {
    const StorageLife& storage = storages[i];
    const std::int64_t end =
        storage.freed == kNever ? std::numeric_limits<std::int64_t>::max() : storage.freed;
    Category category = Category::other;
    std::size_t next = 0;
    if (!storage.categories.empty()) category = storage.categories[next++].category;
    changes.push_back({storage.born, i, static_cast<std::uint8_t>(category)});
    for (; next < storage.categories.size(); ++next) {
      const CategoryChange& change = storage.categories[next];
      if (change.category == category || change.time > end) continue;
      category = change.category;
      changes.push_back(
          {std::max(change.time, storage.born), i, static_cast<std::uint8_t>(category)});
    }
    if (storage.freed != kNever) {
      changes.push_back({std::max(storage.freed, storage.born), i, kFreed});
    }
  }
  // Stable: a storage that was freed in the nanosecond of its birth is born first.
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.time < b.time; });
  return changes;
}

void add_tensors(Columns& columns, const std::vector<TensorLife>& tensors) {
  const auto add = [&](std::string_view name, auto value) { columns.whole(name, tensors, value); };
  add("tensor.id", [](const TensorLife& t) { return t.id; });
  add("tensor.name", [](const TensorLife& t) { return t.name; });
  add("tensor.op", [](const TensorLife& t) { return t.op; });
  add("tensor.dtype", [](const TensorLife& t) { return t.dtype; });
  add("tensor.shape", [](const TensorLife& t) { return t.shape; });
  add("tensor.owner", [](const TensorLife& t) { return t.owner; });
  add("tensor.birth_site", [](const TensorLife& t) { return t.birth_site; });
  add("tensor.storage", [](const TensorLife& t) { return t.storage; });
  add("tensor.scope", [](const TensorLife& t) { return t.scope; });
  add("tensor.thread", [](const TensorLife& t) { return t.thread; });
  add("tensor.nbytes", [](const TensorLife& t) { return t.nbytes; });
  add("tensor.born", [](const TensorLife& t) { return t.born; });
  // As a length: lives are short, moments are not. -1 for one that did not end.
  add("tensor.lived", [](const TensorLife& t) { return t.died == kNever ? -1 : t.died - t.born; });
  add("tensor.cause", [](const TensorLife& t) { return t.cause; });
  add("tensor.death_site", [](const TensorLife& t) { return t.death_site; });
  add("tensor.death_by", [](const TensorLife& t) { return t.death_by; });
  add("tensor.flags", [](const TensorLife& t) {
    return (t.is_view ? 1 : 0) | (t.reused ? 2 : 0) | (t.before ? 4 : 0);
  });
}

void add_memory(Columns& columns, const Run& run) {
  const auto& storages = run.storages;
  columns.whole("storage.nbytes", storages, [](const StorageLife& s) { return s.nbytes; });
  // Over the bytes asked for; external memory has no block.
  columns.whole("storage.slack", storages, [](const StorageLife& s) {
    return s.capacity > s.nbytes ? s.capacity - s.nbytes : 0;
  });
  columns.whole("storage.site", storages, [](const StorageLife& s) { return s.site; });
  columns.whole("storage.op", storages, [](const StorageLife& s) { return s.op; });

  const std::vector<Change> changes = changes_of(storages);
  columns.whole("change.time", changes, [](const Change& c) { return c.time; });
  columns.whole("change.storage", changes, [](const Change& c) { return c.storage; });
  columns.whole("change.to", changes, [](const Change& c) { return c.to; });

  columns.whole("pool.time", run.pool, [](const PoolPoint& p) { return p.time; });
  columns.whole("pool.reserved", run.pool, [](const PoolPoint& p) { return p.reserved; });
}

void add_work(Columns& columns, const Run& run) {
  columns.whole("span.kind", run.spans, [](const Span& s) { return s.kind; });
  columns.whole("span.name", run.spans, [](const Span& s) { return s.name; });
  columns.whole("span.site", run.spans, [](const Span& s) { return s.site; });
  columns.whole("span.parent", run.spans, [](const Span& s) { return s.parent; });
  columns.whole("span.thread", run.spans, [](const Span& s) { return s.thread; });
  columns.whole("span.begin", run.spans, [](const Span& s) { return s.begin; });
  columns.whole("span.took", run.spans,
                [](const Span& s) { return s.end == kNever ? -1 : s.end - s.begin; });

  columns.whole("op.op", run.ops, [](const OpRun& o) { return o.op; });
  columns.whole("op.site", run.ops, [](const OpRun& o) { return o.site; });
  columns.whole("op.thread", run.ops, [](const OpRun& o) { return o.thread; });
  columns.whole("op.begin", run.ops, [](const OpRun& o) { return o.begin; });
  columns.whole("op.took", run.ops, [](const OpRun& o) { return o.duration; });
  columns.whole("op.bytes", run.ops, [](const OpRun& o) { return o.bytes; });

  std::vector<double> values;
  values.reserve(run.values.size());
  for (const Value& value : run.values) values.push_back(value.value);
  columns.whole("value.name", run.values, [](const Value& v) { return v.name; });
  columns.whole("value.time", run.values, [](const Value& v) { return v.time; });
  columns.whole("value.step", run.values, [](const Value& v) { return v.step; });
  columns.reals("value.value", values);

  columns.whole("raised.time", run.raised, [](const Raised& r) { return r.time; });
  columns.whole("raised.text", run.raised, [](const Raised& r) { return r.text; });
  columns.whole("raised.site", run.raised, [](const Raised& r) { return r.site; });
  columns.whole("raised.tensor", run.raised, [](const Raised& r) { return r.tensor; });
}

void add_findings(Columns& columns, const std::vector<Finding>& findings) {
  std::vector<std::string> titles, remedies;
  std::vector<std::uint32_t> tensors;
  for (const Finding& finding : findings) {
    titles.push_back(finding.title);
    remedies.push_back(finding.remedy);
    tensors.insert(tensors.end(), finding.tensors.begin(), finding.tensors.end());
  }
  columns.whole("finding.problem", findings,
                [](const Finding& f) { return static_cast<std::uint8_t>(f.problem); });
  columns.texts("finding.title", titles);
  columns.texts("finding.remedy", remedies);
  columns.whole("finding.site", findings, [](const Finding& f) { return f.site; });
  columns.whole("finding.bytes", findings, [](const Finding& f) { return f.bytes; });
  columns.whole("finding.count", findings, [](const Finding& f) { return f.count; });
  columns.whole("finding.tensors", findings, [](const Finding& f) { return f.tensors.size(); });
  columns.whole("finding.tensor", tensors, [](std::uint32_t tensor) { return tensor; });
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  // Only memory can be short: the room is enough by compressBound's word.
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()),
                Z_DEFAULT_COMPRESSION) != Z_OK) {
    throw std::bad_alloc();
  }
  packed.resize(size);
  return packed;
}

std::string base64(const std::string& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t given = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < given ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text.push_back(j <= given ? kDigits[group >> (18 - 6 * j) & 63] : '=');
    }
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

// The program without its folder and its arguments.
std::string title_of(const Run& run) {
  const std::string command = run.program.substr(0, run.program.find(' '));
  const std::string name = std::filesystem::path(command).filename().string();
  return name.empty() ? "Tenure report" : name + " - Tenure report";
}

std::size_t hole(std::string_view shell, std::string_view mark) {
  const std::size_t at = shell.find(mark);
  if (at == shell.npos) raise<ValueError>("write_page: the shell has no {}", mark);
  return at;
}

}  // namespace

std::string page_data(const Run& run, const std::vector<Finding>& findings) {
  Columns columns;
  columns.texts("text", run.strings);
  columns.texts("about", {run.program, run.version});
  columns.whole("meta",
                std::array<std::int64_t, 5>{run.started / 1'000'000, run.length,
                                            static_cast<std::int64_t>(run.events), run.cut_short,
                                            static_cast<std::int64_t>(run.budget)},
                [](std::int64_t number) { return number; });
  columns.whole("site.file", run.sites, [](const Site& s) { return s.file; });
  columns.whole("site.line", run.sites, [](const Site& s) { return s.line; });
  columns.whole("site.function", run.sites, [](const Site& s) { return s.function; });
  add_tensors(columns, run.tensors);
  add_memory(columns, run);
  add_work(columns, run);
  add_findings(columns, findings);
  return base64(deflated(columns.bytes()));
}

void write_page(const Run& run, const std::vector<Finding>& findings, std::string_view shell,
                const std::filesystem::path& path) {
  const std::size_t title = hole(shell, kTitleHole);
  const std::size_t data = hole(shell, kDataHole);
  if (data < title) raise<ValueError>("write_page: the shell has its data before its title");
  io::AtomicFile file("report", path.string());
  file.write(shell.substr(0, title));
  file.write(escaped(title_of(run)));
  file.write(shell.substr(title + kTitleHole.size(), data - title - kTitleHole.size()));
  file.write(page_data(run, findings));
  file.write(shell.substr(data + kDataHole.size()));
  file.commit();
}

}  // namespace tenure::report
