// `tenure leaks`: what is wrong with the memory of a recorded run.
#include <fmt/format.h>

#include <string>

#include "commands.h"
#include "report/findings.h"
#include "report/names.h"
#include "show_findings.h"

namespace tenure::app {
int run_leaks(const LeaksOptions& options) {
  const report::Run recorded = report::read_run(options.file);
  const std::vector<report::Finding> findings = report::findings(recorded);
  if (options.json) {
    fmt::print("{}", findings_json(recorded, findings));
    return findings.empty() ? 0 : kFound;
  }
  const Terminal to = terminal();
  fmt::print("{}\n", summary_text(to, options.file, recorded));
  if (findings.empty()) {
    fmt::print("{}\n", to.paint(Colour::green, "no findings"));
    return 0;
  }
  fmt::print("{}:\n\n{}", report::count_text(findings.size(), "finding"),
             findings_text(to, recorded, findings, options.stories));
  return kFound;
}

}  // namespace tenure::app
