// `tenure plan`: where buffers with known lifetimes lie in one arena.
#include "graph/plan/plan.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "commands.h"

namespace tenure::app {
namespace {

struct BufferRow {
  std::string id;
  plan::Buffer buffer;
};

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  for (;;) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == line.npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

std::int64_t number(std::string_view text, const std::string& file, int line) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::runtime_error(fmt::format("{}:{}: not a whole number: \"{}\"", file, line, text));
  }
  return value;
}

std::vector<BufferRow> read_rows(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be read", path));
  std::vector<BufferRow> rows;
  std::string text;
  for (int line = 1; std::getline(file, text); ++line) {
    const std::vector<std::string_view> fields = fields_of(text);
    if (line == 1) {
      if (fields != std::vector<std::string_view>{"id", "lower", "upper", "size"}) {
        throw std::runtime_error(
            fmt::format("{}:1: the first line must be id,lower,upper,size, and is {}", path, text));
      }
      continue;
    }
    if (text.empty()) continue;
    if (fields.size() != 4) {
      throw std::runtime_error(fmt::format("{}:{}: {} fields, not 4", path, line, fields.size()));
    }
    const plan::Buffer buffer{number(fields[1], path, line), number(fields[2], path, line),
                              number(fields[3], path, line)};
    if (buffer.lower > buffer.upper || buffer.size < 0) {
      throw std::runtime_error(fmt::format("{}:{}: no lifetime and size: {}", path, line, text));
    }
    rows.push_back({std::string(fields[0]), buffer});
  }
  if (rows.empty()) throw std::runtime_error(fmt::format("{}: no buffers", path));
  return rows;
}

void write_rows(const std::string& path, const std::vector<BufferRow>& rows,
                const plan::Plan& plan) {
  std::ofstream file(path);
  file << "id,lower,upper,size,offset\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const plan::Buffer& buffer = rows[i].buffer;
    file << fmt::format("{},{},{},{},{}\n", rows[i].id, buffer.lower, buffer.upper, buffer.size,
                        plan.offsets[i]);
  }
  if (!file.flush()) throw std::runtime_error(fmt::format("{}: cannot be written", path));
}

}  // namespace

int run_plan(const PlanOptions& options) {
  const std::vector<BufferRow> rows = read_rows(options.problem);
  std::vector<plan::Buffer> buffers;
  buffers.reserve(rows.size());
  for (const BufferRow& row : rows) buffers.push_back(row.buffer);
  const auto begin = std::chrono::steady_clock::now();
  const plan::Plan plan = plan::make_plan(
      buffers, {.alignment = options.alignment,
                .capacity = options.capacity,
                .budget = std::chrono::milliseconds(static_cast<int>(options.seconds * 1000))});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (!options.output.empty()) write_rows(options.output, rows, plan);
  fmt::print("buffers      {}\n", rows.size());
  fmt::print("height       {}\n", plan.height);
  fmt::print("lower bound  {}\n", plan.lower_bound);
  fmt::print("time         {:.3f} s\n", took.count());
  if (options.capacity == 0 || plan.height <= options.capacity) return 0;
  fmt::print(stderr, "tenure plan: no plan within {} bytes was found in {} s\n", options.capacity,
             options.seconds);
  return kFound;
}

}  // namespace tenure::app
