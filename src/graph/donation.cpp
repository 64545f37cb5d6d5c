#include "graph/donation.h"

#include <thread>

#include "core/raise.h"
#include "memory/text.h"
#include "tenure/memory.h"

namespace tenure::graph {

using detail::Access;
using detail::Header;

std::vector<bool> check_donations(const Graph& graph, std::span<const std::size_t> donated,
                                  std::source_location site) {
  std::vector<bool> given(graph.inputs.size(), false), taken(graph.results.size(), false);
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
      detail::raise_told<ValueError>(
          fmt::format(
              "donate: argument {} is {} {}, and no result of {} has room for it: it gives {}",
              input, value.dtype, value.shape, label_text(*graph.function.get()),
              results.empty() ? "nothing" : results),
          {line_of("born", *graph.function.get()), detail::used_line(site, "call")},
          "pass it without donate: a result takes it over only if it has its dtype and size.");
    }
    taken[fits] = true;
    given[input] = true;
  }
  return given;
}

Donation::Donation(std::span<const Tensor> in, std::span<const std::size_t> donated,
                   const detail::LabelRef& function, std::source_location site)
    : in_(in), donated_(donated), function_(function), site_(site) {
  for (const std::size_t i : donated) {
    const Header& header = *Access::header(in[i]);
    if (header.is_symbolic()) continue;  // the plan of the function around decides
    for (std::size_t j = 0; j < in.size(); ++j) {
      if (j != i && Access::header(in[j]) == &header) {
        detail::raise_told<ValueError>(
            fmt::format("donate: argument {} is also argument {}", i, j),
            {line_of("born", header), line_of("function", *function.get()),
             detail::used_line(site, "call")},
            "pass a clone as one of them, without donate.");
      }
    }
    const detail::Pin pin(in[i], "donate", site);
    const bool shared = pin->storage->handles.load(std::memory_order_acquire) != 1;
    if (!shared && !pin->storage->is_external()) continue;
    std::vector<detail::Line> lines{line_of("born", header), line_of("function", *function.get()),
                                    detail::used_line(site, "call")};
    for (const Holder& holder : why_alive(in[i])) lines.push_back({"holder", holder.text, ""});
    detail::raise_told<ValueError>(
        fmt::format("donate: argument {}, {} {}, does not own its bytes alone{}", i,
                    header.layout.dtype, header.layout.shape,
                    shared ? "" : " (they came from outside)"),
        lines, "pass it without donate, pass a copy (x + 0), or let go of the others first.");
  }
}

void Donation::take() const {
  for (const std::size_t i : donated_) {
    Header& header = *Access::header(in_[i]);
    if (header.is_symbolic()) continue;
    kill(header, Cause::donated, site_, function_);
    // A use that another thread had begun ends on what was there.
    while ((header.life.load(std::memory_order_acquire) & Header::kPins) != 0) {
      std::this_thread::yield();
    }
  }
}

}  // namespace tenure::graph
