// Regularizers and constraints.
#include <fmt/format.h>

#include "core/raise.h"
#include "nn/parts.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace {

using detail::Json;

Tensor norm_along(const Tensor& w, int axis) {
  return sqrt(sum(square(w), {axis}, {.keep_dims = true}));
}

constexpr double kEpsilon = 1e-7;  // Keras's

}  // namespace

Regularizer L1(double l1) {
  return Regularizer(Named<Tensor(Tensor)>{"L1", Json{{"l1", l1}}.dump(),
                                           [l1](Tensor w) { return sum(abs(w)) * l1; }});
}
Regularizer L2(double l2) {
  return Regularizer(Named<Tensor(Tensor)>{"L2", Json{{"l2", l2}}.dump(),
                                           [l2](Tensor w) { return sum(square(w)) * l2; }});
}
Regularizer L1L2(double l1, double l2) {
  return Regularizer(
      Named<Tensor(Tensor)>{"L1L2", Json{{"l1", l1}, {"l2", l2}}.dump(),
                            [l1, l2](Tensor w) { return sum(abs(w)) * l1 + sum(square(w)) * l2; }});
}

Constraint MaxNorm(double max_value, int axis) {
  return Constraint(Named<Tensor(Tensor)>{
      "MaxNorm", Json{{"max_value", max_value}, {"axis", axis}}.dump(), [=](Tensor w) {
        const Tensor norms = norm_along(w, axis);
        return w * (clip(norms, 0, max_value) / (norms + kEpsilon));
      }});
}
Constraint MinMaxNorm(MinMaxNormOptions o) {
  return Constraint(Named<Tensor(Tensor)>{
      "MinMaxNorm",
      Json{{"min_value", o.min_value},
           {"max_value", o.max_value},
           {"rate", o.rate},
           {"axis", o.axis}}
          .dump(),
      [o](Tensor w) {
        const Tensor norms = norm_along(w, o.axis);
        const Tensor wanted = clip(norms, o.min_value, o.max_value) * o.rate + norms * (1 - o.rate);
        return w * (wanted / (norms + kEpsilon));
      }});
}
Constraint NonNeg() {
  return Constraint(Named<Tensor(Tensor)>{"NonNeg", "{}", [](Tensor w) { return relu(w); }});
}
Constraint UnitNorm(int axis) {
  return Constraint(
      Named<Tensor(Tensor)>{"UnitNorm", Json{{"axis", axis}}.dump(),
                            [axis](Tensor w) { return w / (norm_along(w, axis) + kEpsilon); }});
}

namespace detail {

Regularizer regularizer_from(const std::string& name, const Json& config) {
  const std::string plain = plain_name(name);
  if (plain == "l1") return L1(number_in(config, "l1", 0.01));
  if (plain == "l2") return L2(number_in(config, "l2", 0.01));
  if (plain == "l1l2") return L1L2(number_in(config, "l1", 0.01), number_in(config, "l2", 0.01));
  raise<ValueError>("regularizer: no such one: \"{}\" (there are: l1, l2, l1_l2)", name);
}

Constraint constraint_from(const std::string& name, const Json& config) {
  const std::string plain = plain_name(name);
  const int axis = static_cast<int>(number_in(config, "axis", 0));
  if (plain == "maxnorm") return MaxNorm(number_in(config, "max_value", 2), axis);
  if (plain == "minmaxnorm") {
    return MinMaxNorm({number_in(config, "min_value", 0), number_in(config, "max_value", 1),
                       number_in(config, "rate", 1), axis});
  }
  if (plain == "nonneg") return NonNeg();
  if (plain == "unitnorm") return UnitNorm(axis);
  raise<ValueError>(
      "constraint: no such one: \"{}\" (there are: max_norm, min_max_norm, non_neg, unit_norm)",
      name);
}

}  // namespace detail

Regularizer::Regularizer(const char* name) : Regularizer(std::string(name)) {}
Regularizer::Regularizer(const std::string& name)
    : Regularizer(detail::regularizer_from(name, Json::object())) {}
Tensor Regularizer::operator()(Tensor weight, std::source_location site) const {
  return detail::call_part("regularizer", *this, site,
                           [&] { return function()(std::move(weight)); });
}

Tensor Constraint::operator()(Tensor weight, std::source_location site) const {
  return detail::call_part("constraint", *this, site,
                           [&] { return function()(std::move(weight)); });
}

Constraint::Constraint(const char* name) : Constraint(std::string(name)) {}
Constraint::Constraint(const std::string& name)
    : Constraint(detail::constraint_from(name, Json::object())) {}

}  // namespace tenure::nn
