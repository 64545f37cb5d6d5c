#include "core/listed.h"
#include "nn/parts.h"
#include "tenure/activation.h"
#include "tenure/math.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace {

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
    {"selu", [](Tensor x) { return selu(std::move(x)); }},
    {"gelu", [](Tensor x) { return gelu(std::move(x)); }},
    {"silu", [](Tensor x) { return silu(std::move(x)); }},
    {"swish", [](Tensor x) { return silu(std::move(x)); }},
    {"mish", [](Tensor x) { return mish(std::move(x)); }},
    {"sigmoid", [](Tensor x) { return sigmoid(std::move(x)); }},
    {"hard_sigmoid", [](Tensor x) { return hard_sigmoid(std::move(x)); }},
    {"log_sigmoid", [](Tensor x) { return log_sigmoid(std::move(x)); }},
    {"tanh", [](Tensor x) { return tanh(std::move(x)); }},
    {"softmax", [](Tensor x) { return softmax(std::move(x)); }},
    {"log_softmax", [](Tensor x) { return log_softmax(std::move(x)); }},
    {"softplus", [](Tensor x) { return softplus(std::move(x)); }},
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

ActivationFn::ActivationFn(const char* name) : ActivationFn(std::string(name)) {}
ActivationFn::ActivationFn(const std::string& name) : Part(activation_named(name)) {}
std::string ActivationFn::name() const { return given() ? class_name() : "linear"; }
bool ActivationFn::is_linear() const { return !given() || class_name() == "linear"; }
Tensor ActivationFn::operator()(Tensor x, std::source_location site) const {
  if (is_linear()) return x;
  return detail::call_part("activation", *this, site, [&] { return function()(std::move(x)); });
}

}  // namespace tenure::nn
