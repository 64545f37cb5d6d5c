#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> complex_fuzz() {
  std::vector<Fuzz> rows;
  for (const Case& row : complex_cases()) {
    if (row.name.find("sum") == row.name.npos && row.name.find("mean") == row.name.npos) {
      rows.push_back(fuzz_elementwise(row));
    }
  }
  return rows;
}

}  // namespace tenure::testing
