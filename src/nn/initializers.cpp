#include <cmath>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/bounds.h"
#include "nn/parts.h"
#include "tenure/create.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/random.h"
#include "tenure/views.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, SeedOptions& o) { TENURE_FIELDS(visit, o, seed); }
void fields(Fields& visit, ConstantOptions& o) { TENURE_FIELDS(visit, o, value); }
void fields(Fields& visit, RandomNormalOptions& o) { TENURE_FIELDS(visit, o, mean, stddev, seed); }
void fields(Fields& visit, RandomUniformOptions& o) {
  TENURE_FIELDS(visit, o, minval, maxval, seed);
}
void fields(Fields& visit, VarianceScalingOptions& o) {
  TENURE_FIELDS(visit, o, scale, mode, distribution, seed);
}
void fields(Fields& visit, OrthogonalOptions& o) { TENURE_FIELDS(visit, o, gain, seed); }
void fields(Fields& visit, GainOptions& o) { TENURE_FIELDS(visit, o, gain); }

}  // namespace detail

namespace {

using detail::config_of;
using detail::Fields;
using detail::made_by;
using Seed = std::optional<std::uint64_t>;

// With a seed of its own, an initializer gives the same values each time, and takes none from
// set_seed's sequence.
struct Seeded : tenure::detail::OwnRandom {
  explicit Seeded(const Seed& seed) {
    if (seed) set(*seed, 0);
  }
};

struct Fans {
  double in, out;
};
Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double field = 1;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) field *= static_cast<double>(shape[axis]);
  return {field * static_cast<double>(shape[-2]), field * static_cast<double>(shape[-1])};
}

Tensor scaled(const VarianceScalingOptions& o, const Shape& shape, DType dtype) {
  const auto [in, out] = fans_of(shape);
  const double fan = o.mode == "fan_in" ? in : o.mode == "fan_out" ? out : (in + out) / 2;
  const double variance = o.scale / std::max(1.0, fan);
  const Seeded seeded(o.seed);
  if (o.distribution == "uniform") {
    const double bound = std::sqrt(3 * variance);
    return random::uniform(shape, {.low = -bound, .high = bound, .dtype = dtype});
  }
  if (o.distribution == "untruncated_normal") {
    return random::normal(shape, {.mean = 0, .deviation = std::sqrt(variance), .dtype = dtype});
  }
  // What is left of a normal distribution's deviation when it is cut at two of them.
  constexpr double kCut = 0.87962566103423978;
  return random::truncated_normal(
      shape, {.mean = 0, .deviation = std::sqrt(variance) / kCut, .dtype = dtype});
}

Tensor orthogonal(const OrthogonalOptions& o, const Shape& shape, DType dtype) {
  if (shape.rank() < 2) {
    raise<ShapeError>("Orthogonal: a weight of rank 2 or more: {}", shape);
  }
  std::int64_t rows = 1;
  for (int axis = 0; axis < shape.rank() - 1; ++axis) rows *= shape[axis];
  const std::int64_t columns = shape[-1];
  const Seeded seeded(o.seed);
  const Tensor drawn = random::normal({std::max(rows, columns), std::min(rows, columns)},
                                      {.mean = 0, .deviation = 1, .dtype = dtype});
  auto [q, r] = qr(drawn);
  Tensor basis = q * sign(diagonal(r));
  if (rows < columns) basis = matrix_transpose(basis);
  return reshape(basis * o.gain, shape);
}

using Make = Tensor(const Shape&, DType);

Initializer named(const char* class_name, std::string config, std::function<Make> call) {
  return Initializer(Named<Make>{class_name, std::move(config), std::move(call)});
}

// One of those that are VarianceScaling with fixed settings.
Initializer scaling(const char* class_name, double scale, const char* mode,
                    const char* distribution, const SeedOptions& seed) {
  const VarianceScalingOptions o{scale, mode, distribution, seed.seed};
  return named(class_name, config_of(seed),
               [o](const Shape& shape, DType dtype) { return scaled(o, shape, dtype); });
}

constexpr detail::Row<Initializer> kInitializers[] = {
    {"zeros", [](Fields&) { return Zeros(); }},
    {"ones", [](Fields&) { return Ones(); }},
    {"constant", made_by<Constant>},
    {"random_normal", made_by<RandomNormal>},
    {"random_uniform", made_by<RandomUniform>},
    {"truncated_normal", made_by<TruncatedNormal>},
    {"variance_scaling", made_by<VarianceScaling>},
    {"glorot_normal", made_by<GlorotNormal>},
    {"glorot_uniform", made_by<GlorotUniform>},
    {"he_normal", made_by<HeNormal>},
    {"he_uniform", made_by<HeUniform>},
    {"lecun_normal", made_by<LecunNormal>},
    {"lecun_uniform", made_by<LecunUniform>},
    {"orthogonal", made_by<Orthogonal>},
    {"identity", made_by<IdentityInitializer>, " identityinitializer "},
};

}  // namespace

