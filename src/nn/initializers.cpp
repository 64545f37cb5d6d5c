#include <fmt/format.h>

#include <cmath>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/parts.h"
#include "tenure/create.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/random.h"
#include "tenure/views.h"

namespace tenure::nn {

namespace {

using detail::Json;
using detail::number_in;
using Seed = std::optional<std::uint64_t>;

// With a seed of its own, an initializer gives the same values each time, and takes none from
// set_seed's sequence.
class Seeded {
 public:
  explicit Seeded(const Seed& seed) : context_(tenure::detail::context()), outer_(context_.random) {
    if (!seed) return;
    own_.seed = *seed;
    context_.random = &own_;
  }
  ~Seeded() { context_.random = outer_; }
  Seeded(const Seeded&) = delete;
  Seeded& operator=(const Seeded&) = delete;

 private:
  tenure::detail::Context& context_;
  tenure::detail::RandomState* outer_;
  tenure::detail::RandomState own_;
};

Json json_of(const Seed& seed) { return seed ? Json(*seed) : Json(nullptr); }
Seed seed_in(const Json& config) {
  const auto found = config.find("seed");
  if (found == config.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::uint64_t>();
}

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
  Tensor made = q * sign(diagonal(r));
  if (rows < columns) made = matrix_transpose(made);
  return reshape(made * o.gain, shape);
}

using Make = Tensor(const Shape&, DType);

Initializer named(const char* class_name, const Json& config, std::function<Make> call) {
  return Initializer(Named<Make>{class_name, config.dump(), std::move(call)});
}

// One of those that are VarianceScaling with fixed settings.
Initializer scaling(const char* class_name, double scale, const char* mode,
                    const char* distribution, const Seed& seed) {
  const VarianceScalingOptions o{scale, mode, distribution, seed};
  return named(class_name, {{"seed", json_of(seed)}},
               [o](const Shape& shape, DType dtype) { return scaled(o, shape, dtype); });
}

std::string word(const Json& config, const char* key, const char* otherwise) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return otherwise;
  if (!found->is_string()) raise<ValueError>("initializer: {} is no text: {}", key, found->dump());
  return found->get<std::string>();
}

struct InitializerRow {
  const char* name;
  Initializer (*make)(const Json& config);
};

const InitializerRow kInitializers[] = {
    {"zeros", [](const Json&) { return Zeros(); }},
    {"ones", [](const Json&) { return Ones(); }},
    {"constant", [](const Json& c) { return Constant({number_in(c, "value", 0)}); }},
    {"random_normal",
     [](const Json& c) {
       return RandomNormal({number_in(c, "mean", 0), number_in(c, "stddev", 0.05), seed_in(c)});
     }},
    {"random_uniform",
     [](const Json& c) {
       return RandomUniform(
           {number_in(c, "minval", -0.05), number_in(c, "maxval", 0.05), seed_in(c)});
     }},
    {"truncated_normal",
     [](const Json& c) {
       return TruncatedNormal({number_in(c, "mean", 0), number_in(c, "stddev", 0.05), seed_in(c)});
     }},
    {"variance_scaling",
     [](const Json& c) {
       return VarianceScaling({number_in(c, "scale", 1), word(c, "mode", "fan_in"),
                               word(c, "distribution", "normal"), seed_in(c)});
     }},
    {"glorot_normal", [](const Json& c) { return GlorotNormal({seed_in(c)}); }},
    {"glorot_uniform", [](const Json& c) { return GlorotUniform({seed_in(c)}); }},
    {"he_normal", [](const Json& c) { return HeNormal({seed_in(c)}); }},
    {"he_uniform", [](const Json& c) { return HeUniform({seed_in(c)}); }},
    {"lecun_normal", [](const Json& c) { return LecunNormal({seed_in(c)}); }},
    {"lecun_uniform", [](const Json& c) { return LecunUniform({seed_in(c)}); }},
    {"orthogonal", [](const Json& c) { return Orthogonal({number_in(c, "gain", 1), seed_in(c)}); }},
    {"identity", [](const Json& c) { return Identity({number_in(c, "gain", 1)}); }},
};

}  // namespace

