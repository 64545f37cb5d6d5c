// What a layer keeps its weights in, and what it computes in.
//
//   nn::Dense({.units = 8, .dtype = DType::float64});
//   nn::Dense({.units = 8, .dtype = "bfloat16"});         // the weights, too
//   nn::Dense({.units = 8, .dtype = "mixed_bfloat16"});   // float32 weights, computes in bfloat16
//
// By default float32, or what the model around the layer is compiled with: compile's `precision`.
#pragma once

#include <source_location>
#include <string>

#include "tenure/dtype.h"
#include "tenure/export.h"

namespace tenure::nn {

class TENURE_API DTypePolicy {
 public:
  constexpr DTypePolicy() = default;  // none was given
  constexpr DTypePolicy(DType dtype) : weights_(dtype), compute_(dtype), given_(true) {}
  // "float32" or another dtype's name, "mixed_bfloat16", "mixed_float16".
  DTypePolicy(const char* name, std::source_location site = std::source_location::current());
  DTypePolicy(const std::string& name, std::source_location site = std::source_location::current());

  constexpr bool given() const { return given_; }
  constexpr bool is_mixed() const { return weights_ != compute_; }
  constexpr DType weight_dtype() const { return weights_; }
  constexpr DType compute_dtype() const { return compute_; }
  constexpr operator DType() const { return weights_; }
  std::string name() const;  // "mixed_bfloat16"

 private:
  DType weights_ = DType::float32;
  DType compute_ = DType::float32;
  bool given_ = false;
};

}  // namespace tenure::nn
