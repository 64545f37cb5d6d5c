// Regularizers and constraints.
#include "nn/bounds.h"
#include "nn/parts.h"
#include "nn/widened.h"
#include "tenure/create.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/norm.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace detail {

namespace {

struct L1Options {
  double l1 = 0.01;
};
struct L2Options {
  double l2 = 0.01;
};
struct L1L2Options {
  double l1 = 0.01;
  double l2 = 0.01;
};
struct MaxNormOptions {
  double max_value = 2;
  int axis = 0;
};
struct UnitNormOptions {
  int axis = 0;
};
void fields(Fields& visit, L1Options& o) { TENURE_FIELDS(visit, o, l1); }
void fields(Fields& visit, L2Options& o) { TENURE_FIELDS(visit, o, l2); }
void fields(Fields& visit, L1L2Options& o) { TENURE_FIELDS(visit, o, l1, l2); }
void fields(Fields& visit, MaxNormOptions& o) { TENURE_FIELDS(visit, o, max_value, axis); }
void fields(Fields& visit, UnitNormOptions& o) { TENURE_FIELDS(visit, o, axis); }

}  // namespace

void fields(Fields& visit, OrthogonalRegularizerOptions& o) {
  TENURE_FIELDS(visit, o, factor, mode);
}

void fields(Fields& visit, MinMaxNormOptions& o) {
  TENURE_FIELDS(visit, o, min_value, max_value, rate, axis);
}

namespace {

constexpr double kEpsilon = 1e-7;  // Keras's

Tensor norm_along(const Tensor& w, int axis) {
  return sqrt(sum(square(w), {axis}, {.keep_dims = true}));
}

// A regularizer or constraint with these options.
template <class P, class O, class F>
P named(const char* class_name, const O& options, F call) {
  return P(Named<Tensor(Tensor)>{class_name, config_of(options),
                                 [=](Tensor w) { return call(std::move(w), options); }});
}

Regularizer l1(L1Options options) {
  check_at_least("L1", "l1", options.l1, 0.0);
  return named<Regularizer>("L1", options,
                            [](const Tensor& w, const L1Options& o) { return sum(abs(w)) * o.l1; });
}
Regularizer l2(L2Options options) {
  check_at_least("L2", "l2", options.l2, 0.0);
  return named<Regularizer>(
      "L2", options, [](const Tensor& w, const L2Options& o) { return sum(square(w)) * o.l2; });
}
Regularizer l1_l2(L1L2Options options) {
  check_at_least("L1L2", "l1", options.l1, 0.0);
  check_at_least("L1L2", "l2", options.l2, 0.0);
  return named<Regularizer>("L1L2", options, [](const Tensor& w, const L1L2Options& o) {
    return sum(abs(w)) * o.l1 + sum(square(w)) * o.l2;
  });
}

Tensor orthogonal_penalty(const Tensor& w, const OrthogonalRegularizerOptions& o) {
  if (w.rank() != 2) raise<ShapeError>("OrthogonalRegularizer: a weight of rank 2: {}", w.shape());
  const bool rows = o.mode == "rows";
  const std::int64_t size = w.dim(rows ? 0 : 1);
  if (size < 2) return sum(w) * 0;
  const Tensor unit = l2_normalize(w, {rows ? 1 : 0});
  const Tensor cosines = matmul(unit, unit, {.transpose_a = !rows, .transpose_b = rows}) *
                         (1 - eye(size, size, w.dtype()));
  return sum(abs(cosines)) * (o.factor / static_cast<double>(size * (size - 1)));
}

Constraint max_norm(MaxNormOptions options) {
  check_at_least("MaxNorm", "max_value", options.max_value, 0.0);
  return named<Constraint>("MaxNorm", options, [](const Tensor& w, const MaxNormOptions& o) {
    const Tensor norms = norm_along(w, o.axis);
    return w * (clip(norms, 0, o.max_value) / (norms + kEpsilon));
  });
}
Constraint unit_norm(UnitNormOptions options) {
  return named<Constraint>("UnitNorm", options, [](const Tensor& w, const UnitNormOptions& o) {
    return w / (norm_along(w, o.axis) + kEpsilon);
  });
}

constexpr Row<Regularizer> kRegularizers[] = {
    {"l1", made_by<l1>},
    {"l2", made_by<l2>},
    {"l1_l2", made_by<l1_l2>},
    {"orthogonal_regularizer", made_by<OrthogonalRegularizer>},
};
constexpr Row<Constraint> kConstraints[] = {
    {"max_norm", made_by<max_norm>},
    {"min_max_norm", made_by<MinMaxNorm>},
    {"non_neg", [](Fields&) { return NonNeg(); }},
    {"unit_norm", made_by<unit_norm>},
};

}  // namespace

