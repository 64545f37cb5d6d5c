#include "printer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops.h"
#include "statements.h"

namespace tenure::programs {

std::string print(const Program& program) { return Printer(program).program(); }

void Printer::line(const std::string& text) {
  text_ += std::string(static_cast<std::size_t>(2 * indent_), ' ') + text + '\n';
}

std::string Printer::name(Value value) const { return fmt::format("t{}", value); }

std::string Printer::name(const Use& use) const {
  return use.moved ? fmt::format("std::move(t{})", use.value) : name(use.value);
}

std::string Printer::names(const std::vector<Value>& values) const {
  std::vector<std::string> list;
  for (const Value value : values) list.push_back(name(value));
  return fmt::format("{{{}}}", fmt::join(list, ", "));
}

std::string Printer::names(const std::vector<Use>& uses) const {
  std::vector<std::string> list;
  for (const Use& use : uses) list.push_back(name(use));
  return fmt::format("{{{}}}", fmt::join(list, ", "));
}

std::string Printer::type(Value value) const {
  const Type& type = program_.types[static_cast<std::size_t>(value)];
  return fmt::format("{} {}", tenure::name(type.dtype), to_string(type.shape));
}

std::string Printer::results(const Statement& statement) const {
  if (statement.outputs.empty()) return {};
  if (statement.outputs.size() == 1) return fmt::format("auto t{} = ", statement.outputs[0]);
  const std::string list = names(statement.outputs);
  return fmt::format("auto [{}] = ", list.substr(1, list.size() - 2));
}

std::string Printer::numbers(const std::vector<std::int64_t>& list) {
  return fmt::format("{{{}}}", fmt::join(list, ", "));
}

std::string Printer::literals(const std::vector<double>& list) {
  return fmt::format("{{{}}}", fmt::join(list, ", "));
}

void Printer::block(const std::string& head, const Block& block, const std::string& tail) {
  line(head + " {");
  ++indent_;
  statements(block);
  --indent_;
  line("}" + tail);
}

void Printer::statements(const Block& block) {
  for (const Statement& statement : block.statements) statement.row->print(*this, statement);
  if (!block.yields.empty()) line("return " + names(block.yields) + ";");
}

std::string Printer::program() {
  for (std::size_t i = 0; i < program_.variables.size(); ++i) {
    const Datum& variable = program_.variables[i];
    line(fmt::format("Variable v{}({} {} {});", i, tenure::name(variable.type.dtype),
                     to_string(variable.type.shape), literals(variable.data)));
  }
  for (std::size_t i = 0; i < program_.captures.size(); ++i) {
    line(fmt::format("Tensor {} = {} {};", name(program_.captured[i]), type(program_.captured[i]),
                     literals(program_.captures[i].data)));
  }
  for (std::size_t i = 0; i < program_.functions.size(); ++i) {
    const Subroutine& function = program_.functions[i];
    block(fmt::format("auto f{} = {}([&]({})", i, function.checkpoint ? "checkpoint" : "function",
                      names(function.body.params)),
          function.body, ");");
  }
  block(fmt::format("auto program = [&]({})", names(program_.body.params)), program_.body, ";");
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    line(fmt::format("// {} = {} {}", name(program_.body.params[i]), type(program_.body.params[i]),
                     literals(program_.inputs[i].data)));
  }
  return std::move(text_);
}

}  // namespace tenure::programs
