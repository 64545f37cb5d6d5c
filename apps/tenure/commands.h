// The commands of the `tenure` program. Each is given what the command line says (main.cpp reads
// it), gives the exit code, and throws what went wrong.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/holders.h"

namespace tenure::app {

// Exit codes, the same for every command.
inline constexpr int kFound = 1;     // it ran, and the answer is no: does not fit, leaks, differs
inline constexpr int kBadInput = 2;  // it could not run

struct DiffOptions {
  std::string first;
  std::string second;
  std::size_t rows = 20;
};
int run_diff(const DiffOptions& options);

struct DoctorOptions {
  std::vector<std::string> environment;  // NAME=value, as it was given
};
int run_doctor(const DoctorOptions& options);

struct ExportOptions {
  std::string file;
  std::string output;
};
int run_export(const ExportOptions& options);

struct InspectOptions {
  std::string file;
};
int run_inspect(const InspectOptions& options);

struct LeaksOptions {
  std::string file;
  std::size_t stories = 2;
  bool json = false;
  bool strict = false;  // a recording that was cut short fails
};
int run_leaks(const LeaksOptions& options);

struct NewOptions {
  std::string folder;
};
int run_new(const NewOptions& options);

struct PlanOptions {
  std::string problem;
  std::string output;
  std::int64_t capacity = 0;
  std::int64_t alignment = 1;
  double seconds = 10;
};
int run_plan(const PlanOptions& options);

struct ReportOptions {
  std::string recording;
  std::string output;
};
int run_report(const ReportOptions& options);

struct TopOptions {
  std::string file;
  report::By by = report::By::site;
  std::size_t rows = 20;
  std::string at = "peak";
  bool follow = false;
};
int run_top(const TopOptions& options);
extern const std::map<std::string, report::By> kBy;
std::string check_moment(const std::string& text);  // what is wrong with TopOptions::at, or nothing

}  // namespace tenure::app
