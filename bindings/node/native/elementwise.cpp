// Elementwise ops in which TensorFlow.js differs from the op of the table.
#include <limits>

#include "call.h"
#include "stored.h"
#include "tenure/tenure.h"

namespace tenure::node {
namespace {

// Divides floats, whatever it is given.
void run_real_div(Call& call) {
  Tensor a = call.tensor();
  Tensor b = call.tensor();
  const DType dtype = a.dtype();
  if (dtype == DType::float32) {
    call.give(div(std::move(a), std::move(b)));
    return;
  }
  call.give(
      stored(div(cast(std::move(a), DType::float32), cast(std::move(b), DType::float32)), dtype));
}

void run_floor_div(Call& call) {
  Tensor a = call.tensor();
  Tensor b = call.tensor();
  call.give(stored(floor_div(std::move(a), std::move(b)), DType::int32));
}

// JavaScript has no answer for a power of 1 or -1 that is not finite; C's is 1.
void run_pow(Call& call) {
  const Tensor a = call.tensor();
  const Tensor b = call.tensor();
  const DType dtype = a.dtype();
  if (dtype == DType::int32) {
    call.give(stored(pow(cast(a, DType::float64), cast(b, DType::float64)), dtype));
    return;
  }
  Tensor result = pow(a, b);
  if (dtype == DType::boolean) result = cast(std::move(result), dtype);
  if (dtype == DType::float32 && !all(is_finite(b)).item<bool>()) {
    const Tensor unknown = logical_and(equal(abs(a), 1), logical_not(is_finite(b)));
    result = where(unknown, std::numeric_limits<float>::quiet_NaN(), std::move(result));
  }
  call.give(std::move(result));
}

void run_clip(Call& call) {
  Tensor x = call.tensor();
  const double low = call.number();
  const double high = call.number();
  const DType dtype = x.dtype();
  if (dtype == DType::float32) {
    call.give(clip(std::move(x), low, high));
    return;
  }
  call.give(stored(clip(cast(std::move(x), DType::float64), low, high), dtype));
}

void run_elu_grad(Call& call) {
  const Tensor dy = call.tensor();
  const Tensor y = call.tensor();
  call.give(where(greater_equal(y, 0), dy, dy * (y + 1)));
}

void run_where(Call& call) {
  Tensor condition = truth(call.tensor());
  Tensor a = call.tensor();
  Tensor b = call.tensor();
  if (condition.rank() == 1 && a.rank() > 1) {  // one truth value per row
    Shape shape = Shape::filled(a.rank(), 1);
    shape[0] = condition.dim(0);
    condition = reshape(std::move(condition), shape);
  }
  call.give(where(std::move(condition), std::move(a), std::move(b)));
}

void run_cast(Call& call) {
  Tensor x = call.tensor();
  const DType to = call.dtype();
  if (x.dtype() == DType::complex64 && to != DType::complex64) x = real(std::move(x));
  if (to == DType::complex64 && x.dtype() != DType::complex64) {
    const Tensor re = cast(std::move(x), DType::float32);
    call.give(complex(re, zeros_like(re)));
    return;
  }
  if (to == DType::boolean) {
    call.give(truth(std::move(x)));
    return;
  }
  call.give(cast(std::move(x), to));
}

constexpr Row kElementwiseRows[] = {
    {"real_div", run_real_div}, {"floor_div", run_floor_div}, {"pow", run_pow},
    {"clip", run_clip},         {"elu_grad", run_elu_grad},   {"where", run_where},
    {"cast", run_cast},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kElementwiseRows; }

}  // namespace tenure::node
