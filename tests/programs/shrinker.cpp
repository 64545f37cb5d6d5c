#include "shrinker.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ops.h"
#include "statements.h"
#include "well_formed.h"

namespace tenure::programs {
namespace {

const Type& type_of(const Program& program, Value value) {
  return program.types[static_cast<std::size_t>(value)];
}

bool is_constant(const Statement& statement) {
  return statement.op != nullptr && statement.op == &op_named("constant");
}

std::set<Value> used_values(Program& program) {
  std::set<Value> used;
  each_block(program, [&](Block& block) {
    used.insert(block.yields.begin(), block.yields.end());
    for (const Statement& statement : block.statements) {
      for (const Use& use : statement.inputs) used.insert(use.value);
    }
  });
  return used;
}

// Calls visit(block, index) for every statement until it answers true.
bool find_statement(Program& program, const std::function<bool(Block&, std::size_t)>& visit) {
  bool found = false;
  each_block(program, [&](Block& block) {
    for (std::size_t i = block.statements.size(); i > 0 && !found; --i) found = visit(block, i - 1);
  });
  return found;
}

std::size_t count_statements(Program& program) {
  std::size_t count = 0;
  each_block(program, [&](Block& block) { count += block.statements.size(); });
  return count;
}

// A smaller program by changing statement number `number`, in the order of find_statement.
using Change = std::function<bool(Program&, Block&, std::size_t)>;
std::optional<Program> changed(const Program& program, std::size_t number, const Change& change) {
  Program smaller = program;
  std::size_t at = 0;
  bool did = false;
  find_statement(smaller, [&](Block& block, std::size_t index) {
    if (at++ != number) return false;
    did = change(smaller, block, index);
    return true;
  });
  if (!did) return std::nullopt;
  return smaller;
}

bool remove_unused(Program& program, Block& block, std::size_t index) {
  const std::set<Value> used = used_values(program);
  for (const Value value : block.statements[index].outputs) {
    if (used.contains(value)) return false;
  }
  block.statements.erase(block.statements.begin() + static_cast<std::ptrdiff_t>(index));
  return true;
}

// Results become constants; those that are not used go at once.
bool make_constant(Program& program, Block& block, std::size_t index) {
  if (is_constant(block.statements[index])) return false;
  const std::set<Value> used = used_values(program);
  const std::vector<Value> outputs = block.statements[index].outputs;
  const auto at = block.statements.begin() + static_cast<std::ptrdiff_t>(index);
  auto next = block.statements.erase(at);
  for (const Value value : outputs) {
    if (!used.contains(value)) continue;
    const Type& type = type_of(program, value);
    std::vector<double> data(type.numel());
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = type.is_float() ? 0.5 + 0.25 * static_cast<double>(i) : 1;
    }
    next = block.statements.insert(next, constant(value, type, std::move(data))) + 1;
  }
  return true;
}

// An operation gives way to an input of the same type, where the input is not moved or disposed.
bool pass_input_on(Program& program, Block& block, std::size_t index) {
  const Statement statement = block.statements[index];
  if (statement.op == nullptr || statement.outputs.size() != 1) return false;
  const Value result = statement.outputs[0];
  const auto input = std::ranges::find_if(statement.inputs, [&](const Use& use) {
    return !use.moved && type_of(program, use.value) == type_of(program, result);
  });
  if (input == statement.inputs.end()) return false;
  bool safe = true;
  each_block(program, [&](Block& each) {
    for (Statement& other : each.statements) {
      const bool ends = other.op == nullptr;
      for (Use& use : other.inputs) {
        if (use.value == result && (use.moved || ends)) safe = false;
        if (use.value == input->value && (use.moved || ends)) safe = false;
      }
    }
  });
  if (!safe) return false;
  each_block(program, [&](Block& each) {
    for (Value& value : each.yields) value = value == result ? input->value : value;
    for (Statement& other : each.statements) {
      for (Use& use : other.inputs) use.value = use.value == result ? input->value : use.value;
    }
  });
  return remove_unused(program, block, index);
}

// The statements of a block in place of the statement that holds it.
bool unwrap(Program& program, Block& block, std::size_t index, std::size_t inner_index) {
  Statement statement = block.statements[index];
  if (inner_index >= statement.blocks.size()) return false;
  const Block& inner = statement.blocks[inner_index];
  if (inner.params.size() > statement.inputs.size() && !inner.params.empty()) return false;
  const std::vector<Value> yields = inner.yields;
  // Results take the place of what was yielded, one for one; others become constants.
  std::vector<Statement> statements = inner.statements;
  const auto rename = [&](Value from, Value to) {
    each_block(program, [&](Block& each) {
      for (Value& value : each.yields) value = value == from ? to : value;
      for (Statement& other : each.statements) {
        for (Use& use : other.inputs) use.value = use.value == from ? to : use.value;
      }
    });
    for (Statement& other : statements) {
      for (Use& use : other.inputs) use.value = use.value == from ? to : use.value;
      for (Block& deeper : other.blocks) {
        each_block(deeper, [&](Block& each) {
          for (Value& value : each.yields) value = value == from ? to : value;
          for (Statement& one : each.statements) {
            for (Use& use : one.inputs) use.value = use.value == from ? to : use.value;
          }
        });
      }
    }
  };
  for (std::size_t i = 0; i < inner.params.size(); ++i) {
    const std::size_t from = statement.inputs.size() - inner.params.size() + i;
    if (type_of(program, inner.params[i]) != type_of(program, statement.inputs[from].value)) {
      return false;
    }
  }
  const std::vector<Value> params = inner.params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const std::size_t from = statement.inputs.size() - params.size() + i;
    rename(params[i], statement.inputs[from].value);
  }
  const std::set<Value> used = used_values(program);
  for (std::size_t i = 0; i < statement.outputs.size(); ++i) {
    const Value output = statement.outputs[i];
    if (!used.contains(output)) continue;
    if (i < yields.size() && type_of(program, yields[i]) == type_of(program, output)) {
      rename(output, yields[i]);
    } else {
      const Type& type = type_of(program, output);
      statements.push_back(constant(output, type, std::vector<double>(type.numel(), 1)));
    }
  }
  const auto at =
      block.statements.erase(block.statements.begin() + static_cast<std::ptrdiff_t>(index));
  block.statements.insert(at, statements.begin(), statements.end());
  return true;
}

