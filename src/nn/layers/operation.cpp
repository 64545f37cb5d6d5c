// Operations as layers of a model. There is one layer for all of them, which finds what it does in
// a table by name; that name and the settings are what files hold.
#include "tenure/nn/node_ops.h"

#include <array>
#include <cmath>

#include "nn/layers/common.h"
#include "tenure/nn/core_layers.h"

namespace tenure::nn {

namespace detail {

namespace {

struct OperationOptions {
  std::string operation = {};
  std::vector<double> numbers = {};  // in the place of an input, or bounds
  bool whole = false;                // they are integers
  bool number_first = false;
  Shape axes = {};  // or an axis, a shape, repeats, a count
  Shape begin = {}, size = {}, step = {};
  bool keep_dims = false;
  bool transpose_a = false, transpose_b = false;
  bool approximate = false;
  std::string equation = {};
  DType to = DType::float32;
  TENURE_LAYER_FIELDS;
};

// What is not said stays as it is by default.
void fields(Fields& visit, OperationOptions& o) {
  TENURE_FIELDS(visit, o, operation);
  const bool reads = visit.reads();
  if (reads || !o.numbers.empty()) TENURE_FIELDS(visit, o, numbers, whole, number_first);
  if (reads || o.axes.rank() > 0) visit("axes", Numbers{o.axes, true});
  if (reads || o.begin.rank() > 0) {
    visit("begin", Numbers{o.begin, true});
    visit("size", Numbers{o.size, true});
    visit("step", Numbers{o.step, true});
  }
  if (reads || o.keep_dims) TENURE_FIELDS(visit, o, keep_dims);
  if (reads || o.transpose_a || o.transpose_b) TENURE_FIELDS(visit, o, transpose_a, transpose_b);
  if (reads || o.approximate) TENURE_FIELDS(visit, o, approximate);
  if (reads || !o.equation.empty()) TENURE_FIELDS(visit, o, equation);
  if (reads || o.operation == "cast") TENURE_FIELDS(visit, o, to);
}

using Tensors = std::vector<Tensor>;
using Options = OperationOptions;

// Which inputs an operation takes, and what becomes of a mask.
struct OperationRow {
  const char* name;
  int least, most;  // inputs; a number counts for one
  Tensors (*run)(const Tensors& x, const Options& how);
  bool passes_mask = false;
};

int axis_in(const Options& how) { return static_cast<int>(how.axes[0]); }
ReduceOptions reducing(const Options& how) { return {.keep_dims = how.keep_dims}; }

// An input, or the number that stands for it.
Arg operand(const Tensors& x, const Options& how, std::size_t place) {
  const std::size_t number_at = how.numbers.empty() ? x.size() : how.number_first ? 0 : x.size();
  if (place != number_at) return x[place - (place > number_at ? 1 : 0)];
  const double number = how.numbers.front();
  if (how.whole) return static_cast<std::int64_t>(number);
  return number;
}

template <Tensor (*F)(Arg)>
Tensors one(const Tensors& x, const Options&) {
  return {F(x[0])};
}
template <Tensor (*F)(Arg, Arg)>
Tensors two(const Tensors& x, const Options& how) {
  return {F(operand(x, how, 0), operand(x, how, 1))};
}
template <Tensor (*All)(Arg), Tensor (*Some)(Arg, const Axes&, ReduceOptions)>
Tensors reduction(const Tensors& x, const Options& how) {
  return {how.axes.rank() == 0 ? All(x[0]) : Some(x[0], how.axes, reducing(how))};
}

constexpr int kAnyCount = 1 << 20;

constexpr OperationRow kOperations[] = {
    {"neg", 1, 1, one<tenure::neg>, true},
    {"exp", 1, 1, one<tenure::exp>, true},
    {"log", 1, 1, one<tenure::log>, true},
    {"sqrt", 1, 1, one<tenure::sqrt>, true},
    {"square", 1, 1, one<tenure::square>, true},
    {"rsqrt", 1, 1, one<tenure::rsqrt>, true},
    {"reciprocal", 1, 1, one<tenure::reciprocal>, true},
    {"abs", 1, 1, one<tenure::abs>, true},
    {"sign", 1, 1, one<tenure::sign>, true},
    {"floor", 1, 1, one<tenure::floor>, true},
    {"ceil", 1, 1, one<tenure::ceil>, true},
    {"round", 1, 1, one<tenure::round>, true},
    {"expm1", 1, 1, one<tenure::expm1>, true},
    {"log1p", 1, 1, one<tenure::log1p>, true},
    {"erf", 1, 1, one<tenure::erf>, true},
    {"sin", 1, 1, one<tenure::sin>, true},
    {"cos", 1, 1, one<tenure::cos>, true},
    {"tan", 1, 1, one<tenure::tan>, true},
    {"asin", 1, 1, one<tenure::asin>, true},
    {"acos", 1, 1, one<tenure::acos>, true},
    {"atan", 1, 1, one<tenure::atan>, true},
    {"sinh", 1, 1, one<tenure::sinh>, true},
    {"cosh", 1, 1, one<tenure::cosh>, true},
    {"asinh", 1, 1, one<tenure::asinh>, true},
    {"acosh", 1, 1, one<tenure::acosh>, true},
    {"atanh", 1, 1, one<tenure::atanh>, true},
    {"is_nan", 1, 1, one<tenure::is_nan>, true},
    {"is_inf", 1, 1, one<tenure::is_inf>, true},
    {"is_finite", 1, 1, one<tenure::is_finite>, true},
    {"logical_not", 1, 1, one<tenure::logical_not>, true},
    {"relu", 1, 1, one<tenure::relu>, true},
    {"relu6", 1, 1, one<tenure::relu6>, true},
    {"elu", 1, 1, one<tenure::elu>, true},
    {"selu", 1, 1, one<tenure::selu>, true},
    {"tanh", 1, 1, one<tenure::tanh>, true},
    {"sigmoid", 1, 1, one<tenure::sigmoid>, true},
    {"silu", 1, 1, one<tenure::silu>, true},
    {"mish", 1, 1, one<tenure::mish>, true},
    {"softplus", 1, 1, one<tenure::softplus>, true},
    {"softsign", 1, 1, one<tenure::softsign>, true},
    {"log_sigmoid", 1, 1, one<tenure::log_sigmoid>, true},
    {"hard_sigmoid", 1, 1, one<tenure::hard_sigmoid>, true},
    {"add", 2, 2, two<tenure::add>},
    {"sub", 2, 2, two<tenure::sub>},
    {"mul", 2, 2, two<tenure::mul>},
    {"div", 2, 2, two<tenure::div>},
    {"floor_div", 2, 2, two<tenure::floor_div>},
    {"maximum", 2, 2, two<tenure::maximum>},
    {"minimum", 2, 2, two<tenure::minimum>},
    {"squared_difference", 2, 2, two<tenure::squared_difference>},
    {"mod", 2, 2, two<tenure::mod>},
    {"pow", 2, 2, two<tenure::pow>},
    {"atan2", 2, 2, two<tenure::atan2>},
    {"equal", 2, 2, two<tenure::equal>},
    {"not_equal", 2, 2, two<tenure::not_equal>},
    {"less", 2, 2, two<tenure::less>},
    {"less_equal", 2, 2, two<tenure::less_equal>},
    {"greater", 2, 2, two<tenure::greater>},
    {"greater_equal", 2, 2, two<tenure::greater_equal>},
    {"logical_and", 2, 2, two<tenure::logical_and>},
    {"logical_or", 2, 2, two<tenure::logical_or>},
    {"sum", 1, 1, reduction<tenure::sum, tenure::sum>},
    {"prod", 1, 1, reduction<tenure::prod, tenure::prod>},
    {"mean", 1, 1, reduction<tenure::mean, tenure::mean>},
    {"max", 1, 1, reduction<tenure::max, tenure::max>},
    {"min", 1, 1, reduction<tenure::min, tenure::min>},
    {"any", 1, 1, reduction<tenure::any, tenure::any>},
    {"all", 1, 1, reduction<tenure::all, tenure::all>},
    {"variance", 1, 1, reduction<tenure::variance, tenure::variance>},
    {"standard_deviation", 1, 1, reduction<tenure::standard_deviation, tenure::standard_deviation>},
    {"logsumexp", 1, 1, reduction<tenure::logsumexp, tenure::logsumexp>},
    {"leaky_relu", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::leaky_relu(x[0], how.numbers[0])}; }, true},
    {"gelu", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::gelu(x[0], {.approximate = how.approximate})}; }, true},
    {"softmax", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::softmax(x[0], axis_in(how))}; }, true},
    {"log_softmax", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::log_softmax(x[0], axis_in(how))}; }, true},
    {"clip", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::clip(x[0], how.numbers[0], how.numbers[1])}; }, true},
    {"where", 3, 3, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::where(x[0], x[1], operand(x, how, 2))}; }},
    {"cast", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::cast(x[0], how.to)}; }, true},
    {"stop_gradient", 1, 1, [](const Tensors& x, const Options&) -> Tensors { return {tenure::stop_gradient(x[0])}; }, true},
    {"arg_max", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::arg_max(x[0], axis_in(how))}; }},
    {"arg_min", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::arg_min(x[0], axis_in(how))}; }},
    {"cumsum", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::cumsum(x[0], axis_in(how))}; }},
    {"matmul", 2, 2, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::matmul(x[0], x[1], {.transpose_a = how.transpose_a, .transpose_b = how.transpose_b})}; }},
    {"einsum", 1, 2, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::einsum(how.equation, x)}; }},
    {"one_hot", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::one_hot(x[0], how.axes[0])}; }},
    {"reshape", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::reshape(x[0], how.axes)}; }},
    {"transpose", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::transpose(x[0], how.axes)}; }},
    {"slice", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::slice(x[0], how.begin, how.size, how.step)}; }},
    {"expand_dims", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::expand_dims(x[0], axis_in(how))}; }},
    {"squeeze", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::squeeze(x[0], how.axes)}; }},
    {"reverse", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::reverse(x[0], how.axes)}; }},
    {"tile", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::tile(x[0], how.axes)}; }},
    {"split", 1, 1, [](const Tensors& x, const Options& how) -> Tensors { return tenure::split(x[0], static_cast<int>(how.axes[0]), static_cast<int>(how.axes[1])); }},
    {"concat", 1, kAnyCount, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::concat(x, axis_in(how))}; }},
    {"stack", 1, kAnyCount, [](const Tensors& x, const Options& how) -> Tensors { return {tenure::stack(x, axis_in(how))}; }},
};

