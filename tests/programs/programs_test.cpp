// A fixed range of random programs, each run in every way. What they are:
// docs/dev/random_programs.md.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "driver.h"

namespace tenure::programs {
namespace {

constexpr std::uint64_t kPrograms = 2000;
constexpr int kMostFindings = 5;  // shown; more say no more

std::uint64_t seed_running = 0;

// Says which program it was; then the signal takes its course.
void report_crash(int signal) {
  const std::string text =
      "random programs: crash at seed " + std::to_string(seed_running) + ", " + mode_running + "\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

struct CrashReports {
  CrashReports() { handle(report_crash); }
  ~CrashReports() { handle(SIG_DFL); }
  CrashReports(const CrashReports&) = delete;
  CrashReports& operator=(const CrashReports&) = delete;
  static void handle(void (*how)(int)) {
    for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) std::signal(signal, how);
  }
};

TEST(RandomPrograms, every_way_to_run_a_program_gives_the_same) {
  const CrashReports reports;
  int findings = 0;
  std::uint64_t judged = 0;
  for (std::uint64_t seed = 0; seed < kPrograms && findings < kMostFindings; ++seed) {
    seed_running = seed;
    const std::optional<Program> program = program_of(seed, {});
    if (!program) continue;
    ++judged;
    const auto judge = [](const Program& each) { return check_if_steady(each); };
    if (const auto failure = check_if_steady(*program)) {
      ++findings;
      ADD_FAILURE() << shrink_finding(seed, *program, *failure, judge).text();
    }
  }
  if (findings == 0) {
    EXPECT_GT(judged, kPrograms * 9 / 10) << "too many programs cannot be judged";
  }
}

}  // namespace
}  // namespace tenure::programs
