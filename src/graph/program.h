// A graph made ready to run: every value has a place, every operation is a bound kernel call, and
// the memory of all of them is planned.
//
// A function's program takes tensors and gives tensors: a run takes one arena from the pool,
// allocates the results, and assigns variables. A body's program reads and writes where the program
// around it says, and its arena lies in that one's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "graph/control.h"
#include "graph/donation.h"
#include "graph/graph.h"
#include "graph/plan/plan.h"
#include "ops/kernel.h"
#include "tenure/job.h"

namespace tenure::graph {

struct ProgramOptions {
  bool body = false;
  std::vector<bool> donated = {};  // inputs whose bytes a run may overwrite
};

// What a program does to memory, for checks that share nothing with its builder.
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

class Program {
 public:
  explicit Program(std::shared_ptr<const Graph> written, ProgramOptions options = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const Graph& written() const { return *written_; }
  const Graph& optimised() const { return graph_; }
  PlanView plan_view() const;
  std::size_t arena_bytes() const { return arena_bytes_; }
  std::size_t bound_bytes() const { return bound_bytes_; }  // most bytes alive at once
  double plan_us() const { return plan_us_; }
  std::size_t held_bytes() const;  // constants and captures
  std::size_t steps() const { return steps_.size(); }
  std::size_t stack_bytes() const;  // the most that a loop in it kept of its states

  // One call. `in` are tensors of the graph's inputs' shapes and dtypes; safe from several threads.
  void run(std::span<const Tensor> in, std::span<Tensor> out, std::source_location site,
           Donation* donation = nullptr);

 private:
  friend class Builder;
  friend class BodyRun;

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
    std::vector<std::unique_ptr<Program>> bodies;
    std::size_t arena_bytes = 0;  // the most of theirs
    std::vector<bool> used;       // of its outputs
  };
  // What one call in flight writes to.
  struct Frame {
    std::vector<ops::KernelView> views;
    std::vector<std::byte*> bases;   // of buffers
    std::vector<std::byte*> inputs;  // of their first elements
    std::vector<ops::AttrsBox> random;
    std::vector<std::uint64_t> segments;                 // where their random numbers begin
    std::vector<detail::StorageRef> held;                // inputs, then variables, then results
    std::vector<std::unique_lock<detail::Mutex>> locks;  // of variables that change
    std::vector<detail::Header*> pinned;                 // their slots
    std::vector<detail::StorageRef> old;                 // what they held before
  };
  class FrameLease;
  class Call;

  std::unique_ptr<Frame> new_frame() const;
  static void patch(Frame& frame, std::span<const Patch> patches);
  void run_steps(Frame& frame, std::size_t begin, std::size_t end, std::source_location site);
  void run_control(const Step& step, const ops::KernelArgs& args, std::source_location site);
  static std::size_t scratch_of(const Control& control, const ops::OpDef& op,
                                const ControlAttrs& attrs);

  std::shared_ptr<const Graph> written_;  // as it was traced
  Graph graph_;                           // as it runs
  std::vector<Buffer> buffers_;
  std::vector<Place> places_;  // of each value, then of copies
  std::vector<Step> steps_;
  std::vector<Control> controls_;
  std::vector<InputForm> forms_;
  std::vector<ops::KernelView> views_;
  std::vector<Patch> patches_;
  std::vector<Patch> late_patches_;  // of variables' new values
  std::size_t writes_begin_ = 0;     // the first step that may write over what a user has
  std::vector<Assigned> assigned_;   // in the order in which they are locked
  std::vector<const Node*> random_;
  std::uint32_t result_buffers_ = 0;
  std::vector<std::uint32_t> body_results_;  // of a body: the buffers of its results
  std::size_t arena_bytes_ = 0;
  std::size_t bound_bytes_ = 0;
  double plan_us_ = 0;
  std::atomic<std::size_t> stack_bytes_{0};  // the most that a loop's stack held
  detail::Mutex mutex_;
  std::vector<std::unique_ptr<Frame>> free_;
};

// Refuses arguments that have ended, or are of another session: before a call that a tape or a
// trace sees, in which an operation would refuse them in its own name. A program that runs does so
// itself.
void check_arguments(const Graph& graph, std::span<const Tensor> in, std::source_location site);

// Refuses a call in a session that the function's captures are not lent to.
void check_captures(const Graph& graph, std::source_location site);

// As many random counters of the current generator; gives the first.
std::uint64_t take_counters(std::uint64_t count);

// Called with each program that was built, if it is set: tests look at every plan.
inline std::atomic<void (*)(const Program&)> on_program_built{nullptr};

// Runs the graph's operations one by one down the one road, for tapes and traces to see.
void interpret(const Graph& graph, std::span<const Tensor> in, std::span<Tensor> out,
               std::source_location site);

}  // namespace tenure::graph
