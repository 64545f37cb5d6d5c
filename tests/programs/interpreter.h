// What a program means, computed without the library: number by number, with derivatives carried
// forward (arithmetic.h). It follows eager code: a variable's reads all count as the variable, and
// an assignment passes on no gradient.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "array.h"
#include "ops.h"

namespace tenure::programs {

// What a program that does something wrong ends with: the name of the error's class.
struct Mistake {
  std::string error;
  bool is_nested =
      false;  // by a value inside a block: in a trace, nothing computes it if no result
              // needs it, and where a function fails, its assignments are undone
};

struct Meaning {
  Arrays results;
  Arrays variables;                  // in the end
  std::optional<std::string> error;  // the program ends with this; there are no results
  bool error_is_nested = false;
  // Of the results' sum, each weighed by weight_of(i), by the inputs and variables of floats.
  Arrays gradients;
};

inline double weight_of(std::size_t result) { return result % 2 == 0 ? 1.0 : -0.5; }

// Throws Unsteady where there is nothing to compare with.
Meaning interpret(const Program& program);

class Interpreter {
 public:
  explicit Interpreter(const Program& program);

  // For the rows of statements:
  Arrays block(const Block& block, Arrays arguments);
  // As an operation sees it: with an infinitesimal where a tape asks for a derivative by it.
  Array use(Value value) const;
  const Array& raw(Value value) const { return slots_[static_cast<std::size_t>(value)]; }
  Arrays raw(const std::vector<Use>& uses) const;
  void set(Value value, Array array);
  void set_new(Value value, Array array);  // a tensor of its own
  void set_all(const std::vector<Value>& values, Arrays arrays);
  Arrays crossing(Arrays arrays);  // into or out of a branch, a loop or a function
  const Array& read(int variable) const;
  void assign(int variable, const Array& value);
  Arithmetic arithmetic(DType dtype) const;
  const Program& program() const { return program_; }
  const Type& type(Value value) const { return program_.types[static_cast<std::size_t>(value)]; }
  bool is_true(Value value) const;
  int new_identity() { return next_identity_++; }
  int tapes() const { return static_cast<int>(tapes_.size()); }
  void note_control_flow() { ++control_flow_; }

  struct Source {
    int identity = 0;
    Type type;
  };
  Source source(Value value) const;
  Source source_variable(int variable) const;
  // Runs a block under a tape. Gives, for each value it yields and each source, the gradient of the
  // value's sum; `yields` become the values.
  std::vector<Arrays> gradient(const std::vector<Source>& sources, const Block& body,
                               const Arrays& arguments, Arrays& yields);

  Meaning run();

 private:
  struct Tape {
    int identity = 0;  // of what the derivative is taken by now; 0: of nothing
    std::size_t element = 0;
    int began = 0;
  };

  const Program& program_;
  Arrays slots_;
  Arrays variables_;
  std::vector<Tape> tapes_;
  int next_identity_ = 1;
  int control_flow_ = 0;
  int steps_ = 0;
  int clock_ = 0;
};

}  // namespace tenure::programs
