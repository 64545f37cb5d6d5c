// Logic of booleans and of the bits of integers.
#include "core/raise.h"
#include "ops/call.h"
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
  OpDef op =
      inputs == 1 ? of_one(name, tfjs, Takes::booleans) : of_two(name, tfjs, Takes::booleans);
  op.infer = booleans;
  return op;
}

constinit const OpDef kLogicalAnd = logical("logical_and", "LogicalAnd");
constinit const OpDef kLogicalOr = logical("logical_or", "LogicalOr");
constinit const OpDef kLogicalXor = logical("logical_xor", "LogicalXor");
constinit const OpDef kLogicalNot = logical("logical_not", "LogicalNot", 1);
constinit const OpDef kBitwiseAnd = of_two("bitwise_and", "BitwiseAnd", Takes::alike);
constinit const OpDef kBitwiseOr = of_two("bitwise_or", nullptr, Takes::alike);
constinit const OpDef kBitwiseXor = of_two("bitwise_xor", nullptr, Takes::alike);

}  // namespace

Family logical_ops() {
  static constexpr const OpDef* ops[] = {&kLogicalAnd, &kLogicalOr, &kLogicalXor, &kLogicalNot,
                                         &kBitwiseAnd, &kBitwiseOr, &kBitwiseXor};
  return ops;
}

}  // namespace ops

using namespace ops;

Tensor logical_and(Arg a, Arg b) { return call(kLogicalAnd, a, b); }
Tensor logical_or(Arg a, Arg b) { return call(kLogicalOr, a, b); }
Tensor logical_xor(Arg a, Arg b) { return call(kLogicalXor, a, b); }
Tensor bitwise_and(Arg a, Arg b) { return call(kBitwiseAnd, a, b); }
Tensor bitwise_or(Arg a, Arg b) { return call(kBitwiseOr, a, b); }
Tensor bitwise_xor(Arg a, Arg b) { return call(kBitwiseXor, a, b); }

Tensor logical_not(Arg x) { return call(kLogicalNot, std::move(x)); }
Tensor operator!(Arg x) { return logical_not(std::move(x)); }

}  // namespace tenure
