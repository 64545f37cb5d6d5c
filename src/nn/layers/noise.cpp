#include "nn/layers/noise.h"

#include "core/half.h"
#include "core/raise.h"
#include "ops/noise.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/norm.h"

namespace tenure::nn::detail {

namespace {

void check_broadcasts(const Shape& noise, const Shape& x) {
  bool fits = noise.rank() == x.rank();
  for (int axis = 0; fits && axis < x.rank(); ++axis) {
    fits = noise[axis] == 1 || noise[axis] == x[axis];
  }
  if (!fits) raise<ShapeError>("noise of {} does not broadcast to {}", noise, x);
}

}  // namespace

void Noise::build(LayerBase& owner) {
  if (!seed_ || draws_.defined()) return;
  draws_ = LayerAccess::add_record(owner, "draws", {}, DType::int64);
}

Tensor Noise::next() {
  const Tensor number = draws_.read();
  draws_.assign(number + 1);
  return number;
}

Tensor Noise::dropout(const Tensor& x, double rate, const Shape& shape) {
  if (!seed_) return tenure::dropout(x, rate, {.noise_shape = shape});
  if (shape == x.shape()) return ops::dropout_at(x, next(), seed(), rate);
  check_broadcasts(shape, x.shape());
  const DType dtype = is_half(x.dtype()) ? DType::float32 : x.dtype();
  return cast(x * mask(shape, rate, dtype), x.dtype());
}

Tensor Noise::mask(const Shape& shape, double rate, DType dtype) {
  if (!seed_) return random::bernoulli(shape, 1 - rate, dtype) * (1 / (1 - rate));
  return ops::dropout_at(ones(shape, dtype), next(), seed(), rate);
}

Tensor Noise::uniform(const Shape& shape, const random::UniformOptions& options) {
  return seed_ ? ops::uniform_at(next(), seed(), shape, options) : random::uniform(shape, options);
}

Tensor Noise::normal(const Shape& shape, const random::NormalOptions& options) {
  return seed_ ? ops::normal_at(next(), seed(), shape, options) : random::normal(shape, options);
}

}  // namespace tenure::nn::detail
