#include <vector>

#include "ops/families.h"
#include "ops/kernel.h"

namespace tenure::ops {

std::span<const OpDef* const> all_ops() {
  static const std::vector<const OpDef*> ops = [] {
    std::vector<const OpDef*> all;
    for (const auto family : {creation_ops(), unary_ops(), binary_ops(), select_ops(), reduce_ops(),
                              matmul_ops(), view_ops(), join_ops(), random_ops(), custom_ops()}) {
      all.insert(all.end(), family.begin(), family.end());
    }
    return all;
  }();
  return ops;
}

void index_ops() {
  std::uint16_t index = 0;
  for (const OpDef* op : all_ops()) op->index = index++;
}

}  // namespace tenure::ops
