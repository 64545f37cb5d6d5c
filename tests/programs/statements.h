// The statements of random programs, one row each: how one is drawn, how the library runs it, what
// the interpreter makes of it and how it is printed. To add a statement, add a row.
#pragma once

#include <string_view>
#include <vector>

#include "ast.h"

namespace tenure::programs {

class Generator;
class Interpreter;
class Printer;
class Runner;

struct StatementRow {
  const char* name;
  int weight;                // how often it is drawn, beside the others
  bool (*draw)(Generator&);  // puts it into the block that is drawn; false where it cannot be
  void (*run)(Runner&, const Statement&);
  void (*interpret)(Interpreter&, const Statement&);
  void (*print)(Printer&, const Statement&);
};

std::vector<const StatementRow*> all_statements();
const StatementRow& statement_named(std::string_view name);
Statement statement_of(const char* name);  // of that row, to be filled in

// One list per family.
const std::vector<StatementRow>& plain_statements();     // operations, variables, ends of lives
const std::vector<StatementRow>& control_statements();   // branches and loops
const std::vector<StatementRow>& gradient_statements();  // tapes, gradients of one's own
const std::vector<StatementRow>& block_statements();     // tidy, calls, tasks
const std::vector<StatementRow>& mistake_statements();   // what must fail

}  // namespace tenure::programs