Initializer detail::initializer_named(const std::string& name, Fields&& settings) {
  return make_named("initializer", kInitializers, name, settings);
}

Tensor Initializer::operator()(const Shape& shape, DType dtype, std::source_location site) const {
  return detail::call_part("initializer", *this, site, [&] { return function()(shape, dtype); });
}

Initializer::Initializer(const char* name, std::source_location site)
    : Initializer(std::string(name), site) {}
Initializer::Initializer(const std::string& name, std::source_location site)
    : Initializer(detail::told_of(
          site, [&] { return detail::initializer_named(name, detail::Unwritten()); })) {}

Initializer Zeros() {
  return named("Zeros", "{}", [](const Shape& shape, DType dtype) { return zeros(shape, dtype); });
}
Initializer Ones() {
  return named("Ones", "{}", [](const Shape& shape, DType dtype) { return ones(shape, dtype); });
}
Initializer Constant(ConstantOptions o) {
  return named("Constant", config_of(o),
               [o](const Shape& shape, DType dtype) { return full(shape, o.value, dtype); });
}
Initializer RandomNormal(RandomNormalOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  detail::check_at_least("RandomNormal", "stddev", o.stddev, 0.0);
  return named("RandomNormal", config_of(o), [o](const Shape& shape, DType dtype) {
    const Seeded seeded(o.seed);
    return random::normal(shape, {o.mean, o.stddev, dtype});
  });
}
Initializer RandomUniform(RandomUniformOptions o) {
  return named("RandomUniform", config_of(o), [o](const Shape& shape, DType dtype) {
    const Seeded seeded(o.seed);
    return random::uniform(shape, {o.minval, o.maxval, dtype});
  });
}
Initializer TruncatedNormal(RandomNormalOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  detail::check_at_least("TruncatedNormal", "stddev", o.stddev, 0.0);
  return named("TruncatedNormal", config_of(o), [o](const Shape& shape, DType dtype) {
    const Seeded seeded(o.seed);
    return random::truncated_normal(shape, {o.mean, o.stddev, dtype});
  });
}
Initializer VarianceScaling(VarianceScalingOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  // Files of TensorFlow.js and older Keras say so.
  if (detail::plain_name(o.mode) == "fanin") o.mode = "fan_in";
  if (detail::plain_name(o.mode) == "fanout") o.mode = "fan_out";
  if (detail::plain_name(o.mode) == "fanavg") o.mode = "fan_avg";
  if (o.distribution == "truncated_normal") o.distribution = "normal";
  detail::check_above("VarianceScaling", "scale", o.scale, 0);
  if (o.mode != "fan_in" && o.mode != "fan_out" && o.mode != "fan_avg") {
    raise<ValueError>("VarianceScaling: no such mode: \"{}\" (fan_in, fan_out, fan_avg)", o.mode);
  }
  if (o.distribution != "normal" && o.distribution != "uniform" &&
      o.distribution != "untruncated_normal") {
    raise<ValueError>(
        "VarianceScaling: no such distribution: \"{}\" (normal, untruncated_normal, uniform)",
        o.distribution);
  }
  return named("VarianceScaling", config_of(o),
               [o](const Shape& shape, DType dtype) { return scaled(o, shape, dtype); });
}
Initializer GlorotNormal(SeedOptions o) {
  return scaling("GlorotNormal", 1, "fan_avg", "normal", o);
}
Initializer GlorotUniform(SeedOptions o) {
  return scaling("GlorotUniform", 1, "fan_avg", "uniform", o);
}
Initializer HeNormal(SeedOptions o) { return scaling("HeNormal", 2, "fan_in", "normal", o); }
Initializer HeUniform(SeedOptions o) { return scaling("HeUniform", 2, "fan_in", "uniform", o); }
Initializer LecunNormal(SeedOptions o) { return scaling("LecunNormal", 1, "fan_in", "normal", o); }
Initializer LecunUniform(SeedOptions o) {
  return scaling("LecunUniform", 1, "fan_in", "uniform", o);
}
Initializer Orthogonal(OrthogonalOptions o) {
  return named("Orthogonal", config_of(o),
               [o](const Shape& shape, DType dtype) { return orthogonal(o, shape, dtype); });
}
Initializer IdentityInitializer(GainOptions o) {
  return named("Identity", config_of(o), [o](const Shape& shape, DType dtype) {
    if (shape.rank() != 2) raise<ShapeError>("Identity: a weight of rank 2: {}", shape);
    const Tensor rows = reshape(arange(shape[0]), {shape[0], 1});
    return cast(equal(rows, arange(shape[1])), dtype) * o.gain;
  });
}

}  // namespace tenure::nn
