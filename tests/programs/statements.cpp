#include "statements.h"

#include <stdexcept>
#include <string>

namespace tenure::programs {

std::vector<const StatementRow*> all_statements() {
  std::vector<const StatementRow*> rows;
  for (const auto* family : {&plain_statements(), &control_statements(), &gradient_statements(),
                             &block_statements(), &mistake_statements()}) {
    for (const StatementRow& row : *family) rows.push_back(&row);
  }
  return rows;
}

const StatementRow& statement_named(std::string_view name) {
  for (const StatementRow* row : all_statements()) {
    if (row->name == name) return *row;
  }
  throw std::logic_error("no such statement: " + std::string(name));
}

Statement statement_of(const char* name) {
  Statement statement;
  statement.row = &statement_named(name);
  return statement;
}

}  // namespace tenure::programs
