#include "ops/adam.h"

#include "ops/arithmetic.h"

namespace tenure::ops {

namespace {

constexpr const char* kOnlyInGraphs = "tapes see the ops it was made of";

void infer_state(Infer& infer, std::size_t first) {
  for (std::size_t i = 0; i < 3; ++i) {
    infer.result(infer.shape(first + i), infer.dtype(first + i), i);
  }
}

}  // namespace

constinit const OpDef kAdam{
    .name = "adam",
    .infer = [](Infer& infer) { infer_state(infer, 0); },
    .inputs = 10,
    .outputs = 3,
    .may_take = [](AttrsRef, std::size_t input, std::size_t output) { return input == output; },
    .no_gradient = kOnlyInGraphs};

constinit const OpDef kAdamOfProduct{
    .name = "adam_of_product",
    .infer = [](Infer& infer) { infer_state(infer, 2); },
    .inputs = 11,
    .outputs = 3,
    .accepts_of =
        [](AttrsRef, std::size_t input) {
          return input < 2 ? kMatmul.accepts : Accepts::contiguous;
        },
    .may_take = [](AttrsRef, std::size_t input, std::size_t output) { return input == output + 2; },
    .no_gradient = kOnlyInGraphs};

}  // namespace tenure::ops