const OperationRow& operation_named(const std::string& name) {
  for (const OperationRow& row : kOperations) {
    if (name == row.name) return row;
  }
  raise<ValueError>("Operation: there is none called \"{}\" for Nodes", name);
}

// Settings come from files, too.
void check_settings(const Options& o) {
  const auto need = [&](bool fits, const char* what) {
    if (!fits) raise<ValueError>("Operation: {}: its settings lack {}", o.operation, what);
  };
  const auto is_one_of = [&](auto... names) { return ((o.operation == names) || ...); };
  if (is_one_of("clip")) need(o.numbers.size() == 2, "two numbers");
  if (is_one_of("leaky_relu")) need(o.numbers.size() == 1, "a number");
  if (is_one_of("softmax", "log_softmax", "arg_max", "arg_min", "cumsum", "expand_dims", "concat",
                "stack", "one_hot")) {
    need(o.axes.rank() == 1, "one axis or count");
  }
  if (is_one_of("split")) need(o.axes.rank() == 2, "a count and an axis");
  if (is_one_of("einsum")) need(!o.equation.empty(), "an equation");
}

class OperationLayer final : public ConfiguredLayer<OperationOptions> {
 public:
  explicit OperationLayer(OperationOptions options)
      : ConfiguredLayer(named(std::move(options))), row_(operation_named(options_.operation)) {
    check_settings(options_);
  }
  const char* class_name() const override { return "Operation"; }
  bool passes_mask() const override { return row_.passes_mask; }
  bool casts_inputs() const override { return false; }

  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call&) override {
    const bool has_operand = row_.least > 1 && !options_.numbers.empty();
    const int count = static_cast<int>(inputs.size()) + (has_operand ? 1 : 0);
    if (count < row_.least || count > row_.most) {
      raise<ValueError>("{}: takes {} operands, was given {}", options_.operation, row_.least,
                        count);
    }
    return row_.run(inputs, options_);
  }

 private:
  static OperationOptions named(OperationOptions o) {
    if (o.name.empty()) o.name = next_name(o.operation);
    return o;
  }
  const OperationRow& row_;
};

