// `tenure export`: a recorded run for Perfetto.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include "commands.h"
#include "report/chrome.h"
#include "report/names.h"
#include "report/run.h"

namespace tenure::app {
int run_export(const ExportOptions& options) {
  const report::Run recorded = report::read_run(options.file);
  if (recorded.cut_short) {
    fmt::print(stderr, "{}: {}\n", options.file, report::cut_short_text(recorded));
  }
  if (options.output == "-") {
    report::write_chrome_trace(recorded, std::cout);
    return 0;
  }
  std::ofstream out(options.output, std::ios::binary);
  if (out) report::write_chrome_trace(recorded, out);
  if (!out.flush()) {
    throw std::runtime_error(fmt::format("export: {}: cannot be written", options.output));
  }
  return 0;
}

}  // namespace tenure::app
