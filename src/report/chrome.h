// A run in the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
#pragma once

#include <iosfwd>
#include <ostream>

#include "report/run.h"

namespace tenure::report {

// Operations and spans are complete events on their thread, a span that is not nested in the ones
// around it (a tape, a task) an asynchronous pair; live bytes and metrics are counters; errors and
// the deaths of the largest tensors are instants.
void write_chrome_trace(const Run& run, std::ostream& out);

}  // namespace tenure::report
