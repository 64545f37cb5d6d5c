// Ops that work element by element.
#include <algorithm>
#include <array>
#include <limits>

#include "call.h"
#include "ops/apply.h"
#include "stored.h"
#include "tensor/access.h"
#include "tenure/tenure.h"

namespace tenure::node {
namespace {

template <Tensor (*op)(Arg, Arg)>
void binary(Call& call) {
  Tensor a = call.tensor();
  Tensor b = call.tensor();
  call.give(op(std::move(a), std::move(b)));
}

struct OpName {
  char text[24]{};
  template <std::size_t n>
  consteval OpName(const char (&name)[n]) {
    std::copy_n(name, n, text);
  }
};

// The calls that programs are full of: operands of one dtype go the road without a detour.
// TensorFlow.js adds and multiplies truth values as bytes, and they stay truth values.
template <OpName name, Tensor (*op)(Arg, Arg)>
void arithmetic(Call& call) {
  static const ops::OpDef& def =
      **std::ranges::find(ops::all_ops(), std::string_view(name.text), &ops::OpDef::name);
  Tensor a = call.tensor();
  std::array<Tensor, 2> in{std::move(a), call.tensor()};
  const auto dtype = [&in](int i) { return detail::Access::header(in[i])->layout.dtype; };
  if (dtype(0) != dtype(1) || dtype(0) == DType::boolean) [[unlikely]] {
    const bool truth = dtype(0) == dtype(1);
    Tensor result = op(std::move(in[0]), std::move(in[1]));
    call.give(truth ? cast(std::move(result), DType::boolean) : std::move(result));
    return;
  }
  Tensor out;
  ops::apply_into(def, in, {}, std::source_location::current(), {&out, 1});
  call.give(std::move(out));
}

template <Tensor (*op)(Arg)>
void unary(Call& call) {
  call.give(op(call.tensor()));
}

// Of an op that keeps its input's dtype whatever the function is.
template <Tensor (*op)(Arg)>
void unary_same(Call& call) {
  Tensor x = call.tensor();
  const DType dtype = x.dtype();
  call.give(stored(op(std::move(x)), dtype));
}

// The same of a function whose values are not integers: those of an integer are rounded once.
template <Tensor (*op)(Arg)>
void unary_stored(Call& call) {
  Tensor x = call.tensor();
  const DType dtype = x.dtype();
  if (dtype == DType::int32) x = cast(std::move(x), DType::float64);
  call.give(stored(op(std::move(x)), dtype));
}

// Truth values are what is not zero.
Tensor truth(Tensor x) {
  if (x.dtype() == DType::boolean) return x;
  return not_equal(std::move(x), 0);
}
template <Tensor (*op)(Arg, Arg)>
void logical(Call& call) {
  Tensor a = truth(call.tensor());
  Tensor b = truth(call.tensor());
  call.give(op(std::move(a), std::move(b)));
}

void run_logical_not(Call& call) { call.give(logical_not(truth(call.tensor()))); }

void run_real_div(Call& call) {
  Tensor a = call.tensor();
  Tensor b = call.tensor();
  const DType dtype = a.dtype();
  if (dtype == DType::float32) {
    call.give(div(std::move(a), std::move(b)));
    return;
  }
  call.give(
      stored(div(cast(std::move(a), DType::float32), cast(std::move(b), DType::float32)), dtype));
}

void run_floor_div(Call& call) {
  Tensor a = call.tensor();
  Tensor b = call.tensor();
  call.give(stored(floor_div(std::move(a), std::move(b)), DType::int32));
}

// JavaScript has no answer for a power of 1 or -1 that is not finite; C's is 1.
void run_pow(Call& call) {
  const Tensor a = call.tensor();
  const Tensor b = call.tensor();
  const DType dtype = a.dtype();
  if (dtype == DType::int32) {
    call.give(stored(pow(cast(a, DType::float64), cast(b, DType::float64)), dtype));
    return;
  }
  Tensor result = pow(a, b);
  if (dtype == DType::boolean) result = cast(std::move(result), dtype);
  if (dtype == DType::float32 && !all(is_finite(b)).item<bool>()) {
    const Tensor unknown = logical_and(equal(abs(a), 1), logical_not(is_finite(b)));
    result = where(unknown, std::numeric_limits<float>::quiet_NaN(), std::move(result));
  }
  call.give(std::move(result));
}

void run_atan2(Call& call) {
  Tensor a = call.tensor();
  Tensor b = call.tensor();
  const DType dtype = a.dtype();
  call.give(stored(atan2(std::move(a), std::move(b)), dtype));
}

void run_add_n(Call& call) {
  const std::vector<Tensor> all = call.tensors();
  Tensor sum = add_n(all);
  const bool is_truth = !all.empty() && all[0].dtype() == DType::boolean;
  call.give(is_truth ? cast(std::move(sum), DType::boolean) : std::move(sum));
}

void run_clip(Call& call) {
  Tensor x = call.tensor();
  const double low = call.number();
  const double high = call.number();
  const DType dtype = x.dtype();
  if (dtype == DType::float32) {
    call.give(clip(std::move(x), low, high));
    return;
  }
  call.give(stored(clip(cast(std::move(x), DType::float64), low, high), dtype));
}

void run_leaky_relu(Call& call) {
  Tensor x = call.tensor();
  call.give(leaky_relu(cast(std::move(x), DType::float32), call.number()));
}

void run_prelu(Call& call) {
  Tensor x = call.tensor();
  Tensor alpha = call.tensor();
  call.give(prelu(cast(std::move(x), DType::float32), cast(std::move(alpha), DType::float32)));
}

void run_step(Call& call) {
  Tensor x = call.tensor();
  const DType dtype = x.dtype();
  call.give(cast(step(std::move(x), call.number()), dtype));
}

void run_elu_grad(Call& call) {
  const Tensor dy = call.tensor();
  const Tensor y = call.tensor();
  call.give(where(greater_equal(y, 0), dy, dy * (y + 1)));
}

void run_where(Call& call) {
  Tensor condition = truth(call.tensor());
  Tensor a = call.tensor();
  Tensor b = call.tensor();
  if (condition.rank() == 1 && a.rank() > 1) {  // one truth value per row
    Shape shape = Shape::filled(a.rank(), 1);
    shape[0] = condition.dim(0);
    condition = reshape(std::move(condition), shape);
  }
  call.give(where(std::move(condition), std::move(a), std::move(b)));
}

void run_cast(Call& call) {
  Tensor x = call.tensor();
  const DType to = call.dtype();
  if (x.dtype() == DType::complex64 && to != DType::complex64) x = real(std::move(x));
  if (to == DType::complex64 && x.dtype() != DType::complex64) {
    const Tensor re = cast(std::move(x), DType::float32);
    call.give(complex(re, zeros_like(re)));
    return;
  }
  if (to == DType::boolean) {
    call.give(truth(std::move(x)));
    return;
  }
  call.give(cast(std::move(x), to));
}

// Integers are exact, and their powers of e are as near as float32 can be.
void run_exp(Call& call) {
  Tensor x = call.tensor();
  if (x.dtype() == DType::int32) {
    call.give(cast(exp(cast(std::move(x), DType::float64)), DType::float32));
    return;
  }
  call.give(exp(std::move(x)));
}

constexpr Row kRows[] = {
    {"add", arithmetic<"add", add>},
    {"sub", arithmetic<"sub", sub>},
    {"mul", arithmetic<"mul", mul>},
    {"real_div", run_real_div},
    {"floor_div", run_floor_div},
    {"maximum", arithmetic<"maximum", maximum>},
    {"minimum", arithmetic<"minimum", minimum>},
    {"mod", arithmetic<"mod", mod>},
    {"pow", run_pow},
    {"squared_difference", arithmetic<"squared_difference", squared_difference>},
    {"atan2", run_atan2},
    {"equal", binary<equal>},
    {"not_equal", binary<not_equal>},
    {"less", binary<less>},
    {"less_equal", binary<less_equal>},
    {"greater", binary<greater>},
    {"greater_equal", binary<greater_equal>},
    {"logical_and", logical<logical_and>},
    {"logical_or", logical<logical_or>},
    {"logical_xor", logical<logical_xor>},
    {"logical_not", run_logical_not},
    {"bitwise_and", binary<bitwise_and>},
    {"add_n", run_add_n},
    {"clip", run_clip},
    {"leaky_relu", run_leaky_relu},
    {"prelu", run_prelu},
    {"step", run_step},
    {"elu_grad", run_elu_grad},
    {"where", run_where},
    {"cast", run_cast},
    {"abs", unary_same<abs>},
    {"acos", unary_stored<acos>},
    {"acosh", unary_stored<acosh>},
    {"asin", unary_stored<asin>},
    {"asinh", unary_stored<asinh>},
    {"atan", unary_stored<atan>},
    {"atanh", unary_stored<atanh>},
    {"ceil", unary_same<ceil>},
    {"cos", unary<cos>},
    {"cosh", unary<cosh>},
    {"elu", unary<static_cast<Tensor (*)(Arg)>(elu)>},
    {"erf", unary<erf>},
    {"exp", run_exp},
    {"expm1", unary_stored<expm1>},
    {"floor", unary_same<floor>},
    {"is_finite", unary<is_finite>},
    {"is_inf", unary<is_inf>},
    {"is_nan", unary<is_nan>},
    {"log", unary<log>},
    {"log1p", unary_stored<log1p>},
    {"neg", unary_same<neg>},
    {"reciprocal", unary_stored<reciprocal>},
    {"relu", unary_same<relu>},
    {"relu6", unary_same<relu6>},
    {"round", unary_same<round>},
    {"rsqrt", unary<rsqrt>},
    {"selu", unary_stored<selu>},
    {"sigmoid", unary<sigmoid>},
    {"sign", unary_same<sign>},
    {"sin", unary<sin>},
    {"sinh", unary_stored<sinh>},
    {"softplus", unary_stored<softplus>},
    {"sqrt", unary<sqrt>},
    {"square", unary_same<square>},
    {"tan", unary<tan>},
    {"tanh", unary<tanh>},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kRows; }

}  // namespace tenure::node
