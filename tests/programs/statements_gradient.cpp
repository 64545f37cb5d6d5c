#include <fmt/format.h>

#include "draws.h"
#include "interpreter.h"
#include "printer.h"
#include "runner.h"
#include "statements.h"
#include "tenure/gradient.h"
#include "tenure/math.h"

namespace tenure::programs {
namespace {

using S = const Statement&;
using Kind = Generator::Kind;

// inputs and variables: the sources; the block yields the targets, one for each call of gradient().
// outputs: the targets, then for each of them the gradients by all sources. numbers: 1 disposes the
// sources before the gradient is taken.
bool draw_gradient(Generator& generator) {
  if (!generator.can_nest() || generator.tapes() >= 2) return false;
  Statement statement = statement_of("gradient");
  Random& random = generator.random();
  std::vector<Type> sources;
  for (int count = random.between(1, 2); count > 0; --count) {
    Value value = generator.pick(is_float);
    if (value < 0) break;
    const bool by_capture = generator.is_captured(value) && !generator.is_apart() &&
                            generator.allows("gradient_by_capture");
    if (!generator.has_one_name(value) || (generator.is_captured(value) && !by_capture)) {
      value = generator.put_op("mul_number", {value}, generator.type(value), {}, {1});
    }
    statement.inputs.push_back({value});
    sources.push_back(generator.type(value));
    generator.lead_to_gradient(value, generator.tapes() + 1);
  }
  if (generator.variables() > 0 && !generator.is_pure() && random.chance(60)) {
    statement.variables = {random.below(generator.variables())};
    sources.push_back(
        generator.so_far().variables[static_cast<std::size_t>(statement.variables[0])].type);
  }
  if (sources.empty()) return false;
  std::vector<Type> results;
  const Generator::Inside inside{
      .kind = Kind::straight, .tapes = 1, .pure = false, .tidy = false, .sees_captures = true};
  statement.blocks.push_back(generator.block({}, inside, [&](const std::vector<Value>&) {
    std::vector<Value> targets;
    for (const Value value : generator.draw_yields(2)) {
      if (is_float(generator.type(value))) targets.push_back(value);
    }
    if (targets.empty()) targets.push_back(generator.fit({generator.draw_float(), Shape{}}));
    results = generator.types_of(targets);
    return targets;
  }));
  // Disposed after they were used, before the gradient is taken.
  const bool die = random.chance(25) && std::ranges::all_of(statement.inputs, [&](const Use& use) {
                     return generator.is_local(use.value) && generator.has_one_name(use.value);
                   });
  statement.numbers = {die ? 1 : 0};
  const std::size_t targets = results.size();
  for (std::size_t i = 0; i < targets; ++i) {
    results.insert(results.end(), sources.begin(), sources.end());
  }
  statement.outputs = generator.define_all(results);
  if (die) {
    for (const Use& use : statement.inputs) generator.spend(use.value);
  }
  generator.put(std::move(statement));
  return true;
}

void run_gradient(Runner& runner, S s) {
  const Runner::UnderTape under_tape(runner);
  const bool persistent = s.blocks[0].yields.size() > 1;
  GradientTape tape({.persistent = persistent, .watch_variables = true, .name = {}});
  std::vector<Source> sources;
  for (const Use& use : s.inputs) {
    tape.watch(runner.slot(use.value));
    sources.emplace_back(runner.slot(use.value));
  }
  for (const int variable : s.variables) sources.emplace_back(runner.variable(variable));
  Tensors results = runner.block(s.blocks[0], {});
  if (s.numbers[0] == 1) {
    for (const Use& use : s.inputs) runner.slot(use.value).dispose();
  }
  for (std::size_t i = 0; i < s.blocks[0].yields.size(); ++i) {
    for (Tensor& each :
         tape.gradient(results[i], sources, {.output_gradient = {}, .zero_if_unconnected = true})) {
      results.push_back(std::move(each));
    }
  }
  runner.set_all(s.outputs, std::move(results));
}

void interpret_gradient(Interpreter& interpreter, S s) {
  std::vector<Interpreter::Source> sources;
  for (const Use& use : s.inputs) sources.push_back(interpreter.source(use.value));
  for (const int variable : s.variables) sources.push_back(interpreter.source_variable(variable));
  Arrays targets;
  const std::vector<Arrays> gradients = interpreter.gradient(sources, s.blocks[0], {}, targets);
  std::size_t next = 0;
  for (Array& target : targets) interpreter.set(s.outputs[next++], std::move(target));
  for (const Arrays& of_target : gradients) {
    for (const Array& each : of_target) interpreter.set_new(s.outputs[next++], each);
  }
}

void print_gradient(Printer& printer, S s) {
  std::string sources = printer.names(s.inputs);
  for (const int variable : s.variables) {
    sources.insert(sources.size() - 1,
                   fmt::format("{}v{}", sources.size() > 2 ? ", " : "", variable));
  }
  printer.block(fmt::format("{}gradient({}, [&]", printer.results(s), sources), s.blocks[0],
                s.numbers[0] == 1 ? ");  // targets, gradients of each; the sources are disposed"
                                  : ");  // targets, then the gradients of each");
}

// inputs: of one type; blocks: the value, then the slope by each input, all of which take the
// inputs and are of their type. The gradient by an input is dy times its slope.
bool draw_custom(Generator& generator) {
  if (!generator.can_nest()) return false;
  const Value first = generator.pick(is_float);
  if (first < 0) return false;
  const Type type = generator.type(first);
  Statement statement = statement_of("custom_gradient");
  statement.inputs = {{first}};
  if (generator.random().chance(50)) statement.inputs.push_back({generator.pick(type)});
  if (!generator.allows("dead_custom_inputs")) {
    if (generator.in_tidy()) return false;
    for (const Use& use : statement.inputs) generator.hold(use.value);
  }
  const std::vector<Type> params(statement.inputs.size(), type);
  for (std::size_t i = 0; i <= params.size(); ++i) {
    statement.blocks.push_back(generator.block(params,
                                               {.kind = Kind::apart,
                                                .tapes = kMostTapes,
                                                .pure = true,
                                                .tidy = false,
                                                .sees_captures = true},
                                               std::vector<Type>{type}));
  }
  const Value value = generator.define(type);
  generator.share_bytes(value);
  statement.outputs = {value};
  generator.put(std::move(statement));
  return true;
}

void run_custom(Runner& runner, S s) {
  const auto forward = [&runner, &s](const Tensors& in) {
    CustomResult result;
    result.value = runner.block(s.blocks[0], in)[0];
    result.gradient = [&runner, &s, in](Tensor dy) {
      Tensors gradients;
      for (std::size_t i = 1; i < s.blocks.size(); ++i) {
        gradients.push_back(dy * runner.block(s.blocks[i], in)[0]);
      }
      return gradients;
    };
    return result;
  };
  runner.slot(s.outputs[0]) = custom_gradient(forward, runner.use(s.inputs));
}

// Without infinitesimals it is the value; with one, the value and what the slopes make of it.
Array custom(Interpreter& interpreter, S s, const Arrays& in) {
  for (int tape = interpreter.tapes() - 1; tape >= 0; --tape) {
    Arrays rest = in, moves = in;
    bool moving = false;
    for (std::size_t i = 0; i < in.size(); ++i) {
      for (std::size_t e = 0; e < in[i].at.size(); ++e) {
        moves[i].at[e] = Arithmetic::derivative(in[i].at[e], tape);
        rest[i].at[e] = Arithmetic::primal(in[i].at[e], tape);
        moving |= moves[i].at[e].value() != 0 || moves[i].at[e].has_derivatives();
      }
    }
    if (!moving) continue;
    Array value = custom(interpreter, s, rest);
    const Arithmetic with = interpreter.arithmetic(value.type.dtype);
    Num infinitesimal;
    infinitesimal.at[1u << tape] = 1;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Array slope = interpreter.block(s.blocks[i + 1], rest)[0];
      for (std::size_t e = 0; e < value.at.size(); ++e) {
        const Num change = with.mul(with.mul(slope.at[e], moves[i].at[e]), infinitesimal);
        value.at[e] = with.add(value.at[e], change);
      }
    }
    return value;
  }
  interpreter.block(s.blocks[0], in);
  Array value = interpreter.use(s.blocks[0].yields[0]);
  for (Num& each : value.at) each = Arithmetic::without_derivatives(each);
  return value;
}

void interpret_custom(Interpreter& interpreter, S s) {
  Arrays in;
  bool loose = false;
  for (const Use& use : s.inputs) {
    in.push_back(interpreter.use(use.value));
    in.back().identity = interpreter.new_identity();
    loose |= in.back().loose;
  }
  Array value = custom(interpreter, s, in);
  value.loose = loose;
  interpreter.set_new(s.outputs[0], std::move(value));
}

void print_custom(Printer& printer, S s) {
  printer.block(fmt::format("{}custom_gradient({}, [&]({})", printer.results(s),
                            printer.names(s.inputs), printer.names(s.blocks[0].params)),
                s.blocks[0], ",");
  for (std::size_t i = 1; i < s.blocks.size(); ++i) {
    printer.block(fmt::format("    slope: [&]({})", printer.names(s.blocks[i].params)), s.blocks[i],
                  i + 1 == s.blocks.size() ? ");" : ",");
  }
}

}  // namespace

const std::vector<StatementRow>& gradient_statements() {
  static const std::vector<StatementRow> rows{
      {"gradient", 10, draw_gradient, run_gradient, interpret_gradient, print_gradient},
      {"custom_gradient", 4, draw_custom, run_custom, interpret_custom, print_custom},
  };
  return rows;
}

}  // namespace tenure::programs
