// Elementwise operations of two inputs, with broadcasting.
#include "ops/arithmetic.h"

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
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

// Two tensors that need no promotion: most operands, and `unify` is a good part of a small op.
bool agree(const Arg& a, const Arg& b, bool arithmetic) {
  const detail::Header* first = detail::Access::header(a.tensor());
  const detail::Header* second = detail::Access::header(b.tensor());
  if (first == nullptr || second == nullptr) return false;
  const DType dtype = first->layout.dtype;
  return dtype == second->layout.dtype && !(arithmetic && dtype == DType::boolean);
}

void broadcast(Infer& infer) {
  infer.result(broadcast_shapes(infer.op, infer.shape(0), infer.shape(1)), infer.dtype(0));
}

void broadcast_to_bool(Infer& infer) {
  infer.result(broadcast_shapes(infer.op, infer.shape(0), infer.shape(1)), DType::boolean);
}

constinit const OpDef kAdd{.name = "add",
                           .infer = broadcast,
                           .inputs = 2,
                           .tfjs = "Add",
                           .accepts = Accepts::elementwise,
                           .may_overwrite = kEither,
                           .grad_keeps = kNothing,
                           .grad = [](GradContext& g) -> Grads {
                             return {operand(g, 0, [&] { return g.dy(); }),
                                     operand(g, 1, [&] { return g.dy(); })};
                           }};

constinit const OpDef kSub{.name = "sub",
                           .infer = broadcast,
                           .inputs = 2,
                           .tfjs = "Sub",
                           .accepts = Accepts::elementwise,
                           .may_overwrite = kEither,
                           .grad_keeps = kNothing,
                           .grad = [](GradContext& g) -> Grads {
                             return {operand(g, 0, [&] { return g.dy(); }),
                                     operand(g, 1, [&] { return -g.dy(); })};
                           }};

constinit const OpDef kMul{.name = "mul",
                           .infer = broadcast,
                           .inputs = 2,
                           .tfjs = "Multiply",
                           .accepts = Accepts::elementwise,
                           .may_overwrite = kEither,
                           .grad_keeps = {kInput1, kInput0},
                           .grad = [](GradContext& g) -> Grads {
                             return {operand(g, 0, [&] { return g.dy() * conjugated(g.x(1)); }),
                                     operand(g, 1, [&] { return g.dy() * conjugated(g.x(0)); })};
                           }};

// The numerator's gradient needs the divisor; the divisor's, the quotient too. Integers have none.
constinit const OpDef kDiv{
    .name = "div",
    .infer = broadcast,
    .inputs = 2,
    .tfjs = "RealDiv",
    .accepts = Accepts::elementwise,
    .may_overwrite = kEither,
    .grad_keeps = {kInput1, kInput1 | kOutput},
    .grad = [](GradContext& g) -> Grads {
      return {operand(g, 0, [&] { return g.dy() / conjugated(g.x(1)); }),
              operand(g, 1, [&] { return -(g.dy() * conjugated(g.y()) / conjugated(g.x(1))); })};
    }};

namespace {

constinit const OpDef kFloorDiv{.name = "floor_div",
                                .infer = broadcast,
                                .inputs = 2,
                                .tfjs = "FloorDiv",
                                .accepts = Accepts::elementwise,
                                .may_overwrite = kEither,
                                .no_gradient = kSteps};

// The gradient of maximum and minimum: where both are equal it goes to the first, as in
// TensorFlow.js.
template <Tensor (*first_wins)(Arg, Arg), Tensor (*second_wins)(Arg, Arg)>
Grads to_the_winner(GradContext& g) {
  const auto mask = [&](Tensor condition) { return cast(std::move(condition), g.x_dtype()); };
  return {operand(g, 0, [&] { return g.dy() * mask(first_wins(g.x(0), g.x(1))); }),
          operand(g, 1, [&] { return g.dy() * mask(second_wins(g.x(0), g.x(1))); })};
}

constinit const OpDef kMaximum{.name = "maximum",
                               .infer = broadcast,
                               .inputs = 2,
                               .tfjs = "Maximum",
                               .accepts = Accepts::elementwise,
                               .may_overwrite = kEither,
                               .grad_keeps = kInput0 | kInput1,
                               .grad = to_the_winner<greater_equal, less>};

constinit const OpDef kMinimum{.name = "minimum",
                               .infer = broadcast,
                               .inputs = 2,
                               .tfjs = "Minimum",
                               .accepts = Accepts::elementwise,
                               .may_overwrite = kEither,
                               .grad_keeps = kInput0 | kInput1,
                               .grad = to_the_winner<less_equal, greater>};

constinit const OpDef kSquaredDifference{
    .name = "squared_difference",
    .infer = broadcast,
    .inputs = 2,
    .tfjs = "SquaredDifference",
    .accepts = Accepts::elementwise,
    .may_overwrite = kEither,
    .grad_keeps = kInput0 | kInput1,
    .grad = [](GradContext& g) -> Grads {
      const auto slope = [&] { return g.dy() * ((g.x(0) - g.x(1)) * 2); };
      return {operand(g, 0, slope), operand(g, 1, [&] { return -slope(); })};
    }};

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
                            .may_overwrite = input(0),
                            .grad_keeps = kNothing,
                            .grad = [](GradContext& g) -> Grads {
                              std::vector<Tensor> grads(g.inputs());
                              for (std::size_t i = 0; i < grads.size(); ++i) {
                                if (g.needs(static_cast<int>(i))) grads[i] = g.dy();
                              }
                              return grads;
                            }};

