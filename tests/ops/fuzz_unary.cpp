#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> unary_fuzz() {
  std::vector<Fuzz> rows;
  for (const Case& row : unary_cases()) rows.push_back(fuzz_elementwise(row));
  return rows;
}

}  // namespace tenure::testing
