#include "case.h"

#include <stdexcept>

namespace tenure::testing {

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> all;
#define TENURE_LIST(name) name##_cases,
    for (const auto family :
         {TENURE_FAMILIES(TENURE_NOT_HERE, TENURE_NOT_HERE, TENURE_LIST, TENURE_NOT_HERE)}) {
#undef TENURE_LIST
      for (Case& row : family()) all.push_back(std::move(row));
    }
    return all;
  }();
  return cases;
}

const ops::OpDef& op_named(std::string_view name) {
  for (const ops::OpDef* op : ops::all_ops()) {
    if (op->name == name) return *op;
  }
  throw std::runtime_error("no op is named " + std::string(name));
}

}  // namespace tenure::testing
