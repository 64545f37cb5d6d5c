// Products of matrices, complex numbers and Fourier transforms, normalisation.
#include "call.h"
#include "fused.h"
#include "operands.h"
#include "ops/apply.h"
#include "ops/lrn.h"
#include "ops/norm_attrs.h"
#include "stored.h"
#include "tenure/tenure.h"

namespace tenure::node {
namespace {

MatmulOptions matmul_options(Call& call) {
  const bool transpose_a = call.flag();
  const bool transpose_b = call.flag();
  return {.transpose_a = transpose_a, .transpose_b = transpose_b};
}

void run_matmul(Call& call) {
  Tensor a = call.tensor();
  Tensor b = call.tensor();
  const MatmulOptions options = matmul_options(call);
  const DType dtype = a.dtype();
  call.give(stored(matmul(std::move(a), std::move(b), options), dtype));
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

void run_band_part(Call& call) {
  Tensor x = call.tensor();
  const std::int64_t lower = call.integer();
  call.give(band_part(std::move(x), lower, call.integer()));
}

void run_complex(Call& call) {
  Tensor re = call.tensor();
  Tensor im = call.tensor();
  call.give(complex(std::move(re), std::move(im)));
}

template <Tensor (*op)(Arg)>
void of_complex(Call& call) {
  call.give(op(call.tensor()));
}

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

LocalResponseOptions lrn_options(Call& call) {
  LocalResponseOptions options;
  options.depth_radius = call.integer();
  options.bias = call.number();
  options.alpha = call.number();
  options.beta = call.number();
  return options;
}

void run_lrn(Call& call) {
  Tensor x = call.tensor();
  call.give(local_response_normalization(std::move(x), lrn_options(call)));
}

void run_lrn_grad(Call& call) {
  Tensor dy = call.tensor();
  Tensor x = call.tensor();
  const LocalResponseOptions options = lrn_options(call);
  dy = fitting(ops::kLocalResponseGrad.name, "gradient", std::move(dy), x.shape());
  x = cast(std::move(x), DType::float32);
  const ops::LocalResponseAttrs attrs{options.depth_radius, options.bias, options.alpha,
                                      options.beta};
  call.give(ops::apply(ops::kLocalResponseGrad, ops::ref(attrs), std::source_location::current(),
                       std::move(dy), std::move(x)));
}

constexpr Row kRows[] = {
    {"matmul", run_matmul},
    {"fused_matmul", run_fused_matmul},
    {"einsum", run_einsum},
    {"diag", run_diag},
    {"band_part", run_band_part},
    {"complex", run_complex},
    {"real", of_complex<real>},
    {"imag", of_complex<imag>},
    {"complex_abs", of_complex<complex_abs>},
    {"fft", of_complex<fft>},
    {"ifft", of_complex<ifft>},
    {"batch_norm", run_batch_norm},
    {"lrn", run_lrn},
    {"lrn_grad", run_lrn_grad},
};

}  // namespace

std::span<const Row> matrix_rows() { return kRows; }

}  // namespace tenure::node
