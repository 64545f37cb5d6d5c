// Logic of booleans and of the bits of integers.
#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/shapes.h"
#include "tenure/math.h"

namespace tenure {
namespace ops {
namespace {

void booleans(Infer& infer) {
  for (std::size_t i = 0; i < infer.in.size(); ++i) {
    if (infer.dtype(i) == DType::boolean) continue;
    raise<DtypeError>("{}: input {} must be bool, not {}: compare it with 0 first", infer.op, i,
                      infer.dtype(i));
  }
  if (infer.in.size() == 1) {
    same_shape(infer);
  } else {
    broadcast(infer);
  }
}

constexpr OpDef logical(const char* name, const char* tfjs, int inputs = 2) {
  return {.name = name,
          .infer = booleans,
          .inputs = inputs,
          .tfjs = tfjs,
          .accepts = Accepts::elementwise,
          .may_overwrite = inputs == 1 ? input(0) : kEither,
          .no_gradient = kSteps};
}

constexpr OpDef bitwise(const char* name, const char* tfjs = nullptr) {
  return {.name = name,
          .infer = broadcast,
          .inputs = 2,
          .tfjs = tfjs,
          .accepts = Accepts::elementwise,
          .may_overwrite = kEither,
          .no_gradient = kSteps};
}

constinit const OpDef kLogicalAnd = logical("logical_and", "LogicalAnd");
constinit const OpDef kLogicalOr = logical("logical_or", "LogicalOr");
constinit const OpDef kLogicalXor = logical("logical_xor", "LogicalXor");
constinit const OpDef kLogicalNot = logical("logical_not", "LogicalNot", 1);
constinit const OpDef kBitwiseAnd = bitwise("bitwise_and", "BitwiseAnd");
constinit const OpDef kBitwiseOr = bitwise("bitwise_or");
constinit const OpDef kBitwiseXor = bitwise("bitwise_xor");

// Tensors are not promoted first: the story of an error would be that of our cast.
Tensor on_booleans(const OpDef& op, Arg& a, Arg& b) {
  if (a.scalar() || b.scalar()) return binary(op, a, b, false);
  const detail::UserLine site(a.site());
  return apply(op, {}, site, std::move(a).tensor(), std::move(b).tensor());
}

}  // namespace

Family logical_ops() {
  static constexpr const OpDef* ops[] = {&kLogicalAnd, &kLogicalOr, &kLogicalXor, &kLogicalNot,
                                         &kBitwiseAnd, &kBitwiseOr, &kBitwiseXor};
  return ops;
}

}  // namespace ops

using namespace ops;

Tensor logical_and(Arg a, Arg b) { return on_booleans(kLogicalAnd, a, b); }
Tensor logical_or(Arg a, Arg b) { return on_booleans(kLogicalOr, a, b); }
Tensor logical_xor(Arg a, Arg b) { return on_booleans(kLogicalXor, a, b); }
Tensor bitwise_and(Arg a, Arg b) { return binary(kBitwiseAnd, a, b, false); }
Tensor bitwise_or(Arg a, Arg b) { return binary(kBitwiseOr, a, b, false); }
Tensor bitwise_xor(Arg a, Arg b) { return binary(kBitwiseXor, a, b, false); }

Tensor logical_not(Arg x) {
  const detail::UserLine site(x.site());
  return apply(kLogicalNot, {}, site, as_tensor("logical_not", std::move(x)));
}
Tensor operator!(Arg x) { return logical_not(std::move(x)); }

}  // namespace tenure
