// Gradients.
//
//   tenure::GradientTape tape;
//   tenure::Tensor loss = tenure::mean(tenure::square(tenure::matmul(a, w)));
//   std::vector<tenure::Tensor> g = tape.gradient(loss, {w});
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/callable.h"
#include "tenure/export.h"
#include "tenure/tensor.h"
#include "tenure/variable.h"

namespace tenure {

namespace detail {
class Tape;
}

// Something a gradient can be taken with respect to. Holds a handle to the tensor.
class TENURE_API Source {
 public:
  Source(Tensor tensor) : tensor_(std::move(tensor)) {}
  Source(const Variable& variable);

 private:
  friend struct detail::Access;
  Tensor tensor_;
  std::shared_ptr<detail::VariableState> variable_;
};

struct TapeOptions {
  bool persistent = false;      // gradient() may be called more than once; see below
  bool watch_variables = true;  // trainable ones, whenever they were read
  std::string name = {};
};

struct GradientOptions {
  Tensor output_gradient = {};       // default: ones
  bool zero_if_unconnected = false;  // default: a source nothing leads to gets an empty handle
};

// Records what is computed on its thread or in its task, from its construction until gradient() (or
// until it is destroyed, when persistent) or until that thread or task ends. Keeps what the
// backward pass needs and nothing else.
//
// A tape does not record its own gradient(): one that is persistent would save more with each. A
// gradient that would flow through one it gave is a TapeError; for those, another tape records it:
//
//   tenure::GradientTape outer;
//   tenure::GradientTape inner({.persistent = true});
//   tenure::Tensor first = inner.gradient(loss, w), second = outer.gradient(first, w);
//
// Any thread may ask for the gradient or destroy the tape. Two that use it at the same time, one of
// which may be recording, are a TapeError that names both lines.
class TENURE_API GradientTape {
 public:
  explicit GradientTape(TapeOptions options = {},
                        std::source_location site = std::source_location::current());
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  void watch(const Tensor& tensor, std::source_location site = std::source_location::current());
  std::vector<Tensor> gradient(const Tensor& target, const std::vector<Source>& sources,
                               GradientOptions options = {},
                               std::source_location site = std::source_location::current());
  // Of several targets, each with the gradient that flows into it, added up.
  std::vector<Tensor> gradients(const std::vector<Tensor>& targets,
                                const std::vector<Tensor>& output_gradients,
                                const std::vector<Source>& sources, GradientOptions options = {},
                                std::source_location site = std::source_location::current());
  // With respect to one tensor or variable.
  template <class S>
    requires std::same_as<S, Tensor> || std::same_as<S, Variable>
  Tensor gradient(const Tensor& target, const S& source, GradientOptions options = {},
                  std::source_location site = std::source_location::current()) {
    return std::move(gradient(target, {Source(source)}, std::move(options), site).front());
  }
  // With respect to each of a list: tape.gradient(loss, model.trainable_weights()).
  template <class S>
    requires std::same_as<S, Tensor> || std::same_as<S, Variable>
  std::vector<Tensor> gradient(const Tensor& target, const std::vector<S>& sources,
                               GradientOptions options = {},
                               std::source_location site = std::source_location::current()) {
    return gradient(target, std::vector<Source>(sources.begin(), sources.end()), std::move(options),
                    site);
  }
  // Bytes saved for the backward pass.
  std::size_t saved_bytes(std::source_location site = std::source_location::current()) const;

 private:
  detail::Tape* tape_;  // counted: the thread or task it was made in may let go of it later
};

// The same value, with no gradient flowing through it.
TENURE_API Tensor stop_gradient(Arg x);

// A function with a gradient of your own: `forward` gives a value and the function from the value's
// gradient to the gradients of the inputs.
struct CustomResult {
  Tensor value;
  std::function<std::vector<Tensor>(Tensor dy)> gradient;
};
TENURE_API Tensor custom_gradient(
    const std::function<CustomResult(const std::vector<Tensor>&)>& forward,
    const std::vector<Tensor>& inputs, std::source_location site = std::source_location::current());

// The value and the gradient, as a pair.
template <class F>
auto value_and_grad(F fn, std::source_location site = std::source_location::current()) {
  detail::check_function("value_and_grad", fn, site);
  return [fn = std::move(fn), site]<class... Ts>(const Ts&... args) {
    static_assert(sizeof...(Ts) > 0, "value_and_grad: a function of at least one tensor");
    GradientTape tape({}, site);
    (tape.watch(args, site), ...);
    Tensor value = fn(args...);
    const std::vector<Source> sources{Source(args)...};
    std::vector<Tensor> gradients =
        tape.gradient(value, sources, {.output_gradient = {}, .zero_if_unconnected = true}, site);
    if constexpr (sizeof...(Ts) == 1) {
      return std::pair(std::move(value), std::move(gradients.front()));
    } else {
      return std::pair(std::move(value), std::move(gradients));
    }
  };
}

// grad(f)(x, ...) is the gradient of sum(f(x, ...)): a Tensor for one argument, a vector for more.
template <class F>
auto grad(F fn, std::source_location site = std::source_location::current()) {
  detail::check_function("grad", fn, site);
  return [fn = std::move(fn), site]<class... Ts>(const Ts&... args) {
    auto [value, gradients] = value_and_grad(fn, site)(args...);
    return gradients;
  };
}

}  // namespace tenure
