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

#include "tenure/export.h"
#include "tenure/nn/layer.h"

// The settings that every layer has. They come last, so that they can follow the layer's own.
#define TENURE_LAYER_FIELDS     \
  std::string name = {};        \
  bool trainable = true;        \
  Shape input_shape = {};       \
  Shape batch_input_shape = {}; \
  DType dtype = DType::float32

// A handle to a layer with these settings.
#define TENURE_LAYER(Name, Options)                                             \
  class TENURE_API Name : public Layer {                                        \
   public:                                                                      \
    explicit Name(Options options = {},                                         \
                  std::source_location site = std::source_location::current()); \
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
  Regularizer activity_regularizer = {};
  Constraint embeddings_constraint = {};
  bool mask_zero = false;   // the mask that goes on leaves index 0 out
  Shape input_length = {};  // of one example, where it is fixed
  TENURE_LAYER_FIELDS;
};
// The rows of a table that indices, of any dtype and shape, name. One out of range is a ValueError.
TENURE_LAYER(Embedding, EmbeddingOptions);

// A function of the user's: of one tensor or of several. Files name it as register_lambda did.
class TENURE_API LambdaFn {
 public:
  using Function = std::function<Tensor(const std::vector<Tensor>&)>;
  LambdaFn() = default;
  LambdaFn(const char* registered);
  LambdaFn(const std::string& registered);
  template <class F>
    requires std::is_invocable_r_v<Tensor, const F&, Tensor>
  LambdaFn(F fn)
      : call_([fn = std::move(fn)](const std::vector<Tensor>& x) { return fn(only(x)); }) {}
  template <class F>
    requires(std::is_invocable_r_v<Tensor, const F&, const std::vector<Tensor>&> &&
             !std::is_invocable_r_v<Tensor, const F&, Tensor>)
  LambdaFn(F fn) : call_(std::move(fn)) {}
  bool given() const { return call_ != nullptr; }
  const std::string& name() const { return name_; }  // empty where it is not registered
  Tensor operator()(const std::vector<Tensor>& inputs) const {
    if (!given()) tenure::detail::raise_empty_handle("LambdaFn");
    return call_(inputs);
  }

 private:
  friend TENURE_API void register_lambda(const std::string& name, LambdaFn fn);
  static const Tensor& only(const std::vector<Tensor>& inputs);
  std::string name_;
  Function call_;
};
// Lets files, and nn::Lambda({.function = "name"}), name a function of yours.
TENURE_API void register_lambda(const std::string& name, LambdaFn fn);

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
