// A graph made ready to run: every value has a place, every operation is a bound kernel call, and
// the memory of all of them is planned. Running it allocates one arena and the results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/plan/plan.h"
#include "ops/kernel.h"

namespace tenure::graph {

class Program {
 public:
  explicit Program(std::shared_ptr<const Graph> written);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const Graph& written() const { return *written_; }
  std::size_t arena_bytes() const { return arena_bytes_; }
  std::size_t bound_bytes() const { return bound_bytes_; }  // most bytes alive at once
  double plan_us() const { return plan_us_; }
  std::size_t constant_bytes() const;
  std::size_t steps() const { return steps_.size(); }

  // One call. `in` are tensors of the graph's inputs' shapes and dtypes; safe from several threads.
  void run(std::span<const Tensor> in, std::span<Tensor> out, std::source_location site);

 private:
  friend class Builder;

  // What a value's bytes lie in.
  enum class Where : std::uint8_t { input, capture, variable, constant, arena, result };
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
    ops::KernelFn run = nullptr;
    const Node* node = nullptr;  // none for a copy
    std::uint32_t first = 0;     // of its views: inputs, then outputs
    std::uint16_t inputs = 0;
    std::uint16_t outputs = 0;
    std::int32_t scratch = -1;  // a buffer
    std::int32_t random = -1;   // its index among those that draw random numbers
  };
  struct Patch {  // where a view's data lie
    std::uint32_t view = 0;
    std::uint32_t buffer = 0;
    std::int64_t bytes = 0;  // from the buffer's begin
  };
  // What one call in flight writes to.
  struct Frame {
    std::vector<ops::KernelView> views;
    std::vector<std::byte*> bases;   // of buffers
    std::vector<std::byte*> inputs;  // of their first elements
    std::vector<ops::AttrsBox> random;
    std::vector<detail::StorageRef> held;  // inputs, variables and results
  };
  class FrameLease;

  std::shared_ptr<const Graph> written_;  // as it was traced
  Graph graph_;                           // as it runs
  std::vector<Buffer> buffers_;
  std::vector<Place> places_;  // of each value, then of copies
  std::vector<Step> steps_;
  std::vector<ops::KernelView> views_;
  std::vector<Patch> patches_;
  std::vector<const Node*> random_;
  std::uint32_t result_buffers_ = 0;
  std::size_t arena_bytes_ = 0;
  std::size_t bound_bytes_ = 0;
  double plan_us_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> free_;
};

// Runs the graph's operations one by one down the one road, for tapes and traces to see.
void interpret(const Graph& graph, std::span<const Tensor> in, std::span<Tensor> out,
               std::source_location site);

}  // namespace tenure::graph
