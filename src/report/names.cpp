#include "report/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace tenure::report {

std::string_view text_of(const Run& run, std::uint32_t string) {
  return string < run.strings.size() ? std::string_view(run.strings[string]) : "";
}

std::string site_path(const Run& run, std::uint32_t site) {
  if (site >= run.sites.size() || run.sites[site].line == 0) return "(unknown)";
  return fmt::format("{}:{}", text_of(run, run.sites[site].file), run.sites[site].line);
}

std::string site_text(const Run& run, std::uint32_t site) {
  std::string path = site_path(run, site);
  return path.substr(path.find_last_of('/') + 1);
}

std::uint32_t common_name(const Run& run, const Span& span) {
  const std::string_view name = text_of(run, span.name);
  const bool is_number = name.find_first_not_of("0123456789") == name.npos;
  return is_number ? 0 : span.name;
}

std::string span_text(const Run& run, std::uint32_t span) {
  if (span >= run.spans.size()) return "";
  return label_text(text_of(run, run.spans[span].kind), text_of(run, run.spans[span].name));
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string count_text(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

bool is_alive(const TensorLife& tensor, std::int64_t time) {
  return tensor.born <= time && (tensor.died == kNever || tensor.died > time);
}

bool is_alive(const StorageLife& storage, std::int64_t time) {
  return storage.born <= time && (storage.freed == kNever || storage.freed > time);
}

Category category_at(const StorageLife& storage, std::int64_t time) {
  Category category = storage.categories.empty() ? Category::other : storage.categories[0].category;
  for (const CategoryChange& change : storage.categories) {
    if (change.time > time) break;
    category = change.category;
  }
  return category;
}

std::string cut_short_text(const Run& run) {
  if (!run.cut_short) return "";
  return fmt::format(
      "cut short after {}: the recording was not closed (its program was killed or still runs, or "
      "the file is not whole), and what came later is not in it",
      time_text(run.length));
}

std::string tensor_text(const Run& run, std::uint32_t tensor) {
  const TensorLife& life = run.tensors[tensor];
  std::string text = fmt::format("{} {}", text_of(run, life.dtype), text_of(run, life.shape));
  if (life.name != 0) text += fmt::format(" \"{}\"", text_of(run, life.name));
  if (life.owner != 0) {
    text += fmt::format(", saved by {}", text_of(run, life.owner));
  } else {
    text += fmt::format(" (#{})", life.id);
  }
  return text;
}

std::string story_text(const Run& run, std::uint32_t tensor, std::string_view indent) {
  struct Row {
    std::string_view label;
    std::string place;
    std::string what;
    std::string rest;
  };
  const TensorLife& life = run.tensors[tensor];
  std::vector<Row> rows{{"born", site_text(run, life.birth_site),
                         std::string(text_of(run, life.op)),
                         life.before ? "before the recording" : "at " + time_text(life.born)}};
  if (life.scope < run.spans.size()) {
    rows.push_back(
        {"in", site_text(run, run.spans[life.scope].site), span_text(run, life.scope), ""});
  }
  if (life.died != kNever) {
    rows.push_back({"died", life.death_site == kNone ? "" : site_text(run, life.death_site),
                    std::string(text_of(run, life.cause)),
                    fmt::format("at {}{}{}", time_text(life.died), life.death_by != 0 ? ": " : "",
                                text_of(run, life.death_by))});
  }
  std::size_t place = 0, what = 0;
  for (const Row& row : rows) {
    place = std::max(place, row.place.size());
    what = std::max(what, row.what.size());
  }
  std::string text = fmt::format("{}{}\n", indent, tensor_text(run, tensor));
  for (const Row& row : rows) {
    std::string line = fmt::format("{}  {:<6} {:<{}}  {:<{}}  {}", indent, row.label, row.place,
                                   place, row.what, what, row.rest);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  if (life.died == kNever) text += fmt::format("{}  alive when the recording ended\n", indent);
  if (life.storage < run.storages.size()) {
    const std::uint64_t held = run.storages[life.storage].nbytes;
    const std::string of =
        held > life.nbytes ? fmt::format(" of a storage of {}", bytes_text(held)) : std::string();
    text += fmt::format("{}  {}{}\n", indent, bytes_text(life.nbytes), of);
  }
  return text;
}

}  // namespace tenure::report
