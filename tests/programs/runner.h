// Runs a program's statements with the library: eagerly, or while a function is traced.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ops.h"
#include "tenure/function.h"
#include "tenure/session.h"
#include "tenure/task.h"
#include "tenure/variable.h"

namespace tenure::programs {

struct RunnerOptions {
  bool traced_functions = true;  // false: a call runs the function's body in place
  bool under_tape = false;       // which holds what is computed: nothing can be donated
  Session* session = nullptr;    // that the program runs in; default: the process's
};

class Runner {
 public:
  using Callable = Function<Tensors(Tensors)>;

  Runner(const Program& program, RunnerOptions options);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  Tensors inputs() const;  // new tensors each time
  Tensors body(Tensors arguments) { return block(program_.body, std::move(arguments)); }
  Task<Tensors> body_as_task(Tensors arguments);
  void reset_variables();
  void dispose_captures();
  const std::vector<Variable>& variables() const { return variables_; }

  // For the rows of statements:
  Tensors block(const Block& block, Tensors arguments);
  Task<Tensors> block_as_task(const Block& block);  // other tasks go on after each statement
  Tensor use(const Use& use);
  Tensors use(const std::vector<Use>& uses);
  Tensor& slot(Value value) { return slots_[static_cast<std::size_t>(value)]; }
  void set_all(const std::vector<Value>& values, Tensors tensors);
  Variable& variable(int index) { return variables_[static_cast<std::size_t>(index)]; }
  Tensors call(int function, Tensors arguments, bool donates);
  const Program& program() const { return program_; }
  bool is_under_tape() const { return options_.under_tape || tapes_ > 0; }
  Session& session() { return *session_; }  // that is current
  Tensors run_in(Session& session, const Block& block, Tensors arguments);

  // While one lives, a tape of the program records.
  class UnderTape {
   public:
    explicit UnderTape(Runner& runner) : runner_(runner) { ++runner_.tapes_; }
    ~UnderTape() { --runner_.tapes_; }
    UnderTape(const UnderTape&) = delete;
    UnderTape& operator=(const UnderTape&) = delete;

   private:
    Runner& runner_;
  };

 private:
  struct Locals;

  const Program& program_;
  RunnerOptions options_;
  Tensors slots_;
  std::vector<Variable> variables_;
  std::vector<std::optional<Callable>> functions_;
  Session* session_;
  int tapes_ = 0;
};

}  // namespace tenure::programs
