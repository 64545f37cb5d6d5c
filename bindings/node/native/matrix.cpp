// Means, products of matrices, normalisation.
#include "call.h"
#include "fused.h"
#include "tenure/tenure.h"

namespace tenure::node {
namespace {

// TensorFlow.js gives floats of whatever it is.
void run_mean(Call& call) {
  Tensor x = call.tensor();
  const Axes axes = call.shape();
  const bool keep_dims = call.flag();
  call.give(mean(cast(std::move(x), DType::float32), axes, {.keep_dims = keep_dims}));
}

MatmulOptions matmul_options(Call& call) {
  const bool transpose_a = call.flag();
  const bool transpose_b = call.flag();
  return {.transpose_a = transpose_a, .transpose_b = transpose_b};
}

void run_fused_matmul(Call& call) {
  Tensor a = call.tensor();
  Tensor b = call.tensor();
  const FusedOptions fused = fused_options(call);
  const MatmulOptions options = matmul_options(call);
  call.give(fused_matmul(std::move(a), std::move(b), fused, options));
}

void run_einsum(Call& call) {
  std::vector<Tensor> operands = call.tensors();
  const std::string equation = call.text();
  call.give(einsum(equation, std::move(operands)));
}

void run_diag(Call& call) { call.give(diag(call.tensor())); }

void run_batch_norm(Call& call) {
  Tensor x = call.tensor();
  Tensor mean = call.tensor();
  Tensor variance = call.tensor();
  BatchNormOptions options;
  options.scale = call.maybe_arg();
  options.offset = call.maybe_arg();
  options.epsilon = call.number();
  call.give(batch_norm(std::move(x), std::move(mean), std::move(variance), options));
}

constexpr Row kMatrixRows[] = {
    {"mean", run_mean}, {"fused_matmul", run_fused_matmul}, {"einsum", run_einsum},
    {"diag", run_diag}, {"batch_norm", run_batch_norm},
};

}  // namespace

std::span<const Row> matrix_rows() { return kMatrixRows; }

}  // namespace tenure::node
