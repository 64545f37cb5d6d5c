// The commands of the `tenure` program. Each adds itself to the command line; what it does runs
// when the line is parsed, and throws what went wrong.
#pragma once

#include <CLI/CLI.hpp>

namespace tenure::app {

// Exit codes, the same for every command.
inline constexpr int kFound = 1;     // it ran, and the answer is no: does not fit, leaks, differs
inline constexpr int kBadInput = 2;  // it could not run

void add_diff(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_export(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app, int& exit_code);
void add_leaks(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_top(CLI::App& app, int& exit_code);

}  // namespace tenure::app
