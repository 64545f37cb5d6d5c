#include "tenure/random.h"

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/noise.h"
#include "ops/norm_attrs.h"
#include "ops/promote.h"
#include "ops/reseed.h"
#include "ops/round_once.h"
#include "ops/shapes.h"
#include "tensor/create.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/norm.h"

namespace tenure {
namespace ops {
namespace {

constexpr const char* kConstant = "it has no inputs";

void infer_random(Infer& infer) {
  const auto& attrs = infer.attrs.as<RandomAttrs>();
  infer.result(attrs.shape, attrs.dtype);
}

consteval OpDef drawing(const char* name) {
  return {.name = name,
          .infer = infer_random,
          .inputs = 0,
          .dispatch_on = OpDef::kOutput0,
          .no_gradient = kConstant,
          .reseed = reseed<RandomAttrs>};
}

constinit const OpDef kNormal = drawing("random_normal");
constinit const OpDef kUniform = drawing("random_uniform");
constinit const OpDef kTruncatedNormal = drawing("random_truncated_normal");
constinit const OpDef kBernoulli = drawing("random_bernoulli");
constinit const OpDef kRandint = drawing("random_randint");

constinit const OpDef kShuffle{.name = "shuffle",
                               .infer = same_shape,
                               .grad_keeps = kNothing,
                               .grad = [](GradContext& g) -> Grads {
                                 ShuffleAttrs back = g.attrs_as<ShuffleAttrs>();
                                 back.inverse = !back.inverse;
                                 return apply(kShuffle, g.dy(), ref(back));
                               },
                               .reseed = reseed<ShuffleAttrs>};

// Linear in x, so that its gradient is itself, with the same mask.
constinit const OpDef kDropout{
    .name = "dropout",
    .infer = same_shape,
    .may_overwrite = input(0),
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads { return apply(kDropout, g.dy(), g.attrs()); },
    .reseed = reseed<DropoutAttrs>};

// The same where a tensor, the last input, counts the draws (noise.h).

void check_draw(const Infer& infer) {
  const std::size_t last = infer.in.size() - 1;
  if (infer.shape(last).rank() != 0 || infer.dtype(last) != DType::int64) {
    raise<ShapeError>("{}: the number of the draw is an int64 scalar, was given {} {}", infer.op,
                      infer.dtype(last), infer.shape(last));
  }
}

void infer_random_at(Infer& infer) {
  check_draw(infer);
  infer_random(infer);
}

constexpr const char* kDrawn = "what is drawn does not depend on its input";

constinit const OpDef kUniformAt{.name = "random_uniform_at",
                                 .infer = infer_random_at,
                                 .dispatch_on = OpDef::kOutput0,
                                 .no_gradient = kDrawn};
constinit const OpDef kNormalAt{.name = "random_normal_at",
                                .infer = infer_random_at,
                                .dispatch_on = OpDef::kOutput0,
                                .no_gradient = kDrawn};
constinit const OpDef kDropoutAt{
    .name = "dropout_at",
    .infer =
        [](Infer& infer) {
          check_draw(infer);
          same_shape(infer);
        },
    .inputs = 2,
    .may_overwrite = input(0),
    .grad_keeps = {kInput1, kNothing},
    .grad = [](GradContext& g) -> Grads {
      return {apply(kDropoutAt, g.attrs(), std::source_location::current(), g.dy(), g.x(1)),
              Tensor()};
    }};

// Every op moves the generator on by its element count, so no two ever share a counter.
std::uint64_t take_counters(std::int64_t count) {
  detail::RandomState& random = *detail::context().random;
  return random.next.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
}

Tensor draw(const OpDef& op, const char* name, RandomAttrs attrs, std::source_location site) {
  detail::check_shape(name, attrs.shape, attrs.dtype);
  attrs.seed = detail::context().random->seed.load(std::memory_order_relaxed);
  attrs.offset = take_counters(attrs.shape.numel());
  Tensor out;
  apply_into(op, {}, ref(attrs), site, {&out, 1});
  return out;
}

}  // namespace

Tensor uniform_at(Tensor draw, std::uint64_t seed, const Shape& shape,
                  const random::UniformOptions& options, std::source_location site) {
  const RandomAttrs attrs{shape, options.dtype, options.low, options.high, seed};
  return apply(kUniformAt, ref(attrs), site, std::move(draw));
}

Tensor normal_at(Tensor draw, std::uint64_t seed, const Shape& shape,
                 const random::NormalOptions& options, std::source_location site) {
  const RandomAttrs attrs{shape, options.dtype, options.mean, options.deviation, seed};
  return apply(kNormalAt, ref(attrs), site, std::move(draw));
}

Tensor dropout_at(Tensor x, Tensor draw, std::uint64_t seed, double rate,
                  std::source_location site) {
  const DropoutAttrs attrs{rate, seed};
  return apply(kDropoutAt, ref(attrs), site, std::move(x), std::move(draw));
}

Family random_ops() {
  static constexpr const OpDef* ops[] = {&kNormal,   &kUniform,  &kTruncatedNormal, &kBernoulli,
                                         &kRandint,  &kShuffle,  &kDropout,         &kUniformAt,
                                         &kNormalAt, &kDropoutAt};
  return ops;
}

}  // namespace ops

using namespace ops;

void set_seed(std::uint64_t seed) {
  if (detail::context().trace != nullptr) {
    raise<UnsupportedError>(
        "set_seed: inside a traced function, whose random numbers follow on "
        "those drawn before each call: set the seed before the call");
  }
  detail::RandomState& random = *detail::context().random;
  random.seed.store(seed, std::memory_order_relaxed);
  random.next.store(0, std::memory_order_relaxed);
}

namespace random {

Tensor normal(const Shape& shape, NormalOptions options, std::source_location site) {
  const detail::UserLine line(site);
  if (!(options.deviation >= 0)) {
    raise<ValueError>("normal: a deviation below zero: {}", options.deviation);
  }
  return draw(kNormal, "normal", {shape, options.dtype, options.mean, options.deviation}, site);
}

Tensor truncated_normal(const Shape& shape, NormalOptions options, std::source_location site) {
  const detail::UserLine line(site);
  if (!(options.deviation >= 0)) {
    raise<ValueError>("truncated_normal: a deviation below zero: {}", options.deviation);
  }
  return draw(kTruncatedNormal, "truncated_normal",
              {shape, options.dtype, options.mean, options.deviation}, site);
}

Tensor uniform(const Shape& shape, UniformOptions options, std::source_location site) {
  const detail::UserLine line(site);
  if (!(options.low <= options.high)) {
    raise<ValueError>("uniform: low {} is not below high {}", options.low, options.high);
  }
  return draw(kUniform, "uniform", {shape, options.dtype, options.low, options.high}, site);
}

Tensor bernoulli(const Shape& shape, double probability, DType dtype, std::source_location site) {
  const detail::UserLine line(site);
  if (!(probability >= 0 && probability <= 1)) {
    raise<ValueError>("bernoulli: {} is no probability", probability);
  }
  return draw(kBernoulli, "bernoulli", {shape, dtype, probability}, site);
}

Tensor randint(const Shape& shape, std::int64_t low, std::int64_t high, DType dtype,
               std::source_location site) {
  const detail::UserLine line(site);
  if (low >= high) raise<ValueError>("randint: low {} is not below high {}", low, high);
  if (!Scalar(low).fits(dtype) || !Scalar(high - 1).fits(dtype)) {
    raise<DtypeError>("randint: [{}, {}) does not fit {}", low, high, dtype);
  }
  return draw(kRandint, "randint", {shape, dtype, low, high}, site);
}

Tensor shuffle(Arg x) {
  const detail::UserLine site(x.site());
  Tensor tensor = as_tensor("shuffle", std::move(x));
  if (tensor.rank() == 0) raise<ShapeError>("shuffle: a scalar has no axis to shuffle");
  const ShuffleAttrs attrs{detail::context().random->seed.load(std::memory_order_relaxed),
                           take_counters(tensor.shape()[0]), false};
  return apply(kShuffle, ref(attrs), site, std::move(tensor));
}

}  // namespace random

Tensor dropout(Arg x, double rate, const DropoutOptions& options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("dropout", site);
  Tensor values = as_float("dropout", std::move(x));
  if (!(rate >= 0 && rate < 1)) raise<ValueError>("dropout: a rate not in [0, 1): {}", rate);
  const Shape shape = options.noise_shape.value_or(values.shape());
  if (broadcast_shapes("dropout", shape, values.shape()) != values.shape()) {
    raise<ShapeError>("dropout: noise of {} does not broadcast to {}", shape, values.shape());
  }
  const DropoutAttrs attrs{
      rate, options.seed.value_or(detail::context().random->seed.load(std::memory_order_relaxed)),
      options.seed ? 0 : take_counters(shape.numel()), options.seed.has_value()};
  if (shape == values.shape()) return apply(kDropout, ref(attrs), site, std::move(values));
  const RoundOnce rounded("dropout", values, site);
  Tensor mask = apply(kDropout, ref(attrs), site, ones(shape, values.dtype(), site));
  return rounded(std::move(values) * std::move(mask));
}

}  // namespace tenure
