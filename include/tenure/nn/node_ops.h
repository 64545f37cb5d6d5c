// Operations on places in a model: what they compute becomes part of it, as a layer without weights
// that files know. Names, settings and shapes are those of the functions of tensors; axis 0 is the
// batch.
//
//   nn::Node x = nn::Input({.shape = {8}});
//   nn::Node y = tanh(x * 2 + 1);                       // or nn::tanh, tenure::tanh
//   nn::Node z = concat({mean(y, {1}, {.keep_dims = true}), slice(y, {0, 0}, {-1, 4})}, 1);
//
// For what is not here there is nn::Lambda.
#pragma once

#include <concepts>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/activation.h"
#include "tenure/gradient.h"
#include "tenure/indexing.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/nn/layer.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn {

// A Node, and where the user wrote it.
class NodeArg {
 public:
  NodeArg(Node node, std::source_location site = std::source_location::current())
      : site_(site), node_(std::move(node)) {}
  const Node& node() const { return node_; }
  std::source_location site() const { return site_; }

 private:
  std::source_location site_;
  Node node_;
};

// Nodes, one or more: no braces say what an empty list is of.
class NodeList {
 public:
  template <std::same_as<Node>... More>
  NodeList(Node first, More... more) : nodes_{std::move(first), std::move(more)...} {}
  NodeList(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
};

}  // namespace tenure::nn

