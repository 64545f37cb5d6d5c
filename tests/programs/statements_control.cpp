#include <fmt/format.h>

#include "draws.h"
#include "interpreter.h"
#include "printer.h"
#include "runner.h"
#include "statements.h"
#include "tenure/control.h"

namespace tenure::programs {
namespace {

using S = const Statement&;
using Kind = Generator::Kind;

constexpr Generator::Inside kBody{
    .kind = Kind::body, .tapes = 0, .pure = false, .tidy = false, .sees_captures = true};

// One bool: there already, or a comparison made for it.
Value draw_predicate(Generator& generator) {
  const Type scalar_bool{DType::boolean, Shape{}};
  if (generator.random().chance(40)) {
    if (const Value value = generator.pick(scalar_bool); value >= 0) return value;
  }
  const Type scalar{generator.draw_float(), Shape{}};
  const Value left = generator.fit(scalar);
  const Value right = generator.put_constant(scalar, generator.draw_data(scalar));
  return generator.put_op("less", {left, right}, scalar_bool);
}

// One integer from 0 to count - 1.
Value draw_index(Generator& generator, int count) {
  const Type scalar{DType::int32, Shape{}};
  const Value any = generator.fit(scalar);
  const Value least = generator.put_constant(scalar, {0});
  const Value most = generator.put_constant(scalar, {static_cast<double>(count - 1)});
  const Value bounded = generator.put_op("maximum", {any, least}, scalar);
  return generator.put_op("minimum", {bounded, most}, scalar);
}

// inputs: the predicate or index; one block per branch.
bool draw_branches(Generator& generator, const char* name, int count) {
  if (!generator.can_nest()) return false;
  Statement statement = statement_of(name);
  statement.inputs = {{count == 2 && name == std::string("cond") ? draw_predicate(generator)
                                                                 : draw_index(generator, count)}};
  std::vector<Type> types;
  statement.blocks.push_back(generator.block({}, kBody, [&](const std::vector<Value>&) {
    if (generator.random().chance(10)) return std::vector<Value>();
    std::vector<Value> values = generator.draw_yields(3);
    types = generator.types_of(values);
    return values;
  }));
  while (static_cast<int>(statement.blocks.size()) < count) {
    statement.blocks.push_back(generator.block({}, kBody, types));
  }
  statement.outputs = generator.define_all(types);
  generator.put(std::move(statement));
  return true;
}

bool draw_cond(Generator& generator) { return draw_branches(generator, "cond", 2); }
bool draw_switch(Generator& generator) {
  return draw_branches(generator, "switch_case", generator.random().between(1, 3));
}

void run_cond(Runner& runner, S s) {
  const auto branch = [&](std::size_t i) {
    return [&, i] { return runner.block(s.blocks[i], {}); };
  };
  const Tensor predicate = runner.use(s.inputs[0]);
  runner.set_all(s.outputs, cond(predicate, branch(0), branch(1)));
}
void run_switch(Runner& runner, S s) {
  std::vector<std::function<Tensors()>> branches;
  for (const Block& block : s.blocks) {
    branches.emplace_back([&] { return runner.block(block, {}); });
  }
  const Tensor index = runner.use(s.inputs[0]);
  runner.set_all(s.outputs, switch_case<Tensors>(index, branches));
}
void interpret_branches(Interpreter& interpreter, S s) {
  interpreter.note_control_flow();
  const auto which = static_cast<std::size_t>(interpreter.raw(s.inputs[0].value).at[0].value());
  const bool is_cond = s.row->name == std::string("cond");
  if (which >= s.blocks.size()) throw Mistake{"ValueError", false};
  const Block& branch = s.blocks[is_cond ? 1 - which : which];
  interpreter.set_all(s.outputs, interpreter.crossing(interpreter.block(branch, {})));
}
void print_branches(Printer& printer, S s) {
  printer.line(fmt::format("{}{}({},", printer.results(s), s.row->name, printer.name(s.inputs[0])));
  for (std::size_t i = 0; i < s.blocks.size(); ++i) {
    printer.block("    [&]", s.blocks[i], i + 1 == s.blocks.size() ? ");" : ",");
  }
}

// Values for a loop to begin with.
std::vector<Use> draw_state(Generator& generator) {
  std::vector<Use> state;
  for (const Value value : generator.draw_yields(2)) {
    generator.give_second_name(value);
    state.push_back({value});
  }
  return state;
}
std::vector<Type> types_of(const Generator& generator, const std::vector<Use>& uses) {
  std::vector<Type> types;
  for (const Use& use : uses) types.push_back(generator.type(use.value));
  return types;
}

// A loop's counter; one that was moved from ends it.
Value count_of(Generator& generator, const std::vector<Value>& params) {
  const Type counter{DType::int32, Shape{}};
  return generator.is_spent(params[0]) ? generator.put_constant(counter, {9}) : params[0];
}

// inputs: a counter, then the state; blocks: condition, body; numbers: the most steps.
bool draw_while(Generator& generator) {
  if (!generator.can_nest()) return false;
  Statement statement = statement_of("while_loop");
  const Type counter{DType::int32, Shape{}}, answer{DType::boolean, Shape{}};
  statement.inputs = draw_state(generator);
  statement.inputs.insert(statement.inputs.begin(), {generator.put_constant(counter, {0})});
  generator.give_second_name(statement.inputs[0].value);
  const int steps = generator.random().below(4);
  statement.numbers = {generator.random().chance(20) ? 2 : 8};
  const std::vector<Type> types = types_of(generator, statement.inputs);
  Generator::Inside condition = kBody;
  condition.pure = !generator.allows("assign_in_condition");
  statement.blocks.push_back(
      generator.block(types, condition, [&](const std::vector<Value>& params) {
        const Value most = generator.put_constant(counter, {static_cast<double>(steps)});
        const Value at = count_of(generator, params);
        Value goes_on = generator.put_op("less", {at, most}, answer);
        if (generator.random().chance(60)) {
          const Value also = draw_predicate(generator);
          if (also != goes_on && !generator.is_spent(goes_on)) {
            goes_on = generator.put_op("logical_and", {goes_on, also}, answer);
          }
        }
        return std::vector<Value>{goes_on};
      }));
  statement.blocks.push_back(generator.block(types, kBody, [&](const std::vector<Value>& params) {
    std::vector<Value> values;
    values.push_back(
        generator.put_op("add_number", {count_of(generator, params)}, counter, {}, {1}));
    generator.hold(values[0]);
    for (std::size_t i = 1; i < types.size(); ++i) values.push_back(generator.fit(types[i]));
    return values;
  }));
  statement.outputs = generator.define_all(types);
  generator.put(std::move(statement));
  return true;
}
void run_while(Runner& runner, S s) {
  const auto step = [&](std::size_t block) {
    return [&, block](Tensors state) { return runner.block(s.blocks[block], std::move(state)); };
  };
  const auto goes_on = [&](Tensors state) { return step(0)(std::move(state))[0]; };
  runner.set_all(s.outputs,
                 while_loop(goes_on, step(1), runner.use(s.inputs), {.most_steps = s.numbers[0]}));
}
void interpret_while(Interpreter& interpreter, S s) {
  interpreter.note_control_flow();
  Arrays state = interpreter.crossing(interpreter.raw(s.inputs));
  for (std::int64_t step = 0; step != s.numbers[0]; ++step) {
    if (interpreter.block(s.blocks[0], state)[0].at[0].value() == 0) break;
    state = interpreter.crossing(interpreter.block(s.blocks[1], std::move(state)));
  }
  interpreter.set_all(s.outputs, interpreter.crossing(std::move(state)));
}
void print_while(Printer& printer, S s) {
  printer.block(
      fmt::format("{}while_loop([&]({})", printer.results(s), printer.names(s.blocks[0].params)),
      s.blocks[0], ",");
  printer.block(fmt::format("    [&]({})", printer.names(s.blocks[1].params)), s.blocks[1],
                fmt::format(", {}, {{.most_steps = {}}});", printer.names(s.inputs), s.numbers[0]));
}

// inputs: the state; numbers: the steps; the body's first parameter counts them.
bool draw_for(Generator& generator) {
  if (!generator.can_nest()) return false;
  Statement statement = statement_of("for_loop");
  statement.inputs = draw_state(generator);
  statement.numbers = {generator.random().one_of<int>({0, 1, 2, 2, 3, 4})};
  const std::vector<Type> types = types_of(generator, statement.inputs);
  std::vector<Type> params = types;
  params.insert(params.begin(), Type{DType::int32, Shape{}});
  statement.blocks.push_back(generator.block(params, kBody, types));
  statement.outputs = generator.define_all(types);
  generator.put(std::move(statement));
  return true;
}
void run_for(Runner& runner, S s) {
  const auto body = [&](Tensor i, Tensors state) {
    state.insert(state.begin(), std::move(i));
    return runner.block(s.blocks[0], std::move(state));
  };
  runner.set_all(s.outputs, for_loop(s.numbers[0], body, runner.use(s.inputs)));
}
void interpret_for(Interpreter& interpreter, S s) {
  interpreter.note_control_flow();
  Arrays state = interpreter.crossing(interpreter.raw(s.inputs));
  for (std::int64_t step = 0; step < s.numbers[0]; ++step) {
    Array i(Type{DType::int32, Shape{}});
    i.at[0] = Num(static_cast<double>(step));
    i.identity = interpreter.new_identity();
    state.insert(state.begin(), std::move(i));
    state = interpreter.crossing(interpreter.block(s.blocks[0], std::move(state)));
  }
  interpreter.set_all(s.outputs, interpreter.crossing(std::move(state)));
}
void print_for(Printer& printer, S s) {
  printer.block(fmt::format("{}for_loop({}, [&]({})", printer.results(s), s.numbers[0],
                            printer.names(s.blocks[0].params)),
                s.blocks[0], fmt::format(", {});", printer.names(s.inputs)));
}

// inputs: the state, then one sequence; numbers: how many are state. The body yields the state,
// then what is stacked.
bool draw_scan(Generator& generator) {
  if (!generator.can_nest()) return false;
  const Value sequence =
      generator.pick([](const Type& type) { return is_float(type) && type.shape.rank() > 0; });
  if (sequence < 0) return false;
  generator.give_second_name(sequence);
  Statement statement = statement_of("scan");
  statement.inputs = draw_state(generator);
  const std::vector<Type> state = types_of(generator, statement.inputs);
  statement.numbers = {static_cast<std::int64_t>(state.size())};
  statement.inputs.push_back({sequence});
  const Type whole = generator.type(sequence);
  std::vector<Type> params = state;
  params.push_back({whole.dtype, Shape(whole.shape.dims().subspan(1))});
  std::vector<Type> stacked;
  statement.blocks.push_back(generator.block(params, kBody, [&](const std::vector<Value>&) {
    std::vector<Value> values;
    for (const Type& each : state) values.push_back(generator.fit(each));
    for (const Value value : generator.draw_yields(2)) {
      Type type = generator.type(value);
      Shape shape{whole.shape[0]};
      for (const std::int64_t size : type.shape) shape.push_back(size);
      stacked.push_back({type.dtype, shape});
      values.push_back(value);
    }
    return values;
  }));
  std::vector<Type> results = state;
  results.insert(results.end(), stacked.begin(), stacked.end());
  statement.outputs = generator.define_all(results);
  generator.put(std::move(statement));
  return true;
}
void run_scan(Runner& runner, S s) {
  const auto states = static_cast<std::ptrdiff_t>(s.numbers[0]);
  const auto body = [&](Tensors state, Tensors slices) {
    state.insert(state.end(), slices.begin(), slices.end());
    Tensors yields = runner.block(s.blocks[0], std::move(state));
    return std::pair(Tensors(yields.begin(), yields.begin() + states),
                     Tensors(yields.begin() + states, yields.end()));
  };
  Tensors inputs = runner.use(s.inputs);
  Tensors sequences(inputs.begin() + states, inputs.end());
  inputs.resize(static_cast<std::size_t>(states));
  auto [last, stacked] = scan(body, std::move(inputs), std::move(sequences));
  last.insert(last.end(), stacked.begin(), stacked.end());
  runner.set_all(s.outputs, std::move(last));
}
void interpret_scan(Interpreter& interpreter, S s) {
  interpreter.note_control_flow();
  const auto states = static_cast<std::size_t>(s.numbers[0]);
  Arrays state = interpreter.crossing(interpreter.raw(s.inputs));
  // The sequence is cut, which is an operation of its own: seen as a tape sees it.
  const Array sequence = interpreter.use(s.inputs.back().value);
  state.pop_back();
  Arrays stacked;
  for (std::size_t i = states; i < s.outputs.size(); ++i) {
    stacked.emplace_back(interpreter.type(s.outputs[i]));
  }
  const Type slice_type{sequence.type.dtype, Shape(sequence.type.shape.dims().subspan(1))};
  for (std::int64_t step = 0; step < sequence.type.shape[0]; ++step) {
    Array slice(slice_type);
    slice.loose = sequence.loose;
    slice.identity = interpreter.new_identity();
    const auto count = static_cast<std::int64_t>(slice.at.size());
    std::copy_n(sequence.at.begin() + step * count, count, slice.at.begin());
    state.push_back(std::move(slice));
    Arrays yields = interpreter.block(s.blocks[0], std::move(state));
    for (std::size_t i = states; i < yields.size(); ++i) {
      // Stacking is an operation as well.
      const Array part = interpreter.use(s.blocks[0].yields[i]);
      const auto size = static_cast<std::int64_t>(part.at.size());
      std::copy_n(part.at.begin(), size, stacked[i - states].at.begin() + step * size);
      stacked[i - states].loose |= part.loose;
    }
    yields.resize(states);
    state = interpreter.crossing(std::move(yields));
  }
  interpreter.set_all({s.outputs.begin(), s.outputs.begin() + static_cast<std::ptrdiff_t>(states)},
                      std::move(state));
  for (std::size_t i = states; i < s.outputs.size(); ++i) {
    interpreter.set_new(s.outputs[i], std::move(stacked[i - states]));
  }
}
void print_scan(Printer& printer, S s) {
  printer.block(
      fmt::format("{}scan([&]({})", printer.results(s), printer.names(s.blocks[0].params)),
      s.blocks[0], fmt::format(", {});", printer.names(s.inputs)));
}

}  // namespace

const std::vector<StatementRow>& control_statements() {
  static const std::vector<StatementRow> rows{
      {"cond", 8, draw_cond, run_cond, interpret_branches, print_branches},
      {"switch_case", 4, draw_switch, run_switch, interpret_branches, print_branches},
      {"while_loop", 6, draw_while, run_while, interpret_while, print_while},
      {"for_loop", 5, draw_for, run_for, interpret_for, print_for},
      {"scan", 5, draw_scan, run_scan, interpret_scan, print_scan},
  };
  return rows;
}

}  // namespace tenure::programs
