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
  const bool fails = !findings.empty() || (options.strict && recorded.cut_short);
  if (options.json) {
    fmt::print("{}", findings_json(recorded, findings));
    return fails ? kFound : 0;
  }
  const Terminal to = terminal();
  fmt::print("{}\n", summary_text(to, options.file, recorded));
  if (findings.empty()) {
    fmt::print("{}\n", recorded.cut_short ? to.paint(Colour::yellow, "no findings up to there")
                                          : to.paint(Colour::green, "no findings"));
    return fails ? kFound : 0;
  }
  fmt::print("{}:\n\n{}", report::count_text(findings.size(), "finding"),
             findings_text(to, recorded, findings, options.stories));
  return kFound;
}

}  // namespace tenure::app
