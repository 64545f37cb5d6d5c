// How long does the planner take for problems that are known to be hard?
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "graph/plan/plan.h"
#include "rows.h"

namespace bench {
namespace {

constexpr std::int64_t kCapacity = 1 << 20;

std::vector<tenure::plan::Buffer> read_problem(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::vector<tenure::plan::Buffer> buffers;
  std::getline(file, line);  // id,lower,upper,size
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    tenure::plan::Buffer buffer;
    std::int64_t id = 0;
    char comma = 0;
    fields >> id >> comma >> buffer.lower >> comma >> buffer.upper >> comma >> buffer.size;
    if (fields) buffers.push_back(buffer);
  }
  if (buffers.empty()) throw std::runtime_error(path.string() + ": no buffers");
  return buffers;
}

}  // namespace

void plan_problems(Runner& runner) {
  for (const char letter : {'A', 'C', 'D', 'F', 'H', 'K'}) {
    runner.row(std::string("plan_") + letter, [letter](Row& row) {
      row.report([letter]() -> Row::Figures {
        const auto buffers =
            read_problem(std::filesystem::path(TENURE_SOURCE_DIR) / "tests/data/planner" /
                         (letter + std::string(".") + std::to_string(kCapacity) + ".csv"));
        const auto begin = std::chrono::steady_clock::now();
        const tenure::plan::Plan plan = tenure::plan::make_plan(
            buffers, {.capacity = kCapacity, .budget = std::chrono::seconds(60)});
        const std::chrono::duration<double, std::micro> taken =
            std::chrono::steady_clock::now() - begin;
        return {{"plan_us", taken.count()},
                {"arena_bytes", static_cast<double>(plan.height)},
                {"bound_bytes", static_cast<double>(plan.lower_bound)}};
      });
    });
  }
}

}  // namespace bench
