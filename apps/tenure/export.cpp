// `tenure export`: a recorded run for Perfetto.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "commands.h"
#include "report/chrome.h"
#include "report/run.h"

namespace tenure::app {
namespace {

struct Arguments {
  std::string file;
  std::string output;
};

void run(const Arguments& arguments) {
  const report::Run recorded = report::read_run(arguments.file);
  if (arguments.output == "-") return report::write_chrome_trace(recorded, std::cout);
  std::ofstream out(arguments.output, std::ios::binary);
  if (out) report::write_chrome_trace(recorded, out);
  if (!out.flush()) {
    throw std::runtime_error(fmt::format("export: {}: cannot be written", arguments.output));
  }
}

}  // namespace

void add_export(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand(
      "export", "Write a recorded run as a Chrome trace: spans, operations, live bytes, errors.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("recording", arguments->file, "written by TENURE_TRACE or tenure::Recording")
      ->required();
  command->add_option("-o,--output", arguments->output, "JSON file to write; - for standard output")
      ->required();
  command->footer(
      "Open the file at ui.perfetto.dev (it stays in your browser) or in chrome://tracing.\n"
      "Example: tenure export run.tenure -o trace.json\n"
      "Exit codes: 0 written, 2 no recording, or the file cannot be written.");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace tenure::app
