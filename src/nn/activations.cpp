#include "core/listed.h"
#include "core/raise.h"
#include "nn/parts.h"
#include "nn/precision.h"
#include "tenure/activation.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/math.h"
#include "tenure/nn/text.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn {

namespace {

Tensor keras_hard_sigmoid(Tensor x) { return relu6(std::move(x) + 3) * (1.0 / 6); }

// One half of the last axis, by the sigmoid of the other.
Tensor glu(const Tensor& x) {
  if (x.rank() == 0 || x.dim(-1) % 2 != 0) {
    raise<ShapeError>("glu: splits the last axis in two halves: {}", x.shape());
  }
  const std::vector<Tensor> halves = split(x, 2, -1);
  return halves[0] * sigmoid(halves[1]);
}

Tensor hard_shrink(const Tensor& x) { return where(abs(x) > 0.5, x, 0); }
Tensor soft_shrink(const Tensor& x) { return relu(x - 0.5) - relu(-0.5 - x); }

Tensor sparse_plus(const Tensor& x) {
  const Tensor bent = square(relu(x + 1)) * 0.25;
  return where(x < 1, bent, x);
}

// Less a number, such that what is positive adds up to 1.
Tensor sparsemax(const Tensor& x) {
  if (x.rank() == 0) raise<ShapeError>("sparsemax: takes a tensor with an axis");
  const Tensor sorted = sort(x, {.axis = -1, .descending = true});
  const Tensor ranks = cast(arange(1, x.dim(-1) + 1), x.dtype());
  const Tensor counts = cast(sorted * ranks + 1 > cumsum(sorted, -1), x.dtype());
  const ReduceOptions keep{.keep_dims = true};
  const Tensor excess = sum(sorted * counts, {-1}, keep) - 1;
  return relu(x - excess / sum(counts, {-1}, keep));
}

struct ActivationRow {
  const char* name;
  Tensor (*call)(Tensor x);
};

constexpr ActivationRow kActivations[] = {
    {"linear", [](Tensor x) { return x; }},
    {"relu", [](Tensor x) { return relu(std::move(x)); }},
    {"relu6", [](Tensor x) { return relu6(std::move(x)); }},
    {"leaky_relu", [](Tensor x) { return leaky_relu(std::move(x), 0.2); }},
    {"elu", [](Tensor x) { return elu(std::move(x), 1); }},
    {"celu", [](Tensor x) { return elu(std::move(x), 1); }},
    {"selu", [](Tensor x) { return selu(std::move(x)); }},
    {"gelu", [](Tensor x) { return gelu(std::move(x)); }},
    {"silu", [](Tensor x) { return silu(std::move(x)); }},
    {"swish", [](Tensor x) { return silu(std::move(x)); }},
    {"glu", [](Tensor x) { return glu(x); }},
    {"mish", [](Tensor x) { return mish(std::move(x)); }},
    {"sigmoid", [](Tensor x) { return sigmoid(detail::for_probabilities(std::move(x))); }},
    {"hard_sigmoid", keras_hard_sigmoid},
    {"hard_sigmoid_keras2", [](Tensor x) { return hard_sigmoid(std::move(x)); }},
    {"hard_silu", [](Tensor x) { return x * keras_hard_sigmoid(x); }},
    {"hard_swish", [](Tensor x) { return x * keras_hard_sigmoid(x); }},
    {"hard_tanh", [](Tensor x) { return clip(std::move(x), -1, 1); }},
    {"hard_shrink", [](Tensor x) { return hard_shrink(x); }},
    {"soft_shrink", [](Tensor x) { return soft_shrink(x); }},
    {"tanh_shrink", [](Tensor x) { return x - tanh(x); }},
    {"log_sigmoid", [](Tensor x) { return log_sigmoid(detail::for_probabilities(std::move(x))); }},
    {"tanh", [](Tensor x) { return tanh(std::move(x)); }},
    {"softmax", [](Tensor x) { return softmax(detail::for_probabilities(std::move(x))); }},
    {"log_softmax", [](Tensor x) { return log_softmax(detail::for_probabilities(std::move(x))); }},
    {"sparsemax", [](Tensor x) { return sparsemax(x); }},
    {"sparse_sigmoid", [](Tensor x) { return clip(std::move(x) * 0.5 + 0.5, 0, 1); }},
    {"sparse_plus", [](Tensor x) { return sparse_plus(x); }},
    {"softplus", [](Tensor x) { return softplus(std::move(x)); }},
    {"squareplus", [](Tensor x) { return (x + sqrt(square(x) + 4)) * 0.5; }},
    {"softsign", [](Tensor x) { return softsign(std::move(x)); }},
    {"exponential", [](Tensor x) { return exp(std::move(x)); }},
};

Named<Tensor(Tensor)> activation_named(const std::string& name) {
  const std::string plain = detail::plain_name(name);
  for (const ActivationRow& row : kActivations) {
    if (detail::plain_name(row.name) == plain) return {row.name, "{}", row.call};
  }
  const auto row_name = [](const ActivationRow& row) { return row.name; };
  detail::raise_no_such("activation", name, tenure::detail::listed(kActivations, row_name));
}

}  // namespace

template <class Signature>
Part<Signature>::Part(Named<Signature> named)
    : named_(std::make_shared<const Named<Signature>>(std::move(named))) {}
template class Part<Tensor(Tensor)>;
template class Part<Tensor(const Shape&, DType)>;
template class Part<std::string(std::string_view)>;
template class Part<std::vector<std::string>(std::string_view)>;

ActivationFn::ActivationFn(const char* name, std::source_location site)
    : ActivationFn(std::string(name), site) {}
ActivationFn::ActivationFn(const std::string& name, std::source_location site)
    : Part(detail::told_of(site, [&] { return activation_named(name); })) {}
std::string ActivationFn::name() const { return given() ? class_name() : "linear"; }
bool ActivationFn::is_linear() const { return !given() || class_name() == "linear"; }
Tensor ActivationFn::operator()(Tensor x, std::source_location site) const {
  if (is_linear()) return x;
  return detail::call_part("activation", *this, site, [&] { return function()(std::move(x)); });
}

}  // namespace tenure::nn
