// Counting what occurs.
#include <cmath>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/counting_attrs.h"
#include "ops/families.h"
#include "ops/operands.h"
#include "ops/promote.h"
#include "ops/shapes.h"
#include "tenure/indexing.h"
#include "tenure/math.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

// Of the rows of x, which has one axis or two; a second input holds the weights.
constinit const OpDef kBincount{
    .name = "bincount",
    .infer =
        [](Infer& infer) {
          const auto& attrs = infer.attrs.as<BincountAttrs>();
          Shape shape = infer.shape(0);
          if (infer.in.size() == 1 && !attrs.binary) check_indexable(infer.op, shape[-1], shape);
          shape[-1] = attrs.size;
          infer.result(std::move(shape), infer.in.size() > 1 ? infer.dtype(1) : DType::int32);
        },
    .inputs = OpDef::kVariadic,
    .tfjs = "Bincount",
    .dispatch_on = OpDef::kOutput0,
    .checks_values = true,
    .grad_keeps = {kNothing, kInput0},
    .grad = [](GradContext& g) -> Grads {
      std::vector<Tensor> grads(g.inputs());
      if (g.inputs() > 1 && g.needs(1) && !g.attrs_as<BincountAttrs>().binary) {
        // Numbers that are not counted read a zero behind the last count.
        const Tensor x = g.x(0);
        const std::int64_t size = g.attrs_as<BincountAttrs>().size;
        Paddings one(static_cast<std::size_t>(x.rank()));
        one.back().second = 1;
        const int batch = x.rank() - 1;
        grads[1] = gather(pad(g.dy(), one), minimum(x, size), {.axis = batch, .batch_dims = batch});
      }
      return grads;
    }};

constinit const OpDef kHistogram{
    .name = "histogram",
    .infer =
        [](Infer& infer) { infer.result({infer.attrs.as<HistogramAttrs>().bins}, DType::int32); },
    .checks_values = true,
    .no_gradient = "a count changes only in steps"};

Tensor count(const char* name, Arg& x, Arg* weights, std::int64_t size, bool binary,
             int most_rank) {
  const detail::UserLine site(x.site());
  const detail::CallScope call(name, site);
  std::vector<Tensor> in{index_operand(name, 0, std::move(x))};
  const Shape& shape = in[0].shape();
  if (shape.rank() < 1 || shape.rank() > most_rank) {
    raise<ShapeError>("{}: x {} is not a vector{}", name, shape,
                      most_rank > 1 ? " or a matrix" : "");
  }
  if (size < 0) raise<ShapeError>("{}: a size of {}", name, size);
  if (weights != nullptr) {
    in.push_back(live_operand(name, 1, std::move(*weights)));
    if (in[1].shape() != shape) {
      raise<ShapeError>("{}: weights {} for x {}", name, in[1].shape(), shape);
    }
    if (in[1].dtype() == DType::boolean) in[1] = operand_as(name, 1, in[1], DType::int32, site);
  }
  const BincountAttrs attrs{size, binary};
  Tensor out;
  apply_into(kBincount, in, ref(attrs), site, {&out, 1});
  return out;
}

}  // namespace

Family counting_ops() {
  static constexpr const OpDef* ops[] = {&kBincount, &kHistogram};
  static constexpr Composite composites[] = {{"dense_bincount", "DenseBincount", "bincount"}};
  return {ops, composites};
}

}  // namespace ops

using namespace ops;

Tensor bincount(Arg x, std::int64_t size) { return count("bincount", x, nullptr, size, false, 1); }

Tensor bincount(Arg x, Arg weights, std::int64_t size) {
  return count("bincount", x, &weights, size, false, 1);
}

Tensor dense_bincount(Arg x, std::int64_t size, DenseBincountOptions options) {
  if (!options.weights) {
    return count("dense_bincount", x, nullptr, size, options.binary_output, 2);
  }
  Arg weights(std::move(*options.weights), x.site());
  return count("dense_bincount", x, &weights, size, options.binary_output, 2);
}

Tensor histogram(Arg x, double low, double high, std::int64_t bins) {
  const detail::UserLine site(x.site());
  Tensor tensor = as_number("histogram", std::move(x));
  if (!(low < high) || !std::isfinite(high - low)) {
    raise<ValueError>("histogram: low {} is not below high {}", low, high);
  }
  if (bins < 1) raise<ShapeError>("histogram: {} bins", bins);
  const HistogramAttrs attrs{low, high, bins};
  return apply(kHistogram, ref(attrs), site, std::move(tensor));
}

}  // namespace tenure
