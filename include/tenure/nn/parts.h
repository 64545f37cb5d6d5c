// What layers are set up with: activations, initializers, regularizers, constraints. Each is given
// by its Keras name, or as an object, or as a function of your own.
//
//   nn::Dense({.units = 8, .activation = "relu", .kernel_initializer = nn::HeNormal({.seed = 7})});
//   nn::Dense({.units = 8, .activation = [](Tensor x) { return x * sigmoid(x); }});
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

#include "tenure/callable.h"
#include "tenure/dtype.h"
#include "tenure/export.h"
#include "tenure/handle.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"

namespace tenure::nn {

// A function with a name and, for files, its settings as a JSON object.
template <class Signature>
struct Named {
  std::string class_name;  // "GlorotUniform"; empty for a function of the user's
  std::string config = "{}";
  std::function<Signature> call;
};

// A copyable handle to one of the four.
template <class Signature>
class Part {
 public:
  Part() = default;
  explicit Part(Named<Signature> named);
  bool given() const { return named_.pointer() != nullptr; }
  const std::string& class_name() const { return named_->class_name; }
  const std::string& config() const { return named_->config; }

 protected:
  // A function of the user's.
  template <class F>
  Part(const char* what, F fn, std::source_location site)
      : Part({.class_name = {},
              .config = "{}",
              .call = tenure::detail::checked_function(what, std::move(fn), site)}) {}
  const std::function<Signature>& function() const { return named_->call; }

 private:
  tenure::detail::Held<std::shared_ptr<const Named<Signature>>, "function"> named_;
};

extern template class TENURE_API Part<Tensor(Tensor)>;
extern template class TENURE_API Part<Tensor(const Shape&, DType)>;

// One of a few, as a constant or by the name that Keras has for it: `= "sum"`.
template <class E>
struct Choice {
  Choice(E constant) : value(constant) {}
  Choice(const char* name, std::source_location site = std::source_location::current())
      : value(named(name, site)) {}
  Choice(const std::string& name, std::source_location site = std::source_location::current())
      : value(named(name, site)) {}
  operator E() const { return value; }
  static E named(const std::string& name, std::source_location site);  // or a ValueError

