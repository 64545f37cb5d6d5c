// Counting right answers.
//
//   tenure::Tensor table = tenure::confusion_matrix(labels, predicted, 10);
//   tenure::Tensor right = tenure::in_top_k(scores, labels, 5);
#pragma once

#include <cstdint>

#include "tenure/export.h"
#include "tenure/tensor.h"

namespace tenure {

// [classes, classes] of int32: how often label i was predicted as j. Pairs out of range are left
// out.
TENURE_API Tensor confusion_matrix(Arg labels, Arg predictions, std::int64_t classes);
// The same with each pair's weight added, in the weights' dtype.
TENURE_API Tensor confusion_matrix(Arg labels, Arg predictions, std::int64_t classes, Arg weights);
// Whether the target is among the k highest predictions of its row; of equal ones the first count.
TENURE_API Tensor in_top_k(Arg predictions, Arg targets, std::int64_t k = 1);

}  // namespace tenure
