// Findings as text: for `tenure leaks`, and short for the head of `tenure top`.
#pragma once

#include <string>
#include <vector>

#include "report/findings.h"
#include "report/run.h"
#include "terminal.h"

namespace tenure::app {

std::string_view name(report::Problem problem);

// Each with what to do and the stories of at most `stories` of its tensors.
std::string findings_text(const Terminal& to, const report::Run& run,
                          const std::vector<report::Finding>& findings, std::size_t stories);
std::string findings_json(const report::Run& run, const std::vector<report::Finding>& findings);

// The program, how long it ran, the peak, and that it was cut short where it was.
std::string summary_text(const Terminal& to, const std::string& file, const report::Run& run);
// Only the last: a line, or nothing.
std::string cut_short_note(const Terminal& to, const report::Run& run);

}  // namespace tenure::app