namespace detail {

Initializer initializer_from(const std::string& name, const Json& config) {
  std::string known;
  for (const InitializerRow& row : kInitializers) {
    if (plain_name(row.name) == plain_name(name)) return row.make(config);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  raise<ValueError>("initializer: no such one: \"{}\" (there are: {})", name, known);
}

}  // namespace detail

Tensor Initializer::operator()(const Shape& shape, DType dtype, std::source_location site) const {
  return detail::call_part("initializer", *this, site, [&] { return function()(shape, dtype); });
}

Initializer::Initializer(const char* name) : Initializer(std::string(name)) {}
Initializer::Initializer(const std::string& name)
    : Initializer(detail::initializer_from(name, Json::object())) {}

Initializer Zeros() {
  return named("Zeros", Json::object(),
               [](const Shape& shape, DType dtype) { return zeros(shape, dtype); });
}
Initializer Ones() {
  return named("Ones", Json::object(),
               [](const Shape& shape, DType dtype) { return ones(shape, dtype); });
}
Initializer Constant(ConstantOptions o) {
  return named("Constant", {{"value", o.value}},
               [o](const Shape& shape, DType dtype) { return full(shape, o.value, dtype); });
}
Initializer RandomNormal(RandomNormalOptions o) {
  return named("RandomNormal", {{"mean", o.mean}, {"stddev", o.stddev}, {"seed", json_of(o.seed)}},
               [o](const Shape& shape, DType dtype) {
                 const Seeded seeded(o.seed);
                 return random::normal(shape, {o.mean, o.stddev, dtype});
               });
}
Initializer RandomUniform(RandomUniformOptions o) {
  return named("RandomUniform",
               {{"minval", o.minval}, {"maxval", o.maxval}, {"seed", json_of(o.seed)}},
               [o](const Shape& shape, DType dtype) {
                 const Seeded seeded(o.seed);
                 return random::uniform(shape, {o.minval, o.maxval, dtype});
               });
}
Initializer TruncatedNormal(RandomNormalOptions o) {
  return named("TruncatedNormal",
               {{"mean", o.mean}, {"stddev", o.stddev}, {"seed", json_of(o.seed)}},
               [o](const Shape& shape, DType dtype) {
                 const Seeded seeded(o.seed);
                 return random::truncated_normal(shape, {o.mean, o.stddev, dtype});
               });
}
Initializer VarianceScaling(VarianceScalingOptions o) {
  // Files of TensorFlow.js and older Keras say so.
  if (detail::plain_name(o.mode) == "fanin") o.mode = "fan_in";
  if (detail::plain_name(o.mode) == "fanout") o.mode = "fan_out";
  if (detail::plain_name(o.mode) == "fanavg") o.mode = "fan_avg";
  if (o.distribution == "truncated_normal") o.distribution = "normal";
  if (o.scale <= 0) raise<ValueError>("VarianceScaling: scale must be positive: {}", o.scale);
  if (o.mode != "fan_in" && o.mode != "fan_out" && o.mode != "fan_avg") {
    raise<ValueError>("VarianceScaling: no such mode: \"{}\" (fan_in, fan_out, fan_avg)", o.mode);
  }
  if (o.distribution != "normal" && o.distribution != "uniform" &&
      o.distribution != "untruncated_normal") {
    raise<ValueError>(
        "VarianceScaling: no such distribution: \"{}\" (normal, untruncated_normal, uniform)",
        o.distribution);
  }
  return named("VarianceScaling",
               {{"scale", o.scale},
                {"mode", o.mode},
                {"distribution", o.distribution},
                {"seed", json_of(o.seed)}},
               [o](const Shape& shape, DType dtype) { return scaled(o, shape, dtype); });
}
Initializer GlorotNormal(SeedOptions o) {
  return scaling("GlorotNormal", 1, "fan_avg", "normal", o.seed);
}
Initializer GlorotUniform(SeedOptions o) {
  return scaling("GlorotUniform", 1, "fan_avg", "uniform", o.seed);
}
Initializer HeNormal(SeedOptions o) { return scaling("HeNormal", 2, "fan_in", "normal", o.seed); }
Initializer HeUniform(SeedOptions o) {
  return scaling("HeUniform", 2, "fan_in", "uniform", o.seed);
}
Initializer LecunNormal(SeedOptions o) {
  return scaling("LecunNormal", 1, "fan_in", "normal", o.seed);
}
Initializer LecunUniform(SeedOptions o) {
  return scaling("LecunUniform", 1, "fan_in", "uniform", o.seed);
}
Initializer Orthogonal(OrthogonalOptions o) {
  return named("Orthogonal", {{"gain", o.gain}, {"seed", json_of(o.seed)}},
               [o](const Shape& shape, DType dtype) { return orthogonal(o, shape, dtype); });
}
Initializer Identity(GainOptions o) {
  return named("Identity", {{"gain", o.gain}}, [o](const Shape& shape, DType dtype) {
    if (shape.rank() != 2) raise<ShapeError>("Identity: a weight of rank 2: {}", shape);
    const Tensor rows = reshape(arange(shape[0]), {shape[0], 1});
    return cast(equal(rows, arange(shape[1])), dtype) * o.gain;
  });
}

}  // namespace tenure::nn
