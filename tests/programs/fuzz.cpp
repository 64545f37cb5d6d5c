// Random programs for as long as one likes: fuzz_programs --help.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string_view>

#include "driver.h"
#include "tenure/create.h"

namespace tenure::programs {
namespace {

constexpr const char* kHelp =
    "fuzz_programs [--from SEED] [--seconds N] [--programs N] [--without A,B]\n"
    "              [--without-modes A,B] [--show]\n"
    "  --from      the first seed; without it, one from the clock\n"
    "  --seconds   when to stop; 0 for never\n"
    "  --programs  how many at most\n"
    "  --without   statements, operations and habits (generator.h) to leave out\n"
    "  --without-modes  ways to run a program (modes.cpp) to leave out\n"
    "  --show      prints each program\n";

struct Options {
  std::uint64_t from = static_cast<std::uint64_t>(
                           std::chrono::system_clock::now().time_since_epoch().count() / 1000000) *
                       1000;
  long seconds = 60;
  std::uint64_t programs = ~std::uint64_t{0};
  GeneratorOptions generator;
  bool show = false;
  std::set<std::string> without_modes;
};

std::set<std::string> split(const std::string& text) {
  std::set<std::string> parts;
  std::stringstream list(text);
  for (std::string each; std::getline(list, each, ',');) parts.insert(each);
  return parts;
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (name == "--show") {
      options.show = true;
      continue;
    }
    if (value == nullptr) {
      std::fputs(kHelp, stderr);
      std::exit(2);
    }
    ++i;
    if (name == "--from") {
      options.from = std::strtoull(value, nullptr, 10);
    } else if (name == "--seconds") {
      options.seconds = std::strtol(value, nullptr, 10);
    } else if (name == "--programs") {
      options.programs = std::strtoull(value, nullptr, 10);
    } else if (name == "--without") {
      options.generator.without = split(value);
    } else if (name == "--without-modes") {
      options.without_modes = split(value);
    } else {
      std::fputs(kHelp, stderr);
      std::exit(2);
    }
  }
  return options;
}

int fuzz(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&start] {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() -
                                                            start)
        .count();
  };
  std::map<std::string, int> findings;  // by signature
  std::uint64_t judged = 0, unsteady = 0, failed = 0;
  long told = 0;
  for (std::uint64_t i = 0; i < options.programs; ++i) {
    if (options.seconds != 0 && seconds() >= options.seconds) break;
    const std::uint64_t seed = options.from + i;
    const std::optional<Program> program = program_of(seed, options.generator);
    if (!program) {
      ++unsteady;
      continue;
    }
    ++judged;
    if (options.show) fmt::print("seed {}\n{}\n", seed, print(*program));
    const auto judge = [&](const Program& each) {
      return check_apart(each, options.without_modes);
    };
    if (const auto failure = judge(*program)) {
      ++failed;
      const Finding finding = shrink_finding(seed, *program, *failure, judge);
      if (findings[finding.signature()]++ == 0) fmt::print("{}\n", finding.text());
    }
    if (seconds() >= told + 10) {
      told = seconds();
      fmt::print("{} s: {} programs, {} could not be judged, {} failed in {} ways\n", told, judged,
                 unsteady, failed, findings.size());
    }
    std::fflush(stdout);
  }
  fmt::print("{} programs from seed {}, {} could not be judged, {} failed\n", judged, options.from,
             unsteady, failed);
  for (const auto& [signature, count] : findings) fmt::print("{:6} {}\n", count, signature);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tenure::programs

int main(int argc, char** argv) {
  tenure::zeros({});
  return tenure::programs::fuzz(tenure::programs::read_options(argc, argv));
}
