#include "graph/code.h"

namespace tenure::graph {

std::size_t held_bytes(const Code& code) {
  std::size_t bytes = 0;
  for (const Constant& constant : code.graph.constants) bytes += constant.storage().nbytes;
  for (const Capture& capture : code.graph.captures) bytes += capture.header().storage->nbytes;
  for (const Code::Control& control : code.controls) {
    for (const auto& body : control.bodies) bytes += held_bytes(*body.code);
  }
  return bytes;
}

PlanView plan_view(const Code& code) {
  PlanView view;
  view.arena_bytes = static_cast<std::int64_t>(code.arena.bytes);
  for (const Code::Buffer& buffer : code.buffers) {
    const bool in_arena = buffer.where == Code::Where::arena;
    view.buffers.push_back(
        {in_arena ? buffer.offset : PlanView::kElsewhere, static_cast<std::int64_t>(buffer.bytes)});
  }
  std::vector<std::uint32_t> buffer_of(code.views.size());
  for (const Code::Patch& patch : code.patches) buffer_of[patch.view] = patch.buffer;
  for (const Code::Patch& patch : code.late_patches) buffer_of[patch.view] = patch.buffer;
  for (const Code::Step& step : code.steps) {
    PlanView::Step& seen = view.steps.emplace_back();
    seen.op = step.op->name;
    for (std::uint32_t i = 0; i < step.inputs + step.outputs; ++i) {
      (i < step.inputs ? seen.reads : seen.writes).push_back(buffer_of[step.first + i]);
    }
    if (step.scratch >= 0) seen.writes.push_back(static_cast<std::uint32_t>(step.scratch));
  }
  return view;
}

}  // namespace tenure::graph
