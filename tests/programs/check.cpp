#include "check.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "interpreter.h"
#include "modes.h"
#include "tenure/memory.h"

namespace tenure::programs {

const char* mode_running = "none";

namespace {

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::optional<std::string> difference(const Datum& actual, const Array& expected) {
  if (actual.type != expected.type) {
    return fmt::format("is {} {}, expected {} {}", name(actual.type.dtype),
                       to_string(actual.type.shape), name(expected.type.dtype),
                       to_string(expected.type.shape));
  }
  for (std::size_t i = 0; i < actual.data.size(); ++i) {
    const Num& wanted = expected.at[i];
    const double apart = std::abs(actual.data[i] - wanted.value());
    const bool agrees =
        wanted.is_exact() ? actual.data[i] == wanted.value() : apart <= 4 * wanted.error[0];
    if (!agrees) {
      return fmt::format("element {} is {:.17g}, interpreted {:.17g} (error at most {:.3g})", i,
                         actual.data[i], wanted.value(), 4 * wanted.error[0]);
    }
  }
  return std::nullopt;
}

std::optional<std::string> difference(const Datum& actual, const Datum& reference) {
  for (std::size_t i = 0; i < actual.data.size(); ++i) {
    if (!same_bits(actual.data[i], reference.data[i])) {
      return fmt::format("element {} is {:.17g}, in eager code {:.17g}", i, actual.data[i],
                         reference.data[i]);
    }
  }
  return std::nullopt;
}

// Compares with what was interpreted, and bit for bit with eager code where the order of sums is
// the same.
std::optional<Failure> compare(const std::string& mode, const char* kind,
                               const std::vector<Datum>& actual, const Arrays& expected,
                               const std::vector<Datum>* reference) {
  if (actual.size() != expected.size()) {
    return Failure{mode, kind, fmt::format("{} of {}", actual.size(), expected.size())};
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    std::optional<std::string> fault = difference(actual[i], expected[i]);
    if (!fault && reference != nullptr && !expected[i].loose) {
      fault = difference(actual[i], (*reference)[i]);
    }
    if (fault) return Failure{mode, kind, fmt::format("{} {}", i, *fault)};
  }
  return std::nullopt;
}

Arrays initial_values(const Program& program) {
  Arrays arrays;
  for (const Datum& variable : program.variables) {
    const Arithmetic arithmetic(variable.type.dtype, 0);
    arrays.emplace_back(variable.type);
    for (std::size_t i = 0; i < variable.data.size(); ++i) {
      arrays.back().at[i] = Num(arithmetic.rounded(variable.data[i]));
    }
  }
  return arrays;
}

// The one thing that a trace may refuse where eager code does not.
bool is_documented(const Outcome& outcome) {
  return outcome.error == "UnsupportedError" &&
         outcome.message.find("while_loop") != std::string::npos;
}

std::optional<Failure> judge(const Program& program, const Mode& mode, const std::string& call,
                             const Outcome& outcome, const Meaning& meaning,
                             const Outcome* reference, const Outcome* gradient_reference) {
  if (outcome.error != meaning.error) {
    if (is_documented(outcome)) return std::nullopt;
    const bool idle = meaning.error_is_nested && mode.has_functions && !outcome.error;
    if (idle) return std::nullopt;
    return Failure{call, "error",
                   fmt::format("{} instead of {}: {}", outcome.error.value_or("none"),
                               meaning.error.value_or("none"), outcome.message)};
  }
  if (meaning.error) {
    const bool may_differ = !mode.traced || outcome.failed_in_gradient;
    if (meaning.error_is_nested && mode.has_functions && may_differ) return std::nullopt;
    return compare(call, "variable after an error", outcome.variables,
                   mode.traced ? initial_values(program) : meaning.variables, nullptr);
  }
  if (auto failure = compare(call, "result", outcome.results, meaning.results,
                             reference != nullptr ? &reference->results : nullptr)) {
    return failure;
  }
  if (auto failure = compare(call, "variable", outcome.variables, meaning.variables,
                             reference != nullptr ? &reference->variables : nullptr)) {
    return failure;
  }
  if (outcome.gradients) {
    const bool has_reference = gradient_reference != nullptr && gradient_reference->gradients;
    if (auto failure = compare(call, "gradient", *outcome.gradients, meaning.gradients,
                               has_reference ? &*gradient_reference->gradients : nullptr)) {
      return failure;
    }
  }
  if (!outcome.leak.empty()) return Failure{call, "memory", outcome.leak};
  return std::nullopt;
}

}  // namespace

bool Failure::same_as(const Failure& other) const {
  return mode == other.mode && kind == other.kind && error_classes() == other.error_classes();
}

std::string Failure::error_classes() const {
  return kind == "error" ? detail.substr(0, detail.find(':')) : "";
}

std::optional<Failure> check(const Program& program, const std::set<std::string>& without_modes) {
  const Meaning meaning = interpret(program);
  std::optional<Outcome> reference, gradient_reference;
  for (const Mode& mode : all_modes()) {
    if (without_modes.contains(mode.name)) continue;
    mode_running = mode.name;
    const MemoryInfo before = memory();
    const std::vector<Outcome> outcomes = mode.run(program);
    const MemoryInfo after = memory();
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const std::string call =
          outcomes.size() == 1 ? mode.name : fmt::format("{}, call {}", mode.name, i);
      if (auto failure =
              judge(program, mode, call, outcomes[i], meaning, reference ? &*reference : nullptr,
                    gradient_reference ? &*gradient_reference : nullptr)) {
        return failure;
      }
    }
    if (before.tensors != after.tensors || before.live_bytes != after.live_bytes) {
      return Failure{mode.name, "memory",
                     fmt::format("{} tensors and {} bytes before, {} and {} after", before.tensors,
                                 before.live_bytes, after.tensors, after.live_bytes)};
    }
    if (outcomes.empty()) continue;
    if (!reference) reference = outcomes[0];
    if (!gradient_reference && outcomes[0].gradients) gradient_reference = outcomes[0];
  }
  mode_running = "none";
  return std::nullopt;
}

}  // namespace tenure::programs
