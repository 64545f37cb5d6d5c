// `tenure doctor`: what Tenure runs on here, and whether it works.
#include <fmt/format.h>
#include <hwy/highway.h>
#include <unistd.h>
#include <zip.h>

#include <CLI/Version.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/cpu/backend.h"
#include "build_facts.h"
#include "commands.h"
#include "report/names.h"
#include "report/run.h"
#include "runtime/settings.h"
#include "tenure/create.h"
#include "tenure/function.h"
#include "tenure/gradient.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/memory.h"
#include "tenure/recording.h"
#include "tenure/reduce.h"
#include "tenure/runtime.h"
#include "terminal.h"

extern "C" {
char* openblas_get_config(void);
}

namespace tenure::app {
namespace {

// A line of the report; a problem says what to do about it.
struct Line {
  std::string label;
  std::string text;
  std::string problem = {};
};

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Line huge_pages() {
  const std::string line = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t begin = line.find('['), end = line.find(']');
  if (begin == line.npos || end == line.npos) return {"huge pages", "unknown"};
  const std::string mode = line.substr(begin + 1, end - begin - 1);
  // Only slower: no problem.
  return {"huge pages", mode == "never" ? "never (large buffers cost more page faults; madvise "
                                          "would be better)"
                                        : mode};
}

std::uint64_t system_memory() {
  const auto pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size)
             : 0;
}

// Of a container, where it has one that is lower than the machine's memory.
std::uint64_t container_limit() {
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const auto bytes = detail::parse_bytes(first_line(path));
    if (bytes && *bytes > 0 && *bytes < system_memory()) return *bytes;
  }
  return 0;
}

Line memory_line() {
  std::string text = report::bytes_text(system_memory());
  if (const std::uint64_t limit = container_limit()) {
    text += fmt::format(", of which this container may use {}", report::bytes_text(limit));
  }
  return {"memory", text};
}

Line budget_line() {
  const std::uint64_t budget = memory_budget();
  if (budget == 0) return {"budget", "none (TENURE_MEMORY_BUDGET=512MiB sets one)"};
  Line line{"budget", report::bytes_text(budget)};
  const std::uint64_t limit = container_limit();
  if (budget > (limit != 0 ? limit : system_memory())) {
    line.problem = "more than there is: the system will end the program before Tenure can say why";
  }
  return line;
}

std::vector<Line> settings(const std::vector<std::string>& environment) {
  struct Setting {
    std::string_view name;
    std::string_view meaning;
  };
  constexpr std::array kKnown{
      Setting{"TENURE_MEMORY_BUDGET", "the most bytes to reserve"},
      Setting{"TENURE_CHECK_ESCAPES", "report symbolic tensors that outlive their trace"},
      Setting{"TENURE_STACKS", "keep the call stacks of births and deaths"},
      Setting{"TENURE_TARGET", "the best instructions to use"},
      Setting{"TENURE_TRACE", "record every run to this file"},
  };
  std::vector<Line> lines;
  for (const std::string_view entry : environment) {
    if (!entry.starts_with("TENURE_")) continue;
    const std::string_view name = entry.substr(0, entry.find('='));
    const std::string_view value = entry.substr(std::min(name.size() + 1, entry.size()));
    Line line{std::string(name), std::string(value)};
    const auto known = std::ranges::find(kKnown, name, &Setting::name);
    if (known == kKnown.end()) {
      line.problem = "no such setting: it is ignored";
    } else {
      line.text += fmt::format("  ({})", known->meaning);
      if (name == "TENURE_MEMORY_BUDGET" && !detail::parse_bytes(value)) {
        line.problem = "no size (such as 512MiB): it is ignored";
      }
      if (name == "TENURE_TARGET" && !std::ranges::count(cpu::targets(), value)) {
        line.problem = fmt::format("none of {}: it is ignored", fmt::join(cpu::targets(), ", "));
      }
    }
    lines.push_back(std::move(line));
  }
  std::ranges::sort(lines, {}, &Line::label);
  return lines;
}

void check(bool holds, std::string_view what) {
  if (!holds) throw std::runtime_error(std::string(what));
}

