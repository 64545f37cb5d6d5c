#include <vector>

#include "ops/adam.h"
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
    Registry made;
    for (const Family& family : {
             creation_ops(),  unary_ops(),         binary_ops(),  select_ops(),   reduce_ops(),
             matmul_ops(),    view_ops(),          join_ops(),    random_ops(),   custom_ops(),
             maths_ops(),     activation_ops(),    logical_ops(), softmax_ops(),  scan_ops(),
             norm_ops(),      gather_ops(),        pad_ops(),     sorting_ops(),  counting_ops(),
             space_ops(),     convolution_ops(),   pooling_ops(), dilation_ops(), image_ops(),
             boxes_ops(),     decomposition_ops(), einsum_ops(),  matrix_ops(),   segment_ops(),
             sparse_ops(),    ragged_ops(),        complex_ops(), fft_ops(),      sampling_ops(),
             recurrent_ops(), adam_ops(),
         }) {
      made.ops.insert(made.ops.end(), family.ops.begin(), family.ops.end());
      made.composites.insert(made.composites.end(), family.composites.begin(),
                             family.composites.end());
    }
    return made;
  }();
  return all;
}

}  // namespace

std::span<const OpDef* const> all_ops() { return registry().ops; }
std::span<const Composite> all_composites() { return registry().composites; }

std::span<const OpDef* const> graph_ops() {
  static constexpr const OpDef* ops[] = {&kFused, &kFinished, &kReduced, &kAdamOfProduct};
  return ops;
}

void index_ops() {
  std::uint16_t index = 0;
  for (const OpDef* op : all_ops()) op->index = index++;
  for (const OpDef* op : graph_ops()) op->index = index++;
}

}  // namespace tenure::ops
