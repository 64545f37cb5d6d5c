// Dense, and layers that activate, mask, look up or compute something of your own.
//
//   nn::Sequential model({nn::Dense({.units = 64, .activation = "relu", .input_shape = {10}}),
//                         nn::Dropout({.rate = 0.5}), nn::Dense({.units = 1})});
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/callable.h"
#include "tenure/export.h"
#include "tenure/nn/layer.h"
#include "tenure/nn/sizes.h"

// The settings that every layer has. They come last, so that they can follow the layer's own.
#define TENURE_LAYER_FIELDS     \
  std::string name = {};        \
  bool trainable = true;        \
  Shape input_shape = {};       \
  Shape batch_input_shape = {}; \
  DTypePolicy dtype = {}

// A handle to a layer with these settings.
#define TENURE_LAYER(Name, Options)                                             \
  class TENURE_API Name : public Layer {                                        \
   public:                                                                      \
    explicit Name(Options options = {},                                         \
                  std::source_location site = std::source_location::current()); \
    TENURE_EMPTY_OPTIONS(Name, Options)                                         \
  }

namespace tenure::nn {

struct DenseOptions {
  std::int64_t units = 0;
  ActivationFn activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  TENURE_LAYER_FIELDS;
};
// activation(x kernel + bias), along the last axis.
class TENURE_API Dense : public Layer {
 public:
  explicit Dense(DenseOptions options, std::source_location site = std::source_location::current());
};

struct EinsumDenseOptions {
  std::string equation = {};  // of the input and the kernel: "abc,cd->abd", "...x,xy->...y"
  Sizes output_shape = {};    // without the batch and what "..." stands for; kAny: as the input's
  ActivationFn activation = {};
  std::string bias_axes = {};  // letters of the output; none: no bias
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  TENURE_LAYER_FIELDS;
};
// activation(einsum(equation, x, kernel) + bias): a dense layer along any axes.
class TENURE_API EinsumDense : public Layer {
 public:
  explicit EinsumDense(EinsumDenseOptions options,
                       std::source_location site = std::source_location::current());
};

struct IdentityOptions {
  TENURE_LAYER_FIELDS;
};
// Gives its input.
TENURE_LAYER(Identity, IdentityOptions);

struct ActivationOptions {
  ActivationFn activation = {};
  TENURE_LAYER_FIELDS;
};
class TENURE_API Activation : public Layer {
 public:
  explicit Activation(ActivationOptions options,
                      std::source_location site = std::source_location::current());
  explicit Activation(ActivationFn activation,
                      std::source_location site = std::source_location::current());
};

struct MaskingOptions {
  double mask_value = 0;
  TENURE_LAYER_FIELDS;
};
// Steps (of [batch, steps, features...]) whose features all are mask_value become zeros, and the
// mask that goes on leaves them out.
TENURE_LAYER(Masking, MaskingOptions);

struct EmbeddingOptions {
  std::int64_t input_dim = 0;   // how many there are to look up
  std::int64_t output_dim = 0;  // the size of each
  Initializer embeddings_initializer = "random_uniform";
  Regularizer embeddings_regularizer = {};
  Constraint embeddings_constraint = {};
  bool mask_zero = false;   // the mask that goes on leaves index 0 out
  Sizes input_length = {};  // of one example, where it is fixed
  Regularizer activity_regularizer = {};
  TENURE_LAYER_FIELDS;
};
// The rows of a table that indices, of any dtype and shape, name. One out of range is a ValueError.
TENURE_LAYER(Embedding, EmbeddingOptions);

// A function of the user's: of one tensor or of several. Files name it as register_lambda did.
class TENURE_API LambdaFn {
 public:
  using Function = std::function<Tensor(const std::vector<Tensor>&)>;
  LambdaFn() = default;
  LambdaFn(const char* registered, std::source_location site = std::source_location::current());
  LambdaFn(const std::string& registered,
           std::source_location site = std::source_location::current());
  template <class F>
    requires std::is_invocable_r_v<Tensor, const F&, Tensor>
  LambdaFn(F fn, std::source_location site = std::source_location::current())
      : call_([fn = tenure::detail::checked_function("Lambda", std::move(fn), site)](
                  const std::vector<Tensor>& x) { return fn(only(x)); }) {}
  template <class F>
    requires(std::is_invocable_r_v<Tensor, const F&, const std::vector<Tensor>&> &&
             !std::is_invocable_r_v<Tensor, const F&, Tensor>)
  LambdaFn(F fn, std::source_location site = std::source_location::current())
      : call_(tenure::detail::checked_function("Lambda", std::move(fn), site)) {}
  bool given() const { return call_ != nullptr; }
  const std::string& name() const { return name_; }  // empty where it is not registered
  Tensor operator()(const std::vector<Tensor>& inputs) const {
    if (!given()) tenure::detail::raise_empty_handle("LambdaFn");
    return call_(inputs);
  }

 private:
  friend TENURE_API void register_lambda(const std::string& name, LambdaFn fn,
                                         std::source_location site);
  static const Tensor& only(const std::vector<Tensor>& inputs);
  std::string name_;
  Function call_;
};
// Lets files, and nn::Lambda({.function = "name"}), name a function of yours.
TENURE_API void register_lambda(const std::string& name, LambdaFn fn,
                                std::source_location site = std::source_location::current());

struct LambdaOptions {
  LambdaFn function = {};
  TENURE_LAYER_FIELDS;
};
// nn::Lambda({.function = [](Tensor x) { return x * 2.0; }})
class TENURE_API Lambda : public Layer {
 public:
  explicit Lambda(LambdaOptions options,
                  std::source_location site = std::source_location::current());
};

}  // namespace tenure::nn
