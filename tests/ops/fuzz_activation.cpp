#include <map>

#include "fuzz.h"

namespace tenure::testing {

// Functions made of ops are named here, and which of their ops refuses a dtype.
std::vector<Fuzz> activation_fuzz() {
  const std::map<std::string_view, std::string_view> first_op{
      {"swish", "silu"}, {"mish", "softplus"}, {"softsign", "abs"}, {"elu_with_alpha", ""}};
  std::vector<Fuzz> rows;
  for (Case row : activation_cases()) {
    const auto made = first_op.find(row.name);
    if (made != first_op.end()) row.error_name = made->second;
    rows.push_back(fuzz_elementwise(row));
    if (row.name == "swish") rows.back().ops.push_back("swish");
    if (row.name == "mish") rows.back().ops.push_back("mish");
    if (row.name == "softsign") rows.back().ops.push_back("softsign");
  }
  return rows;
}

}  // namespace tenure::testing
