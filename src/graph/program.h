// Runs code, any number of times and from any number of threads.
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
#include <vector>

#include "graph/code.h"
#include "graph/donation.h"
#include "ops/kernel.h"
#include "tenure/job.h"

namespace tenure::graph {

class Program {
 public:
  Program(std::shared_ptr<const Graph> written, std::shared_ptr<const Code> code);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const Code& code() const { return *code_; }
  const Graph& written() const { return *written_; }
  std::size_t stack_bytes() const;  // the most that a loop in it kept of its states

  // One call. `in` are tensors of the graph's inputs' shapes and dtypes; safe from several threads.
  void run(std::span<const Tensor> in, std::span<Tensor> out, std::source_location site,
           Donation* donation = nullptr);

  class BodyRun;  // one of a body (control_run.cpp)

 private:
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
  static void patch(Frame& frame, std::span<const Code::Patch> patches);
  void run_steps(Frame& frame, std::size_t begin, std::size_t end, std::source_location site);
  void run_control(const Code::Step& step, const ops::KernelArgs& args, std::source_location site);

  std::shared_ptr<const Graph> written_;  // as it was traced
  std::shared_ptr<const Code> code_;
  std::vector<std::vector<std::unique_ptr<Program>>> bodies_;  // of the code's controls
  std::atomic<std::size_t> stack_bytes_{0};                    // the most that a loop's stack held
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

// Called with the code of each program that is built, if it is set: tests look at every plan.
inline std::atomic<void (*)(const Code&)> on_program_built{nullptr};

// Runs the graph's operations one by one down the one road, for tapes and traces to see.
void interpret(const Graph& graph, std::span<const Tensor> in, std::span<Tensor> out,
               std::source_location site);

}  // namespace tenure::graph
