#include <vector>

#include "ops/families.h"
#include "ops/fused.h"
#include "ops/kernel.h"

namespace tenure::ops {
namespace {

struct Registry {
  std::vector<const OpDef*> ops;
  std::vector<Composite> composites;
};

const Registry& registry() {
  static const Registry all = [] {
    Registry registry;
#define TENURE_LIST(name) name##_ops(),
    for (const Family& family :
         {TENURE_FAMILIES(TENURE_LIST, TENURE_NOT_HERE, TENURE_NOT_HERE, TENURE_NOT_HERE)}) {
#undef TENURE_LIST
      registry.ops.insert(registry.ops.end(), family.ops.begin(), family.ops.end());
      registry.composites.insert(registry.composites.end(), family.composites.begin(),
                                 family.composites.end());
    }
    return registry;
  }();
  return all;
}

}  // namespace

std::span<const OpDef* const> all_ops() { return registry().ops; }
std::span<const Composite> all_composites() { return registry().composites; }

std::span<const OpDef* const> graph_ops() {
  static constexpr const OpDef* ops[] = {&kFused, &kFinished, &kReduced};
  return ops;
}

void index_ops() {
  std::uint16_t index = 0;
  for (const OpDef* op : all_ops()) op->index = index++;
  for (const OpDef* op : graph_ops()) op->index = index++;
}

}  // namespace tenure::ops
