// Where a layer's random numbers come from: set_seed's sequence, or one that the layer's own seed
// begins. Then the layer counts what it drew, so that each call goes on where the last one ended,
// eager or traced, and also in a model that was saved meanwhile.
#pragma once

#include <cstdint>
#include <optional>

#include "nn/layer_state.h"
#include "tenure/random.h"

namespace tenure::nn::detail {

class Noise {
 public:
  explicit Noise(const std::optional<std::int64_t>& seed) : seed_(seed) {}

  void build(LayerBase& owner);  // before the first draw

  // Elements of x, and multiples of those that are kept; `shape` is the mask's and broadcasts.
  Tensor dropout(const Tensor& x, double rate, const Shape& shape);
  Tensor dropout(const Tensor& x, double rate) { return dropout(x, rate, x.shape()); }
  // 0 where dropped, else 1 / (1 - rate).
  Tensor mask(const Shape& shape, double rate, DType dtype);
  Tensor uniform(const Shape& shape, const random::UniformOptions& options);
  Tensor normal(const Shape& shape, const random::NormalOptions& options);

 private:
  std::uint64_t seed() const { return static_cast<std::uint64_t>(*seed_); }
  Tensor next();  // the number of a draw

  std::optional<std::int64_t> seed_;
  Variable draws_;
};

}  // namespace tenure::nn::detail
