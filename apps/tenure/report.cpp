// `tenure report`: a recorded run as a page to look at.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "commands.h"
#include "report/findings.h"
#include "report/page.h"
#include "report/page_shell.h"
#include "report/run.h"

namespace tenure::app {
namespace {

struct Arguments {
  std::string recording;
  std::string output;
};

int run(const Arguments& arguments) {
  if (report::page_shell().empty()) {
    throw std::runtime_error("report: this program was built without the page (TENURE_REPORT=OFF)");
  }
  const std::filesystem::path output =
      arguments.output.empty()
          ? std::filesystem::path(arguments.recording).replace_extension("html")
          : std::filesystem::path(arguments.output);
  const report::Run recorded = report::read_run(arguments.recording);
  const std::vector<report::Finding> found = report::findings(recorded);
  report::write_page(recorded, found, report::page_shell(), output);
  fmt::print("{}: {} events, {} finding{}\n", output.string(), recorded.events, found.size(),
             found.size() == 1 ? "" : "s");
  return 0;
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "report", "Write a recorded run as one HTML page that opens without a network.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("recording", arguments->recording, "file that a recording wrote")->required();
  command->add_option("-o,--output", arguments->output,
                      "the page; without it, beside the recording, ending in .html");
  command->footer("Example: TENURE_TRACE=run.tenure ./app && tenure report run.tenure -o run.html");
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace tenure::app