namespace tenure {

// An operation of two, of which one may be a number.
#define TENURE_NODE_BINARY(name)                          \
  TENURE_API nn::Node name(nn::NodeArg a, nn::NodeArg b); \
  TENURE_API nn::Node name(nn::NodeArg a, Scalar b);      \
  TENURE_API nn::Node name(Scalar a, nn::NodeArg b)
// Over all axes, or some.
#define TENURE_NODE_REDUCTION(name)        \
  TENURE_API nn::Node name(nn::NodeArg x); \
  TENURE_API nn::Node name(nn::NodeArg x, const Axes& axes, ReduceOptions options = {})

TENURE_NODE_BINARY(add);
TENURE_NODE_BINARY(sub);
TENURE_NODE_BINARY(mul);
TENURE_NODE_BINARY(div);
TENURE_NODE_BINARY(floor_div);
TENURE_NODE_BINARY(maximum);
TENURE_NODE_BINARY(minimum);
TENURE_NODE_BINARY(squared_difference);
TENURE_NODE_BINARY(mod);
TENURE_NODE_BINARY(pow);
TENURE_NODE_BINARY(atan2);
TENURE_NODE_BINARY(equal);
TENURE_NODE_BINARY(not_equal);
TENURE_NODE_BINARY(less);
TENURE_NODE_BINARY(less_equal);
TENURE_NODE_BINARY(greater);
TENURE_NODE_BINARY(greater_equal);
TENURE_NODE_BINARY(logical_and);
TENURE_NODE_BINARY(logical_or);
TENURE_NODE_BINARY(operator+);
TENURE_NODE_BINARY(operator-);
TENURE_NODE_BINARY(operator*);
TENURE_NODE_BINARY(operator/);
TENURE_NODE_BINARY(operator<);
TENURE_NODE_BINARY(operator<=);
TENURE_NODE_BINARY(operator>);
TENURE_NODE_BINARY(operator>=);
TENURE_API nn::Node operator-(nn::NodeArg x);
TENURE_API nn::Node operator!(nn::NodeArg x);

TENURE_API nn::Node neg(nn::NodeArg x);
TENURE_API nn::Node exp(nn::NodeArg x);
TENURE_API nn::Node log(nn::NodeArg x);
TENURE_API nn::Node sqrt(nn::NodeArg x);
TENURE_API nn::Node square(nn::NodeArg x);
TENURE_API nn::Node rsqrt(nn::NodeArg x);
TENURE_API nn::Node reciprocal(nn::NodeArg x);
TENURE_API nn::Node abs(nn::NodeArg x);
TENURE_API nn::Node sign(nn::NodeArg x);
TENURE_API nn::Node floor(nn::NodeArg x);
TENURE_API nn::Node ceil(nn::NodeArg x);
TENURE_API nn::Node round(nn::NodeArg x);
TENURE_API nn::Node expm1(nn::NodeArg x);
TENURE_API nn::Node log1p(nn::NodeArg x);
TENURE_API nn::Node erf(nn::NodeArg x);
TENURE_API nn::Node sin(nn::NodeArg x);
TENURE_API nn::Node cos(nn::NodeArg x);
TENURE_API nn::Node tan(nn::NodeArg x);
TENURE_API nn::Node asin(nn::NodeArg x);
TENURE_API nn::Node acos(nn::NodeArg x);
TENURE_API nn::Node atan(nn::NodeArg x);
TENURE_API nn::Node sinh(nn::NodeArg x);
TENURE_API nn::Node cosh(nn::NodeArg x);
TENURE_API nn::Node asinh(nn::NodeArg x);
TENURE_API nn::Node acosh(nn::NodeArg x);
TENURE_API nn::Node atanh(nn::NodeArg x);
TENURE_API nn::Node is_nan(nn::NodeArg x);
TENURE_API nn::Node is_inf(nn::NodeArg x);
TENURE_API nn::Node is_finite(nn::NodeArg x);
TENURE_API nn::Node logical_not(nn::NodeArg x);
TENURE_API nn::Node relu(nn::NodeArg x);
TENURE_API nn::Node relu6(nn::NodeArg x);
TENURE_API nn::Node elu(nn::NodeArg x);
TENURE_API nn::Node selu(nn::NodeArg x);
TENURE_API nn::Node tanh(nn::NodeArg x);
TENURE_API nn::Node sigmoid(nn::NodeArg x);
TENURE_API nn::Node silu(nn::NodeArg x);
TENURE_API nn::Node mish(nn::NodeArg x);
TENURE_API nn::Node softplus(nn::NodeArg x);
TENURE_API nn::Node softsign(nn::NodeArg x);
TENURE_API nn::Node log_sigmoid(nn::NodeArg x);
TENURE_API nn::Node hard_sigmoid(nn::NodeArg x);
TENURE_API nn::Node leaky_relu(nn::NodeArg x, double alpha = 0.2);
TENURE_API nn::Node gelu(nn::NodeArg x, GeluOptions options = {});
TENURE_API nn::Node softmax(nn::NodeArg x, int axis = -1);
TENURE_API nn::Node log_softmax(nn::NodeArg x, int axis = -1);
TENURE_API nn::Node clip(nn::NodeArg x, double low, double high);
TENURE_API nn::Node where(nn::NodeArg condition, nn::NodeArg a, nn::NodeArg b);
TENURE_API nn::Node where(nn::NodeArg condition, nn::NodeArg a, Scalar b);
TENURE_API nn::Node cast(nn::NodeArg x, DType dtype);
TENURE_API nn::Node stop_gradient(nn::NodeArg x);

TENURE_NODE_REDUCTION(sum);
TENURE_NODE_REDUCTION(prod);
TENURE_NODE_REDUCTION(mean);
TENURE_NODE_REDUCTION(max);
TENURE_NODE_REDUCTION(min);
TENURE_NODE_REDUCTION(any);
TENURE_NODE_REDUCTION(all);
TENURE_NODE_REDUCTION(variance);
TENURE_NODE_REDUCTION(standard_deviation);
TENURE_NODE_REDUCTION(logsumexp);
TENURE_API nn::Node arg_max(nn::NodeArg x, int axis = 0);
TENURE_API nn::Node arg_min(nn::NodeArg x, int axis = 0);
TENURE_API nn::Node cumsum(nn::NodeArg x, int axis = 0);

TENURE_API nn::Node matmul(nn::NodeArg a, nn::NodeArg b, MatmulOptions options = {});
TENURE_API nn::Node einsum(std::string_view equation, nn::NodeArg x);
TENURE_API nn::Node einsum(std::string_view equation, nn::NodeArg a, nn::NodeArg b);
TENURE_API nn::Node one_hot(nn::NodeArg indices, std::int64_t depth);

TENURE_API nn::Node reshape(nn::NodeArg x, const Shape& shape);  // one size may be -1: the batch
TENURE_API nn::Node transpose(nn::NodeArg x, const Axes& axes);
TENURE_API nn::Node slice(nn::NodeArg x, const Shape& begin, const Shape& size);  // -1: to the end
TENURE_API nn::Node slice(nn::NodeArg x, const Shape& begin, const Shape& size, const Shape& step);
TENURE_API nn::Node expand_dims(nn::NodeArg x, int axis);
TENURE_API nn::Node squeeze(nn::NodeArg x, const Axes& axes);
TENURE_API nn::Node reverse(nn::NodeArg x, const Axes& axes);
TENURE_API nn::Node tile(nn::NodeArg x, const Shape& repeats);
TENURE_API std::vector<nn::Node> split(nn::NodeArg x, int parts, int axis = 0);
TENURE_API nn::Node concat(nn::NodeList nodes, int axis = 0,
                           std::source_location site = std::source_location::current());
TENURE_API nn::Node stack(nn::NodeList nodes, int axis = 0,
                          std::source_location site = std::source_location::current());

#undef TENURE_NODE_BINARY
#undef TENURE_NODE_REDUCTION

namespace nn {

// Found by a Node's own namespace, too.
using tenure::abs;
using tenure::acos;
using tenure::acosh;
using tenure::add;
using tenure::all;
using tenure::any;
using tenure::arg_max;
using tenure::arg_min;
using tenure::asin;
using tenure::asinh;
using tenure::atan;
using tenure::atan2;
using tenure::atanh;
using tenure::cast;
using tenure::ceil;
using tenure::clip;
using tenure::concat;
using tenure::cos;
using tenure::cosh;
using tenure::cumsum;
using tenure::div;
using tenure::einsum;
using tenure::elu;
using tenure::equal;
using tenure::erf;
using tenure::exp;
using tenure::expand_dims;
using tenure::expm1;
using tenure::floor;
using tenure::floor_div;
using tenure::gelu;
using tenure::greater;
using tenure::greater_equal;
using tenure::hard_sigmoid;
using tenure::is_finite;
using tenure::is_inf;
using tenure::is_nan;
using tenure::leaky_relu;
using tenure::less;
using tenure::less_equal;
using tenure::log;
using tenure::log1p;
using tenure::log_sigmoid;
using tenure::log_softmax;
using tenure::logical_and;
using tenure::logical_not;
using tenure::logical_or;
using tenure::logsumexp;
using tenure::matmul;
using tenure::max;
using tenure::maximum;
using tenure::mean;
using tenure::min;
using tenure::minimum;
using tenure::mish;
using tenure::mod;
using tenure::mul;
using tenure::neg;
using tenure::not_equal;
using tenure::one_hot;
using tenure::pow;
using tenure::prod;
using tenure::reciprocal;
using tenure::relu;
using tenure::relu6;
using tenure::reshape;
using tenure::reverse;
using tenure::round;
using tenure::rsqrt;
using tenure::selu;
using tenure::sigmoid;
using tenure::sign;
using tenure::silu;
using tenure::sin;
using tenure::sinh;
using tenure::slice;
using tenure::softmax;
using tenure::softplus;
using tenure::softsign;
using tenure::split;
using tenure::sqrt;
using tenure::square;
using tenure::squared_difference;
using tenure::squeeze;
using tenure::stack;
using tenure::standard_deviation;
using tenure::stop_gradient;
using tenure::sub;
using tenure::sum;
using tenure::tan;
using tenure::tanh;
using tenure::tile;
using tenure::transpose;
using tenure::variance;
using tenure::where;
using tenure::operator+;
using tenure::operator-;
using tenure::operator*;
using tenure::operator/;
using tenure::operator<;
using tenure::operator<=;
using tenure::operator>;
using tenure::operator>=;
using tenure::operator!;

}  // namespace nn
}  // namespace tenure
