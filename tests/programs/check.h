// Judges a program: runs it in every way and compares with the interpreter, and the ways with each
// other.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "ast.h"

namespace tenure::programs {

struct Failure {
  std::string mode;    // traced, call 1
  std::string kind;    // result, variable, gradient, error, memory
  std::string detail;  // which, and the numbers

  std::string text() const { return mode + ": " + kind + ": " + detail; }
  // The same fault, as far as one can tell: what shrinking must keep.
  bool same_as(const Failure& other) const;
  // Of an error: which, instead of which; else nothing.
  std::string error_classes() const;
};

// Nothing where all agree. Throws Unsteady for a program that cannot be judged.
std::optional<Failure> check(const Program& program,
                             const std::set<std::string>& without_modes = {});

// What the process is doing, for the report of a crash: the mode that is running.
extern const char* mode_running;

}  // namespace tenure::programs
