#include "tenure/nn/core_layers.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "memory/fork.h"
#include "memory/text.h"
#include "nn/layers/common.h"
#include "tenure/indexing.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, DenseOptions& o) {
  TENURE_FIELDS(visit, o, units, activation, use_bias, kernel_initializer, bias_initializer,
                kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
                bias_constraint);
}

void fields(Fields&, IdentityOptions&) {}

void fields(Fields& visit, ActivationOptions& o) { TENURE_FIELDS(visit, o, activation); }

void fields(Fields& visit, MaskingOptions& o) { TENURE_FIELDS(visit, o, mask_value); }

void fields(Fields& visit, EmbeddingOptions& o) {
  TENURE_FIELDS(visit, o, input_dim, output_dim, embeddings_initializer, embeddings_regularizer,
                activity_regularizer, embeddings_constraint, mask_zero);
  visit("input_length", Numbers{o.input_length});
}

void fields(Fields& visit, LambdaOptions& o) { TENURE_FIELDS(visit, o, function); }

namespace {

class DenseLayer final : public ConfiguredLayer<DenseOptions> {
 public:
  explicit DenseLayer(DenseOptions options) : ConfiguredLayer(std::move(options)) {
    if (options_.units < 1) raise<ValueError>("Dense: units must be positive: {}", options_.units);
  }
  const char* class_name() const override { return "Dense"; }
  bool passes_mask() const override { return true; }

  void build(const Shape& input) override {
    check_rank_from(input, 2);
    kernel_ =
        add_weight("kernel", {input[-1], options_.units}, TENURE_WEIGHT_OPTIONS(options_, kernel));
    if (!options_.use_bias) return;
    bias_ = add_weight("bias", {options_.units}, TENURE_WEIGHT_OPTIONS(options_, bias));
  }

  Tensor call(const Tensor& x, const Call& call) override {
    Tensor y = matmul(x, kernel_);
    if (options_.use_bias) y = std::move(y) + bias_;
    y = options_.activation(std::move(y));
    add_activity_loss(call, options_.activity_regularizer, y);
    return y;
  }

 private:
  Variable kernel_, bias_;
};

class IdentityLayer final : public ConfiguredLayer<IdentityOptions> {
 public:
  using ConfiguredLayer::ConfiguredLayer;
  const char* class_name() const override { return "Identity"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call&) override { return x.clone(); }
};

class ActivationLayer final : public ConfiguredLayer<ActivationOptions> {
 public:
  using ConfiguredLayer::ConfiguredLayer;
  const char* class_name() const override { return "Activation"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call&) override {
    return options_.activation.is_linear() ? x.clone() : options_.activation(x);
  }
};

class MaskingLayer final : public ConfiguredLayer<MaskingOptions> {
 public:
  using ConfiguredLayer::ConfiguredLayer;
  const char* class_name() const override { return "Masking"; }
  void build(const Shape& input) override { check_rank_from(input, 2); }
  Tensor call(const Tensor& x, const Call&) override {
    const Tensor kept = any(not_equal(x, options_.mask_value), {-1}, {.keep_dims = true});
    return x * cast(kept, x.dtype());
  }
  Tensor compute_mask(const std::vector<Tensor>& inputs, const std::vector<Tensor>&) override {
    return any(not_equal(inputs.front(), options_.mask_value), {-1});
  }
};

class EmbeddingLayer final : public ConfiguredLayer<EmbeddingOptions> {
 public:
  explicit EmbeddingLayer(EmbeddingOptions options)
      : ConfiguredLayer(checked(std::move(options))) {}
  const char* class_name() const override { return "Embedding"; }
  bool casts_inputs() const override { return false; }  // numbers of rows, however large

  void build(const Shape&) override {
    // Rows are cast when they have been looked up: few of them, and their gradients add up exactly.
    WeightOptions options = TENURE_WEIGHT_OPTIONS(options_, embeddings);
    options.autocast = false;
    table_ = add_weight("embeddings", {options_.input_dim, options_.output_dim}, options);
  }

