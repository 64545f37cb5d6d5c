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
    std::array<std::size_t, ops::kMaxLoopInputs> operands;

    std::span<const std::size_t> src() const {
      return std::span(operands).first(static_cast<std::size_t>(loop.inputs));
    }
  };
  std::vector<ops::Number> numbers;
  std::vector<Step> steps;

  // Values: inputs from 0, steps from kStep, numbers from kNumber.
  static constexpr std::size_t kStep = 1000, kNumber = 2000;
  static bool is_step(std::size_t value) { return value >= kStep && value < kNumber; }

  std::size_t number(const ops::Number& value) {
    auto known = std::ranges::find(numbers, value);
    if (known == numbers.end()) known = numbers.insert(numbers.end(), value);
    return kNumber + static_cast<std::size_t>(known - numbers.begin());
  }
  std::size_t step(const ops::OpDef* op, const ops::RunLoop& loop,
                   std::span<const std::size_t> src) {
    Step& added = steps.emplace_back(Step{op, loop, {}});
    std::ranges::copy(src, added.operands.begin());
    return kStep + steps.size() - 1;
  }
};

// What nodes compute; `value_of` has the inputs, and gets what the nodes make.
Draft draft_of(const Graph& graph, std::span<const std::uint32_t> nodes,
               std::map<ValueId, std::size_t>& value_of) {
  Draft draft;
  for (const std::uint32_t n : nodes) {
    const Node& node = graph.nodes[n];
    const ops::ElementLoop loop = kernel_of(graph, node)->loop(node.attrs.ref());
    std::vector<std::size_t> src;
    src.reserve(node.in.size());
    for (const ValueId value : node.in) src.push_back(value_of.at(value));
    for (int i = 0; i < loop.numbers; ++i) {
      src.push_back(draft.number(loop.values[static_cast<std::size_t>(i)]));
    }
    while (loop.folds && src.size() > 2) {
      src[1] = draft.step(node.op, loop.loop, std::span(src).first(2));
      src.erase(src.begin());
    }
    value_of[node.out[0]] = draft.step(node.op, loop.loop, src);
  }
  return draft;
}

// Gives what steps make their places: a result's own, or a slot that is free by then.
void place_steps(const Draft& draft, std::span<const std::size_t> results,
                 ops::FusedProgram& program) {
  std::vector<std::size_t> last_read(draft.steps.size(), 0);
  std::vector<std::size_t> place(draft.steps.size(), 0);
  std::vector<bool> in_slot(draft.steps.size(), true);
  for (std::size_t s = 0; s < draft.steps.size(); ++s) {
    for (const std::size_t value : draft.steps[s].src()) {
      if (Draft::is_step(value)) last_read[value - Draft::kStep] = s;
    }
  }
  for (std::size_t r = 0; r < results.size(); ++r) {
    const std::size_t step = results[r] - Draft::kStep;
    place[step] = program.first_result() + r;
    in_slot[step] = false;
  }
  std::map<std::uint8_t, std::vector<std::size_t>> free;  // slots, by size of an element
  for (std::size_t s = 0; s < draft.steps.size(); ++s) {
    const Draft::Step& from = draft.steps[s];
    ops::FusedStep step{from.op, from.loop, {}, 0};
    for (std::size_t i = 0; i < from.src().size(); ++i) {
      const std::size_t value = from.src()[i];
      std::size_t location = value;
      if (Draft::is_step(value)) {
        const std::size_t maker = value - Draft::kStep;
        location = place[maker];
        // Free from here on: this step's result may overwrite it.
        if (in_slot[maker] && last_read[maker] == s) {
          in_slot[maker] = false;
          free[draft.steps[maker].loop.dst_size].push_back(location);
        }
      } else if (value >= Draft::kNumber) {
        location = program.first_number() + value - Draft::kNumber;
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
}

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
    const bool works =
        node.op->view == nullptr && node.op != &ops::kFused && !is_elementwise(graph, node);
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

bool takes_epilogue(const Graph& graph, const Node& node) {
  const ops::Kernel* kernel = kernel_of(graph, node);
  return kernel != nullptr && kernel->takes_epilogue != ops::TakesEpilogue::no &&
         node.out.size() == 1;
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

Node fused(const Graph& graph, std::span<const std::uint32_t> nodes, std::vector<ValueId> results) {
  Node node;
  node.op = &ops::kFused;
  add_inputs(graph, nodes, node.in);
  node.out = std::move(results);
  node.site = graph.nodes[nodes.back()].site;
  std::map<ValueId, std::size_t> value_of;
  for (std::size_t i = 0; i < node.in.size(); ++i) value_of[node.in[i]] = i;
  const Draft draft = draft_of(graph, nodes, value_of);

  ops::FusedAttrs attrs;
  ops::FusedProgram& program = attrs.program;
  program.shape = graph.values[node.out[0]].shape;
  program.inputs = node.in.size();
  for (const ValueId value : node.in) {
    program.input_sizes.push_back(static_cast<std::uint8_t>(size_of(graph.values[value].dtype)));
  }
  program.numbers = draft.numbers;
  std::vector<std::size_t> result_values;
  for (const ValueId value : node.out) {
    program.results.push_back(graph.values[value].dtype);
    result_values.push_back(value_of.at(value));
  }
  place_steps(draft, result_values, program);
  node.attrs = ops::AttrsBox(ref(attrs));
  return node;
}

}  // namespace tenure::graph
