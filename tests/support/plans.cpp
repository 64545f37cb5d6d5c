#include "support/plans.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tenure::testing {

using graph::PlanView;

std::string fault_of(const PlanView& plan) {
  constexpr int kNever = -1;
  struct Life {
    int first = kNever, last = kNever;
  };
  std::vector<Life> lives(plan.buffers.size());
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    const PlanView::Step& step = plan.steps[static_cast<std::size_t>(s)];
    for (const std::uint32_t buffer : step.reads) {
      const bool written = lives[buffer].first != kNever;
      if (!written && plan.buffers[buffer].offset != PlanView::kElsewhere) {
        return fmt::format("step {} ({}) reads buffer {}, which nobody wrote", s, step.op, buffer);
      }
      lives[buffer].last = s;
    }
    for (std::size_t i = 0; i < step.writes.size(); ++i) {
      const std::uint32_t buffer = step.writes[i];
      // Bytes that lie there are overwritten by the step that reads them, or by none.
      const bool read_here = std::ranges::find(step.reads, buffer) != step.reads.end();
      if (lives[buffer].first != kNever && !read_here) {
        return fmt::format("step {} ({}) writes buffer {} again", s, step.op, buffer);
      }
      if (std::ranges::count(step.writes, buffer) != 1) {
        return fmt::format("step {} ({}) writes buffer {} twice", s, step.op, buffer);
      }
      if (lives[buffer].first == kNever) lives[buffer].first = s;
      lives[buffer].last = s;
    }
  }
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanView::Buffer& a = plan.buffers[i];
    if (a.offset == PlanView::kElsewhere || lives[i].first == kNever) continue;
    if (a.offset < 0 || a.offset % 64 != 0 || a.offset + a.bytes > plan.arena_bytes) {
      return fmt::format("buffer {} of {} bytes lies at {} in an arena of {}", i, a.bytes, a.offset,
                         plan.arena_bytes);
    }
    for (std::size_t j = 0; j < i; ++j) {
      const PlanView::Buffer& b = plan.buffers[j];
      if (b.offset == PlanView::kElsewhere || lives[j].first == kNever) continue;
      const bool together =
          std::max(lives[i].first, lives[j].first) <= std::min(lives[i].last, lives[j].last);
      const bool touching =
          std::max(a.offset, b.offset) < std::min(a.offset + a.bytes, b.offset + b.bytes);
      if (together && touching) return fmt::format("buffers {} and {} overlap", j, i);
    }
  }
  return {};
}

void check_every_plan() {
  graph::on_program_built = [](const graph::Code& code) {
    const std::string fault = fault_of(plan_view(code));
    if (!fault.empty()) ADD_FAILURE() << fault << " in\n" << dump(code.graph);
  };
}

}  // namespace tenure::testing
