#include "driver.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <set>

#include "arithmetic.h"
#include "interpreter.h"
#include "ops.h"
#include "shrinker.h"
#include "statements.h"
#include "well_formed.h"

namespace tenure::programs {

std::optional<Program> program_of(std::uint64_t seed, const GeneratorOptions& options) {
  constexpr std::uint64_t kAttempts = 40;
  for (std::uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    Program program = Generator(seed * kAttempts + attempt, options).program();
    if (!is_well_formed(program)) throw std::logic_error("the generator made\n" + print(program));
    try {
      interpret(program);
      return program;
    } catch (const Unsteady&) {
    }
  }
  return std::nullopt;
}

std::optional<Failure> check_if_steady(const Program& program,
                                       const std::set<std::string>& without_modes) {
  try {
    return check(program, without_modes);
  } catch (const Unsteady&) {
    return std::nullopt;
  }
}

std::optional<Failure> check_apart(const Program& program,
                                   const std::set<std::string>& without_modes, unsigned seconds) {
  std::array<int, 2> pipe_ends{};
  if (pipe(pipe_ends.data()) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    std::string text;
    if (const auto failure = check_if_steady(program, without_modes)) {
      text = failure->mode + '\n' + failure->kind + '\n' + failure->detail;
    }
    [[maybe_unused]] const auto written = write(pipe_ends[1], text.data(), text.size());
    _exit(0);
  }
  close(pipe_ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got; (got = read(pipe_ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const bool late = WTERMSIG(status) == SIGALRM;
    return Failure{"a process", late ? "hang" : "crash",
                   fmt::format("signal {}", WTERMSIG(status))};
  }
  if (WEXITSTATUS(status) != 0) {  // a sanitizer's, which has said why
    return Failure{"a process", "crash", fmt::format("exit status {}", WEXITSTATUS(status))};
  }
  if (text.empty()) return std::nullopt;
  const std::size_t first = text.find('\n'), second = text.find('\n', first + 1);
  return Failure{text.substr(0, first), text.substr(first + 1, second - first - 1),
                 text.substr(second + 1)};
}

Finding shrink_finding(std::uint64_t seed, const Program& program, const Failure& failure,
                       const Judge& judge) {
  Finding finding{seed, failure, program};
  finding.program = shrink(program, [&](const Program& smaller) {
    const auto found = judge(smaller);
    if (!found || !found->same_as(failure)) return false;
    finding.failure = *found;
    return true;
  });
  return finding;
}

std::string Finding::text() const {
  return fmt::format("seed {}: {}\n{}", seed, failure.text(), print(program));
}

std::string Finding::signature() const {
  std::set<std::string> names;
  Program copy = program;
  each_block(copy, [&](Block& block) {
    for (const Statement& statement : block.statements) {
      if (statement.op == nullptr) names.insert(statement.row->name);
    }
  });
  std::string text = failure.mode + ": " + failure.kind + " " + failure.error_classes() + ":";
  for (const std::string& name : names) text += " " + name;
  return text;
}

}  // namespace tenure::programs
