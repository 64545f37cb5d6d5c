// A recorded run as one HTML file that opens from disk, without a network.
//
// The file is a shell (markup, styles and script, the same for every run) with two holes: the
// title, and the run itself. The run goes in as columns of numbers, deflated and in base64: a
// million events stay a few megabytes, the page turns them into typed arrays without parsing a
// tree, and no name in a recording can be taken for markup.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "report/findings.h"
#include "report/run.h"

namespace tenure::report {

// The columns as web/report/src/columns.ts reads them: deflated, in base64.
std::string page_data(const Run& run, const std::vector<Finding>& findings);

// Writes the whole file or nothing. IoError when it cannot be written; ValueError when `shell`
// lacks a hole.
void write_page(const Run& run, const std::vector<Finding>& findings, std::string_view shell,
                const std::filesystem::path& file);

}  // namespace tenure::report