Regularizer regularizer_named(const std::string& name, Fields&& settings) {
  return make_named("regularizer", kRegularizers, name, settings);
}
Constraint constraint_named(const std::string& name, Fields&& settings) {
  return make_named("constraint", kConstraints, name, settings);
}

}  // namespace detail

Regularizer L1(double l1, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return detail::l1({l1});
}
Regularizer L2(double l2, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return detail::l2({l2});
}
Regularizer L1L2(double l1, double l2, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return detail::l1_l2({l1, l2});
}

Regularizer OrthogonalRegularizer(OrthogonalRegularizerOptions options, std::source_location site) {
  const tenure::detail::UserLine line(site);
  detail::check_at_least("OrthogonalRegularizer", "factor", options.factor, 0.0);
  if (options.mode != "rows" && options.mode != "columns") {
    raise<ValueError>("OrthogonalRegularizer: no such mode: \"{}\" (rows, columns)", options.mode);
  }
  return detail::named<Regularizer>("OrthogonalRegularizer", options, detail::orthogonal_penalty);
}

Constraint MaxNorm(double max_value, int axis, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return detail::max_norm({max_value, axis});
}
Constraint MinMaxNorm(MinMaxNormOptions options, std::source_location site) {
  const tenure::detail::UserLine line(site);
  detail::check_at_least("MinMaxNorm", "min_value", options.min_value, 0.0);
  detail::check_at_least("MinMaxNorm", "max_value", options.max_value, options.min_value);
  detail::check_between("MinMaxNorm", "rate", options.rate, 0, 1);
  return detail::named<Constraint>(
      "MinMaxNorm", options, [](const Tensor& w, const MinMaxNormOptions& o) {
        const Tensor norms = detail::norm_along(w, o.axis);
        const Tensor wanted = clip(norms, o.min_value, o.max_value) * o.rate + norms * (1 - o.rate);
        return w * (wanted / (norms + detail::kEpsilon));
      });
}
Constraint NonNeg() {
  return Constraint(Named<Tensor(Tensor)>{"NonNeg", "{}", [](Tensor w) { return relu(w); }});
}
Constraint UnitNorm(int axis) { return detail::unit_norm({axis}); }

Regularizer::Regularizer(const char* name, std::source_location site)
    : Regularizer(std::string(name), site) {}
Regularizer::Regularizer(const std::string& name, std::source_location site)
    : Regularizer(detail::told_of(
          site, [&] { return detail::regularizer_named(name, detail::Unwritten()); })) {}
Tensor Regularizer::operator()(Tensor weight, std::source_location site) const {
  return detail::call_part("regularizer", *this, site, [&] {
    return function()(detail::widened(std::move(weight), "regularizer"));
  });
}

Tensor Constraint::operator()(Tensor weight, std::source_location site) const {
  return detail::call_part("constraint", *this, site, [&] {
    const DType dtype = tenure::detail::checked(weight, "constraint").layout.dtype;
    Tensor constrained = function()(detail::widened(std::move(weight), "constraint"));
    return is_half(dtype) ? cast(std::move(constrained), dtype) : constrained;
  });
}

Constraint::Constraint(const char* name, std::source_location site)
    : Constraint(std::string(name), site) {}
Constraint::Constraint(const std::string& name, std::source_location site)
    : Constraint(detail::told_of(
          site, [&] { return detail::constraint_named(name, detail::Unwritten()); })) {}

}  // namespace tenure::nn