bool keep_handles(Program&, Block& block, std::size_t index) {
  bool any = false;
  for (Use& use : block.statements[index].inputs) any |= std::exchange(use.moved, false);
  return any;
}

// Fewer steps of a loop.
bool one_step_less(Program&, Block& block, std::size_t index) {
  Statement& statement = block.statements[index];
  if (statement.row->name != std::string("for_loop") || statement.numbers[0] == 0) return false;
  --statement.numbers[0];
  return true;
}

bool drop_source(Program& program, Block& block, std::size_t index) {
  Statement& statement = block.statements[index];
  if (statement.row->name != std::string("gradient")) return false;
  const std::size_t sources = statement.inputs.size() + statement.variables.size();
  if (sources < 2 || statement.blocks[0].yields.size() != 1) return false;
  const std::set<Value> used = used_values(program);
  for (std::size_t i = 0; i < sources; ++i) {
    if (used.contains(statement.outputs[1 + i])) continue;
    statement.outputs.erase(statement.outputs.begin() + static_cast<std::ptrdiff_t>(1 + i));
    if (i < statement.inputs.size()) {
      statement.inputs.erase(statement.inputs.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      statement.variables.erase(statement.variables.begin() +
                                static_cast<std::ptrdiff_t>(i - statement.inputs.size()));
    }
    return true;
  }
  return false;
}

// One yield less where the result that it becomes is not used: of branches, tidy and tasks.
bool drop_yield(Program& program, Block& block, std::size_t index) {
  Statement& statement = block.statements[index];
  const std::set<std::string> kinds{"cond", "switch_case", "tidy", "run"};
  if (!kinds.contains(statement.row->name)) return false;
  const std::set<Value> used = used_values(program);
  for (std::size_t i = 0; i < statement.outputs.size(); ++i) {
    if (used.contains(statement.outputs[i])) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    statement.outputs.erase(statement.outputs.begin() + at);
    for (Block& each : statement.blocks) each.yields.erase(each.yields.begin() + at);
    return true;
  }
  return false;
}

bool drop_result(Program& program, std::size_t index) {
  if (index >= program.body.yields.size()) return false;
  program.body.yields.erase(program.body.yields.begin() + static_cast<std::ptrdiff_t>(index));
  return true;
}

// What is declared and used nowhere.
Program without_idle(Program program) {
  const std::set<Value> used = used_values(program);
  for (std::size_t i = program.inputs.size(); i > 0; --i) {
    if (used.contains(program.body.params[i - 1])) continue;
    program.inputs.erase(program.inputs.begin() + static_cast<std::ptrdiff_t>(i - 1));
    program.body.params.erase(program.body.params.begin() + static_cast<std::ptrdiff_t>(i - 1));
  }
  for (std::size_t i = program.captures.size(); i > 0; --i) {
    if (used.contains(program.captured[i - 1])) continue;
    program.captures.erase(program.captures.begin() + static_cast<std::ptrdiff_t>(i - 1));
    program.captured.erase(program.captured.begin() + static_cast<std::ptrdiff_t>(i - 1));
  }
  std::set<int> variables, functions;
  each_block(program, [&](Block& block) {
    for (const Statement& statement : block.statements) {
      variables.insert(statement.variables.begin(), statement.variables.end());
      functions.insert(statement.function);
    }
  });
  while (!program.variables.empty() &&
         !variables.contains(static_cast<int>(program.variables.size()) - 1)) {
    program.variables.pop_back();
  }
  while (!program.functions.empty() &&
         !functions.contains(static_cast<int>(program.functions.size()) - 1)) {
    program.functions.pop_back();
  }
  return program;
}

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& still_fails) {
  const std::vector<Change> changes{
      remove_unused,
      make_constant,
      [](Program& p, Block& b, std::size_t i) { return unwrap(p, b, i, 0); },
      [](Program& p, Block& b, std::size_t i) { return unwrap(p, b, i, 1); },
      pass_input_on,
      keep_handles,
      one_step_less,
      drop_source,
      drop_yield,
  };
  const auto accept = [&](const std::optional<Program>& smaller) {
    if (!smaller || !is_well_formed(*smaller) || !still_fails(*smaller)) return false;
    program = *smaller;
    return true;
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t i = program.body.yields.size(); i > 0; --i) {
      Program smaller = program;
      progress |= drop_result(smaller, i - 1) && accept(smaller);
    }
    Program idle = without_idle(program);
    if (print(idle) != print(program)) progress |= accept(idle);
    for (const Change& change : changes) {
      for (std::size_t number = 0; number < count_statements(program);) {
        if (accept(changed(program, number, change))) {
          progress = true;
        } else {
          ++number;
        }
      }
    }
  }
  return program;
}

}  // namespace tenure::programs
