// Local response normalisation: each element over a power of the energy around it along the last
// axis.
#include "ops/lrn.h"

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/differentiate.h"
#include "ops/norm_attrs.h"
#include "ops/promote.h"
#include "ops/shapes.h"
#include "tenure/create.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/norm.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

// Sums over neighbours, as a product with the matrix of who is whose neighbour.
Tensor near_sum(const Tensor& x, std::int64_t radius) {
  const std::int64_t depth = x.dim(-1);
  if (x.numel() == 0) return x;
  const Tensor place = arange(0, depth, 1, x.dtype());
  const Tensor distance = reshape(place, {depth, 1}) - place;
  const auto reach = static_cast<double>(radius);
  const Tensor near = cast(less_equal(square(distance), reach * reach), x.dtype());
  return reshape(matmul(reshape(x, {-1, depth}), near), x.shape());
}

// With s = bias + alpha near_sum(x^2):
// dx = dy s^-beta - 2 alpha beta x near_sum(dy x s^(-beta - 1))
std::vector<Tensor> gradient(const LocalResponseAttrs& attrs, const Tensor& dy, const Tensor& x) {
  const Tensor energy = near_sum(square(x), attrs.depth_radius) * attrs.alpha + attrs.bias;
  const Tensor power = exp(log(energy) * -attrs.beta);
  const Tensor around = near_sum(dy * x * power / energy, attrs.depth_radius);
  return {dy * power - x * around * (2 * attrs.alpha * attrs.beta)};
}

}  // namespace

constinit const OpDef kLocalResponseGrad{
    .name = "local_response_normalization_grad",
    .infer =
        [](Infer& infer) {
          if (infer.shape(0) != infer.shape(1)) {
            raise<ShapeError>("{}: the input is {}, its result's gradient {}", infer.op,
                              infer.shape(1), infer.shape(0));
          }
          infer.result(infer.shape(1), infer.dtype(1));
        },
    .inputs = 2,
    .tfjs = "LRNGrad",
    .grad_keeps = kInput0 | kInput1,
    .grad = [](GradContext& g) -> Grads {
      return differentiate(g, [&](const std::vector<Tensor>& in) {
        return gradient(g.attrs_as<LocalResponseAttrs>(), in[0], in[1]);
      });
    }};

constinit const OpDef kLocalResponse{.name = "local_response_normalization",
                                     .infer = same_shape,
                                     .tfjs = "LRN",
                                     .grad_keeps = kInput,
                                     .grad = [](GradContext& g) -> Grads {
                                       return apply(kLocalResponseGrad, g.attrs(),
                                                    std::source_location::current(), g.dy(), g.x());
                                     }};

}  // namespace ops

Tensor local_response_normalization(Arg x, LocalResponseOptions options) {
  constexpr const char* kName = "local_response_normalization";
  const detail::UserLine site(x.site());
  Tensor values = ops::as_float(kName, std::move(x));
  if (values.rank() == 0) raise<ShapeError>("{}: a scalar has no axis of neighbours", kName);
  if (options.depth_radius < 0) {
    raise<ValueError>("{}: a radius below zero: {}", kName, options.depth_radius);
  }
  const ops::LocalResponseAttrs attrs{options.depth_radius, options.bias, options.alpha,
                                      options.beta};
  return ops::apply(ops::kLocalResponse, ops::ref(attrs), site, std::move(values));
}

}  // namespace tenure
