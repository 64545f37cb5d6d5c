#include "nn/class_weights.h"

#include <fmt/format.h>

#include <vector>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/bounds.h"
#include "nn/eager_scope.h"
#include "nn/loss_functions.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn::detail {

using tenure::detail::CallScope;

ClassWeights::ClassWeights(const std::map<int, double>& weights, std::source_location site)
    : site_(site) {
  if (weights.empty()) return;
  if (weights.begin()->first < 0) {
    raise<ValueError>("fit: class_weight: no class is negative: {}", weights.begin()->first);
  }
  std::vector<float> table(static_cast<std::size_t>(weights.rbegin()->first) + 1, 1.f);
  for (const auto& [label, weight] : weights) {
    check_at_least("fit", fmt::format("the class_weight of {}", label), weight, 0.0);
    table[static_cast<std::size_t>(label)] = static_cast<float>(weight);
  }
  const EagerScope eager;
  const CallScope call("fit", site_);
  table_ = tensor(table);
}

Batch ClassWeights::operator()(Batch batch) const {
  if (!table_.defined()) return batch;
  const CallScope call("fit", site_);
  if (batch.y.size() != 1) {
    raise<ValueError>("fit: class_weight is for models with one output, this has {}",
                      batch.y.size());
  }
  const Tensor& y = batch.y.front();
  const bool one_hot = y.rank() > 1 && y.dim(-1) > 1;
  if (const auto wrong = one_hot ? std::nullopt : first_no_class(y)) {
    raise<ValueError>(
        "fit: class_weight is for targets that are classes (0, 1, 2, ...) or one-hot, but the "
        "target at position {} is {}",
        wrong->position, wrong->value);
  }
  Tensor label = one_hot ? arg_max(y, -1) : reshape(y, {-1});
  label = cast(std::move(label), DType::int32);
  // Classes that the table does not reach weigh 1.
  const auto known = static_cast<double>(table_.dim(0));
  const Tensor in_table = less(label, known);
  Tensor weight = where(in_table, gather(table_, minimum(label, known - 1)), ones({label.dim(0)}));
  batch.weight = batch.weight.defined() ? batch.weight * weight : weight;
  return batch;
}

}  // namespace tenure::nn::detail
