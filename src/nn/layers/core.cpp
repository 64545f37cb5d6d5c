#include "tenure/nn/core_layers.h"

#include "core/raise.h"
#include "nn/layers/rows.h"
#include "tenure/control.h"
#include "tenure/conv.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn {

namespace detail {

template <class V>
void fields(V& visit, DenseOptions& o) {
  visit("units", o.units);
  visit("activation", o.activation);
  visit("use_bias", o.use_bias);
  visit("kernel_initializer", o.kernel_initializer);
  visit("bias_initializer", o.bias_initializer);
  visit("kernel_regularizer", o.kernel_regularizer);
  visit("bias_regularizer", o.bias_regularizer);
  visit("activity_regularizer", o.activity_regularizer);
  visit("kernel_constraint", o.kernel_constraint);
  visit("bias_constraint", o.bias_constraint);
}

namespace {

class DenseLayer final : public ConfiguredLayer<DenseOptions> {
 public:
  explicit DenseLayer(DenseOptions options) : ConfiguredLayer(std::move(options)) {
    if (options_.units < 1) raise<ValueError>("Dense: units must be positive: {}", options_.units);
  }
  const char* class_name() const override { return "Dense"; }
  bool passes_mask() const override { return true; }

  void build(const Shape& input) override {
    if (input.rank() < 2) {
      raise<ShapeError>("takes inputs of rank 2 or more, was given {}", input);
    }
    kernel_ = add_weight("kernel", {input[-1], options_.units},
                         {.initializer = options_.kernel_initializer,
                          .regularizer = options_.kernel_regularizer,
                          .constraint = options_.kernel_constraint,
                          .dtype = options_.dtype});
    if (!options_.use_bias) return;
    bias_ = add_weight("bias", {options_.units},
                       {.initializer = options_.bias_initializer,
                        .regularizer = options_.bias_regularizer,
                        .constraint = options_.bias_constraint,
                        .dtype = options_.dtype});
  }

  Tensor call(const Tensor& x, const Call& call) override {
    Tensor y = matmul(x, kernel_);
    if (options_.use_bias) y = std::move(y) + bias_;
    y = options_.activation(std::move(y));
    if (options_.activity_regularizer.given()) call.add_loss(options_.activity_regularizer(y));
    return y;
  }

 private:
  Variable kernel_, bias_;
};

}  // namespace

std::span<const LayerRow> core_layers() {
  static constexpr LayerRow rows[] = {
      {"Dense", layer_from_json<Dense, DenseOptions>},
  };
  return rows;
}

}  // namespace detail

Dense::Dense(DenseOptions options, std::source_location site)
    : Layer(detail::make_base<detail::DenseLayer>(site, std::move(options))) {}

}  // namespace tenure::nn
