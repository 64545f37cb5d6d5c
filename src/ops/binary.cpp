// Elementwise operations of two inputs, with broadcasting.
#include "ops/arithmetic.h"

#include "core/raise.h"
#include "memory/context.h"
#include "ops/call.h"
#include "ops/complex.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/promote.h"
#include "ops/shapes.h"
#include "tensor/access.h"
#include "tenure/create.h"
#include "tenure/math.h"

namespace tenure {
namespace ops {

void broadcast(Infer& infer) {
  infer.result(broadcast_shapes(infer.op, infer.shape(0), infer.shape(1)), infer.dtype(0));
}

void broadcast_to_bool(Infer& infer) {
  infer.result(broadcast_shapes(infer.op, infer.shape(0), infer.shape(1)), DType::boolean);
}

constinit const OpDef kAdd =
    of_two("add", "Add", Takes::numbers, kNothing, [](GradContext& g) -> Grads {
      return {operand(g, 0, [&] { return g.dy(); }), operand(g, 1, [&] { return g.dy(); })};
    });

constinit const OpDef kSub =
    of_two("sub", "Sub", Takes::numbers, kNothing, [](GradContext& g) -> Grads {
      return {operand(g, 0, [&] { return g.dy(); }), operand(g, 1, [&] { return -g.dy(); })};
    });

constinit const OpDef kMul =
    of_two("mul", "Multiply", Takes::numbers, {kInput1, kInput0}, [](GradContext& g) -> Grads {
      return {operand(g, 0, [&] { return g.dy() * conjugated(g.x(1)); }),
              operand(g, 1, [&] { return g.dy() * conjugated(g.x(0)); })};
    });

// The numerator's gradient needs the divisor; the divisor's, the quotient too. Integers have none.
constinit const OpDef kDiv = of_two(
    "div", "RealDiv", Takes::numbers, {kInput1, kInput1 | kOutput}, [](GradContext& g) -> Grads {
      return {operand(g, 0, [&] { return g.dy() / conjugated(g.x(1)); }),
              operand(g, 1, [&] { return -(g.dy() * conjugated(g.y()) / conjugated(g.x(1))); })};
    });

namespace {

constinit const OpDef kFloorDiv = of_two("floor_div", "FloorDiv", Takes::numbers);

// The gradient of maximum and minimum: where both are equal it goes to the first, as in
// TensorFlow.js.
template <Tensor (*first_wins)(Arg, Arg), Tensor (*second_wins)(Arg, Arg)>
Grads to_the_winner(GradContext& g) {
  const auto mask = [&](Tensor condition) { return cast(std::move(condition), g.x_dtype()); };
  return {operand(g, 0, [&] { return g.dy() * mask(first_wins(g.x(0), g.x(1))); }),
          operand(g, 1, [&] { return g.dy() * mask(second_wins(g.x(0), g.x(1))); })};
}

constinit const OpDef kMaximum = of_two("maximum", "Maximum", Takes::numbers, kInput0 | kInput1,
                                        to_the_winner<greater_equal, less>);

constinit const OpDef kMinimum = of_two("minimum", "Minimum", Takes::numbers, kInput0 | kInput1,
                                        to_the_winner<less_equal, greater>);

constinit const OpDef kSquaredDifference =
    of_two("squared_difference", "SquaredDifference", Takes::numbers, kInput0 | kInput1,
           [](GradContext& g) -> Grads {
             const auto slope = [&] { return g.dy() * ((g.x(0) - g.x(1)) * 2); };
             return {operand(g, 0, slope), operand(g, 1, [&] { return -slope(); })};
           });

constinit const OpDef kAddN{.name = "add_n",
                            .infer =
                                [](Infer& infer) {
                                  for (std::size_t i = 1; i < infer.in.size(); ++i) {
                                    if (infer.shape(i) == infer.shape(0)) continue;
                                    raise<ShapeError>(
                                        "add_n: input {} is {}, input 0 is {}: they must agree", i,
                                        infer.shape(i), infer.shape(0));
                                  }
                                  infer.result(infer.shape(0), infer.dtype(0));
                                },
                            .inputs = OpDef::kVariadic,
                            .tfjs = "AddN",
                            .takes = Takes::numbers,
                            .may_overwrite = input(0),
                            .grad_keeps = kNothing,
                            .grad = [](GradContext& g) -> Grads {
                              std::vector<Tensor> grads(g.inputs());
                              for (std::size_t i = 0; i < grads.size(); ++i) {
                                if (g.needs(static_cast<int>(i))) grads[i] = g.dy();
                              }
                              return grads;
                            }};

constexpr OpDef comparison(const char* name, const char* tfjs) {
  return {.name = name,
          .infer = broadcast_to_bool,
          .inputs = 2,
          .tfjs = tfjs,
          .takes = Takes::alike,
          .accepts = Accepts::elementwise,
          .no_gradient = kSteps};
}

constinit const OpDef kEqual = comparison("equal", "Equal");
constinit const OpDef kNotEqual = comparison("not_equal", "NotEqual");
constinit const OpDef kLess = comparison("less", "Less");
constinit const OpDef kLessEqual = comparison("less_equal", "LessEqual");
constinit const OpDef kGreater = comparison("greater", "Greater");
constinit const OpDef kGreaterEqual = comparison("greater_equal", "GreaterEqual");

}  // namespace

Family binary_ops() {
  static constexpr const OpDef* ops[] = {
      &kAdd,       &kSub,     &kMul,          &kDiv,
      &kFloorDiv,  &kMaximum, &kMinimum,      &kSquaredDifference,
      &kAddN,      &kEqual,   &kNotEqual,     &kLess,
      &kLessEqual, &kGreater, &kGreaterEqual,
  };
  return ops;
}

}  // namespace ops

using namespace ops;

Tensor add(Arg a, Arg b) { return call(kAdd, a, b); }
Tensor sub(Arg a, Arg b) { return call(kSub, a, b); }
Tensor mul(Arg a, Arg b) { return call(kMul, a, b); }
Tensor div(Arg a, Arg b) { return call(kDiv, a, b); }
Tensor floor_div(Arg a, Arg b) { return call(kFloorDiv, a, b); }
Tensor maximum(Arg a, Arg b) { return call(kMaximum, a, b); }
Tensor minimum(Arg a, Arg b) { return call(kMinimum, a, b); }
Tensor squared_difference(Arg a, Arg b) { return call(kSquaredDifference, a, b); }
Tensor operator+(Arg a, Arg b) { return call(kAdd, a, b); }
Tensor operator-(Arg a, Arg b) { return call(kSub, a, b); }
Tensor operator*(Arg a, Arg b) { return call(kMul, a, b); }
Tensor operator/(Arg a, Arg b) { return call(kDiv, a, b); }

Tensor add_n(std::vector<Tensor> tensors, std::source_location site) {
  const detail::UserLine line(site);
  if (tensors.empty()) raise<ValueError>("add_n: no tensors to add");
  std::vector<Arg> args;
  std::vector<Arg*> each;
  args.reserve(tensors.size());
  each.reserve(tensors.size());
  for (Tensor& tensor : tensors) each.push_back(&args.emplace_back(std::move(tensor), site));
  take(kAddN, each, tensors);
  Tensor out;
  apply_into(kAddN, tensors, {}, site, {&out, 1});
  return out;
}

namespace {

// The handle is moved in, so its bytes may become the result's; on an error it is as before.
Tensor& assign_from(const OpDef& op, Tensor& a, Arg& b) {
  const detail::UserLine site(b.site());
  Arg left(a, site);
  Arg check = b;
  std::array<Tensor, 2> in;
  take(op, std::array{&left, &check}, in);
  const bool same = in[0].defined() && in[0].id() == a.id();
  if (same) a = Tensor();
  Tensor out;
  try {
    apply_into(op, in, {}, site, {&out, 1});
  } catch (...) {
    if (same) a = std::move(in[0]);
    throw;
  }
  a = std::move(out);
  return a;
}

}  // namespace

Tensor& operator+=(Tensor& a, Arg b) { return assign_from(kAdd, a, b); }
Tensor& operator-=(Tensor& a, Arg b) { return assign_from(kSub, a, b); }
Tensor& operator*=(Tensor& a, Arg b) { return assign_from(kMul, a, b); }
Tensor& operator/=(Tensor& a, Arg b) { return assign_from(kDiv, a, b); }

Tensor equal(Arg a, Arg b) { return call(kEqual, a, b); }
Tensor not_equal(Arg a, Arg b) { return call(kNotEqual, a, b); }
Tensor less(Arg a, Arg b) { return call(kLess, a, b); }
Tensor less_equal(Arg a, Arg b) { return call(kLessEqual, a, b); }
Tensor greater(Arg a, Arg b) { return call(kGreater, a, b); }
Tensor greater_equal(Arg a, Arg b) { return call(kGreaterEqual, a, b); }
Tensor operator<(Arg a, Arg b) { return call(kLess, a, b); }
Tensor operator<=(Arg a, Arg b) { return call(kLessEqual, a, b); }
Tensor operator>(Arg a, Arg b) { return call(kGreater, a, b); }
Tensor operator>=(Arg a, Arg b) { return call(kGreaterEqual, a, b); }

}  // namespace tenure
