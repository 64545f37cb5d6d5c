// From a seed to a verdict.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "check.h"
#include "generator.h"

namespace tenure::programs {

// The program of a seed: the first of a few attempts that can be judged.
std::optional<Program> program_of(std::uint64_t seed, const GeneratorOptions& options);

using Judge = std::function<std::optional<Failure>(const Program&)>;

// check(), and nothing where the program cannot be judged.
std::optional<Failure> check_if_steady(const Program& program,
                                       const std::set<std::string>& without_modes = {});
// The same in a process of its own: a crash, and running for longer than `seconds`, are failures
// like any other.
std::optional<Failure> check_apart(const Program& program,
                                   const std::set<std::string>& without_modes = {},
                                   unsigned seconds = 20);

struct Finding {
  std::uint64_t seed = 0;
  Failure failure;
  Program program;  // as small as it gets

  std::string text() const;
  // What tells kinds of faults apart: how it fails, and the statements it takes.
  std::string signature() const;
};
Finding shrink_finding(std::uint64_t seed, const Program& program, const Failure& failure,
                       const Judge& judge);

}  // namespace tenure::programs