constinit const OpDef kEqual{.name = "equal",
                             .infer = broadcast_to_bool,
                             .inputs = 2,
                             .tfjs = "Equal",
                             .accepts = Accepts::elementwise,
                             .no_gradient = kSteps};
constinit const OpDef kNotEqual{.name = "not_equal",
                                .infer = broadcast_to_bool,
                                .inputs = 2,
                                .tfjs = "NotEqual",
                                .accepts = Accepts::elementwise,
                                .no_gradient = kSteps};
constinit const OpDef kLess{.name = "less",
                            .infer = broadcast_to_bool,
                            .inputs = 2,
                            .tfjs = "Less",
                            .accepts = Accepts::elementwise,
                            .no_gradient = kSteps};
constinit const OpDef kLessEqual{.name = "less_equal",
                                 .infer = broadcast_to_bool,
                                 .inputs = 2,
                                 .tfjs = "LessEqual",
                                 .accepts = Accepts::elementwise,
                                 .no_gradient = kSteps};
constinit const OpDef kGreater{.name = "greater",
                               .infer = broadcast_to_bool,
                               .inputs = 2,
                               .tfjs = "Greater",
                               .accepts = Accepts::elementwise,
                               .no_gradient = kSteps};
constinit const OpDef kGreaterEqual{.name = "greater_equal",
                                    .infer = broadcast_to_bool,
                                    .inputs = 2,
                                    .tfjs = "GreaterEqual",
                                    .accepts = Accepts::elementwise,
                                    .no_gradient = kSteps};

Tensor compare(const OpDef& op, Arg& a, Arg& b) { return binary(op, a, b, false); }

}  // namespace

Tensor binary(const OpDef& op, Arg& a, Arg& b, bool arithmetic) {
  const std::source_location site = a.site();
  std::array<Tensor, 2> in;
  if (agree(a, b, arithmetic)) [[likely]] {
    in[0] = std::move(a).tensor();
    in[1] = std::move(b).tensor();
  } else {
    unify(op.name, std::array{&a, &b}, in, arithmetic);
  }
  Tensor out;
  apply_into(op, in, {}, site, {&out, 1});
  return out;
}

Tensor binary_on_floats(const OpDef& op, Arg& a, Arg& b) {
  int i = 0;
  for (Arg* arg : {&a, &b}) {
    const std::source_location site = arg->site();
    if (arg->scalar()) {
      *arg = Arg(arg->scalar()->to_double(), site);
    } else if (!is_floating(detail::checked(arg->tensor(), op.name, i).layout.dtype)) {
      *arg = Arg(operand_as(op.name, i, std::move(*arg).tensor(), DType::float32, site), site);
    }
    ++i;
  }
  return binary(op, a, b);
}

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

Tensor add(Arg a, Arg b) { return binary(kAdd, a, b); }
Tensor sub(Arg a, Arg b) { return binary(kSub, a, b); }
Tensor mul(Arg a, Arg b) { return binary(kMul, a, b); }
Tensor div(Arg a, Arg b) { return binary(kDiv, a, b); }
Tensor floor_div(Arg a, Arg b) { return binary(kFloorDiv, a, b); }
Tensor maximum(Arg a, Arg b) { return binary(kMaximum, a, b); }
Tensor minimum(Arg a, Arg b) { return binary(kMinimum, a, b); }
Tensor squared_difference(Arg a, Arg b) { return binary(kSquaredDifference, a, b); }
Tensor operator+(Arg a, Arg b) { return binary(kAdd, a, b); }
Tensor operator-(Arg a, Arg b) { return binary(kSub, a, b); }
Tensor operator*(Arg a, Arg b) { return binary(kMul, a, b); }
Tensor operator/(Arg a, Arg b) { return binary(kDiv, a, b); }

Tensor add_n(std::vector<Tensor> tensors, std::source_location site) {
  const detail::UserLine line(site);
  if (tensors.empty()) raise<ValueError>("add_n: no tensors to add");
  std::vector<Arg> args;
  std::vector<Arg*> each;
  args.reserve(tensors.size());
  each.reserve(tensors.size());
  for (Tensor& tensor : tensors) each.push_back(&args.emplace_back(std::move(tensor), site));
  unify("add_n", each, tensors, true);
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
  unify(op.name, std::array{&left, &check}, in, true);
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

Tensor equal(Arg a, Arg b) { return compare(kEqual, a, b); }
Tensor not_equal(Arg a, Arg b) { return compare(kNotEqual, a, b); }
Tensor less(Arg a, Arg b) { return compare(kLess, a, b); }
Tensor less_equal(Arg a, Arg b) { return compare(kLessEqual, a, b); }
Tensor greater(Arg a, Arg b) { return compare(kGreater, a, b); }
Tensor greater_equal(Arg a, Arg b) { return compare(kGreaterEqual, a, b); }
Tensor operator<(Arg a, Arg b) { return compare(kLess, a, b); }
Tensor operator<=(Arg a, Arg b) { return compare(kLessEqual, a, b); }
Tensor operator>(Arg a, Arg b) { return compare(kGreater, a, b); }
Tensor operator>=(Arg a, Arg b) { return compare(kGreaterEqual, a, b); }

}  // namespace tenure
