#include "well_formed.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "statements.h"

namespace tenure::programs {
namespace {

// `known` are the values that can be used; those that end in a block end for all around it.
bool check_block(const Program& program, const Block& block, std::set<Value> known,
                 const std::set<Value>& captured) {
  known.insert(block.params.begin(), block.params.end());
  for (const Statement& statement : block.statements) {
    const std::string_view row = statement.row->name;
    for (const Use& use : statement.inputs) {
      if (!known.contains(use.value)) return false;
    }
    const bool apart = row == "custom_gradient" || row == "session";
    for (const Block& inner : statement.blocks) {
      if (!check_block(program, inner, apart ? captured : known, captured)) return false;
    }
    for (const int variable : statement.variables) {
      if (variable >= static_cast<int>(program.variables.size())) return false;
    }
    if (statement.function >= static_cast<int>(program.functions.size())) return false;
    const bool ends = (row == "call" || row == "gradient") && statement.numbers[0] == 1;
    for (const Use& use : statement.inputs) {
      if (use.moved || row == "dispose" || ends) known.erase(use.value);
    }
    if (row == "mistake" && statement.numbers[2] == 1 &&
        std::ranges::count(program.body.yields, statement.outputs[0]) == 0) {
      return false;
    }
    known.insert(statement.outputs.begin(), statement.outputs.end());
  }
  return std::ranges::all_of(block.yields, [&](Value value) { return known.contains(value); });
}

}  // namespace

bool is_well_formed(const Program& program) {
  const std::set<Value> captured(program.captured.begin(), program.captured.end());
  for (const Subroutine& function : program.functions) {
    if (!check_block(program, function.body, captured, captured)) return false;
  }
  return check_block(program, program.body, captured, captured);
}

}  // namespace tenure::programs
