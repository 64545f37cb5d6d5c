// Decompositions of matrices, and what is solved with them. Gradients are the standard formulas,
// written with public ops so that they have gradients themselves; ' is the transpose.
#include <algorithm>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/matrix_attrs.h"
#include "ops/promote.h"
#include "ops/round_once.h"
#include "ops/shapes.h"
#include "tenure/create.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

constexpr Keep kTwoOutputs{0, 3};
constexpr Keep kThreeOutputs{0, 7};

Shape batch_of(const Shape& shape) {
  return Shape(shape.dims().first(static_cast<std::size_t>(shape.rank()) - 2));
}

Shape stack_of(const Shape& batch, std::initializer_list<std::int64_t> dims) {
  Shape shape = batch;
  for (const std::int64_t dim : dims) shape.push_back(dim);
  return shape;
}

Tensor transposed(const Tensor& x) { return matrix_transpose(x); }
Tensor product(const Tensor& a, const Tensor& b) { return matmul(a, b); }
// a' b and a b'
Tensor product_ta(const Tensor& a, const Tensor& b) { return matmul(a, b, {.transpose_a = true}); }
Tensor product_tb(const Tensor& a, const Tensor& b) { return matmul(a, b, {.transpose_b = true}); }
Tensor as_row(const Tensor& x) { return expand_dims(x, -2); }
Tensor as_column(const Tensor& x) { return expand_dims(x, -1); }

// The lower triangle, with half of the diagonal.
Tensor half_lower(const Tensor& x) {
  const std::int64_t n = x.shape()[-1];
  return x * (band_part(ones({n, n}, x.dtype()), -1, 0) - eye(n, n, x.dtype()) * 0.5);
}

// For an op that reads the lower triangle of a symmetric matrix, from its gradient with respect to
// all elements.
Tensor gradient_of_lower(const Tensor& full) { return half_lower(full + transposed(full)); }

// b a⁻¹' for a triangular a.
Tensor divided_by_transposed(const Tensor& b, const Tensor& a, bool lower) {
  return transposed(triangular_solve(a, transposed(b), {.lower = lower}));
}

// 1 / x, and 0 where x is 0: there the part of a gradient that is not defined is left out, so that
// the gradient of singular values or eigenvalues alone holds for equal ones too.
Tensor reciprocal_or_zero(const Tensor& x) {
  const Tensor is_zero = cast(equal(x, 0), x.dtype());
  return (1.0 - is_zero) / (x + is_zero);
}

// 1 / (x[j] - x[i]) at [i, j], and 0 on the diagonal.
Tensor inverse_gaps(const Tensor& x) { return reciprocal_or_zero(as_row(x) - as_column(x)); }

constinit const OpDef kCholesky{
    .name = "cholesky",
    .infer = same_shape,
    .checks_values = true,
    .grad_keeps = kOutput,
    .grad = [](GradContext& g) -> Grads {
      const Tensor l = g.y();
      const Tensor inner = half_lower(product_ta(l, g.dy()));
      const Tensor left = triangular_solve(l, inner, {.transpose = true});
      const Tensor both = triangular_solve(l, transposed(left), {.transpose = true});
      return gradient_of_lower(both);
    }};

// LAPACK counts in 32 bits: sides, and elements of work space, which are a multiple of the longer
// side and for some routines of the square of the shorter one.
constexpr std::int64_t kLongestSide = 1 << 24;
constexpr std::int64_t kLongestSquared = 1 << 14;

void check_sides(const Infer& infer, const Shape& shape, std::int64_t shorter = kLongestSide) {
  if (std::max(shape[-2], shape[-1]) <= kLongestSide && std::min(shape[-2], shape[-1]) <= shorter) {
    return;
  }
  raise<ShapeError>("{}: at most {} x {}, rows or columns, can be computed with: {}", infer.op,
                    kLongestSide, shorter, shape);
}

