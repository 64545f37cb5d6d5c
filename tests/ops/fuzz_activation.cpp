#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> activation_fuzz() {
  std::vector<Fuzz> rows;
  for (const Case& row : activation_cases()) {
    rows.push_back(fuzz_elementwise(row));
    for (const char* made_of_others : {"swish", "mish", "softsign"}) {
      if (row.name == made_of_others) rows.back().ops.push_back(made_of_others);
    }
  }
  return rows;
}

}  // namespace tenure::testing
