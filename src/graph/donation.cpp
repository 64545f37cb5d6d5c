#include "graph/donation.h"

#include <algorithm>
#include <thread>

#include "core/raise.h"
#include "memory/text.h"
#include "tenure/memory.h"

namespace tenure::graph {

using detail::Access;
using detail::Header;

std::vector<bool> check_donations(const Graph& graph, std::span<const std::size_t> donated,
                                  std::source_location site) {
  std::vector<bool> is_donated(graph.inputs.size(), false), taken(graph.results.size(), false);
  for (const std::size_t input : donated) {
    const Value& value = graph.values[graph.inputs[input]];
    std::size_t fits = graph.results.size();
    for (std::size_t r = 0; r < graph.results.size() && fits == graph.results.size(); ++r) {
      const Value& result = graph.values[graph.results[r]];
      if (!taken[r] && result.dtype == value.dtype && result.shape.numel() == value.shape.numel()) {
        fits = r;
      }
    }
    if (fits == graph.results.size()) {
      std::string results;
      for (const ValueId result : graph.results) {
        results += fmt::format("{}{} {}", results.empty() ? "" : ", ", graph.values[result].dtype,
                               graph.values[result].shape);
      }
      throw ValueError(
          describe("donate: argument {} is {} {}, and no result of {} has room for it: it gives {}",
                   input, value.dtype, value.shape, label_text(*graph.function.get()),
                   results.empty() ? "nothing" : results)
              .told({line_of("born", *graph.function.get()), detail::used_line(site, "call")},
                    "pass it without donate: a result takes it over only if it has its dtype and "
                    "size."));
    }
    taken[fits] = true;
    is_donated[input] = true;
  }
  return is_donated;
}

std::uint32_t argument_copies(std::span<const Tensor> in, std::size_t i) {
  const auto same = std::ranges::count(in, Access::header(in[i]), Access::header);
  return static_cast<std::uint32_t>(2 * same);
}

Donation::Donation(std::span<const Tensor> in, std::span<const std::size_t> donated,
                   const detail::LabelRef& function, std::source_location site)
    : in_(in), donated_(donated), function_(function), site_(site) {
  for (const std::size_t i : donated) {
    const Header& header = detail::checked(in[i], "donate");
    for (std::size_t j = 0; j < in.size(); ++j) {
      if (j != i && Access::header(in[j]) == &header) refuse_twice(i, j);
    }
    if (header.is_symbolic()) continue;  // the plan of the function around decides
    bool owns_bytes = false;
    {
      const detail::Pin pin(in[i], "donate", site, argument_copies(in, i));
      owns_bytes = pin->storage->handles.load(std::memory_order_acquire) == 1 &&
                   !pin->storage->is_external();
    }
    if (!owns_bytes) refuse_held(i);
  }
}

void Donation::refuse_twice(std::size_t i, std::size_t j) const {
  const bool both = std::ranges::find(donated_, j) != donated_.end();
  throw ValueError(
      describe("donate: argument {} is also argument {}{}", i, j, both ? ", given twice" : "")
          .told({line_of("born", *Access::header(in_[i])), line_of("function", *function_.get()),
                 detail::used_line(site_, "call")},
                "pass a copy (x + 0) as one of them: a clone has the same bytes."));
}

void Donation::refuse_held(std::size_t i) const {
  Header& header = *Access::header(in_[i]);
  std::vector<detail::Line> lines{line_of("born", header), line_of("function", *function_.get()),
                                  detail::used_line(site_, "call")};
  bool external = false;
  {
    const detail::Pin pin(in_[i], "donate", site_, argument_copies(in_, i));
    external = pin->storage->is_external();
  }
  if (!external) {
    for (detail::Line& line : other_holder_lines(header)) lines.push_back(std::move(line));
  }
  throw ValueError(
      describe("donate: argument {}, {} {}, does not own its bytes alone{}", i, header.layout.dtype,
               header.layout.shape, external ? " (they came from outside)" : "")
          .told(lines,
                "pass it without donate, pass a copy (x + 0), or let go of the others first."));
}

Donation::~Donation() {
  if (!taken_) return;
  for (const std::size_t i : donated_) let_be(*Access::header(in_[i]));
}

void Donation::take(std::span<const detail::StorageRef> held) {
  for (;;) {
    std::size_t taken = 0;
    detail::Taking last = detail::Taking::taken;
    for (; taken < donated_.size(); ++taken) {
      const std::size_t i = donated_[taken];
      last = try_take(*Access::header(in_[i]), held[i].get());
      if (last != detail::Taking::taken) break;
    }
    if (taken == donated_.size()) break;
    for (std::size_t t = 0; t < taken; ++t) let_be(*Access::header(in_[donated_[t]]));
    if (last == detail::Taking::in_use) {
      std::this_thread::yield();  // a use that another thread had begun ends on what was there
      continue;
    }
    refuse_held(donated_[taken]);  // or it has ended, which the refusal finds
  }
  taken_ = true;
}

void Donation::end() noexcept {
  for (const std::size_t i : donated_) {
    Header& header = *Access::header(in_[i]);
    if (taken_) {
      end_taken(header, Cause::donated, site_, function_);
    } else {
      kill(header, Cause::donated, site_, function_);
    }
  }
  taken_ = false;
}

}  // namespace tenure::graph