// x of a x = b or a' x = b: the shapes of both ops below.
void infer_solve(Infer& infer) {
  const Shape& a = infer.shape(0);
  const Shape& b = infer.shape(1);
  if (a[-1] != b[-2]) {
    raise<ShapeError>("{}: {} equations for {} right-hand rows: {} and {}", infer.op, a[-1], b[-2],
                      a, b);
  }
  check_sides(infer, b);
  const Shape batch = broadcast_shapes(infer.op, batch_of(a), batch_of(b));
  infer.result(stack_of(batch, {a[-1], b[-1]}), infer.dtype(0));
}

constinit const OpDef kTriangularSolve{
    .name = "triangular_solve",
    .infer = infer_solve,
    .inputs = 2,
    .checks_values = true,
    .grad_keeps = {kInput0 | kOutput, kInput0},
    .grad = [](GradContext& g) -> Grads {
      const auto [lower, transpose] = g.attrs_as<TriangularAttrs>();
      const Tensor db = triangular_solve(g.x(0), g.dy(), {.lower = lower, .transpose = !transpose});
      Tensor da;
      if (g.needs(0)) {
        const Tensor full = transpose ? product_tb(g.y(), db) : product_tb(db, g.y());
        da = unbroadcast(-band_part(full, lower ? -1 : 0, lower ? 0 : -1), g.x_shape(0));
      }
      return {da, g.needs(1) ? unbroadcast(db, g.x_shape(1)) : Tensor()};
    }};

constinit const OpDef kSolve{.name = "solve",
                             .infer = infer_solve,
                             .inputs = 2,
                             .checks_values = true,
                             .grad_keeps = {kInput0 | kOutput, kInput0},
                             .grad = [](GradContext& g) -> Grads {
                               const Tensor db = solve(g.x(0), g.dy(), {.transpose = true});
                               Tensor da;
                               if (g.needs(0))
                                 da = unbroadcast(-product_tb(db, g.y()), g.x_shape(0));
                               return {da, g.needs(1) ? unbroadcast(db, g.x_shape(1)) : Tensor()};
                             }};

constinit const OpDef kInverse{
    .name = "inverse",
    .infer = same_shape,
    .checks_values = true,
    .grad_keeps = kOutput,
    .grad = [](GradContext& g) -> Grads { return -product_tb(product_ta(g.y(), g.dy()), g.y()); }};

constinit const OpDef kDeterminant{
    .name = "determinant",
    .infer = [](Infer& infer) { infer.result(batch_of(infer.shape(0)), infer.dtype(0)); },
    .checks_values = true,
    .grad_keeps = kInput | kOutput,
    .grad = [](GradContext& g) -> Grads {
      const Tensor scale = as_column(as_column(g.dy() * g.y()));
      return scale * transposed(inverse(g.x()));
    }};

constinit const OpDef kSlogdet{
    .name = "slogdet",
    .infer =
        [](Infer& infer) {
          infer.result(batch_of(infer.shape(0)), infer.dtype(0), 0);
          infer.result(batch_of(infer.shape(0)), infer.dtype(0), 1);
        },
    .outputs = 2,
    .checks_values = true,
    .grad_keeps = kInput,
    .grad = [](GradContext& g) -> Grads {  // the sign changes only in steps
      return as_column(as_column(g.dy(1))) * transposed(inverse(g.x()));
    }};

Tensor qr_gradient(const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr) {
  const Tensor half = half_lower(product_tb(r, dr) - product_ta(dq, q));
  return divided_by_transposed(dq + product(q, half + transposed(half)), r, false);
}

// Columns [begin, begin + count) of matrices.
Tensor columns(const Tensor& x, std::int64_t begin, std::int64_t count) {
  Shape from = Shape::filled(x.rank(), 0), size = x.shape();
  from[-1] = begin;
  size[-1] = count;
  return slice(x, from, size);
}

