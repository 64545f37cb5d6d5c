#include "report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>

#include "report/names.h"
#include "report/rules.h"

namespace tenure::report {

std::string_view owner_kind(const Run& run, const TensorLife& tensor) {
  const std::string_view owner = text_of(run, tensor.owner);
  return owner.substr(0, owner.find(' '));
}

Finding finding_about(const Facts& facts, Problem problem, std::uint32_t site, Tensors tensors) {
  Finding finding;
  finding.problem = problem;
  finding.site = site;
  finding.count = tensors.size();
  finding.bytes = facts.holdings.most_held(tensors);
  finding.tensors = std::move(tensors);
  return finding;
}

std::vector<std::uint32_t> some_of(const std::vector<std::uint32_t>& tensors, std::size_t most) {
  if (tensors.size() <= most) return tensors;
  if (most < 2) return {tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(most)};
  std::vector<std::uint32_t> some;
  some.reserve(most);
  for (std::size_t i = 0; i < most; ++i) {
    some.push_back(tensors[i * (tensors.size() - 1) / (most - 1)]);
  }
  return some;
}

namespace {

// In a line: "DisposedError: add: input 1 was disposed".
std::string raised_text(const Run& run, const Raised& raised) {
  std::string line;
  for (const std::uint32_t part : {raised.type, raised.op, raised.problem}) {
    if (part != 0) line += fmt::format("{}{}", line.empty() ? "" : ": ", text_of(run, part));
  }
  return line;
}

}  // namespace

// One finding for each place and error; the first of its tensors is the first that it happened to.
std::vector<Finding> find_misuse(const Facts& facts) {
  const Run& run = facts.run;
  std::unordered_map<std::uint64_t, std::uint32_t> by_id;
  if (!run.raised.empty()) {
    for (std::uint32_t i = 0; i < run.tensors.size(); ++i) {
      if (run.tensors[i].owner == 0) by_id.emplace(run.tensors[i].id, i);
    }
  }
  // Two errors of a line that differ in the tensor alone are one.
  using Place = std::tuple<std::uint32_t, std::string_view, std::string_view>;
  std::map<Place, Finding> by_place;
  std::vector<Finding*> in_order;
  for (const Raised& raised : run.raised) {
    const auto [at, is_new] =
        by_place.try_emplace({raised.site, text_of(run, raised.type), text_of(run, raised.op)});
    Finding& finding = at->second;
    if (is_new) {
      in_order.push_back(&finding);
      finding.problem = Problem::misused;
      finding.site = raised.site;
      finding.title = raised_text(run, raised);
      if (raised.site != kNone) {
        finding.title = fmt::format("{}: {}", site_text(run, raised.site), finding.title);
      }
      finding.remedy = text_of(run, raised.remedy);
    }
    ++finding.count;
    if (const auto found = by_id.find(raised.tensor); found != by_id.end()) {
      finding.tensors.push_back(found->second);
      finding.bytes += run.tensors[found->second].nbytes;
    }
  }
  std::vector<Finding> list;
  list.reserve(in_order.size());
  for (Finding* finding : in_order) {
    std::ranges::sort(finding->tensors);
    if (finding->count > 1) finding->title += fmt::format(" ({} times)", finding->count);
    list.push_back(std::move(*finding));
  }
  return list;
}

// Errors first, since they ended something; then by what is held.
std::vector<Finding> findings(const Run& run) {
  const Facts facts{run, Activity(run), Holdings(run)};
  std::vector<Finding> found = find_misuse(facts);
  std::vector<Finding> held = find_growth(facts);
  std::ranges::move(find_retracing(facts), std::back_inserter(held));
  std::ranges::move(find_outlived(facts, held), std::back_inserter(held));
  std::ranges::move(find_pinned(facts), std::back_inserter(held));
  std::ranges::stable_sort(held, std::greater<>(), &Finding::bytes);
  std::ranges::move(held, std::back_inserter(found));
  return found;
}

}  // namespace tenure::report