  E value;
};

// "linear", "relu", "relu6", "leaky_relu", "elu", "celu", "selu", "gelu", "silu" (or "swish"),
// "glu", "mish", "sigmoid", "hard_sigmoid", "hard_silu" (or "hard_swish"), "hard_tanh",
// "hard_shrink", "soft_shrink", "tanh_shrink", "log_sigmoid", "tanh", "softmax", "log_softmax",
// "sparsemax", "sparse_sigmoid", "sparse_plus", "softplus", "squareplus", "softsign",
// "exponential", as Keras 3 has them. "hard_sigmoid_keras2" is that of Keras 2 and TensorFlow.js,
// clip(0.2 x + 0.5, 0, 1), in place of relu6(x + 3) / 6.
class TENURE_API ActivationFn : public Part<Tensor(Tensor)> {
 public:
  ActivationFn() = default;  // "linear"
  ActivationFn(const char* name, std::source_location site = std::source_location::current());
  ActivationFn(const std::string& name,
               std::source_location site = std::source_location::current());
  template <class F>
    requires std::is_invocable_r_v<Tensor, F, Tensor>
  ActivationFn(F fn, std::source_location site = std::source_location::current())
      : Part("activation", std::move(fn), site) {}
  std::string name() const;  // "linear" for none, "" for a function of the user's
  bool is_linear() const;
  Tensor operator()(Tensor x, std::source_location site = std::source_location::current()) const;
};

// "zeros", "ones", "glorot_uniform", "he_normal" ..., or an object below.
class TENURE_API Initializer : public Part<Tensor(const Shape&, DType)> {
 public:
  Initializer() = default;
  Initializer(const char* name, std::source_location site = std::source_location::current());
  Initializer(const std::string& name, std::source_location site = std::source_location::current());
  explicit Initializer(Named<Tensor(const Shape&, DType)> named) : Part(std::move(named)) {}
  template <class F>
    requires std::is_invocable_r_v<Tensor, F, const Shape&, DType>
  Initializer(F fn, std::source_location site = std::source_location::current())
      : Part("initializer", std::move(fn), site) {}
  Tensor operator()(const Shape& shape, DType dtype = DType::float32,
                    std::source_location site = std::source_location::current()) const;
};

struct SeedOptions {
  std::optional<std::uint64_t> seed = {};
};
struct ConstantOptions {
  double value = 0;
};
struct RandomNormalOptions {
  double mean = 0;
  double stddev = 0.05;
  std::optional<std::uint64_t> seed = {};
};
struct RandomUniformOptions {
  double minval = -0.05;
  double maxval = 0.05;
  std::optional<std::uint64_t> seed = {};
};
struct VarianceScalingOptions {
  double scale = 1;
  std::string mode = "fan_in";          // or "fan_out", "fan_avg"
  std::string distribution = "normal";  // (truncated) or "untruncated_normal", "uniform"
  std::optional<std::uint64_t> seed = {};
};
struct OrthogonalOptions {
  double gain = 1;
  std::optional<std::uint64_t> seed = {};
};
struct GainOptions {
  double gain = 1;
};
TENURE_API Initializer Zeros();
TENURE_API Initializer Ones();
TENURE_API Initializer Constant(ConstantOptions options);
TENURE_API Initializer RandomNormal(RandomNormalOptions options = {},
                                    std::source_location site = std::source_location::current());
TENURE_API Initializer RandomUniform(RandomUniformOptions options = {});
TENURE_API Initializer TruncatedNormal(RandomNormalOptions options = {},
                                       std::source_location site = std::source_location::current());
TENURE_API Initializer VarianceScaling(VarianceScalingOptions options = {},
                                       std::source_location site = std::source_location::current());
TENURE_API Initializer GlorotNormal(SeedOptions options = {});
TENURE_API Initializer GlorotUniform(SeedOptions options = {});
TENURE_API Initializer HeNormal(SeedOptions options = {});
TENURE_API Initializer HeUniform(SeedOptions options = {});
TENURE_API Initializer LecunNormal(SeedOptions options = {});
TENURE_API Initializer LecunUniform(SeedOptions options = {});
TENURE_API Initializer Orthogonal(OrthogonalOptions options = {});
TENURE_API Initializer IdentityInitializer(GainOptions options = {});

// A penalty added to the loss: "l1", "l2", "l1_l2", "orthogonal_regularizer", or an object below.
class TENURE_API Regularizer : public Part<Tensor(Tensor)> {
 public:
  Regularizer() = default;  // none
  Regularizer(const char* name, std::source_location site = std::source_location::current());
  Regularizer(const std::string& name, std::source_location site = std::source_location::current());
  explicit Regularizer(Named<Tensor(Tensor)> named) : Part(std::move(named)) {}
  template <class F>
    requires std::is_invocable_r_v<Tensor, F, Tensor>
  Regularizer(F fn, std::source_location site = std::source_location::current())
      : Part("regularizer", std::move(fn), site) {}
  Tensor operator()(Tensor weight,
                    std::source_location site = std::source_location::current()) const;
};
TENURE_API Regularizer L1(double l1 = 0.01,
                          std::source_location site = std::source_location::current());
TENURE_API Regularizer L2(double l2 = 0.01,
                          std::source_location site = std::source_location::current());
TENURE_API Regularizer L1L2(double l1 = 0.01, double l2 = 0.01,
                            std::source_location site = std::source_location::current());
struct OrthogonalRegularizerOptions {
  double factor = 0.01;
  std::string mode = "rows";  // or "columns"
};
// Of a matrix: how far its rows, or columns, are from being orthogonal; factor times the mean of
// the magnitudes of their cosines.
TENURE_API Regularizer
OrthogonalRegularizer(OrthogonalRegularizerOptions options = {},
                      std::source_location site = std::source_location::current());

// What a weight is made to fulfil after each step: "max_norm", "min_max_norm", "non_neg",
// "unit_norm", or an object below.
class TENURE_API Constraint : public Part<Tensor(Tensor)> {
 public:
  Constraint() = default;  // none
  Constraint(const char* name, std::source_location site = std::source_location::current());
  Constraint(const std::string& name, std::source_location site = std::source_location::current());
  explicit Constraint(Named<Tensor(Tensor)> named) : Part(std::move(named)) {}
  template <class F>
    requires std::is_invocable_r_v<Tensor, F, Tensor>
  Constraint(F fn, std::source_location site = std::source_location::current())
      : Part("constraint", std::move(fn), site) {}
  Tensor operator()(Tensor weight,
                    std::source_location site = std::source_location::current()) const;
};
struct MinMaxNormOptions {
  double min_value = 0;
  double max_value = 1;
  double rate = 1;
  int axis = 0;
};
TENURE_API Constraint MaxNorm(double max_value = 2, int axis = 0,
                              std::source_location site = std::source_location::current());
TENURE_API Constraint MinMaxNorm(MinMaxNormOptions options = {},
                                 std::source_location site = std::source_location::current());
TENURE_API Constraint NonNeg();
TENURE_API Constraint UnitNorm(int axis = 0);

}  // namespace tenure::nn