constinit const OpDef kQr{
    .name = "qr",
    .infer =
        [](Infer& infer) {
          const Shape& shape = infer.shape(0);
          check_sides(infer, shape);
          const std::int64_t m = shape[-2], n = shape[-1];
          const std::int64_t k = infer.attrs.as<FullAttrs>().full ? m : std::min(m, n);
          infer.result(stack_of(batch_of(shape), {m, k}), infer.dtype(0), 0);
          infer.result(stack_of(batch_of(shape), {k, n}), infer.dtype(0), 1);
        },
    .outputs = 2,
    .checks_values = true,
    .grad_keeps = kTwoOutputs,
    .grad = [](GradContext& g) -> Grads {
      const Shape& shape = g.x_shape();
      const std::int64_t m = shape[-2], n = shape[-1];
      if (m > n && g.attrs_as<FullAttrs>().full) {
        raise<ShapeError>("qr: a full q of more rows than columns has no gradient: {}", shape);
      }
      const Tensor q = g.y(0), r = g.y(1), dq = g.dy(0), dr = g.dy(1);
      if (m >= n) return qr_gradient(q, r, dq, dr);
      // The first m columns make q; the others are q' times what they were.
      const Tensor rest = columns(r, m, n - m), drest = columns(dr, m, n - m);
      const Tensor dq_all = dq + product_tb(product(q, rest), drest);
      const Tensor first = qr_gradient(q, columns(r, 0, m), dq_all, columns(dr, 0, m));
      return concat({first, product(q, drest)}, -1);
    }};

void check_svd_gradient(GradContext& g) {
  const Shape& shape = g.x_shape();
  if (g.attrs_as<FullAttrs>().full && shape[-2] != shape[-1]) {
    raise<ShapeError>("svd: full u and v have a gradient for square matrices alone: {}", shape);
  }
}

// Outputs u, s and v'.
constinit const OpDef kSvd{
    .name = "svd",
    .infer =
        [](Infer& infer) {
          const Shape& shape = infer.shape(0);
          check_sides(infer, shape, kLongestSquared);
          const Shape batch = batch_of(shape);
          const std::int64_t m = shape[-2], n = shape[-1], k = std::min(m, n);
          const bool full = infer.attrs.as<FullAttrs>().full;
          infer.result(stack_of(batch, {m, full ? m : k}), infer.dtype(0), 0);
          infer.result(stack_of(batch, {k}), infer.dtype(0), 1);
          infer.result(stack_of(batch, {full ? n : k, n}), infer.dtype(0), 2);
        },
    .outputs = 3,
    .checks_values = true,
    .grad_keeps = kThreeOutputs,
    .grad = [](GradContext& g) -> Grads {
      check_svd_gradient(g);
      const Tensor u = g.y(0), s = g.y(1), vt = g.y(2), du = g.dy(0), dvt = g.dy(2);
      const Tensor gaps = inverse_gaps(square(s));
      const auto turned = [&](const Tensor& along) { return gaps * (along - transposed(along)); };
      const Tensor u_du = product_ta(u, du), v_dv = product_tb(vt, dvt);
      const Tensor core =
          turned(u_du) * as_row(s) + as_column(s) * turned(v_dv) + matrix_diag(g.dy(1));
      Tensor left = product(u, core);
      if (g.x_shape()[-2] > s.shape()[-1]) {
        left = left + (du - product(u, u_du)) * as_row(reciprocal_or_zero(s));
      }
      Tensor dx = product(left, vt);
      if (g.x_shape()[-1] > s.shape()[-1]) {
        const Tensor rest = dvt - product(transposed(v_dv), vt);
        dx = dx + product(u, rest * as_column(reciprocal_or_zero(s)));
      }
      return dx;
    }};

constinit const OpDef kSingularValues{
    .name = "singular_values",
    .infer =
        [](Infer& infer) {
          const Shape& shape = infer.shape(0);
          check_sides(infer, shape, kLongestSquared);
          infer.result(stack_of(batch_of(shape), {std::min(shape[-2], shape[-1])}), infer.dtype(0));
        },
    .checks_values = true,
    .grad_keeps = kInput,
    .grad = [](GradContext& g) -> Grads {
      const auto [u, s, v] = svd(g.x());
      return product_tb(u * as_row(g.dy()), v);
    }};

