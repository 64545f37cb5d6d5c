#include "graph/passes/fusion.h"

#include <algorithm>
#include <map>

namespace tenure::graph {
namespace {

// A program before its values have places: each is an input, a number, or what a step makes.
struct Draft {
  struct Step {
    const ops::OpDef* op;
    ops::RunLoop loop;
    std::array<std::size_t, ops::kMaxLoopInputs> src;
  };
  std::size_t inputs = 0;
  std::vector<ops::Number> numbers;
  std::vector<Step> steps;

  // Values: inputs from 0, steps from kStep, numbers from kNumber.
  static constexpr std::size_t kStep = 1000, kNumber = 2000;

  std::size_t number(const ops::Number& value) {
    auto found = std::ranges::find(numbers, value);
    if (found == numbers.end()) found = numbers.insert(numbers.end(), value);
    return kNumber + static_cast<std::size_t>(found - numbers.begin());
  }
  std::size_t step(const ops::OpDef* op, const ops::RunLoop& loop,
                   std::span<const std::size_t> src) {
    Step& made = steps.emplace_back(Step{op, loop, {}});
    std::ranges::copy(src, made.src.begin());
    return kStep + steps.size() - 1;
  }
};

}  // namespace

Uses::Uses(const Graph& graph)
    : maker_(graph.values.size(), kNoNode),
      readers_(graph.values.size()),
      kept_(graph.values.size(), false),
      work_(graph.nodes.size() + 1, 0) {
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const ValueId value : node.out) maker_[value] = n;
    for (const ValueId value : node.in) {
      if (readers_[value].empty() || readers_[value].back() != n) readers_[value].push_back(n);
    }
    const bool works = node.op->view == nullptr && !is_elementwise(graph, node);
    work_[n + 1] = work_[n] + (works ? 1 : 0);
  }
  for (const ValueId value : graph.results) kept_[value] = true;
  for (const VariableUse& use : graph.variables) {
    if (use.assigned) kept_[*use.assigned] = true;
  }
}

bool is_elementwise(const Graph& graph, const Node& node) {
  if (node.random || node.out.size() != 1 || node.in.empty()) return false;
  if (node.in.size() > ops::FusedProgram::kMaxInputs) return false;
  const ops::Kernel* kernel = kernel_of(graph, node);
  if (kernel == nullptr || kernel->loop == nullptr) return false;
  return !kernel->loop(node.attrs.ref()).folds || node.in.size() > 1;
}

std::size_t steps_of(const Node& node) { return std::max<std::size_t>(1, node.in.size() - 1); }

void add_inputs(const Graph& graph, std::span<const std::uint32_t> nodes,
                std::vector<ValueId>& inputs) {
  const auto made_here = [&](ValueId value) {
    return std::ranges::any_of(nodes,
                               [&](std::uint32_t n) { return graph.nodes[n].out[0] == value; });
  };
  for (const std::uint32_t n : nodes) {
    for (const ValueId value : graph.nodes[n].in) {
      if (std::ranges::find(inputs, value) == inputs.end() && !made_here(value)) {
        inputs.push_back(value);
      }
    }
  }
}

ops::FusedProgram make_program(const Graph& graph, std::span<const std::uint32_t> nodes,
                               std::span<const ValueId> inputs, std::span<const ValueId> results) {
  Draft draft;
  draft.inputs = inputs.size();
  std::map<ValueId, std::size_t> draft_of;
  for (std::size_t i = 0; i < inputs.size(); ++i) draft_of[inputs[i]] = i;
  for (const std::uint32_t n : nodes) {
    const Node& node = graph.nodes[n];
    const ops::ElementLoop loop = kernel_of(graph, node)->loop(node.attrs.ref());
    std::vector<std::size_t> src;
    src.reserve(node.in.size());
    for (const ValueId value : node.in) src.push_back(draft_of.at(value));
    for (int i = 0; i < loop.numbers; ++i) {
      src.push_back(draft.number(loop.values[static_cast<std::size_t>(i)]));
    }
    while (loop.folds && src.size() > 2) {
      src[1] = draft.step(node.op, loop.loop, std::span(src).first(2));
      src.erase(src.begin());
    }
    draft_of[node.out[0]] = draft.step(node.op, loop.loop, src);
  }

  ops::FusedProgram program;
  program.shape = graph.values[results[0]].shape;
  program.inputs = inputs.size();
  for (const ValueId value : inputs) {
    program.input_sizes.push_back(static_cast<std::uint8_t>(size_of(graph.values[value].dtype)));
  }
  program.numbers = draft.numbers;
  for (const ValueId value : results) program.results.push_back(graph.values[value].dtype);

  // Places for what steps make: a result's own, or a slot that is free by then.
  std::vector<std::size_t> last_read(draft.steps.size(), 0);
  std::vector<std::size_t> place(draft.steps.size(), 0);
  std::vector<bool> in_slot(draft.steps.size(), true);
  for (std::size_t s = 0; s < draft.steps.size(); ++s) {
    for (const std::size_t src : std::span(draft.steps[s].src)
                                     .first(static_cast<std::size_t>(draft.steps[s].loop.inputs))) {
      if (src >= Draft::kStep && src < Draft::kNumber) last_read[src - Draft::kStep] = s;
    }
  }
  for (std::size_t r = 0; r < results.size(); ++r) {
    const std::size_t step = draft_of.at(results[r]) - Draft::kStep;
    place[step] = program.first_result() + r;
    in_slot[step] = false;
  }
  std::map<std::uint8_t, std::vector<std::size_t>> free;  // slots, by size of an element
  for (std::size_t s = 0; s < draft.steps.size(); ++s) {
    const Draft::Step& from = draft.steps[s];
    ops::FusedStep step{from.op, from.loop, {}, 0};
    for (std::size_t i = 0; i < static_cast<std::size_t>(from.loop.inputs); ++i) {
      const std::size_t src = from.src[i];
      std::size_t location = src;
      if (src >= Draft::kNumber) {
        location = program.first_number() + src - Draft::kNumber;
      } else if (src >= Draft::kStep) {
        const std::size_t made = src - Draft::kStep;
        location = place[made];
        // Free from here on: this step's result may overwrite it.
        if (in_slot[made] && last_read[made] == s) {
          in_slot[made] = false;
          free[draft.steps[made].loop.dst_size].push_back(location);
        }
      }
      step.src[i] = static_cast<ops::Location>(location);
    }
    if (in_slot[s]) {
      std::vector<std::size_t>& slots = free[from.loop.dst_size];
      if (slots.empty()) {
        place[s] = program.locations();
        program.slot_sizes.push_back(from.loop.dst_size);
      } else {
        place[s] = slots.back();
        slots.pop_back();
      }
    }
    step.dst = static_cast<ops::Location>(place[s]);
    program.steps.push_back(step);
  }
  return program;
}

}  // namespace tenure::graph