Layer operation(Fields& settings) {
  OperationOptions o;
  layer_fields(settings, o);
  return Layer(make_base<OperationLayer>({}, std::move(o)));
}

std::vector<Node> apply_all(const char* name, std::vector<Node> inputs, Options o,
                            std::source_location site) {
  o.operation = name;
  const Layer layer(make_base<OperationLayer>(site, std::move(o)));
  return layer.apply(std::move(inputs), {}, site);
}

Node apply(const char* name, std::vector<Node> inputs, Options o, std::source_location site) {
  return apply_all(name, std::move(inputs), std::move(o), site).front();
}
Node apply(const char* name, const NodeArg& x, Options o = {}) {
  return apply(name, {x.node()}, std::move(o), x.site());
}

Options number(Scalar value, bool first = false) {
  return {.numbers = {value.to_double()}, .whole = value.is_integer(), .number_first = first};
}

}  // namespace

std::span<const LayerRow> operation_layers() {
  static constexpr LayerRow rows[] = {{"Operation", operation}};
  return rows;
}

}  // namespace detail
}  // namespace tenure::nn

namespace tenure {

using nn::Node;
using nn::NodeArg;
using nn::detail::apply;

// Defines what the header declares of this name.
#define TENURE_NODE_UNARY(name) \
  Node name(NodeArg x) { return apply(#name, x); }
#define TENURE_NODE_BINARY(name, op)                                                        \
  Node name(NodeArg a, NodeArg b) { return apply(op, {a.node(), b.node()}, {}, a.site()); } \
  Node name(NodeArg a, Scalar b) { return apply(op, a, nn::detail::number(b)); }            \
  Node name(Scalar a, NodeArg b) { return apply(op, b, nn::detail::number(a, true)); }
#define TENURE_NODE_REDUCTION(name)                                         \
  Node name(NodeArg x) { return apply(#name, x); }                          \
  Node name(NodeArg x, const Axes& axes, ReduceOptions options) {           \
    return apply(#name, x, {.axes = axes, .keep_dims = options.keep_dims}); \
  }

TENURE_NODE_UNARY(neg)
TENURE_NODE_UNARY(exp)
TENURE_NODE_UNARY(log)
TENURE_NODE_UNARY(sqrt)
TENURE_NODE_UNARY(square)
TENURE_NODE_UNARY(rsqrt)
TENURE_NODE_UNARY(reciprocal)
TENURE_NODE_UNARY(abs)
TENURE_NODE_UNARY(sign)
TENURE_NODE_UNARY(floor)
TENURE_NODE_UNARY(ceil)
TENURE_NODE_UNARY(round)
TENURE_NODE_UNARY(expm1)
TENURE_NODE_UNARY(log1p)
TENURE_NODE_UNARY(erf)
TENURE_NODE_UNARY(sin)
TENURE_NODE_UNARY(cos)
TENURE_NODE_UNARY(tan)
TENURE_NODE_UNARY(asin)
TENURE_NODE_UNARY(acos)
TENURE_NODE_UNARY(atan)
TENURE_NODE_UNARY(sinh)
TENURE_NODE_UNARY(cosh)
TENURE_NODE_UNARY(asinh)
TENURE_NODE_UNARY(acosh)
TENURE_NODE_UNARY(atanh)
TENURE_NODE_UNARY(is_nan)
TENURE_NODE_UNARY(is_inf)
TENURE_NODE_UNARY(is_finite)
TENURE_NODE_UNARY(logical_not)
TENURE_NODE_UNARY(relu)
TENURE_NODE_UNARY(relu6)
TENURE_NODE_UNARY(elu)
TENURE_NODE_UNARY(selu)
TENURE_NODE_UNARY(tanh)
TENURE_NODE_UNARY(sigmoid)
TENURE_NODE_UNARY(silu)
TENURE_NODE_UNARY(mish)
TENURE_NODE_UNARY(softplus)
TENURE_NODE_UNARY(softsign)
TENURE_NODE_UNARY(log_sigmoid)
TENURE_NODE_UNARY(hard_sigmoid)

TENURE_NODE_BINARY(add, "add")
TENURE_NODE_BINARY(sub, "sub")
TENURE_NODE_BINARY(mul, "mul")
TENURE_NODE_BINARY(div, "div")
TENURE_NODE_BINARY(floor_div, "floor_div")
TENURE_NODE_BINARY(maximum, "maximum")
TENURE_NODE_BINARY(minimum, "minimum")
TENURE_NODE_BINARY(squared_difference, "squared_difference")
TENURE_NODE_BINARY(mod, "mod")
TENURE_NODE_BINARY(pow, "pow")
TENURE_NODE_BINARY(atan2, "atan2")
TENURE_NODE_BINARY(equal, "equal")
TENURE_NODE_BINARY(not_equal, "not_equal")
TENURE_NODE_BINARY(less, "less")
TENURE_NODE_BINARY(less_equal, "less_equal")
TENURE_NODE_BINARY(greater, "greater")
TENURE_NODE_BINARY(greater_equal, "greater_equal")
TENURE_NODE_BINARY(logical_and, "logical_and")
TENURE_NODE_BINARY(logical_or, "logical_or")
TENURE_NODE_BINARY(operator+, "add")
TENURE_NODE_BINARY(operator-, "sub")
TENURE_NODE_BINARY(operator*, "mul")
TENURE_NODE_BINARY(operator/, "div")
TENURE_NODE_BINARY(operator<, "less")
TENURE_NODE_BINARY(operator<=, "less_equal")
TENURE_NODE_BINARY(operator>, "greater")
TENURE_NODE_BINARY(operator>=, "greater_equal")

TENURE_NODE_REDUCTION(sum)
TENURE_NODE_REDUCTION(prod)
TENURE_NODE_REDUCTION(mean)
TENURE_NODE_REDUCTION(max)
TENURE_NODE_REDUCTION(min)
TENURE_NODE_REDUCTION(any)
TENURE_NODE_REDUCTION(all)
TENURE_NODE_REDUCTION(variance)
TENURE_NODE_REDUCTION(standard_deviation)
TENURE_NODE_REDUCTION(logsumexp)

Node operator-(NodeArg x) { return apply("neg", x); }
Node operator!(NodeArg x) { return apply("logical_not", x); }
Node leaky_relu(NodeArg x, double alpha) { return apply("leaky_relu", x, {.numbers = {alpha}}); }
Node gelu(NodeArg x, GeluOptions options) {
  return apply("gelu", x, {.approximate = options.approximate});
}
Node softmax(NodeArg x, int axis) { return apply("softmax", x, {.axes = {axis}}); }
Node log_softmax(NodeArg x, int axis) { return apply("log_softmax", x, {.axes = {axis}}); }
Node clip(NodeArg x, double low, double high) { return apply("clip", x, {.numbers = {low, high}}); }
Node where(NodeArg condition, NodeArg a, NodeArg b) {
  return apply("where", {condition.node(), a.node(), b.node()}, {}, condition.site());
}
Node where(NodeArg condition, NodeArg a, Scalar b) {
  return apply("where", {condition.node(), a.node()}, nn::detail::number(b), condition.site());
}
Node cast(NodeArg x, DType dtype) { return apply("cast", x, {.to = dtype}); }
Node stop_gradient(NodeArg x) { return apply("stop_gradient", x); }

Node arg_max(NodeArg x, int axis) { return apply("arg_max", x, {.axes = {axis}}); }
Node arg_min(NodeArg x, int axis) { return apply("arg_min", x, {.axes = {axis}}); }
Node cumsum(NodeArg x, int axis) { return apply("cumsum", x, {.axes = {axis}}); }

Node matmul(NodeArg a, NodeArg b, MatmulOptions options) {
  return apply("matmul", {a.node(), b.node()},
               {.transpose_a = options.transpose_a, .transpose_b = options.transpose_b}, a.site());
}
Node einsum(std::string_view equation, NodeArg x) {
  return apply("einsum", x, {.equation = std::string(equation)});
}
Node einsum(std::string_view equation, NodeArg a, NodeArg b) {
  return apply("einsum", {a.node(), b.node()}, {.equation = std::string(equation)}, a.site());
}
Node one_hot(NodeArg indices, std::int64_t depth) {
  return apply("one_hot", indices, {.axes = {depth}});
}

Node reshape(NodeArg x, const Shape& shape) { return apply("reshape", x, {.axes = shape}); }
Node transpose(NodeArg x, const Axes& axes) { return apply("transpose", x, {.axes = axes}); }
Node slice(NodeArg x, const Shape& begin, const Shape& size) {
  const Shape step = Shape::filled(begin.rank(), 1);
  return slice(std::move(x), begin, size, step);
}
Node slice(NodeArg x, const Shape& begin, const Shape& size, const Shape& step) {
  return apply("slice", x, {.begin = begin, .size = size, .step = step});
}
Node expand_dims(NodeArg x, int axis) { return apply("expand_dims", x, {.axes = {axis}}); }
Node squeeze(NodeArg x, const Axes& axes) { return apply("squeeze", x, {.axes = axes}); }
Node reverse(NodeArg x, const Axes& axes) { return apply("reverse", x, {.axes = axes}); }
Node tile(NodeArg x, const Shape& repeats) { return apply("tile", x, {.axes = repeats}); }
std::vector<Node> split(NodeArg x, int parts, int axis) {
  return nn::detail::apply_all("split", {x.node()}, {.axes = {parts, axis}}, x.site());
}
Node concat(nn::NodeList nodes, int axis, std::source_location site) {
  return apply("concat", nodes.nodes(), {.axes = {axis}}, site);
}
Node stack(nn::NodeList nodes, int axis, std::source_location site) {
  return apply("stack", nodes.nodes(), {.axes = {axis}}, site);
}

}  // namespace tenure