// Outputs w and v'.
constinit const OpDef kEigh{
    .name = "eigh",
    .infer =
        [](Infer& infer) {
          const Shape& shape = infer.shape(0);
          check_sides(infer, shape, kLongestSquared);
          infer.result(stack_of(batch_of(shape), {shape[-1]}), infer.dtype(0), 0);
          infer.result(shape, infer.dtype(0), 1);
        },
    .outputs = 2,
    .checks_values = true,
    .grad_keeps = kTwoOutputs,
    .grad = [](GradContext& g) -> Grads {
      const Tensor w = g.y(0), vt = g.y(1);
      const Tensor core = matrix_diag(g.dy(0)) + inverse_gaps(w) * product_tb(vt, g.dy(1));
      return gradient_of_lower(product_ta(vt, product(core, vt)));
    }};

constinit const OpDef kEigvalsh{.name = "eigvalsh",
                                .infer =
                                    [](Infer& infer) {
                                      const Shape& shape = infer.shape(0);
                                      check_sides(infer, shape, kLongestSquared);
                                      infer.result(stack_of(batch_of(shape), {shape[-1]}),
                                                   infer.dtype(0));
                                    },
                                .checks_values = true,
                                .grad_keeps = kInput,
                                .grad = [](GradContext& g) -> Grads {
                                  const auto [w, v] = eigh(g.x());
                                  return gradient_of_lower(product_tb(v * as_row(g.dy()), v));
                                }};

constexpr Composite kDecompositionComposites[] = {
    {"log_determinant", nullptr, "slogdet, log, add"},
    {"lstsq", nullptr, "qr, transpose, matmul, triangular_solve"},
};

// The operand as matrices of floating-point numbers.
Tensor matrices(const char* op, Arg&& x, bool square_ones) {
  Tensor tensor = as_float(op, std::move(x));
  const Shape& shape = tensor.shape();
  if (shape.rank() < 2) raise<ShapeError>("{}: two axes or more are needed: {}", op, shape);
  if (square_ones && shape[-1] != shape[-2]) {
    raise<ShapeError>("{}: square matrices are needed: {}", op, shape);
  }
  return tensor;
}

// Both operands of an equation, with one floating-point dtype.
std::array<Tensor, 2> equation(const char* op, Arg& a, Arg& b, bool square_ones) {
  const std::source_location sites[] = {a.site(), b.site()};
  std::array<Tensor, 2> in;
  unify(op, std::array{&a, &b}, in, true);
  for (std::size_t i = 0; i < 2; ++i) {
    const int input = static_cast<int>(i);
    check_alive(op, input, in[i], sites[i]);
    if (!is_floating(in[i].dtype())) {
      in[i] = operand_as(op, input, std::move(in[i]), DType::float32, sites[i]);
    }
  }
  const Shape& first = in[0].shape();
  const Shape& second = in[1].shape();
  if (first.rank() < 2 || second.rank() < 2) {
    raise<ShapeError>("{}: operands need two axes or more: {} and {}", op, first, second);
  }
  if (square_ones && first[-1] != first[-2]) {
    raise<ShapeError>("{}: square matrices are needed: {}", op, first);
  }
  return in;
}

Tensor run(const OpDef& op, std::span<Tensor> in, AttrsRef attrs, std::source_location site) {
  Tensor out;
  apply_into(op, in, attrs, site, {&out, 1});
  return out;
}

Tensor run_on_matrices(const OpDef& op, Arg& x, bool square_ones) {
  const detail::UserLine site(x.site());
  return apply(op, AttrsRef{}, site, matrices(op.name, std::move(x), square_ones));
}

}  // namespace

Family decomposition_ops() {
  static constexpr const OpDef* ops[] = {
      &kCholesky, &kTriangularSolve, &kSolve, &kInverse, &kDeterminant, &kSlogdet, &kQr,
      &kSvd,      &kSingularValues,  &kEigh,  &kEigvalsh};
  return {ops, kDecompositionComposites};
}

}  // namespace ops

using namespace ops;

