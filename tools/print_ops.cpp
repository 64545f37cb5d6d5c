// Prints docs/ops.md from the registry and the CPU's kernel table: `make docs`.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "memory/transfer.h"
#include "ops/kernel.h"
#include "ops/op_def.h"

namespace tenure::ops {
namespace {

struct Group {
  const char* name;
  std::vector<DType> dtypes;
};

// The largest first: a dtype is printed with the first group that is there as a whole.
const std::vector<Group>& groups() {
  static const std::vector<Group> all{
      {"numbers",
       {DType::float32, DType::float64, DType::int32, DType::int64, DType::uint8, DType::int8}},
      {"floats", {DType::float32, DType::float64}},
      {"integers", {DType::int32, DType::int64, DType::uint8, DType::int8}},
      {"halves", {DType::float16, DType::bfloat16}},
  };
  return all;
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string dtypes_of(const OpDef& op) {
  if (op.view != nullptr) return "any";
  std::vector<DType> left;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (kernel_table(DeviceType::cpu).find(op.index, dtype).run != nullptr) left.push_back(dtype);
  }
  if (left.size() == kDTypeCount) return "any";
  std::vector<std::string> parts;
  for (const Group& group : groups()) {
    const auto is_there = [&](DType dtype) { return std::ranges::count(left, dtype) != 0; };
    if (!std::ranges::all_of(group.dtypes, is_there)) continue;
    parts.emplace_back(group.name);
    std::erase_if(left, [&](DType dtype) { return std::ranges::count(group.dtypes, dtype) != 0; });
  }
  for (const DType dtype : left) parts.emplace_back(name(dtype));
  return joined(parts);
}

// "inputs 0, 2 and 5" of the first `count`; more than a few that are all of them are told as such.
std::string numbered(const char* what, std::uint32_t bits, std::size_t count, const char* last) {
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    if ((bits >> i & 1) != 0) numbers.push_back(std::to_string(i));
  }
  if (numbers.empty()) return "";
  if (numbers.size() == 1) return fmt::format("{} {}", what, numbers[0]);
  if (numbers.size() > 3 && numbers.size() == count) return fmt::format("all {}s", what);
  const std::string end = std::move(numbers.back());
  numbers.pop_back();
  const bool one = std::string_view(last) == "or";
  return fmt::format("{}{} {} {} {}", what, one ? "" : "s", joined(numbers), last, end);
}

// The last bit of a mask stands for all inputs from there on.
std::size_t input_count(const OpDef& op, std::size_t bits) {
  return op.inputs == OpDef::kVariadic ? bits : std::min<std::size_t>(op.inputs, bits);
}

std::string kept(Keep keep, std::size_t inputs) {
  std::vector<std::string> parts;
  for (const std::string& part :
       {numbered("input", keep.inputs, inputs, "and"),
        keep.outputs == 1 ? std::string("the output")
                          : numbered("output", keep.outputs, 16, "and")}) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

bool same(Keep a, Keep b) { return a.inputs == b.inputs && a.outputs == b.outputs; }

std::string keeps_of(const OpDef& op) {
  if (op.grad == nullptr) return "";
  std::size_t rows = op.inputs == OpDef::kVariadic ? 1 : static_cast<std::size_t>(op.inputs);
  rows = std::min(rows, GradKeeps::kRows);
  bool all_alike = true;
  for (std::size_t i = 1; i < rows; ++i) {
    all_alike &= same(op.grad_keeps.of(i), op.grad_keeps.of(0));
  }
  if (all_alike) return kept(op.grad_keeps.of(0), input_count(op, 16));
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < rows; ++i) {
    parts.push_back(fmt::format("for {}: {}", i, kept(op.grad_keeps.of(i), input_count(op, 16))));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string gradient_of(const OpDef& op) {
  if (op.grad != nullptr) return "yes";
  return op.no_gradient != nullptr ? fmt::format("none: {}", op.no_gradient) : "none";
}

std::string in_place(const OpDef& op) {
  if (op.view != nullptr) return "view";
  const std::string inputs = numbered("input", op.may_overwrite.bits, input_count(op, 32), "or");
  return inputs.empty() ? "no" : inputs;
}

// The names alone of the TensorFlow.js kernels, without those of their inputs and attributes.
std::string kernels_of(const OpDef& op) {
  std::string names;
  bool within = false;
  for (const char c : std::string_view(op.tfjs != nullptr ? op.tfjs : "")) {
    within = c == '(' || (within && c != ')');
    if (!within && c != ')') names += c;
  }
  return names;
}

template <class T>
std::vector<T> sorted(std::vector<T> ops, auto&& name) {
  std::ranges::sort(ops, {}, [&](const T& op) { return std::string_view(name(op)); });
  return ops;
}

void print() {
  fmt::print(
      "# Operations\n\n"
      "`make docs` writes this page from the registry, and a test keeps the two equal.\n\n"
      "- *TensorFlow.js*: the kernels of `@tensorflow/tfjs-core` whose work the op does.\n"
      "- *dtypes*: those its kernel computes in; others are promoted or refused "
      "([dtypes](dtypes.md)). "
      "Floats are float32 and float64; integers int32, int64, uint8 and int8; numbers both; halves "
      "float16 and bfloat16.\n"
      "- *backward keeps*: what a tape holds on to for the gradient, per input where they "
      "differ.\n"
      "- *in place*: the inputs whose memory the result may take when they are given up.\n\n"
      "| op | TensorFlow.js | dtypes | gradient | backward keeps | in place |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  const std::span<const OpDef* const> ops = all_ops();
  for (const OpDef* op : sorted(std::vector<const OpDef*>(ops.begin(), ops.end()),
                                [](const OpDef* each) { return each->name; })) {
    fmt::print("| {} | {} | {} | {} | {} | {} |\n", op->name, kernels_of(*op), dtypes_of(*op),
               gradient_of(*op), keeps_of(*op), in_place(*op));
  }
  fmt::print(
      "\n## Made of others\n\n"
      "These have no kernel of their own: dtypes, gradients and what they keep are those of their "
      "parts.\n\n"
      "| function | TensorFlow.js | made of |\n"
      "| --- | --- | --- |\n");
  const std::span<const Composite> made = all_composites();
  for (const Composite& each : sorted(std::vector<Composite>(made.begin(), made.end()),
                                      [](const Composite& one) { return one.name; })) {
    fmt::print("| {} | {} | {} |\n", each.name, each.tfjs != nullptr ? each.tfjs : "", each.parts);
  }
}

}  // namespace
}  // namespace tenure::ops

int main() {
  tenure::detail::initialise_runtime();
  tenure::ops::print();
}
