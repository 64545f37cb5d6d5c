#include <fmt/format.h>

#include "draws.h"
#include "interpreter.h"
#include "ops.h"
#include "printer.h"
#include "runner.h"
#include "statements.h"
#include "tenure/math.h"

namespace tenure::programs {
namespace {

using S = const Statement&;

void interpret_op(Interpreter& interpreter, S s) {
  const Type& type = interpreter.type(s.outputs[0]);
  if (s.op->keeps_identity) {
    interpreter.set(s.outputs[0], interpreter.raw(s.inputs[0].value));
    return;
  }
  Array result(type);
  Arrays in;
  for (const Use& use : s.inputs) {
    in.push_back(interpreter.use(use.value));
    result.loose |= in.back().loose;
  }
  const bool loose = result.loose;
  s.op->interpret(interpreter.arithmetic(type.dtype), in, s, result);
  result.loose = loose;
  interpreter.set_new(s.outputs[0], std::move(result));
}

// The op's text with its inputs put in for {0}, {1}, its number for {n}, its index for {i}.
void print_op(Printer& printer, S s) {
  std::string text;
  if (s.op->text == nullptr) {
    text = fmt::format("{}(", s.op->name);
    for (std::size_t i = 0; i < s.inputs.size(); ++i) {
      text += (i == 0 ? "" : ", ") + printer.name(s.inputs[i]);
    }
    const char* comma = s.inputs.empty() ? "" : ", ";
    if (!s.literals.empty()) text += comma + Printer::literals(s.literals);
    if (!s.numbers.empty() && !s.inputs.empty()) text += comma + Printer::numbers(s.numbers);
    text += ")";
  } else {
    text = s.op->text;
    const auto put = [&text](const std::string& place, const std::string& with) {
      if (const std::size_t at = text.find(place); at != text.npos) {
        text.replace(at, place.size(), with);
      }
    };
    for (std::size_t i = 0; i < s.inputs.size(); ++i) {
      put(fmt::format("{{{}}}", i), printer.name(s.inputs[i]));
    }
    if (!s.literals.empty()) put("{n}", fmt::format("{}", s.literals[0]));
    if (!s.numbers.empty()) put("{i}", fmt::format("{}", s.numbers[0]));
  }
  printer.line(fmt::format("{}{};  // {}", printer.results(s), text, printer.type(s.outputs[0])));
}

bool draw_read(Generator& generator) {
  if (generator.variables() == 0 || generator.is_pure()) return false;
  if (generator.in_body() && !generator.allows("read_in_block")) return false;
  Statement statement = statement_of("read");
  const int variable = generator.random().below(generator.variables());
  statement.variables = {variable};
  const Type type = generator.so_far().variables[static_cast<std::size_t>(variable)].type;
  const Value value = generator.define(type);
  generator.share_bytes(value);
  generator.give_second_name(value);
  generator.lead_to_gradient(value, generator.tapes());
  statement.outputs = {value};
  generator.put(std::move(statement));
  return true;
}

// numbers: 1 adds to the variable.
bool draw_assign(Generator& generator) {
  if (generator.variables() == 0 || generator.is_pure()) return false;
  const bool in_function = generator.is_apart();
  if ((generator.in_body() || in_function) && !generator.allows("assign_in_block")) return false;
  if ((generator.in_tape() || in_function) && !generator.allows("assign_in_tape")) return false;
  Statement statement = statement_of("assign");
  const int variable = generator.random().below(generator.variables());
  statement.variables = {variable};
  const Type type = generator.so_far().variables[static_cast<std::size_t>(variable)].type;
  const Value value = generator.fit(type);
  generator.share_bytes(value);
  statement.inputs = {{value}};
  statement.numbers = {generator.random().chance(40) ? 1 : 0};
  generator.put(std::move(statement));
  return true;
}
void run_assign(Runner& runner, S s) {
  Variable& variable = runner.variable(s.variables[0]);
  Tensor value = runner.use(s.inputs[0]);
  if (s.numbers[0] == 1) {
    variable.assign(variable + std::move(value));
  } else {
    variable.assign(std::move(value));
  }
}
void interpret_assign(Interpreter& interpreter, S s) {
  Array value = interpreter.use(s.inputs[0].value);
  if (s.numbers[0] == 1) {
    const Array old = interpreter.read(s.variables[0]);
    const Arithmetic with = interpreter.arithmetic(value.type.dtype);
    for (std::size_t i = 0; i < value.at.size(); ++i)
      value.at[i] = with.add(old.at[i], value.at[i]);
    value.loose |= old.loose;
  }
  interpreter.assign(s.variables[0], value);
}

bool draw_dispose(Generator& generator) {
  const Value value = generator.pick([](const Type&) { return true; });
  if (value < 0 || !generator.is_local(value) || !generator.has_one_name(value)) return false;
  Statement statement = statement_of("dispose");
  statement.inputs = {{value}};
  generator.put(std::move(statement));
  generator.spend(value);
  return true;
}

bool draw_keep(Generator& generator) {
  const Value value = generator.pick([](const Type&) { return true; });
  if (value < 0 || !generator.is_local(value)) return false;
  Statement statement = statement_of("keep");
  statement.inputs = {{value}};
  generator.put(std::move(statement));
  return true;
}

void nothing(Interpreter&, S) {}

}  // namespace

const std::vector<StatementRow>& plain_statements() {
  static const std::vector<StatementRow> rows{
      {"op", 0, nullptr,
       [](Runner& runner, S s) { runner.slot(s.outputs[0]) = s.op->run(runner.use(s.inputs), s); },
       interpret_op, print_op},
      {"read", 8, draw_read,
       [](Runner& runner, S s) {
         runner.slot(s.outputs[0]) = runner.variable(s.variables[0]).read();
       },
       [](Interpreter& interpreter, S s) {
         interpreter.set(s.outputs[0], interpreter.read(s.variables[0]));
       },
       [](Printer& printer, S s) {
         printer.line(fmt::format("{}v{}.read();", printer.results(s), s.variables[0]));
       }},
      {"assign", 6, draw_assign, run_assign, interpret_assign,
       [](Printer& printer, S s) {
         const int v = s.variables[0];
         const std::string value = printer.name(s.inputs[0]);
         printer.line(s.numbers[0] == 1 ? fmt::format("v{}.assign(v{} + {});", v, v, value)
                                        : fmt::format("v{}.assign({});", v, value));
       }},
      {"dispose", 6, draw_dispose,
       [](Runner& runner, S s) { runner.slot(s.inputs[0].value).dispose(); }, nothing,
       [](Printer& printer, S s) { printer.line(printer.name(s.inputs[0]) + ".dispose();"); }},
      {"keep", 2, draw_keep, [](Runner& runner, S s) { keep(runner.slot(s.inputs[0].value)); },
       nothing,
       [](Printer& printer, S s) { printer.line("keep(" + printer.name(s.inputs[0]) + ");"); }},
  };
  return rows;
}

}  // namespace tenure::programs
