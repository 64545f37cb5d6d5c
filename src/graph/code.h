// What a program runs: every value has a place, every operation is a bound kernel call, and the
// memory of all of them is planned. Plain data, which one function makes of a graph; a Program
// runs it, and whoever asks about a plan reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "ops/kernel.h"

namespace tenure::graph {

struct CodeOptions {
  bool body = false;               // of control flow: it reads and writes where it is told
  std::vector<bool> donated = {};  // inputs whose bytes a run may overwrite
};

struct Code {
  // What a value's bytes lie in.
  enum class Where : std::uint8_t {
    input,
    capture,
    variable,  // as it was when the call began
    assigned,  // a variable's new value, written over the old one if nobody else looks
    constant,
    arena,
    result,
  };
  struct Buffer {
    Where where = Where::arena;
    std::uint32_t index = 0;  // of the input, capture, variable, constant or result
    std::int64_t offset = 0;  // in the arena
    std::size_t bytes = 0;
  };
  struct Place {
    std::uint32_t buffer = 0;
    Layout layout;
  };
  struct Step {
    const ops::OpDef* op = nullptr;
    ops::KernelFn run = nullptr;  // none for control flow
    const Node* node = nullptr;   // none for a copy
    ops::AttrsRef attrs;
    std::uint32_t first = 0;  // of its views: inputs, then outputs
    std::uint32_t inputs = 0;
    std::uint32_t outputs = 0;
    std::int32_t scratch = -1;  // a buffer
    std::int32_t random = -1;   // its index among those that draw random numbers
    std::int32_t control = -1;
    std::int32_t form = -1;  // of an input
  };
  struct InputForm {  // an input that is a variable's value, which the program does not change
    ops::WantedForm wanted;
    std::uint32_t variable = 0;
  };
  struct Patch {  // where a view's data lie
    std::uint32_t view = 0;
    std::uint32_t buffer = 0;
    std::int64_t bytes = 0;  // from the buffer's begin
  };
  struct Assigned {  // a variable that gets a new value: over the old one, or a result buffer
    std::uint32_t variable = 0;
    std::uint32_t result = 0;
    bool in_place = false;
  };
  // A step that runs bodies. Its scratch is their arena, then room for states.
  struct Control {
    struct Body {
      std::shared_ptr<const Graph> written;
      std::shared_ptr<const Code> code;
    };
    std::vector<Body> bodies;
    std::size_t arena_bytes = 0;  // the most of theirs
    std::vector<bool> used;       // of its outputs
  };
  struct Arena {
    std::size_t bytes = 0;
    std::size_t bound_bytes = 0;  // the most alive at once
    double plan_us = 0;           // that placing them took
  };

  explicit Code(Graph of) : graph(std::move(of)) {}
  Code(Code&&) = default;  // a copy's views and steps would point into the original

  Graph graph;  // optimised
  std::vector<Buffer> buffers;
  std::vector<Place> places;  // of each value, then of copies
  std::vector<Step> steps;
  std::vector<Control> controls;
  std::vector<InputForm> forms;
  std::vector<ops::KernelView> views;
  std::vector<Patch> patches;
  std::vector<Patch> late_patches;  // of variables' new values
  std::size_t writes_begin = 0;     // the first step that may write over what a user has
  std::vector<Assigned> assigned;   // in the order in which they are locked
  std::vector<const Node*> random;  // nodes that draw random numbers
  std::uint32_t result_buffers = 0;
  std::vector<std::uint32_t> body_results;  // of a body: the buffers of its results
  Arena arena;
};

// Of a graph that is optimised.
std::shared_ptr<const Code> make_code(Graph graph, CodeOptions options = {});

std::size_t held_bytes(const Code& code);  // constants and captures, its bodies' too

// What code does to memory, for checks that share nothing with its builder.
struct PlanView {
  static constexpr std::int64_t kElsewhere = -1;
  struct Buffer {
    std::int64_t offset = kElsewhere;  // in the arena
    std::int64_t bytes = 0;
  };
  struct Step {
    std::string_view op;
    std::vector<std::uint32_t> reads, writes;  // buffers; scratch is written
  };
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::int64_t arena_bytes = 0;
};

PlanView plan_view(const Code& code);

}  // namespace tenure::graph