void try_operation() {
  const Tensor product =
      matmul(tensor({1.f, 2.f, 3.f, 4.f}, {2, 2}), tensor({5.f, 6.f, 7.f, 8.f}, {2, 2}));
  check(product.to_vector<float>() == std::vector<float>{19, 22, 43, 50}, "wrong product");
  double worst = 0;
  std::vector<float> inputs(1000);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<float>(i) / 250.f - 2.f;
  const std::vector<float> outputs =
      tanh(tensor(inputs, {static_cast<std::int64_t>(inputs.size())})).to_vector<float>();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    worst = std::max(worst, std::abs(outputs[i] - std::tanh(static_cast<double>(inputs[i]))));
  }
  check(worst < 1e-6, fmt::format("tanh is off by {}", worst));
}

void try_gradient() {
  const Tensor x = tensor({1.f, -2.f, 3.f});
  const Tensor slope = grad([](const Tensor& in) { return sum(in * in); })(x);
  check(slope.to_vector<float>() == std::vector<float>{2, -4, 6}, "wrong gradient of x * x");
}

void try_function() {
  const Function twice = function("twice", [](Tensor in) { return in * 2.f + 1.f; });
  for (int i = 0; i < 3; ++i) {
    check(twice(tensor({1.f, 2.f})).to_vector<float>() == std::vector<float>{3, 5},
          "a traced function gives other values");
  }
  check(twice.traces().size() == 1, "a function was traced more than once");
}

void try_leak_check() {
  const LeakCheck leaks;
  Tensor held = ones({4});
  check(leaks.survivors().size() == 1, "a tensor that lives was not seen");
  held.dispose();
  check(leaks.survivors().empty(), "a tensor that died was seen");
}

// What is recorded of a tensor can be read back.
void try_recording() {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("tenure-doctor-{}.tenure", getpid());
  struct Remove {
    const std::filesystem::path& file;
    ~Remove() {
      std::error_code ignored;
      std::filesystem::remove(file, ignored);
    }
  } const remove{file};
  {
    Recording recording(file.string());
    zeros({4}) + 1.f;
  }
  const report::Run run = report::read_run(file);
  check(!run.cut_short && run.tensors.size() >= 2, "a recording does not hold what happened");
}

}  // namespace

int run_doctor(const DoctorOptions& options) {
  const std::vector<Line> variables = settings(options.environment);
  const std::vector<std::string_view> had = cpu::targets();
  zeros({});  // what the environment says is read with the first tensor
  const Terminal to = terminal();
  bool is_well = true;
  std::size_t label_width = 14;
  const auto print = [&](const Line& line) {
    fmt::print("  {:<{}}  {}\n", line.label, label_width, line.text);
    if (line.problem.empty()) return;
    is_well = false;
    fmt::print("  {:<{}}  {}\n", "", label_width, to.paint(Colour::red, line.problem));
  };
  const auto section = [&](std::string_view title) {
    fmt::print("{}\n", to.paint(Colour::bold, title));
  };

  section("machine");
  print({"instructions",
         fmt::format("{} (TENURE_TARGET: {})", cpu::targets()[0], fmt::join(had, ", "))});
  print({"cores", std::to_string(std::thread::hardware_concurrency())});
  print({"kernel threads", fmt::format("{} (set_num_threads, or OMP_NUM_THREADS)", num_threads())});
  print(memory_line());
  print(huge_pages());
  print(budget_line());

  section("\nlibraries");
  print({"Tenure", fmt::format("{}, {}", version(), compiler())});
  print({"Highway", fmt::format("{}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH)});
  print({"OpenBLAS", openblas_get_config()});
  print({"fmt",
         fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)});
  print({"libzip", zip_libzip_version()});
  print({"JSON", fmt::format("nlohmann {}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                             NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)});
  print({"CLI11", CLI11_VERSION});

  section("\nsettings in the environment");
  if (variables.empty()) fmt::print("  none\n");
  for (const Line& line : variables) label_width = std::max(label_width, line.label.size());
  for (const Line& line : variables) print(line);
  label_width = 14;

  section("\nself-test");
  const std::array<std::pair<std::string_view, void (*)()>, 5> tests{
      {{"operation", try_operation},
       {"gradient", try_gradient},
       {"function", try_function},
       {"leak check", try_leak_check},
       {"recording", try_recording}}};
  for (const auto& [name, test] : tests) {
    Line line{std::string(name), to.paint(Colour::green, "passed")};
    try {
      test();
    } catch (const std::exception& error) {
      line.text = to.paint(Colour::red, "failed");
      line.problem = error.what();
    }
    print(line);
  }
  fmt::print("\n{}\n", is_well ? to.paint(Colour::green, "all is well")
                               : to.paint(Colour::red, "something is wrong: see above"));
  return is_well ? 0 : kFound;
}

}  // namespace tenure::app
