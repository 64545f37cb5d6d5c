// The ways to run a program. All must give the same.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ast.h"

namespace tenure::programs {

// What one run gave, read back: every float32 is a double.
struct Outcome {
  std::vector<Datum> results;
  std::vector<Datum> variables;                 // in the end
  std::optional<std::vector<Datum>> gradients;  // where the mode takes them, see Meaning
  std::optional<std::string> error;             // the class; "untyped" for what is no tenure::Error
  std::string message;
  bool failed_in_gradient = false;  // of the tape around it; the program itself went through
  std::string leak;                 // tensors or bytes that a warm call left behind
};

struct Mode {
  const char* name;
  // The whole program is one function: where it fails, no variable changes.
  bool traced = false;
  bool has_functions = true;                              // false: calls run in place
  std::vector<Outcome> (*run)(const Program&) = nullptr;  // one outcome per call
};

const std::vector<Mode>& all_modes();  // the first is plain eager code

}  // namespace tenure::programs
