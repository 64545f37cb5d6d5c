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

std::uint64_t bytes_of(const Run& run, const std::vector<std::uint32_t>& tensors) {
  std::unordered_map<std::uint32_t, std::uint64_t> seen;
  for (const std::uint32_t i : tensors) {
    const TensorLife& life = run.tensors[i];
    if (life.storage < run.storages.size()) seen[life.storage] += life.nbytes;
  }
  std::uint64_t bytes = 0;
  for (const auto& [storage, nbytes] : seen) {
    bytes += std::min(nbytes, run.storages[storage].nbytes);
  }
  return bytes;
}

std::vector<std::uint32_t> some_of(const std::vector<std::uint32_t>& tensors) {
  constexpr std::size_t kSome = 5;
  if (tensors.size() <= kSome) return tensors;
  std::vector<std::uint32_t> some;
  some.reserve(kSome);
  for (std::size_t i = 0; i < kSome; ++i) {
    some.push_back(tensors[i * (tensors.size() - 1) / (kSome - 1)]);
  }
  return some;
}

namespace {

// What an error says is to be done: its last paragraph or, where it has one only, what stands
// behind the last colon that a place or a name does not end with.
std::string remedy_in(std::string_view text) {
  if (const std::size_t last = text.rfind("\n\n"); last != text.npos) {
    text.remove_prefix(last + 2);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    return std::string(text);
  }
  if (const std::size_t at = text.find(": make it "); at != text.npos)
    text.remove_prefix(at + 2);
  else if (const std::size_t colon = text.rfind(": "); colon != text.npos)
    text.remove_prefix(colon + 2);
  return fmt::format("{}.", text);
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
  std::map<std::tuple<std::uint32_t, std::string>, Finding> by_place;
  std::vector<Finding*> in_order;
  for (const Raised& raised : run.raised) {
    const std::string_view text = text_of(run, raised.text);
    const std::string_view first = text.substr(0, text.find('\n'));
    // Two errors at a line that differ in the tensor's number only are one.
    const std::string_view kind = first.substr(0, first.rfind(" (#"));
    const auto [at, is_new] = by_place.try_emplace({raised.site, std::string(kind)});
    Finding& finding = at->second;
    if (is_new) {
      in_order.push_back(&finding);
      finding.problem = Problem::misused;
      finding.site = raised.site;
      finding.title = raised.site == kNone
                          ? std::string(first)
                          : fmt::format("{}: {}", site_text(run, raised.site), first);
      finding.remedy = remedy_in(text);
    }
    ++finding.count;
    if (const auto found = by_id.find(raised.tensor); found != by_id.end()) {
      if (finding.tensors.size() < 5) finding.tensors.push_back(found->second);
      finding.bytes += run.tensors[found->second].nbytes;
    }
  }
  std::vector<Finding> list;
  list.reserve(in_order.size());
  for (Finding* finding : in_order) {
    if (finding->count > 1) finding->title += fmt::format(" ({} times)", finding->count);
    list.push_back(std::move(*finding));
  }
  return list;
}

// Errors first, since they ended something; then by what is held.
std::vector<Finding> findings(const Run& run) {
  const Facts facts{run, Activity(run)};
  std::vector<Finding> found = find_misuse(facts);
  std::vector<Finding> held = find_growth(facts);
  std::ranges::move(find_retracing(facts), std::back_inserter(held));
  const std::size_t grown = held.size();
  for (Finding& finding : find_outlived(facts)) {
    const bool is_known =
        std::any_of(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(grown),
                    [&](const Finding& growth) { return growth.site == finding.site; });
    if (!is_known) held.push_back(std::move(finding));
  }
  std::ranges::move(find_pinned(facts), std::back_inserter(held));
  std::ranges::stable_sort(held, std::greater<>(), &Finding::bytes);
  std::ranges::move(held, std::back_inserter(found));
  return found;
}

}  // namespace tenure::report
