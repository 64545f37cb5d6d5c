#include "ops/adam.h"

namespace tenure::ops {

constinit const OpDef kAdam{
    .name = "adam",
    .infer =
        [](Infer& infer) {
          for (std::size_t i = 0; i < 3; ++i) infer.result(infer.shape(i), infer.dtype(i), i);
        },
    .inputs = 10,
    .outputs = 3,
    .may_take = [](AttrsRef, std::size_t input, std::size_t output) { return input == output; },
    .no_gradient = "tapes see the ops it was made of"};

}  // namespace tenure::ops
