#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> binary_fuzz() {
  std::vector<Fuzz> rows;
  for (const Case& row : binary_cases()) rows.push_back(fuzz_elementwise(row));
  return rows;
}

}  // namespace tenure::testing
