// `tenure leaks`: what is wrong with the memory of a recorded run.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "commands.h"
#include "report/findings.h"
#include "report/names.h"
#include "show_findings.h"

namespace tenure::app {
namespace {

struct Arguments {
  std::string file;
  std::size_t stories = 2;
  bool json = false;
};

int run(const Arguments& arguments) {
  const report::Run recorded = report::read_run(arguments.file);
  const std::vector<report::Finding> found = report::findings(recorded);
  if (arguments.json) {
    fmt::print("{}", findings_json(recorded, found));
    return found.empty() ? 0 : kFound;
  }
  const Terminal to = terminal();
  fmt::print("{}\n", summary_text(to, arguments.file, recorded));
  if (found.empty()) {
    fmt::print("{}\n", to.paint(Colour::green, "no findings"));
    return 0;
  }
  fmt::print("{}:\n\n{}", report::count_text(found.size(), "finding"),
             findings_text(to, recorded, found, arguments.stories));
  return kFound;
}

}  // namespace

void add_leaks(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "leaks", "Say what is wrong with a recorded run: which line, how many bytes, what to do.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("recording", arguments->file, "written by TENURE_TRACE or tenure::Recording")
      ->required();
  command->add_option("--stories", arguments->stories, "of so many tensors per finding")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "for programs");
  command->footer(
      "growth    what a line makes stays, and there is more with every step\n"
      "outlived  its tidy or step ended, and the process never freed it\n"
      "pinned    a small view alone holds a large storage, for long\n"
      "misused   an error about a tensor's life was raised\n\n"
      "Example: TENURE_TRACE=run.tenure ./train && tenure leaks run.tenure\n"
      "Exit codes: 0 no findings, 1 findings, 2 no recording.");
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace tenure::app
