// A layer whose kernel is kept at a spectral norm of 1.
#include "memory/context.h"
#include "nn/layers/common.h"
#include "nn/precision.h"
#include "tenure/gradient.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/nn/normalization_layers.h"
#include "tenure/norm.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace detail {

namespace {

struct SpectralSettings : SpectralNormalizationOptions {
  std::optional<Layer> layer = {};
};
void fields(Fields& visit, SpectralSettings& o) {
  visit.need({"layer"});
  TENURE_FIELDS(visit, o, layer, power_iterations);
}

class SpectralNormalizationLayer final : public ConfiguredLayer<SpectralSettings> {
 public:
  explicit SpectralNormalizationLayer(SpectralSettings settings)
      : ConfiguredLayer(std::move(settings)), layer_(track(*options_.layer)) {
    check_at_least("SpectralNormalization", "power_iterations", options_.power_iterations,
                   std::int64_t{1});
  }
  const char* class_name() const override { return "SpectralNormalization"; }
  bool passes_mask() const override { return true; }

  void build_all(const std::vector<Shape>& inputs) override {
    std::vector<Spec> specs;
    for (const Shape& input : inputs) specs.push_back({input, options_.dtype});
    ensure_built(inner(), specs, LayerAccess::state(layer_).label->site);
    kernel_ = kernel_of(inner());
    vector_ = add_weight("vector_u", {1, kernel_.shape()[-1]},
                         {.initializer = TruncatedNormal({.stddev = 0.02}),
                          .trainable = false,
                          .dtype = kernel_.dtype()});
  }

  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call& call) override {
    if (call.training) normalize();
    return call_layer(inner(), inputs, call, tenure::detail::context().call.site);
  }

  Tensor compute_mask(const std::vector<Tensor>& inputs,
                      const std::vector<Tensor>& masks) override {
    return inner().compute_mask(inputs, masks);
  }

 private:
  LayerBase& inner() const { return LayerAccess::base(layer_); }

  static Variable kernel_of(const LayerBase& layer) {
    for (const Weight& weight : LayerAccess::state(layer).weights) {
      const std::string name = weight.variable.name();
      if (name.ends_with("/kernel") || name.ends_with("/embeddings")) return weight.variable;
    }
    raise<ValueError>("takes a layer with a kernel or embeddings, {} has neither",
                      layer_text(layer));
  }

  // Power iterations; a kernel of zeros stays, and the estimate with it.
  void normalize() {
    const NoComputing in_their_own_dtype;
    const Tensor kernel = stop_gradient(kernel_), before = vector_.read();
    const Tensor matrix = reshape(kernel, {-1, kernel.dim(-1)});
    Tensor u = before, v;
    for (std::int64_t i = 0; i < options_.power_iterations; ++i) {
      v = l2_normalize(matmul(u, matrix, {.transpose_b = true}));
      u = l2_normalize(matmul(v, matrix));
    }
    const Tensor norm = sum(matmul(v, matrix) * u);
    const Tensor is_zero = equal(norm, 0);
    vector_.assign(where(is_zero, before, u));
    kernel_.assign(kernel / where(is_zero, 1, norm));
  }

  const Layer layer_;
  Variable kernel_, vector_;
};

Layer spectral(Fields& settings) {
  SpectralSettings o;
  layer_fields(settings, o);
  return SpectralNormalization(*o.layer, o);
}

}  // namespace

std::span<const LayerRow> spectral_normalization_layers() {
  static constexpr LayerRow rows[] = {{"SpectralNormalization", spectral}};
  return rows;
}

}  // namespace detail

SpectralNormalization::SpectralNormalization(Layer layer, SpectralNormalizationOptions options,
                                             std::source_location site)
    : Layer(detail::make_base<detail::SpectralNormalizationLayer>(
          site, detail::SpectralSettings{std::move(options), std::move(layer)})) {}

}  // namespace tenure::nn
