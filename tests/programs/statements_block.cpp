#include <fmt/format.h>

#include "draws.h"
#include "interpreter.h"
#include "printer.h"
#include "runner.h"
#include "statements.h"
#include "tenure/control.h"
#include "tenure/math.h"
#include "tenure/scope.h"
#include "tenure/session.h"
#include "tenure/task.h"

namespace tenure::programs {
namespace {

using S = const Statement&;
using Kind = Generator::Kind;

// A block that runs once, in place.
bool draw_straight(Generator& generator, const char* name) {
  if (!generator.can_nest()) return false;
  Statement statement = statement_of(name);
  Generator::Inside inside;
  inside.tidy = name == std::string("tidy");
  std::vector<Type> types;
  statement.blocks.push_back(generator.block({}, inside, [&](const std::vector<Value>&) {
    std::vector<Value> values = generator.draw_yields(2);
    types = generator.types_of(values);
    return values;
  }));
  statement.outputs = generator.define_all(types);
  generator.put(std::move(statement));
  return true;
}
void interpret_straight(Interpreter& interpreter, S s) {
  interpreter.set_all(s.outputs, interpreter.block(s.blocks[0], {}));
}
void print_straight(Printer& printer, S s) {
  printer.block(fmt::format("{}{}([&]", printer.results(s), s.row->name), s.blocks[0], ");");
}

// Two tasks that take turns; they leave variables alone.
bool draw_two_tasks(Generator& generator) {
  if (!generator.can_nest()) return false;
  Statement statement = statement_of("run_all");
  std::vector<Type> types;
  for (int task = 0; task < 2; ++task) {
    statement.blocks.push_back(generator.block(
        {},
        {.kind = Kind::straight, .tapes = 0, .pure = true, .tidy = false, .sees_captures = true},
        [&](const std::vector<Value>&) {
          std::vector<Value> values = generator.draw_yields(2);
          for (Type& each : generator.types_of(values)) types.push_back(each);
          return values;
        }));
  }
  statement.outputs = generator.define_all(types);
  generator.put(std::move(statement));
  return true;
}
void run_two_tasks(Runner& runner, S s) {
  std::vector<Task<Tensors>> tasks;
  for (const Block& block : s.blocks) tasks.push_back(runner.block_as_task(block));
  Tensors results;
  for (Tensors& each : run_all(std::move(tasks))) {
    results.insert(results.end(), each.begin(), each.end());
  }
  runner.set_all(s.outputs, std::move(results));
}
void interpret_two_tasks(Interpreter& interpreter, S s) {
  Arrays results;
  for (const Block& block : s.blocks) {
    for (Array& each : interpreter.block(block, {})) results.push_back(std::move(each));
  }
  interpreter.set_all(s.outputs, std::move(results));
}
void print_two_tasks(Printer& printer, S s) {
  printer.line(fmt::format("{}run_all(", printer.results(s)));
  printer.block("    [&]", s.blocks[0], ",");
  printer.block("    [&]", s.blocks[1], ");");
}

// inputs: what the session is given, copies of its own. It sees nothing else.
bool draw_session(Generator& generator) {
  if (!generator.can_nest()) return false;
  Statement statement = statement_of("session");
  std::vector<Type> params, types;
  for (int count = generator.random().between(1, 2); count > 0; --count) {
    const Value value = generator.pick(is_float);
    if (value < 0) return false;
    generator.hold(value);
    statement.inputs.push_back({value});
    params.push_back(generator.type(value));
  }
  Generator::Inside inside;
  inside.kind = Kind::apart;
  inside.pure = true;
  inside.tapes = generator.tapes();
  inside.sees_captures = false;
  statement.blocks.push_back(generator.block(params, inside, [&](const std::vector<Value>&) {
    std::vector<Value> values;
    for (const Value value : generator.draw_yields(2)) {
      const Type type = generator.type(value);
      if (!is_number(type)) continue;
      values.push_back(generator.put_op("mul_number", {value}, type, {}, {1}));
      types.push_back(type);
      generator.hold(values.back());
    }
    return values;
  }));
  statement.outputs = generator.define_all(types);
  generator.put(std::move(statement));
  return true;
}
// In a trace and under a tape there is one session only: the statements run in place.
void run_session(Runner& runner, S s) {
  Tensors copies;
  for (const Use& use : s.inputs) copies.push_back(runner.slot(use.value) * 1.0);
  if (detail::is_tracing() || runner.is_under_tape()) {
    runner.set_all(s.outputs, runner.block(s.blocks[0], std::move(copies)));
    return;
  }
  Session session({.name = "inner", .budget = 0});
  for (const Tensor& each : copies) transfer(each, session);
  Tensors results = runner.run_in(session, s.blocks[0], std::move(copies));
  for (const Tensor& each : results) transfer(each, runner.session());
  runner.set_all(s.outputs, std::move(results));
}
void interpret_session(Interpreter& interpreter, S s) {
  Arrays copies;
  for (const Use& use : s.inputs) {
    copies.push_back(interpreter.use(use.value));
    copies.back().identity = interpreter.new_identity();
  }
  interpreter.set_all(s.outputs, interpreter.block(s.blocks[0], std::move(copies)));
}
void print_session(Printer& printer, S s) {
  printer.block(fmt::format("{}session({}, [&]({})", printer.results(s), printer.names(s.inputs),
                            printer.names(s.blocks[0].params)),
                s.blocks[0], ");");
}

// inputs: the arguments; numbers: 1 donates them.
bool draw_call(Generator& generator) {
  const int count = static_cast<int>(generator.so_far().functions.size());
  if (count == 0) return false;
  Statement statement = statement_of("call");
  statement.function = generator.random().below(count);
  if (!generator.may_call(statement.function)) return false;
  const Block& body =
      generator.so_far().functions[static_cast<std::size_t>(statement.function)].body;
  const std::vector<Type> results = generator.types_of(body.yields);
  bool donates = false;
  if (body.params.size() == 1 && generator.allows("donate")) {
    const Type first = generator.type(body.params[0]);
    const bool has_room = std::ranges::any_of(results, [&first](const Type& type) {
      return type.dtype == first.dtype && type.numel() == first.numel();
    });
    Value value = generator.pick(first);
    if (has_room && value >= 0 && generator.random().chance(50)) {
      if (!generator.is_local(value) || !generator.owns_its_bytes(value)) {
        value = generator.put_op("mul_number", {value}, first, {}, {0.5});
      }
      donates = true;
      statement.inputs = {{value}};
    }
  }
  if (!donates) {
    for (const Value param : body.params) {
      statement.inputs.push_back({generator.fit(generator.type(param))});
    }
  }
  statement.numbers = {donates ? 1 : 0};
  for (const Use& use : statement.inputs) {
    generator.give_second_name(use.value);
    generator.share_bytes(use.value);
  }
  const Value first = statement.inputs[0].value;
  statement.outputs = generator.define_all(results);
  generator.put(std::move(statement));
  if (donates) generator.spend(first);
  return true;
}
void run_call(Runner& runner, S s) {
  runner.set_all(s.outputs, runner.call(s.function, runner.use(s.inputs), s.numbers[0] == 1));
}
void interpret_call(Interpreter& interpreter, S s) {
  interpreter.note_control_flow();
  const Subroutine& function =
      interpreter.program().functions[static_cast<std::size_t>(s.function)];
  Arrays arguments = interpreter.crossing(interpreter.raw(s.inputs));
  interpreter.set_all(s.outputs,
                      interpreter.crossing(interpreter.block(function.body, std::move(arguments))));
}
void print_call(Printer& printer, S s) {
  const std::string arguments = printer.names(s.inputs);
  printer.line(fmt::format("{}f{}({});", printer.results(s), s.function,
                           s.numbers[0] == 1 ? "donate(" + arguments + ")" : arguments));
}

}  // namespace

const std::vector<StatementRow>& block_statements() {
  static const std::vector<StatementRow> rows{
      {"tidy", 6, [](Generator& generator) { return draw_straight(generator, "tidy"); },
       [](Runner& runner, S s) {
         runner.set_all(s.outputs, tidy([&] { return runner.block(s.blocks[0], {}); }));
       },
       interpret_straight, print_straight},
      {"run", 3, [](Generator& generator) { return draw_straight(generator, "run"); },
       [](Runner& runner, S s) {
         runner.set_all(s.outputs, run(runner.block_as_task(s.blocks[0])));
       },
       interpret_straight, print_straight},
      {"run_all", 3, draw_two_tasks, run_two_tasks, interpret_two_tasks, print_two_tasks},
      {"session", 3, draw_session, run_session, interpret_session, print_session},
      {"call", 10, draw_call, run_call, interpret_call, print_call},
  };
  return rows;
}

}  // namespace tenure::programs
