// Outlived: the recording went on to the end of the process, every local and static had died, and
// a tensor was still alive that was born in a tidy, a step or a call that had long ended. Something
// that is never destroyed holds it.
//
// It takes a recording of the whole process: where a program stops recording by itself, what lives
// then may be in use. Variables, states and captures live as long as what owns them and are no
// finding; values saved by a tape are, since a tape that is never destroyed is as lost as a tensor.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "report/names.h"
#include "report/rules.h"

namespace tenure::report {
namespace {

// The innermost span at its birth that has ended, tidy or other; kNone where it was born in none.
std::uint32_t ended_span(const Run& run, const TensorLife& life) {
  if (life.scope < run.spans.size() && run.spans[life.scope].end != kNever) return life.scope;
  const auto after = std::ranges::upper_bound(run.spans, life.born, {}, &Span::begin);
  for (auto span = after; span != run.spans.begin();) {
    --span;
    if (span->thread != life.thread) continue;
    // The spans around a moment are the last one that began before it, and its parents.
    std::uint32_t around = static_cast<std::uint32_t>(span - run.spans.begin());
    for (; around < run.spans.size(); around = run.spans[around].parent) {
      const Span& candidate = run.spans[around];
      const std::string_view kind = text_of(run, candidate.kind);
      const bool is_open = candidate.end == kNever || candidate.end >= life.born;
      if (is_open && candidate.end != kNever && kind != "tape" && kind != "trace") return around;
    }
    return kNone;
  }
  return kNone;
}

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

Finding of_line(const Run& run, std::uint32_t site, const Left& left) {
  Finding finding;
  finding.problem = Problem::outlived;
  finding.site = site;
  finding.count = left.tensors.size();
  finding.bytes = bytes_of(run, left.tensors);
  finding.tensors = some_of(left.tensors);
  const TensorLife& first = run.tensors[left.tensors.front()];
  finding.title = fmt::format("{} from {} ({}) outlived {} and {} never freed: {}",
                              count_text(finding.count, "tensor"), site_text(run, site),
                              text_of(run, first.op), span_text(run, left.span),
                              finding.count == 1 ? "was" : "were", bytes_text(finding.bytes));
  finding.remedy =
      first.storage == kNone
          ? "a symbolic tensor means nothing once its trace has ended: return it from the function "
            "instead of storing it."
          : "it was kept or stored where nothing lets go of it: dispose() it when it is done, or "
            "destroy what stores it.";
  return finding;
}

Finding of_tape(const Run& run, std::string_view tape, std::uint32_t site, const Left& left) {
  Finding finding;
  finding.problem = Problem::outlived;
  finding.site = site;
  finding.count = left.tensors.size();
  finding.bytes = bytes_of(run, left.tensors);
  finding.tensors = some_of(left.tensors);
  finding.title =
      fmt::format("{} ({}) was never destroyed and holds {}: {}", tape, site_text(run, site),
                  count_text(finding.count, "saved value"), bytes_text(finding.bytes));
  finding.remedy =
      "let the tape end with the step: make it a local, or take the gradient, which gives back "
      "what a tape that is not persistent has saved.";
  return finding;
}

}  // namespace

std::vector<Finding> find_outlived(const Facts& facts) {
  const Run& run = facts.run;
  if (!run.whole_process || run.cut_short) return {};
  std::map<std::uint32_t, Left> lines;
  std::map<std::tuple<std::uint32_t, std::uint32_t>, Left> tapes;  // by name and line
  for (std::uint32_t i = 0; i < run.tensors.size(); ++i) {
    const TensorLife& life = run.tensors[i];
    if (life.died != kNever || life.before) continue;
    if (life.owner != 0) {
      if (owner_kind(run, life) != "tape") continue;
      std::uint32_t site = life.birth_site;
      for (std::uint32_t s = 0; s < run.spans.size() && run.spans[s].begin <= life.born; ++s) {
        const bool is_it = text_of(run, run.spans[s].kind) == "tape" &&
                           run.spans[s].end == kNever &&
                           span_text(run, s) == text_of(run, life.owner);
        if (is_it && !site_path(run, run.spans[s].site).starts_with("/usr/")) {
          site = run.spans[s].site;
        }
      }
      tapes[{life.owner, site}].tensors.push_back(i);
      continue;
    }
    if (belongs_to_a_model(run, life)) continue;
    const std::uint32_t span = ended_span(run, life);
    if (span == kNone) continue;
    Left& left = lines[life.birth_site];
    left.tensors.push_back(i);
    left.span = span;
  }
  std::vector<Finding> list;
  for (const auto& [site, left] : lines) list.push_back(of_line(run, site, left));
  for (const auto& [key, left] : tapes) {
    list.push_back(of_tape(run, text_of(run, std::get<0>(key)), std::get<1>(key), left));
  }
  return list;
}

}  // namespace tenure::report
