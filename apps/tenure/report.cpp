// `tenure report`: a recorded run as a page to look at.
#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "commands.h"
#include "report/findings.h"
#include "report/page.h"
#include "report/page_shell.h"
#include "report/run.h"
#include "show_findings.h"

namespace tenure::app {
int run_report(const ReportOptions& options) {
  if (report::page_shell().empty()) {
    throw std::runtime_error("report: this program was built without the page (TENURE_REPORT=OFF)");
  }
  const std::filesystem::path output =
      options.output.empty() ? std::filesystem::path(options.recording).replace_extension("html")
                             : std::filesystem::path(options.output);
  const report::Run recorded = report::read_run(options.recording);
  const std::vector<report::Finding> findings = report::findings(recorded);
  report::write_page(recorded, findings, report::page_shell(), output);
  fmt::print("{}: {} events, {} finding{}\n", output.string(), recorded.events, findings.size(),
             findings.size() == 1 ? "" : "s");
  fmt::print("{}", cut_short_note(terminal(), recorded));
  return 0;
}

}  // namespace tenure::app
