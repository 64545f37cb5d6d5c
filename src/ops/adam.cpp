#include "ops/adam.h"

#include "core/raise.h"
#include "ops/apply.h"
#include "ops/families.h"

namespace tenure::ops {

constexpr std::size_t kState = 3;  // value, mean, square

constinit const OpDef kAdam{
    .name = "adam",
    .infer =
        [](Infer& infer) {
          constexpr const char* names[] = {"value",    "mean", "mean of squares",
                                           "gradient", "rate", "epsilon"};
          for (std::size_t i = 1; i < infer.in.size(); ++i) {
            const Shape& wanted = i <= kState ? infer.shape(0) : Shape();
            if (infer.shape(i) != wanted) {
              raise<ShapeError>("adam: the {} is {}, but must be {}", names[i], infer.shape(i),
                                wanted);
            }
            if (infer.dtype(i) != infer.dtype(0)) {
              raise<DtypeError>("adam: the {} is {}, but must be {}", names[i], infer.dtype(i),
                                infer.dtype(0));
            }
          }
          for (std::size_t i = 0; i < kState; ++i) infer.result(infer.shape(i), infer.dtype(i), i);
        },
    .inputs = 6,
    .outputs = kState,
    .may_take = [](AttrsRef, std::size_t input, std::size_t output) { return input == output; },
    .no_gradient = "a step is where gradients end"};

std::array<Tensor, 3> adam(std::array<Tensor, 6> in, const AdamAttrs& attrs,
                           std::source_location site) {
  std::array<Tensor, 3> out;
  apply_into(kAdam, in, ref(attrs), site, out);
  return out;
}

Family adam_ops() {
  static constexpr const OpDef* ops[] = {&kAdam};
  return ops;
}

}  // namespace tenure::ops