Tensor cholesky(Arg x, CholeskyOptions options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("cholesky", site);
  Tensor in = matrices("cholesky", std::move(x), true);
  if (!options.upper) return apply(kCholesky, AttrsRef{}, site, std::move(in));
  return matrix_transpose(
      apply(kCholesky, AttrsRef{}, site, matrix_transpose(Arg(std::move(in), site))));
}

Tensor triangular_solve(Arg a, Arg b, TriangularSolveOptions options) {
  const detail::UserLine site(a.site());
  std::array<Tensor, 2> in = equation("triangular_solve", a, b, true);
  const TriangularAttrs attrs{options.lower, options.transpose};
  return run(kTriangularSolve, in, ref(attrs), site);
}

Tensor solve(Arg a, Arg b, SolveOptions options) {
  const detail::UserLine site(a.site());
  const detail::CallScope call("solve", site);
  std::array<Tensor, 2> in = equation("solve", a, b, true);
  if (options.transpose) in[0] = matrix_transpose(Arg(std::move(in[0]), site));
  return run(kSolve, in, {}, site);
}

Tensor lstsq(Arg a, Arg b) {
  const detail::UserLine site(a.site());
  const detail::CallScope call("lstsq", site);
  std::array<Tensor, 2> in = equation("lstsq", a, b, false);
  const RoundOnce rounded("lstsq", in, site);
  const auto& [matrix, rhs] = in;
  const Shape& shape = matrix.shape();
  if (shape[-2] != rhs.shape()[-2]) {
    raise<ShapeError>("lstsq: {} equations for {} right-hand rows: {} and {}", shape[-2],
                      rhs.shape()[-2], shape, rhs.shape());
  }
  if (shape[-2] >= shape[-1]) {
    const auto [q, r] = qr(matrix);
    return rounded(triangular_solve(r, matmul(q, rhs, {.transpose_a = true}), {.lower = false}));
  }
  const auto [q, r] = qr(matrix_transpose(matrix));
  return rounded(matmul(q, triangular_solve(r, rhs, {.lower = false, .transpose = true})));
}

Tensor inverse(Arg x) { return run_on_matrices(kInverse, x, true); }
Tensor determinant(Arg x) { return run_on_matrices(kDeterminant, x, true); }
Tensor singular_values(Arg x) { return run_on_matrices(kSingularValues, x, false); }
Tensor eigvalsh(Arg x) { return run_on_matrices(kEigvalsh, x, true); }

Slogdet slogdet(Arg x) {
  const detail::UserLine site(x.site());
  Tensor in = matrices("slogdet", std::move(x), true);
  std::array<Tensor, 2> out;
  apply_into(kSlogdet, {&in, 1}, {}, site, out);
  return {std::move(out[0]), std::move(out[1])};
}

Tensor log_determinant(Arg x) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("log_determinant", site);
  Tensor in = matrices("log_determinant", std::move(x), true);
  const RoundOnce rounded("log_determinant", in, site);
  auto [sign, magnitude] = slogdet(Arg(std::move(in), site));
  return rounded(log(std::move(sign)) + std::move(magnitude));
}

Qr qr(Arg x, QrOptions options) {
  const detail::UserLine site(x.site());
  Tensor in = matrices("qr", std::move(x), false);
  const FullAttrs attrs{options.full_matrices};
  std::array<Tensor, 2> out;
  apply_into(kQr, {&in, 1}, ref(attrs), site, out);
  return {std::move(out[0]), std::move(out[1])};
}

Svd svd(Arg x, SvdOptions options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("svd", site);
  Tensor in = matrices("svd", std::move(x), false);
  const FullAttrs attrs{options.full_matrices};
  std::array<Tensor, 3> out;
  apply_into(kSvd, {&in, 1}, ref(attrs), site, out);
  return {std::move(out[0]), std::move(out[1]), matrix_transpose(Arg(std::move(out[2]), site))};
}

Eigh eigh(Arg x) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("eigh", site);
  Tensor in = matrices("eigh", std::move(x), true);
  std::array<Tensor, 2> out;
  apply_into(kEigh, {&in, 1}, {}, site, out);
  return {std::move(out[0]), matrix_transpose(Arg(std::move(out[1]), site))};
}

}  // namespace tenure