  Tensor call(const Tensor& x, const Call& call) override {
    check_length(x.shape());
    Tensor y = telling<ValueError>(
        [this](Error& error) { name_index(error, *this, "input_dim", options_.input_dim); },
        [&] { return gather(table_, as_indices(x)); });
    add_activity_loss(call, options_.activity_regularizer, y);
    return y;
  }

  Tensor compute_mask(const std::vector<Tensor>& inputs, const std::vector<Tensor>&) override {
    return options_.mask_zero ? not_equal(inputs.front(), 0) : Tensor();
  }

 private:
  static EmbeddingOptions checked(EmbeddingOptions o) {
    if (o.input_dim < 1 || o.output_dim < 1) {
      raise<ValueError>("Embedding: input_dim and output_dim must be positive: {}, {}", o.input_dim,
                        o.output_dim);
    }
    if (o.batch_input_shape.rank() == 0 && o.input_shape.rank() == 0 && o.input_length.rank() > 0) {
      o.input_shape = o.input_length;
    }
    return o;
  }

  void check_length(const Shape& input) const {
    const Shape& length = options_.input_length;
    if (length.rank() == 0) return;
    bool fits = input.rank() == length.rank() + 1;
    for (int axis = 0; fits && axis < length.rank(); ++axis) {
      fits = length[axis] == kAny || length[axis] == input[axis + 1];
    }
    if (!fits) {
      raise<ShapeError>("input_length is {}, but was given {}", length, input);
    }
  }

  Variable table_;
};

class LambdaLayer final : public ConfiguredLayer<LambdaOptions> {
 public:
  explicit LambdaLayer(LambdaOptions options) : ConfiguredLayer(std::move(options)) {
    if (!options_.function.given()) raise<ValueError>("Lambda: no function was given");
  }
  const char* class_name() const override { return "Lambda"; }
  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call&) override {
    return {options_.function(inputs)};
  }
};

struct Lambdas {
  tenure::detail::ProcessMutex mutex;
  std::map<std::string, LambdaFn> by_name;
};
Lambdas& lambdas() {
  static Lambdas registered;
  return registered;
}

}  // namespace
}  // namespace detail

LambdaFn::LambdaFn(const char* registered, std::source_location site)
    : LambdaFn(std::string(registered), site) {}
LambdaFn::LambdaFn(const std::string& registered, std::source_location site) {
  const tenure::detail::UserLine line(site);
  detail::Lambdas& known = detail::lambdas();
  const std::lock_guard lock(known.mutex);
  const auto lambda = known.by_name.find(registered);
  if (lambda == known.by_name.end()) {
    raise<ValueError>("Lambda: no function is called \"{}\": register_lambda it first", registered);
  }
  *this = lambda->second;
}

const Tensor& LambdaFn::only(const std::vector<Tensor>& inputs) {
  if (inputs.size() != 1) {
    raise<ShapeError>("its function takes one tensor, was given {}", inputs.size());
  }
  return inputs.front();
}

void register_lambda(const std::string& name, LambdaFn fn, std::source_location site) {
  const tenure::detail::UserLine line(site);
  if (name.empty() || !fn.given()) raise<ValueError>("register_lambda: no name, or no function");
  fn.name_ = name;
  detail::Lambdas& known = detail::lambdas();
  const std::lock_guard lock(known.mutex);
  std::swap(known.by_name[name], fn);  // the one before goes without the lock
}

TENURE_DEFINE_LAYER(Dense, DenseOptions, DenseLayer)
TENURE_DEFINE_LAYER(Identity, IdentityOptions, IdentityLayer)
TENURE_DEFINE_LAYER(Activation, ActivationOptions, ActivationLayer)
TENURE_DEFINE_LAYER(Masking, MaskingOptions, MaskingLayer)
TENURE_DEFINE_LAYER(Embedding, EmbeddingOptions, EmbeddingLayer)
TENURE_DEFINE_LAYER(Lambda, LambdaOptions, LambdaLayer)

std::span<const detail::LayerRow> detail::core_layers() {
  return rows_of<Dense, Identity, Activation, Masking, Embedding, Lambda>();
}

Activation::Activation(ActivationFn activation, std::source_location site)
    : Activation(ActivationOptions{.activation = std::move(activation)}, site) {}

}  // namespace tenure::nn
